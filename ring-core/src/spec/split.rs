//! The fields of a split ring (virtio 1.2, 2.7 "Split Virtqueues").

use super::layout::{Layout, RingCell};
use core::fmt;

/// Values of the available ring's `flags` (2.7.6).
pub mod available_flag {
    /// The driver asks for no used buffer notifications.
    pub const NO_INTERRUPT: u16 = 1;
}

/// Values of the used ring's `flags` (2.7.8).
pub mod used_flag {
    /// The device asks for no available buffer notifications.
    pub const NO_NOTIFY: u16 = 1;
}

/// Bytes of the available ring: flags, idx, entries, used_event.
pub(super) const fn available_length(queue_size: u16) -> u64 {
    6 + 2 * queue_size as u64
}

/// Bytes of the used ring: flags, idx, entries, avail_event.
pub(super) const fn used_length(queue_size: u16) -> u64 {
    6 + 8 * queue_size as u64
}

/// The slot of either ring that a free-running index means: the index modulo the queue size.
#[inline(always)]
pub fn slot(layout: &Layout, index: u16) -> u16 {
    index & layout.queue_size.wrapping_sub(1)
}

/// One field of a split ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Cell {
    /// A descriptor of the descriptor table, by its index.
    Descriptor(u16),
    /// `flags` of the available ring.
    AvailableFlags,
    /// `idx` of the available ring.
    AvailableIndex,
    /// An entry of the available ring, by its slot.
    AvailableEntry(u16),
    /// `used_event`, behind the available ring.
    UsedEvent,
    /// `flags` of the used ring.
    UsedFlags,
    /// `idx` of the used ring.
    UsedIndex,
    /// An entry of the used ring (`id`, `len`), by its slot.
    UsedEntry(u16),
    /// `avail_event`, behind the used ring.
    AvailableEvent,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Descriptor(index) => write!(f, "descriptor {index}"),
            Cell::AvailableFlags => write!(f, "avail.flags"),
            Cell::AvailableIndex => write!(f, "avail.idx"),
            Cell::AvailableEntry(slot) => write!(f, "avail.ring[{slot}]"),
            Cell::UsedEvent => write!(f, "used_event"),
            Cell::UsedFlags => write!(f, "used.flags"),
            Cell::UsedIndex => write!(f, "used.idx"),
            Cell::UsedEntry(slot) => write!(f, "used.ring[{slot}]"),
            Cell::AvailableEvent => write!(f, "avail_event"),
        }
    }
}

impl RingCell for Cell {
    #[inline(always)]
    fn address(self, layout: &Layout) -> u64 {
        match self {
            Cell::Descriptor(index) => layout.descriptor(index),
            Cell::AvailableFlags => layout.driver_area,
            Cell::AvailableIndex => layout.driver_area + 2,
            Cell::AvailableEntry(slot) => layout.driver_area + 4 + 2 * slot as u64,
            Cell::UsedEvent => layout.driver_area + 4 + 2 * layout.queue_size as u64,
            Cell::UsedFlags => layout.device_area,
            Cell::UsedIndex => layout.device_area + 2,
            Cell::UsedEntry(slot) => layout.device_area + 4 + 8 * slot as u64,
            Cell::AvailableEvent => layout.device_area + 4 + 8 * layout.queue_size as u64,
        }
    }

    fn at(layout: &Layout, address: u64) -> Option<Self> {
        let size = layout.queue_size as u64;
        let within = |start: u64, length: u64| address.checked_sub(start).filter(|offset| *offset < length);
        if let Some(index) = layout.descriptor_at(address) {
            return Some(Cell::Descriptor(index));
        }
        if let Some(offset) = within(layout.driver_area, available_length(layout.queue_size)) {
            return Some(match offset / 2 {
                0 => Cell::AvailableFlags,
                1 => Cell::AvailableIndex,
                field if field - 2 < size => Cell::AvailableEntry((field - 2) as u16),
                _ => Cell::UsedEvent,
            });
        }
        let offset = within(layout.device_area, used_length(layout.queue_size))?;
        Some(match offset {
            0..2 => Cell::UsedFlags,
            2..4 => Cell::UsedIndex,
            _ if (offset - 4) / 8 < size => Cell::UsedEntry(((offset - 4) / 8) as u16),
            _ => Cell::AvailableEvent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_found_at_its_address_and_nowhere_else() {
        let layout = Layout::contiguous(8, 0x1000);
        let mut cells = alloc::vec![
            Cell::AvailableFlags,
            Cell::AvailableIndex,
            Cell::UsedEvent,
            Cell::UsedFlags,
            Cell::UsedIndex,
            Cell::AvailableEvent,
        ];
        for i in 0..8 {
            cells.extend([Cell::Descriptor(i), Cell::AvailableEntry(i), Cell::UsedEntry(i)]);
        }
        for cell in cells {
            assert_eq!(layout.cell_at(layout.address(cell)), Some(cell));
        }
        assert_eq!(layout.cell_at::<Cell>(0xfff), None);
        let end = layout.address(Cell::AvailableEvent) + 2;
        assert_eq!(layout.cell_at(end - 1), Some(Cell::AvailableEvent));
        assert_eq!(layout.cell_at::<Cell>(end), None);
    }
}
