//! Size and addresses of a ring, the same three areas in both formats.

use super::{DESCRIPTOR_SIZE, MAXIMUM_QUEUE_SIZE, split};
use core::fmt;

/// The two ring formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Format {
    /// 2.7 "Split Virtqueues".
    Split,
    /// 2.8 "Packed Virtqueues".
    Packed,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Split => "split",
            Format::Packed => "packed",
        })
    }
}

/// Size and guest addresses of one ring. How much of the areas is used depends on the [`Format`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Layout {
    /// Descriptors of the ring: 1 to 32768, a power of two for a split ring.
    pub queue_size: u16,
    /// Guest address of the descriptor area (the descriptor table or ring), 16-byte aligned.
    pub descriptor_area: u64,
    /// Guest address of the driver area (the available ring or the driver's event structure), 2- or 4-byte aligned.
    pub driver_area: u64,
    /// Guest address of the device area (the used ring or the device's event structure), 4-byte aligned.
    pub device_area: u64,
}

/// A field of a ring of one format: where it is, and which one is somewhere.
pub trait RingCell: Copy {
    /// Guest address of the field.
    fn address(self, layout: &Layout) -> u64;

    /// The field that the byte at a guest address belongs to.
    fn at(layout: &Layout, address: u64) -> Option<Self>;
}

impl Layout {
    /// The three areas one behind the other from `base` on, each on a cache line of its own, with room for either
    /// format.
    pub fn contiguous(queue_size: u16, base: u64) -> Self {
        let descriptor_area = base.next_multiple_of(64);
        let driver_area = descriptor_area + queue_size as u64 * DESCRIPTOR_SIZE as u64;
        let device_area = (driver_area + split::available_length(queue_size)).next_multiple_of(64);
        Layout { queue_size, descriptor_area, driver_area, device_area }
    }

    /// Whether a ring of this format can be there: rules `B-SIZE` and `B-ALIGN`, and its areas lie apart.
    pub fn check(&self, format: Format) -> Result<(), LayoutError> {
        let size = self.queue_size;
        let possible = match format {
            Format::Split => size.is_power_of_two(),
            Format::Packed => size != 0,
        };
        if !possible || size > MAXIMUM_QUEUE_SIZE {
            return Err(LayoutError::Size(size, format));
        }
        let alignments = match format {
            Format::Split => [16, 2, 4],
            Format::Packed => [16, 4, 4],
        };
        for (Area { name, address, length }, alignment) in self.areas(format).into_iter().zip(alignments) {
            if !address.is_multiple_of(alignment) {
                return Err(LayoutError::Alignment { area: name, address, alignment });
            }
            if address.checked_add(length).is_none() {
                return Err(LayoutError::PastTheEnd { area: name, address, length });
            }
        }
        let areas = self.areas(format);
        for (index, first) in areas.iter().enumerate() {
            for second in &areas[index + 1..] {
                if first.address < second.address + second.length
                    && second.address < first.address + first.length
                {
                    return Err(LayoutError::Overlap { first: *first, second: *second });
                }
            }
        }
        Ok(())
    }

    /// The three areas as a ring of this format uses them.
    pub fn areas(&self, format: Format) -> [Area; 3] {
        let size = self.queue_size;
        let (driver, device) = match format {
            Format::Split => (split::available_length(size), split::used_length(size)),
            Format::Packed => (super::packed::EVENT_LENGTH, super::packed::EVENT_LENGTH),
        };
        let descriptors = size as u64 * DESCRIPTOR_SIZE as u64;
        [
            Area { name: "descriptor area", address: self.descriptor_area, length: descriptors },
            Area { name: "driver area", address: self.driver_area, length: driver },
            Area { name: "device area", address: self.device_area, length: device },
        ]
    }

    /// Guest address of a field.
    #[inline(always)]
    pub fn address(&self, cell: impl RingCell) -> u64 {
        cell.address(self)
    }

    /// The field that the byte at `address` belongs to.
    pub fn cell_at<C: RingCell>(&self, address: u64) -> Option<C> {
        C::at(self, address)
    }

    /// The descriptor that the byte at `address` belongs to.
    pub(super) fn descriptor_at(&self, address: u64) -> Option<u16> {
        let index = address.checked_sub(self.descriptor_area)? / DESCRIPTOR_SIZE as u64;
        (index < self.queue_size as u64).then_some(index as u16)
    }

    /// Guest address of a descriptor.
    #[inline(always)]
    pub(super) fn descriptor(&self, index: u16) -> u64 {
        self.descriptor_area + index as u64 * DESCRIPTOR_SIZE as u64
    }
}

/// One of a ring's three areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// What the specification calls it.
    pub name: &'static str,
    /// Guest address.
    pub address: u64,
    /// Bytes.
    pub length: u64,
}

/// Why a layout cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// No queue of that format has that size (`B-SIZE`).
    Size(u16, Format),
    /// An area is not aligned (`B-ALIGN`).
    Alignment {
        /// Which of the three.
        area: &'static str,
        /// Its guest address.
        address: u64,
        /// What the address must be a multiple of.
        alignment: u64,
    },
    /// An area reaches past the last address.
    PastTheEnd {
        /// Which of the three.
        area: &'static str,
        /// Its guest address.
        address: u64,
        /// Its bytes.
        length: u64,
    },
    /// Two areas share bytes, so that one side would overwrite what the other wrote.
    Overlap {
        /// One area.
        first: Area,
        /// The other.
        second: Area,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Size(size, Format::Split) => {
                write!(f, "B-SIZE: queue size {size} is not a power of two of at most {MAXIMUM_QUEUE_SIZE}")
            }
            LayoutError::Size(size, Format::Packed) => {
                write!(f, "B-SIZE: queue size {size} is not within 1 to {MAXIMUM_QUEUE_SIZE}")
            }
            LayoutError::Alignment { area, address, alignment } => {
                write!(f, "B-ALIGN: the {area} at {address:#x} is not aligned to {alignment} bytes")
            }
            LayoutError::PastTheEnd { area, address, length } => {
                write!(f, "the {area} of {length} bytes at {address:#x} reaches past the last guest address")
            }
            LayoutError::Overlap { first, second } => write!(
                f,
                "the {} of {} bytes at {:#x} and the {} of {} bytes at {:#x} overlap",
                first.name, first.length, first.address, second.name, second.length, second.address
            ),
        }
    }
}

impl core::error::Error for LayoutError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_impossible_layouts() {
        let good = Layout::contiguous(256, 0x1000);
        for format in [Format::Split, Format::Packed] {
            assert_eq!(good.check(format), Ok(()));
            for queue_size in [0, 32769, 65535] {
                let bad = Layout { queue_size, ..good };
                assert_eq!(bad.check(format), Err(LayoutError::Size(queue_size, format)));
            }
            let bad = Layout { descriptor_area: 0x1008, ..good };
            assert!(matches!(bad.check(format), Err(LayoutError::Alignment { alignment: 16, .. })));
            let bad = Layout { device_area: 2, ..good };
            assert!(matches!(bad.check(format), Err(LayoutError::Alignment { alignment: 4, .. })));
            let bad = Layout { descriptor_area: u64::MAX - 15, ..good };
            assert!(matches!(bad.check(format), Err(LayoutError::PastTheEnd { .. })));
        }
        // An available ring is 6 + 2 * N bytes, its event field included.
        let available = good.driver_area;
        for (device_area, overlaps) in [(available + 516, true), (available + 520, false)] {
            let near = Layout { device_area, ..good };
            assert_eq!(matches!(near.check(Format::Split), Err(LayoutError::Overlap { .. })), overlaps);
        }
        let odd = Layout { queue_size: 3, ..good };
        assert_eq!(odd.check(Format::Split), Err(LayoutError::Size(3, Format::Split)));
        assert_eq!(odd.check(Format::Packed), Ok(()));
        let halves = Layout { driver_area: 0x2002, ..good };
        assert_eq!(halves.check(Format::Split), Ok(()));
        assert!(matches!(halves.check(Format::Packed), Err(LayoutError::Alignment { .. })));
    }
}
