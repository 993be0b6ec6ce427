//! The descriptor table.

use crate::{
    scene::{CellId, DescriptorGroup, DescriptorRow, flag_names},
    view::{
        Look,
        icon::{state_class, state_icon, state_name},
        keyboard::on_enter,
        text::{mark_class, order},
    },
};
use ring_core::spec::{descriptor_flag, split::Cell};
use yew::{Html, classes, html};

pub(super) fn descriptors(look: &Look<'_>) -> Html {
    html! {
        <table class="descriptors" aria-label="Descriptor table">
            <thead>
                <tr>
                    <th class="wide">{ "line" }</th><th></th><th class="right">{ "slot" }</th>
                    <th>{ "addr (hex)" }</th><th class="right">{ "len" }</th><th>{ "flags" }</th>
                    <th class="right">{ "next" }</th><th>{ "buffer" }</th>
                </tr>
            </thead>
            { for look.scene.descriptors.iter().map(|group| self::group(look, group)) }
        </table>
    }
}

fn group(look: &Look<'_>, group: &DescriptorGroup) -> Html {
    match group {
        DescriptorGroup::Line { offset, rows } => html! {
            <tbody key={format!("line {offset}")}>
                { for rows.iter().enumerate().map(|(index, row)| self::row(look, (index == 0).then_some(*offset), row)) }
            </tbody>
        },
        DescriptorGroup::Folded { first, last, held } => {
            let free = last - first + 1 - held;
            html! {
                <tbody key={format!("folded {first}")} class="folded">
                    <tr><td class="offset wide"></td><td colspan="7">{ format!("slots {first} to {last}: {held} held, {free} free") }</td></tr>
                </tbody>
            }
        }
    }
}

fn row(look: &Look<'_>, offset: Option<u32>, row: &DescriptorRow) -> Html {
    let cell = CellId::Ring(Cell::Descriptor(row.slot));
    let class = classes!(state_class(row.state), mark_class(row.mark), look.selection(cell, row.token));
    let label = format!(
        "Slot {}, {}: address {:x}, length {}, flags {}, next {}",
        row.slot,
        state_name(row.state),
        row.address,
        row.length,
        flag_names(row.flags).collect::<Vec<_>>().join(" "),
        row.next
    );
    let next = if row.flags & descriptor_flag::NEXT != 0 { row.next.to_string() } else { "–".to_owned() };
    html! {
        <tr {class} key={row.slot} data-slot={row.slot.to_string()} tabindex="0" aria-label={label}
            onclick={look.select(cell)} onkeydown={on_enter(look.select(cell))}>
            <td class="offset wide">{ offset.map(|offset| html! { <span>{ format!("+{offset}") }</span> }) }</td>
            <td>{ state_icon(row.state) }</td>
            <td class="slot right">{ row.slot }</td>
            <td>{ format!("{:08x}", row.address) }</td>
            <td class="right">{ row.length }</td>
            <td>{ for flag_names(row.flags).map(|name| html! { <span class="flag-name">{ name }</span> }) }</td>
            <td class="right">{ next }</td>
            <td class="buffer-name">
                if let Some(token) = row.token { { format!("#{token}") } }
                if row.free_head { <span class="dim words">{ "free head" }</span> }
                { order(row.mark) }
            </td>
        </tr>
    }
}
