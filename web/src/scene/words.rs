//! Names and numbers as people say them.

use ring_core::spec::split::Cell;

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
