//! The single loads, stores and fences of a call in words.

use super::{
    Item,
    buffers::table_name,
    deeds::{Target, target},
    descriptors::flag_names,
    moment::Moment,
    words::spoken,
};
use ring_core::{
    memory::{Access, AccessKind, Ordering},
    spec::{Descriptor, split::Cell},
};

/// Every access of a call; those after the cursor are to come.
pub(super) fn accesses(moment: &Moment<'_>) -> Vec<Item> {
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
