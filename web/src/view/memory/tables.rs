//! Indirect tables, beside the descriptors that refer to them.

use crate::{
    scene::{CellId, TableCard, TableRow, flag_names, nth},
    view::{
        Look,
        keyboard::on_enter,
        text::{mark_class, order},
    },
};
use ring_core::spec::descriptor_flag;
use yew::{Html, classes, html};

pub(super) fn tables(look: &Look<'_>) -> Html {
    let tables = &look.scene.tables;
    html! {
        <div class="cards">
            { for tables.cards.iter().map(|card| self::card(look, card)) }
            if tables.more > 0 {
                <div class="fine more-tables">{ if tables.more == 1 { "1 more table in use".to_owned() } else { format!("{} more tables in use", tables.more) } }</div>
            }
        </div>
    }
}

fn card(look: &Look<'_>, card: &TableCard) -> Html {
    let changed = card.mark.written || card.rows.iter().any(|row| row.mark.written);
    let read = card.rows.iter().any(|row| row.mark.read);
    let class = classes!(
        "card",
        changed.then_some("changed-card"),
        (read && !changed).then_some("read-card"),
        look.buffer_selection(card.token)
    );
    let numbered = card.rows.iter().find(|row| row.mark.order.is_some()).map(|row| row.mark);
    let hidden = usize::from(card.entries).saturating_sub(card.rows.len());
    html! {
        <div {class} key={card.table} role="group" aria-label={format!("Indirect table {}", card.name)}
            data-table={card.table.to_string()} data-of-slot={card.slot.to_string()}>
            <header>
                <b>{ &card.name }</b>
                { uses(card.uses) }
                <span>{ format!("{} use", nth(card.uses)) }</span>
                if card.rows.is_empty() {
                    <span title="entries used, entries there are">{ format!("{} of {}", card.entries, card.room) }</span>
                } else {
                    <span class="address">{ format!("{:08x}", card.table) }</span>
                }
                <span class="space"></span>
                { numbered.map(order) }
            </header>
            if !card.rows.is_empty() {
                <table><tbody>{ for card.rows.iter().map(|row| self::row(look, card, row)) }</tbody></table>
                if hidden > 0 { <div class="fine hidden-entries">{ format!("and {hidden} more entries") }</div> }
            }
        </div>
    }
}

/// Up to five marks; how many there are stands beside.
fn uses(count: u32) -> Html {
    html! {
        <span class="uses" aria-hidden="true">{ for (0..count.min(5)).map(|_| html! { <i></i> }) }</span>
    }
}

fn row(look: &Look<'_>, card: &TableCard, row: &TableRow) -> Html {
    let cell = CellId::Entry { table: card.table, entry: row.entry };
    if row.entry >= card.entries {
        return html! {
            <tr class="unused" key={row.entry}><td class="right">{ row.entry }</td><td colspan="4">{ "unused this time" }</td></tr>
        };
    }
    let next =
        if row.flags & descriptor_flag::NEXT != 0 { format!("→ {}", row.next) } else { "–".to_owned() };
    let class = classes!(mark_class(row.mark), look.selection(cell, None));
    let label =
        format!("{} entry {}: address {:x}, length {}", card.name, row.entry, row.address, row.length);
    html! {
        <tr {class} key={row.entry} tabindex="0" aria-label={label}
            onclick={look.select(cell)} onkeydown={on_enter(look.select(cell))}>
            <td class="right">{ row.entry }</td>
            <td>{ format!("{:08x}", row.address) }</td>
            <td class="right">{ row.length }</td>
            <td>{ for flag_names(row.flags & !descriptor_flag::NEXT).map(|name| html! { <span class="flag-name">{ name }</span> }) }</td>
            <td class="right">{ next }</td>
        </tr>
    }
}
