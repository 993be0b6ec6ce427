//! The driver's column.

use super::{
    Look,
    column::Column,
    icon::{state_icon, state_name},
    text::{change, mark_class, number, order},
};
use crate::scene::{Buffer, Buffers, CellId, DriverScene, IdleTable, TableSourceScene};
use ring_core::{indirect::TableStrategy, spec::split::Cell};
use yew::{Html, classes, html};

/// The driver's private state.
pub fn driver(look: &Look<'_>) -> Html {
    let driver = &look.scene.driver;
    html! {
        <Column class="driver" title="Driver" note="its private state" summary={summary(driver)}>
                <div class="part">
                    <h3>{ "Counters" }</h3>
                    <dl class="pairs">
                        <div><dt>{ "next avail idx" }</dt><dd>{ change(&driver.available_index) }</dd></div>
                        <div class="wide"><dt>{ "published idx" }</dt><dd>{ change(&driver.published_index) }</dd></div>
                        <div><dt>{ "last used seen" }</dt><dd data-last-used="">{ change(&driver.last_used) }</dd></div>
                        <div><dt>{ "free slots" }</dt><dd>{ change(&driver.free) }</dd></div>
                        <div class="wide"><dt>{ "since last look" }</dt><dd>{ change(&driver.since_notify) }</dd></div>
                    </dl>
                </div>
                { table_source(&driver.tables) }
                <div class="part">
                    <h3>{ "In flight" }<i>{ driver.in_flight.count }</i></h3>
                    { buffers(look, &driver.in_flight, elements, place) }
                </div>
                <div class="part wide">
                    <h3>{ "Free list" }<i>{ format!("{} slots", driver.free.after) }</i></h3>
                    <div class="chain">{ free_list(&driver.free_list, driver.free.after) }</div>
                </div>
        </Column>
    }
}

/// What the step needs of it, in a line or two.
fn summary(driver: &DriverScene) -> Html {
    let tables = &driver.tables;
    let more = usize::from(tables.idle_count).saturating_sub(2);
    html! {
        <>
            <div>{ "next avail " }{ change(&driver.available_index) }{ " · " }{ change(&driver.free) }{ " free" }</div>
            if tables.taken.is_some() || tables.idle_count > 0 {
                <div class="idle-line">
                    if let Some((table, _)) = &tables.taken {
                        <span class="idle gone">{ format!("{} leaves", table.name) }{ order(table.mark) }</span>
                    }
                    { for tables.idle.iter().take(2).map(|table| html! {
                        <span class={classes!("idle", (tables.returned == Some(table.table)).then_some("changed"))}>{ &table.name }</span>
                    }) }
                    if more > 0 { <span class="dim">{ format!("+{more} idle") }</span> }
                </div>
            }
        </>
    }
}

fn elements(buffer: &Buffer) -> String {
    match buffer.elements {
        1 => "1 element".to_owned(),
        count => format!("{count} elements"),
    }
}

fn place(buffer: &Buffer) -> String {
    buffer.table.clone().unwrap_or_else(|| "direct".to_owned())
}

/// The first of some buffers, and how many are not drawn.
pub(super) fn buffers(
    look: &Look<'_>,
    buffers: &Buffers,
    middle: impl Fn(&Buffer) -> String,
    last: impl Fn(&Buffer) -> String,
) -> Html {
    let line = |buffer: &Buffer| {
        let class =
            classes!("buffer", buffer.touched.then_some("followed"), look.buffer_selection(buffer.token));
        let label = format!("Buffer {}: {}", buffer.token, state_name(buffer.state));
        html! {
            <button key={buffer.token} {class} aria-label={label} data-buffer={buffer.token.to_string()}
                onclick={look.select(CellId::Ring(Cell::Descriptor(buffer.head)))}>
                { state_icon(buffer.state) }
                <span>{ format!("#{}", buffer.token) }</span>
                <span class="words">{ middle(buffer) }</span>
                <span class="dim">{ last(buffer) }</span>
            </button>
        }
    };
    let more = usize::from(buffers.count).saturating_sub(buffers.first.len());
    html! {
        <>
            { for buffers.first.iter().map(line) }
            if buffers.count == 0 { <div class="buffer none dim">{ "none" }</div> }
            if more > 0 { <div class="buffer none dim more">{ format!("and {} more", number(more as u64)) }</div> }
        </>
    }
}

fn free_list(first: &[u16], count: u16) -> Html {
    let more = usize::from(count).saturating_sub(first.len());
    html! {
        <>
            { for first.iter().enumerate().map(|(index, slot)| html! {
                <>
                    if index > 0 { <span class="arrow">{ "→" }</span> }
                    <span class={if index == 0 { "head" } else { "" }}>{ *slot }</span>
                </>
            }) }
            if more > 0 { <span class="arrow">{ format!("→ {more} more") }</span> }
            if count == 0 { <span>{ "none: the ring is full" }</span> }
        </>
    }
}

fn table_source(tables: &TableSourceScene) -> Html {
    let name = match tables.strategy {
        TableStrategy::Direct => "none (direct)".to_owned(),
        TableStrategy::PlainAllocation => "allocator".to_owned(),
        TableStrategy::ListCache { .. } => "list cache".to_owned(),
        other => other.to_string(),
    };
    // The table just taken takes a line of its own.
    let drawn = tables.idle.len().min(if tables.taken.is_some() { 2 } else { 3 });
    let cached = matches!(tables.strategy, TableStrategy::ListCache { .. });
    html! {
        <div class="part">
            <h3>{ "Table source" }<i>{ name }</i></h3>
            if let TableStrategy::ListCache { threshold } = tables.strategy {
                <div class="fine wide">
                    { format!("threshold {threshold} · {} idle, newest first", tables.idle_count) }
                </div>
            }
            <div class="stack">
                if let Some((table, slot)) = &tables.taken {
                    <div class="idle gone" data-taken="">
                        <span>{ &table.name }</span>
                        <span class="fine">{ format!("{}: now at slot {slot}", if table.uses > 1 { "taken" } else { "new" }) }</span>
                        { order(table.mark) }
                    </div>
                }
                { for tables.idle.iter().take(drawn).enumerate().map(|(index, table)| idle(tables, index, table)) }
                if usize::from(tables.idle_count) > drawn {
                    <div class="idle rest">
                        <span>{ format!("+{}", usize::from(tables.idle_count) - drawn) }</span>
                        <span class="fine">{ "more idle" }</span>
                    </div>
                }
                if cached && tables.idle_count == 0 {
                    <div class="idle rest"><span class="fine empty">{ "cache is empty" }</span></div>
                }
            </div>
            <dl class="pairs wide">
                <div><dt>{ "cache / alloc" }</dt><dd>{ change(&tables.hits) }{ " / " }{ change(&tables.allocations) }</dd></div>
                <div><dt>{ "bytes held" }</dt><dd>{ change(&tables.bytes_held) }</dd></div>
            </dl>
        </div>
    }
}

fn idle(tables: &TableSourceScene, index: usize, table: &IdleTable) -> Html {
    let returned = tables.returned == Some(table.table);
    let words = match (returned, index) {
        (true, _) => "just put back",
        (false, 0) => "next to be taken",
        _ => "",
    };
    html! {
        <div class={classes!("idle", if returned { Some("changed") } else { mark_class(table.mark) })} key={table.table} data-idle={table.table.to_string()}>
            <span>{ &table.name }</span>
            <span class="fine">{ words }</span>
            if returned { { order(table.mark) } } else { <span class="fine">{ format!("used {}×", table.uses) }</span> }
        </div>
    }
}
