//! The available and the used ring on one counter line.

use super::flags::Ground;
use crate::{
    scene::{CellId, Column, Flag, SlotState, spoken},
    view::{
        Look,
        icon::{icon, state_class, state_name},
        text::{mark_class, order},
    },
};
use ring_core::{Side, spec::split::Cell};
use yew::{Classes, Html, classes, html};

pub(super) fn rings(look: &Look<'_>) -> Html {
    let rings = &look.scene.rings;
    let count = rings.columns.len();
    let all = count == usize::from(rings.size);
    let extent = |words: &'static str| {
        if all { words.to_owned() } else { format!("{count} of {}", rings.size) }
    };
    // A small ring has wider columns.
    let words = if look.narrow { 5 } else { 4 } * rings.columns.len().min(16) as u16 / 16;
    let ground = Ground {
        columns: count as u16,
        words: words.max(1),
        left: if look.narrow { 0 } else { 3 * count as u16 / 16 },
        right: look.narrow.into(),
    };
    // Numbers of five digits are wider than a column.
    let wide = rings.columns.iter().any(|column| column.slot > 9999 || column.counter > Some(9999));
    // On a phone they stand at every fourth.
    let every = |index: usize| !(wide && look.narrow) || index.is_multiple_of(4);
    let style = format!("--columns: {count}");
    html! {
        <div class={classes!("rings", wide.then_some("wide-numbers"))} {style} aria-label="Available and used ring on one counter line">
            <div class="ring slots"><span></span>{ for rings.columns.iter().enumerate().map(|(index, column)| html! { <span>{ every(index).then_some(column.slot) }</span> }) }</div>
            <div class="ring">
                <div class="ring-name driver-side"><b>{ "avail ring" }</b><span>{ extent("driver writes") }</span></div>
                { for rings.columns.iter().map(|column| available(look, column)) }
            </div>
            { flags(look, &rings.upper, ground, rings.event_index) }
            <div class="ring counters">
                <div class="ring-name">{ "counter" }</div>
                { for rings.columns.iter().enumerate().map(|(index, column)| counter(look, column, every(index))) }
            </div>
            { flags(look, &rings.lower, ground, rings.event_index) }
            <div class="ring">
                <div class="ring-name device-side"><b>{ "used ring" }</b><span>{ extent("device writes") }</span></div>
                { for rings.columns.iter().map(|column| used(look, column)) }
            </div>
        </div>
    }
}

fn available(look: &Look<'_>, column: &Column) -> Html {
    let cell = CellId::Ring(Cell::AvailableEntry(column.slot));
    let old = column.available_state == SlotState::Free;
    let class = classes!(
        "entry",
        if old { "old" } else { state_class(column.available_state) },
        mark_class(column.available_mark),
        look.selection(cell, column.available_token)
    );
    let state = if old { "left over" } else { state_name(column.available_state) };
    let label = format!("avail slot {}: head {}, {state}", column.slot, column.available);
    html! {
        <button {class} onclick={look.select(cell)} aria-label={label} data-available={column.slot.to_string()}>
            { column.available }{ order(column.available_mark) }
        </button>
    }
}

fn used(look: &Look<'_>, column: &Column) -> Html {
    let cell = CellId::Ring(Cell::UsedEntry(column.slot));
    let old = column.used_state == SlotState::Free;
    let class = classes!(
        "entry",
        if old { "old" } else { state_class(column.used_state) },
        mark_class(column.used_mark),
        look.selection(cell, column.used_token)
    );
    let (id, length) = column.used;
    let state = if old { "left over" } else { state_name(column.used_state) };
    let label = format!("used slot {}: head {id}, length {length}, {state}", column.slot);
    html! {
        <button {class} onclick={look.select(cell)} aria-label={label} title={format!("head {id}, len {length}")}
            data-used={column.slot.to_string()}>
            { id }{ order(column.used_mark) }
        </button>
    }
}

fn counter(look: &Look<'_>, column: &Column, told: bool) -> Html {
    let state =
        if column.available_state == SlotState::Free { "old" } else { state_class(column.available_state) };
    let selected = column.available_token.and_then(|token| look.buffer_selection(token));
    let text = column.counter.map_or_else(|| "–".to_owned(), |counter| counter.to_string());
    html! { <div class={classes!("counter", state, selected)}>{ told.then_some(text) }</div> }
}

fn flags(look: &Look<'_>, [event, index]: &[Flag; 2], ground: Ground, event_index: bool) -> Html {
    let placed = match (event.boundary, index.boundary) {
        (Some(event), Some(index)) => ground.place(event, index),
        (Some(event), None) => (ground.place_one(event), 0),
        (None, Some(index)) => (0, ground.place_one(index)),
        (None, None) => (0, 0),
    };
    html! {
        <div class="ring flags" style={format!("--span: {}", ground.words)}>
            { flag(look, event, placed.0, event_index) }
            { flag(look, index, placed.1, false) }
            if event.boundary.is_none() || index.boundary.is_none() {
                <div class="elsewhere">
                    { for [event, index].into_iter().filter(|flag| flag.boundary.is_none()).map(|flag| elsewhere(look, flag)) }
                </div>
            }
        </div>
    }
}

fn hue(flag: &Flag) -> &'static str {
    match flag.side {
        Side::Driver => "driver-hue",
        Side::Device => "device-hue",
    }
}

fn words(look: &Look<'_>, flag: &Flag) -> Html {
    let cell = CellId::Ring(flag.cell);
    let is_index = matches!(flag.cell, Cell::AvailableIndex | Cell::UsedIndex);
    let class: Classes = classes!(
        "flag-words",
        mark_class(flag.mark),
        look.selection(cell, None),
        is_index.then_some("is-index")
    );
    html! {
        <button {class} onclick={look.select(cell)}>
            if !is_index { { icon("bell") } }
            { format!("{} {}", spoken(flag.cell), flag.value) }
            { order(flag.mark) }
        </button>
    }
}

fn flag(look: &Look<'_>, flag: &Flag, shift: i32, bar: bool) -> Html {
    let Some(boundary) = flag.boundary else { return html! {} };
    let is_index = matches!(flag.cell, Cell::AvailableIndex | Cell::UsedIndex);
    html! {
        <div class={classes!("flag", hue(flag), (is_index || bar).then_some("post"))} style={format!("--boundary: {boundary}; --shift: {shift}")}>
            <span class={classes!("flag-side", (shift < 0).then_some("to-left"))}>{ self::words(look, flag) }</span>
        </div>
    }
}

fn elsewhere(look: &Look<'_>, flag: &Flag) -> Html {
    html! { <span class={hue(flag)}>{ words(look, flag) }</span> }
}
