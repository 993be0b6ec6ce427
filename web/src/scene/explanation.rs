//! The numbered list of what happened, why, which rules were kept, and what comes next.

use super::{
    CellId,
    buffers::{is_idle, table_name},
    deeds::{Deed, Target, target},
    descriptors::flag_names,
    moment::Moment,
};
use ring_core::{
    memory::{Access, AccessKind, Ordering},
    spec::{DESCRIPTOR_SIZE, Descriptor, Rule, event_crossed, feature, split::Cell, split::slot},
    trace::Call,
};
use serde::{Deserialize, Serialize};

/// One line of what happened. Text between asterisks is emphasised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// Something was written or read.
    Deed {
        /// Its number.
        order: u32,
        /// Whether it changed something; otherwise it was only read.
        writes: bool,
        /// What.
        text: String,
        /// Whether the cursor stands at it.
        current: bool,
        /// Whether the cursor has not reached it.
        to_come: bool,
    },
    /// A barrier between deeds.
    Barrier {
        /// Which, and what it is for.
        text: String,
        /// Whether the cursor stands at it.
        current: bool,
        /// Whether the cursor has not reached it.
        to_come: bool,
    },
}

/// A rule that the call kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleKept {
    /// Its id.
    pub id: String,
    /// Its section in the specification.
    pub section: String,
    /// What it asks for.
    pub requirement: String,
}

/// Who wrote a cell before this step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What the cell is called.
    pub name: String,
    /// The cell.
    pub cell: CellId,
    /// The call.
    pub position: u64,
}

/// The words beside the picture. Text between asterisks is emphasised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What happened, in order.
    pub items: Vec<Item>,
    /// A heading and a reason.
    pub why: Option<(String, String)>,
    /// The rules that the call kept.
    pub rules: Vec<RuleKept>,
    /// A question that comes next, and the arithmetic that answers it.
    pub next: Option<(String, String)>,
    /// Who wrote the step's cell before.
    pub written: Option<Written>,
}

pub(super) fn explanation(moment: &Moment<'_>, deeds: &[Deed], focus: Option<Cell>) -> Explanation {
    let items = match moment.cursor.access {
        Some(_) => accesses(moment),
        None => told(moment, deeds),
    };
    Explanation {
        items,
        why: super::narrate::why(moment),
        rules: moment.call.map(|call| kept(moment, call)).unwrap_or_default(),
        next: if moment.finished() { next(moment) } else { None },
        written: focus.and_then(|cell| written_before(moment, cell)),
    }
}

fn told(moment: &Moment<'_>, deeds: &[Deed]) -> Vec<Item> {
    let mut order = 0;
    let item = |deed: &Deed| {
        let text = text(moment, deed);
        if deed.is_barrier() {
            return Item::Barrier { text, current: false, to_come: false };
        }
        order += 1;
        Item::Deed { order, writes: deed.writes(), text, current: false, to_come: false }
    };
    deeds.iter().map(item).collect()
}

fn text(moment: &Moment<'_>, deed: &Deed) -> String {
    let name = |address: u64| table_name(moment, address);
    match *deed {
        Deed::TableTaken { table, reused: true } => {
            let uses = moment.after.tables.at(table.address).map_or(0, |info| info.uses);
            format!(
                "Table *{}* comes from the cache: *{} use*, no allocation.",
                name(table.address),
                nth(uses)
            )
        }
        Deed::TableTaken { table, reused: false } => format!(
            "Table *{}* is allocated: room for {} entries, {} bytes.",
            name(table.address),
            table.entries,
            table.bytes()
        ),
        Deed::TableReturned { table, cached: true } => {
            format!(
                "Table *{}* goes back to the top of the cache, not to the allocator.",
                name(table.address)
            )
        }
        Deed::TableReturned { table, cached: false } => {
            format!("Table *{}* is given back to the allocator.", name(table.address))
        }
        Deed::Elements { table, count, written: true } => {
            format!("{} written into *{}*.", elements(count, "is", "are"), name(table))
        }
        Deed::Elements { table, count, written: false } => {
            format!("{} read from *{}*.", elements(count, "is", "are"), name(table))
        }
        Deed::Descriptors { first, count: 1, written } => {
            let descriptor = moment.descriptor(first);
            let indirect = descriptor.has(ring_core::spec::descriptor_flag::INDIRECT);
            match (indirect, written) {
                (true, true) => {
                    let entries = descriptor.length / DESCRIPTOR_SIZE;
                    format!(
                        "Slot *{first}* refers to it, len {entries} × 16 = {}. *One* ring slot, not {entries}.",
                        descriptor.length
                    )
                }
                (true, false) => format!(
                    "Slot *{first}* is read: it refers to {}, {} entries.",
                    name(descriptor.address),
                    descriptor.length / DESCRIPTOR_SIZE
                ),
                (false, true) => format!("The element is written into slot *{first}*."),
                (false, false) => {
                    format!("Slot *{first}* is read: one element of {} bytes.", descriptor.length)
                }
            }
        }
        Deed::Descriptors { first, count, written } => {
            let verb = if written { "written" } else { "read" };
            format!("*{count}* slots are {verb}, from slot *{first}* on, linked by next.")
        }
        Deed::Stored { cell, before, value } => stored(moment, cell, before, value),
        Deed::Loaded { cell, value } => match cell {
            Cell::AvailableEntry(at) => format!("avail slot *{at}* is read: head {value}."),
            Cell::UsedEntry(at) => {
                let (id, length) = moment.used_entry(at);
                format!("used slot *{at}* is read: head {id}, len {length}.")
            }
            _ => format!("{} is read: *{value}*.", spoken(cell)),
        },
        Deed::Release => "release: all above is visible before it".to_owned(),
        Deed::Acquire => "acquire: all below is read after it".to_owned(),
        Deed::Fence => "full barrier".to_owned(),
    }
}

fn stored(moment: &Moment<'_>, cell: Cell, before: u64, value: u64) -> String {
    let size = moment.layout().queue_size;
    match cell {
        Cell::AvailableEntry(at) => {
            // The driver counts the buffer when it is placed.
            let index = moment.before.driver.state().available_index;
            format!("avail slot {index} mod {size} = *{at}* ← head {value}")
        }
        Cell::UsedEntry(at) => {
            let (id, length) = moment.used_entry(at);
            let index = moment.before.device.state().used_index;
            format!("used slot {index} mod {size} = *{at}* ← head {id}, len {length}")
        }
        Cell::AvailableIndex | Cell::UsedIndex => {
            format!("{} {before} → *{value}*: published.", spoken(cell))
        }
        _ => format!("{} {before} → *{value}*", spoken(cell)),
    }
}

/// A field as people say it.
pub(crate) fn spoken(cell: Cell) -> String {
    match cell {
        Cell::Descriptor(index) => format!("slot {index}"),
        Cell::AvailableFlags => "avail flags".to_owned(),
        Cell::AvailableIndex => "avail idx".to_owned(),
        Cell::AvailableEntry(slot) => format!("avail slot {slot}"),
        Cell::UsedEvent => "used_event".to_owned(),
        Cell::UsedFlags => "used flags".to_owned(),
        Cell::UsedIndex => "used idx".to_owned(),
        Cell::UsedEntry(slot) => format!("used slot {slot}"),
        Cell::AvailableEvent => "avail_event".to_owned(),
    }
}

/// `1st`, `2nd`, `3rd`, `4th`.
pub(crate) fn nth(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

pub(super) fn elements(count: u16, one: &str, many: &str) -> String {
    match count {
        1 => format!("*1* element {one}"),
        _ => format!("*{count}* elements {many}"),
    }
}

fn accesses(moment: &Moment<'_>) -> Vec<Item> {
    let reached = moment.done().len();
    let item = |(index, access): (usize, &Access)| {
        let (current, to_come) = (index + 1 == reached, index >= reached);
        let text = access_text(moment, access);
        match access.kind {
            AccessKind::Fence => Item::Barrier { text, current, to_come },
            kind => Item::Deed {
                order: index as u32 + 1,
                writes: matches!(kind, AccessKind::Store { .. }),
                text,
                current,
                to_come,
            },
        }
    };
    moment.accesses.iter().enumerate().map(item).collect()
}

fn access_text(moment: &Moment<'_>, access: &Access) -> String {
    let place = match target(moment, access) {
        Target::Ring(cell @ Cell::UsedEntry(_)) => {
            let field = if access.address == moment.layout().address(cell) { "id" } else { "len" };
            format!("*{}* {field}", spoken(cell))
        }
        Target::Ring(cell) => format!("*{}*", spoken(cell)),
        Target::Entry { table, entry } => format!("*{}* entry {entry}", table_name(moment, table)),
        Target::Link { table } => format!("cache link in *{}*", table_name(moment, table)),
        Target::Unknown => format!("{:#x}", access.address),
    };
    let ordering = ordering_name(access.ordering);
    let target = target(moment, access);
    let read = |value: [u64; 2]| match target {
        _ if access.length != 16 => value[0].to_string(),
        Target::Link { .. } => format!("next {:x}, previous {:x}", value[0], value[1]),
        _ => descriptor_text(Descriptor::from_words(value)),
    };
    match access.kind {
        AccessKind::Load { value } => format!("load {place}, {ordering}: {}", read(value)),
        AccessKind::Store { before, value } if access.length != 16 => {
            format!("store {place}, {ordering}: {} → {}", before[0], value[0])
        }
        AccessKind::Store { value, .. } => format!("store {place}, {ordering}: {}", read(value)),
        AccessKind::Fence => format!("full barrier ({ordering})"),
    }
}

fn descriptor_text(descriptor: Descriptor) -> String {
    let mut text = format!("addr {:x}, len {}", descriptor.address, descriptor.length);
    for name in flag_names(descriptor.flags) {
        text.push_str(", ");
        text.push_str(name);
        if name == "NEXT" {
            text.push_str(&format!(" {}", descriptor.next));
        }
    }
    text
}

fn ordering_name(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "relaxed",
        Ordering::Release => "release",
        Ordering::Acquire => "acquire",
        Ordering::AcqRel => "acquire and release",
        _ => "sequentially consistent",
    }
}

fn kept(moment: &Moment<'_>, call: &Call<'_>) -> Vec<RuleKept> {
    let indirect = moment
        .events
        .iter()
        .any(|event| matches!(event, ring_core::probe::Event::Placed { table: Some(_), .. }));
    let event_index = moment.config().features.contains(feature::EVENT_IDX);
    let rules: &[Rule] = match call {
        Call::Add { .. } if indirect => {
            &[Rule::IndirectLength, Rule::SplitIndirectNext, Rule::IndirectNested, Rule::SplitHead]
        }
        Call::Add { .. } => &[Rule::ReadableFirst, Rule::SplitNext, Rule::SplitHead],
        Call::Publish => &[Rule::BarrierPublish, Rule::SplitAvailableIndex],
        Call::Notify { .. } if event_index => &[Rule::BarrierNotify, Rule::NotifyNeeded],
        Call::Notify { .. } => &[Rule::BarrierNotify, Rule::NotifyNeeded, Rule::SplitUsedFlags],
        Call::Reap => &[Rule::UsedId, Rule::UsedLength, Rule::SplitUsedIndex],
        Call::DisableNotifications => &[Rule::SplitAvailableFlags],
        Call::EnableNotifications => &[Rule::RaceRecheck, Rule::SplitAvailableFlags],
        Call::Pop => &[Rule::SplitHead, Rule::SplitNext, Rule::ReadableFirst, Rule::SplitAvailableIndex],
        Call::Complete { .. } => &[Rule::UsedId, Rule::UsedLength],
        Call::CompleteBatch { .. } => &[Rule::InOrder, Rule::UsedLength],
        Call::PublishUsed => &[Rule::BarrierPublish, Rule::SplitUsedIndex],
        Call::NotifyUsed { .. } => &[Rule::BarrierNotify, Rule::NotifyNeeded],
        Call::Wish { .. } => &[Rule::SplitUsedFlags],
        Call::Checkpoint { .. } => &[],
    };
    rules.iter().map(|rule| rule_kept(*rule)).collect()
}

pub(crate) fn rule_kept(rule: Rule) -> RuleKept {
    RuleKept {
        id: rule.id().to_owned(),
        section: rule.section().to_owned(),
        requirement: rule.requirement().to_owned(),
    }
}

fn next(moment: &Moment<'_>) -> Option<(String, String)> {
    let state = moment.state();
    let (driver, device) = (state.driver.state(), state.device.state());
    match moment.call? {
        Call::Add { .. } => Some((
            "Next: made visible".to_owned(),
            format!("avail idx {} → {}, not yet written", driver.published_index, driver.available_index),
        )),
        Call::Publish => Some((
            "Next: is a kick needed?".to_owned(),
            decision(
                moment,
                Cell::AvailableEvent,
                Cell::UsedFlags,
                driver.notified_index,
                driver.published_index,
            ),
        )),
        Call::Notify { .. } => {
            let before = moment.before.driver.state();
            Some((
                "Was a kick needed?".to_owned(),
                decision(
                    moment,
                    Cell::AvailableEvent,
                    Cell::UsedFlags,
                    before.notified_index,
                    before.published_index,
                ),
            ))
        }
        Call::Complete { .. } | Call::CompleteBatch { .. } => Some((
            "Next: made visible".to_owned(),
            format!("used idx {} → {}, not yet written", device.published_index, device.used_index),
        )),
        Call::PublishUsed => Some((
            "Next: is an interrupt needed?".to_owned(),
            decision(
                moment,
                Cell::UsedEvent,
                Cell::AvailableFlags,
                device.notified_index,
                device.published_index,
            ),
        )),
        Call::NotifyUsed { .. } => {
            let before = moment.before.device.state();
            Some((
                "Was an interrupt needed?".to_owned(),
                decision(
                    moment,
                    Cell::UsedEvent,
                    Cell::AvailableFlags,
                    before.notified_index,
                    before.published_index,
                ),
            ))
        }
        _ => None,
    }
}

/// The arithmetic of 2.7.7 and 2.7.10, with the numbers of this moment.
fn decision(moment: &Moment<'_>, event: Cell, flags: Cell, from: u16, to: u16) -> String {
    let answer = |needed: bool| if needed { "yes" } else { "no" };
    if !moment.config().features.contains(feature::EVENT_IDX) {
        let value = moment.half(flags);
        return format!("{} = {value} → {}", spoken(flags), answer(value == 0 && from != to));
    }
    let event = moment.half(event);
    let distance = to.wrapping_sub(event).wrapping_sub(1);
    let added = to.wrapping_sub(from);
    let needed = event_crossed(event, from, to);
    let compare = if needed { "<" } else { "≥" };
    format!("{to} − {event} − 1 = {distance} {compare} {added} new → {}", answer(needed))
}

fn written_before(moment: &Moment<'_>, cell: Cell) -> Option<Written> {
    let position = moment.before.writers.last(moment.layout().address(cell))?;
    let name = match cell {
        Cell::Descriptor(index) => format!("Slot {index}"),
        other => spoken(other),
    };
    Some(Written { name, cell: CellId::Ring(cell), position })
}

/// The cell that a call is mostly about.
pub(super) fn focus_cell(moment: &Moment<'_>, head: Option<u16>) -> Option<Cell> {
    let layout = moment.layout();
    let driver = moment.before.driver.state();
    match moment.call? {
        Call::Add { .. } => head.map(Cell::Descriptor),
        Call::Publish => Some(Cell::AvailableIndex),
        Call::Notify { .. } | Call::Wish { .. } => Some(Cell::AvailableEvent),
        Call::Reap => Some(Cell::UsedEntry(slot(layout, driver.last_used))),
        Call::DisableNotifications | Call::EnableNotifications => Some(Cell::UsedEvent),
        Call::Pop => Some(Cell::AvailableEntry(slot(layout, moment.before.device.state().last_available))),
        Call::Complete { .. } | Call::CompleteBatch { .. } => {
            Some(Cell::UsedEntry(slot(layout, moment.before.device.state().used_index)))
        }
        Call::PublishUsed => Some(Cell::UsedIndex),
        Call::NotifyUsed { .. } => Some(Cell::UsedEvent),
        Call::Checkpoint { .. } => None,
    }
}

/// Whether the table of a buffer that came back is in the cache again.
pub(super) fn returned_to_cache(moment: &Moment<'_>, table: u64) -> bool {
    is_idle(moment.after, table)
}
