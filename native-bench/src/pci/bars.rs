//! Base address registers: how large each region is, and where in the machine's addresses it lies.

use super::config_space::ConfigSpace;
use crate::qemu::QtestError;

/// Configuration space offset of the first.
const FIRST: u8 = 0x10;
/// How many there are.
const COUNT: usize = 6;
/// The part of the addresses below 4 GiB that the machine leaves to PCI devices and where nothing else is.
const WINDOW: std::ops::Range<u64> = 0xe000_0000..0xf000_0000;
/// Bit 0: the region is one of ports, not of memory.
const PORTS: u32 = 1;
/// Bits 2 and 1: a 64-bit address, whose upper half stands in the next register.
const WIDTH_MASK: u32 = 0b110;
const WIDTH_64: u32 = 0b100;
/// The bits that are no address.
const ATTRIBUTES: u32 = 0xf;

/// One memory region of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bar {
    address: u64,
    length: u64,
}

/// The memory regions of a device, by the number of the register.
#[derive(Clone, Debug, Default)]
pub struct Bars([Option<Bar>; COUNT]);

/// Why a device's regions cannot be placed or used.
#[derive(Debug, thiserror::Error)]
pub enum BarError {
    /// No room is left for it.
    #[error("BAR {bar} of {length:#x} bytes does not fit into the PCI window {WINDOW:#x?}")]
    NoRoom {
        /// Number of the register.
        bar: usize,
        /// Bytes it asks for.
        length: u64,
    },
    /// Something lies in a region that is not there, or past its end.
    #[error(
        "{length:#x} bytes at offset {offset:#x} of BAR {bar} do not lie in one of the device's memory regions"
    )]
    Outside {
        /// Number of the register.
        bar: u8,
        /// Offset in it.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// The bus.
    #[error(transparent)]
    Bus(#[from] QtestError),
}

impl Bars {
    /// Asks for the size of each memory region and gives each an address, one behind the other.
    pub fn assign(space: &mut impl ConfigSpace) -> Result<Self, BarError> {
        let mut bars = Bars::default();
        let mut next = WINDOW.start;
        let mut upper_half = false;
        for (bar, place) in bars.0.iter_mut().enumerate() {
            if std::mem::take(&mut upper_half) {
                continue;
            }
            let register = FIRST + 4 * bar as u8;
            // Bits below the size stay zero when ones are written.
            space.write_u32(register, u32::MAX)?;
            let mask = space.read_u32(register)?;
            if mask & !ATTRIBUTES == 0 || mask & PORTS != 0 {
                continue;
            }
            upper_half = mask & WIDTH_MASK == WIDTH_64;
            let length = u64::from(!(mask & !ATTRIBUTES)) + 1;
            let address = next.next_multiple_of(length);
            next = address + length;
            if next > WINDOW.end {
                return Err(BarError::NoRoom { bar, length });
            }
            space.write_u32(register, address as u32)?;
            if upper_half {
                space.write_u32(register + 4, 0)?;
            }
            *place = Some(Bar { address, length });
        }
        Ok(bars)
    }

    /// The machine's address of `length` bytes at `offset` of region `bar`.
    pub fn address(&self, bar: u8, offset: u64, length: u64) -> Result<u64, BarError> {
        let region = self.0.get(usize::from(bar)).copied().flatten();
        let region =
            region.filter(|region| offset.checked_add(length).is_some_and(|end| end <= region.length));
        region.map(|region| region.address + offset).ok_or(BarError::Outside { bar, offset, length })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::config_space::PortConfigSpace, super::fake::FakeDevice, *};
    use proptest::prelude::*;

    #[test]
    fn regions_do_not_reach_past_their_end() {
        let mut device = FakeDevice::network();
        let bars = Bars::assign(&mut PortConfigSpace::new(&mut device, 4)).unwrap();
        assert_eq!(bars.address(4, 0x3ffc, 4).unwrap(), 0xe000_7ffc);
        for (bar, offset, length) in
            [(4, 0x3ffd, 4), (4, u64::MAX, 2), (0, 0, 1), (5, 0, 1), (6, 0, 1), (255, 0, 0)]
        {
            assert!(
                matches!(bars.address(bar, offset, length), Err(BarError::Outside { .. })),
                "{bar} {offset}"
            );
        }
    }

    #[test]
    fn a_region_larger_than_the_window_is_refused() {
        let mut device = FakeDevice::network();
        device.set_bar_length(4, 1 << 29);
        let error = Bars::assign(&mut PortConfigSpace::new(&mut device, 4)).unwrap_err();
        assert!(matches!(error, BarError::NoRoom { bar: 4, length: 0x2000_0000 }), "{error}");
    }

    proptest! {
        #[test]
        fn regions_are_aligned_and_apart(shifts in prop::array::uniform3(4_u32..24)) {
            let mut device = FakeDevice::network();
            for (bar, shift) in [1, 2, 3].into_iter().zip(shifts) {
                device.set_bar_length(bar, 1 << shift);
            }
            let bars = Bars::assign(&mut PortConfigSpace::new(&mut device, 4)).unwrap();
            let placed: Vec<Bar> = bars.0.iter().flatten().copied().collect();
            prop_assert_eq!(placed.len(), 4);
            for bar in &placed {
                prop_assert!(bar.address.is_multiple_of(bar.length));
            }
            for pair in placed.windows(2) {
                prop_assert!(pair[0].address + pair[0].length <= pair[1].address);
            }
        }
    }
}
