//! Where the parts of a split ring lie (virtio 1.2, 2.7 "Split Virtqueues").

use super::{DESCRIPTOR_SIZE, MAXIMUM_QUEUE_SIZE};
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

/// Size and guest addresses of one split ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    /// Descriptors of the ring: a power of two, at most 32768.
    pub queue_size: u16,
    /// Guest address of the descriptor table, 16-byte aligned.
    pub descriptor_area: u64,
    /// Guest address of the available ring, 2-byte aligned.
    pub driver_area: u64,
    /// Guest address of the used ring, 4-byte aligned.
    pub device_area: u64,
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

/// Bytes of the available ring: flags, idx, entries, used_event.
const fn available_length(queue_size: u16) -> u64 {
    6 + 2 * queue_size as u64
}

/// Bytes of the used ring: flags, idx, entries, avail_event.
const fn used_length(queue_size: u16) -> u64 {
    6 + 8 * queue_size as u64
}

impl Layout {
    /// The three parts one behind the other from `base` on, each on a cache line of its own.
    pub fn contiguous(queue_size: u16, base: u64) -> Self {
        let descriptor_area = base.next_multiple_of(64);
        let driver_area = descriptor_area + queue_size as u64 * DESCRIPTOR_SIZE as u64;
        let device_area = (driver_area + available_length(queue_size)).next_multiple_of(64);
        Layout { queue_size, descriptor_area, driver_area, device_area }
    }

    /// What is wrong with it, if anything, as rule (`B-SIZE`, `B-ALIGN`) and value.
    pub fn check(&self) -> Result<(), LayoutError> {
        let size = self.queue_size;
        if !(size.is_power_of_two() && size <= MAXIMUM_QUEUE_SIZE) {
            return Err(LayoutError::Size(size));
        }
        let parts = self.parts();
        for ((part, address, length), alignment) in parts.into_iter().zip([16, 2, 4]) {
            if !address.is_multiple_of(alignment) {
                return Err(LayoutError::Alignment { part, address, alignment });
            }
            if address.checked_add(length).is_none() {
                return Err(LayoutError::PastTheEnd { part, address, length });
            }
        }
        Ok(())
    }

    /// Name, guest address and bytes of the three parts.
    pub fn parts(&self) -> [(&'static str, u64, u64); 3] {
        [
            ("descriptor area", self.descriptor_area, self.queue_size as u64 * DESCRIPTOR_SIZE as u64),
            ("driver area", self.driver_area, available_length(self.queue_size)),
            ("device area", self.device_area, used_length(self.queue_size)),
        ]
    }

    /// The slot that a free-running index means: `index` modulo the queue size.
    #[inline]
    pub fn slot(&self, index: u16) -> u16 {
        index & self.queue_size.wrapping_sub(1)
    }

    /// Guest address of a field.
    #[inline]
    pub fn address(&self, cell: Cell) -> u64 {
        match cell {
            Cell::Descriptor(index) => self.descriptor_area + index as u64 * DESCRIPTOR_SIZE as u64,
            Cell::AvailableFlags => self.driver_area,
            Cell::AvailableIndex => self.driver_area + 2,
            Cell::AvailableEntry(slot) => self.driver_area + 4 + 2 * slot as u64,
            Cell::UsedEvent => self.driver_area + 4 + 2 * self.queue_size as u64,
            Cell::UsedFlags => self.device_area,
            Cell::UsedIndex => self.device_area + 2,
            Cell::UsedEntry(slot) => self.device_area + 4 + 8 * slot as u64,
            Cell::AvailableEvent => self.device_area + 4 + 8 * self.queue_size as u64,
        }
    }

    /// The field that the byte at `address` belongs to.
    pub fn cell_at(&self, address: u64) -> Option<Cell> {
        let [descriptors, driver, device] = self
            .parts()
            .map(|(_, start, length)| address.checked_sub(start).filter(|offset| *offset < length));
        if let Some(offset) = descriptors {
            return Some(Cell::Descriptor((offset / DESCRIPTOR_SIZE as u64) as u16));
        }
        if let Some(offset) = driver {
            return Some(match offset / 2 {
                0 => Cell::AvailableFlags,
                1 => Cell::AvailableIndex,
                field if field - 2 < self.queue_size as u64 => Cell::AvailableEntry((field - 2) as u16),
                _ => Cell::UsedEvent,
            });
        }
        let offset = device?;
        Some(match offset {
            0..2 => Cell::UsedFlags,
            2..4 => Cell::UsedIndex,
            _ if (offset - 4) / 8 < self.queue_size as u64 => Cell::UsedEntry(((offset - 4) / 8) as u16),
            _ => Cell::AvailableEvent,
        })
    }
}

/// Why a layout cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// Not a power of two, or not within 1..=32768 (`B-SIZE`).
    Size(u16),
    /// A part is not aligned (`B-ALIGN`).
    Alignment {
        /// Which of the three.
        part: &'static str,
        /// Its guest address.
        address: u64,
        /// What the address must be a multiple of.
        alignment: u64,
    },
    /// A part reaches past the last address.
    PastTheEnd {
        /// Which of the three.
        part: &'static str,
        /// Its guest address.
        address: u64,
        /// Its bytes.
        length: u64,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Size(size) => {
                write!(f, "B-SIZE: queue size {size} is not a power of two of at most {MAXIMUM_QUEUE_SIZE}")
            }
            LayoutError::Alignment { part, address, alignment } => {
                write!(f, "B-ALIGN: the {part} at {address:#x} is not aligned to {alignment} bytes")
            }
            LayoutError::PastTheEnd { part, address, length } => {
                write!(f, "the {part} of {length} bytes at {address:#x} reaches past the last guest address")
            }
        }
    }
}

impl core::error::Error for LayoutError {}

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
        assert_eq!(layout.cell_at(0xfff), None);
        let end = layout.address(Cell::AvailableEvent) + 2;
        assert_eq!(layout.cell_at(end - 1), Some(Cell::AvailableEvent));
        assert_eq!(layout.cell_at(end), None);
    }

    #[test]
    fn refuses_impossible_layouts() {
        let good = Layout::contiguous(256, 0x1000);
        assert_eq!(good.check(), Ok(()));
        for queue_size in [0, 3, 32769, 65535] {
            assert_eq!(Layout { queue_size, ..good }.check(), Err(LayoutError::Size(queue_size)));
        }
        assert!(matches!(
            Layout { descriptor_area: 0x1008, ..good }.check(),
            Err(LayoutError::Alignment { alignment: 16, .. })
        ));
        assert!(matches!(
            Layout { device_area: 2, ..good }.check(),
            Err(LayoutError::Alignment { alignment: 4, .. })
        ));
        assert!(matches!(
            Layout { descriptor_area: u64::MAX - 15, ..good }.check(),
            Err(LayoutError::PastTheEnd { .. })
        ));
    }
}
