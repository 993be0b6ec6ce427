//! The deeds of a call in words.

use super::{
    Item,
    buffers::table_name,
    deeds::Deed,
    moment::Moment,
    words::{nth, spoken},
};
use ring_core::spec::{DESCRIPTOR_SIZE, descriptor_flag, split::Cell};

/// Every deed of a call, numbered, with the barriers between.
pub(super) fn told(moment: &Moment<'_>, deeds: &[Deed]) -> Vec<Item> {
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
            let indirect = descriptor.has(descriptor_flag::INDIRECT);
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

fn elements(count: u16, one: &str, many: &str) -> String {
    match count {
        1 => format!("*1* element {one}"),
        _ => format!("*{count}* elements {many}"),
    }
}
