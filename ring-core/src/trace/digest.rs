//! The memory of a ring, whole, and its digest.

use super::QueueHeader;
use crate::{
    memory::{Memory, Ordering, OutOfRange},
    spec::{Format, Layout, split},
};
use alloc::vec::Vec;
use twox_hash::XxHash64;

/// A copy of everything that a queue's two sides write: descriptor area, driver area, device area, and the range that
/// tables come from, one behind the other.
#[derive(Clone, Debug)]
pub struct RingImage {
    layout: Layout,
    format: Format,
    bytes: Vec<u8>,
}

impl RingImage {
    /// Copies it. What a peer writes meanwhile may be seen in part.
    pub fn copy<M: Memory>(memory: &M, queue: &QueueHeader) -> Result<Self, OutOfRange> {
        let (layout, format) = (queue.config.layout, queue.config.format());
        let mut bytes = Vec::new();
        for area in layout.areas(format) {
            copy_halves(memory, area.address, area.length, &mut bytes)?;
        }
        copy_words(memory, queue.tables.base, queue.tables.length & !15, &mut bytes)?;
        Ok(RingImage { layout, format, bytes })
    }

    /// XXH64 of the bytes, seed 0.
    pub fn digest(&self) -> u64 {
        XxHash64::oneshot(0, &self.bytes)
    }

    /// A field of 16 bits of a split ring's device area, or `None` for other cells and formats.
    pub fn device_field(&self, cell: split::Cell) -> Option<u16> {
        let [descriptors, driver, device] = self.layout.areas(self.format);
        let address = self.layout.address(cell);
        let offset = address.checked_sub(device.address).filter(|offset| *offset < device.length)?;
        let start = (descriptors.length + driver.length + offset) as usize;
        Some(u16::from_le_bytes(self.bytes.get(start..start + 2)?.try_into().ok()?))
    }
}

fn copy_words<M: Memory>(memory: &M, start: u64, length: u64, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
    for offset in (0..length).step_by(16) {
        for word in memory.load_words(start + offset)? {
            to.extend_from_slice(&word.to_le_bytes());
        }
    }
    Ok(())
}

fn copy_halves<M: Memory>(memory: &M, start: u64, length: u64, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
    for offset in (0..length).step_by(2) {
        to.extend_from_slice(&memory.load_u16(start + offset, Ordering::Relaxed)?.to_le_bytes());
    }
    Ok(())
}
