//! The memory of a ring, whole, and its digest.

use super::QueueHeader;
use crate::{
    memory::{Memory, Ordering, OutOfRange},
    spec::split::{Cell, Layout},
};
use alloc::vec::Vec;
use twox_hash::XxHash64;

/// A copy of everything that a queue's two sides write: descriptor area, driver area, device area, and the range that
/// tables come from, one behind the other.
#[derive(Clone, Debug)]
pub struct RingImage {
    layout: Layout,
    bytes: Vec<u8>,
}

impl RingImage {
    /// Copies it. What a peer writes meanwhile may be seen in part.
    pub fn copy<M: Memory>(memory: &M, queue: &QueueHeader) -> Result<Self, OutOfRange> {
        let layout = queue.config.layout;
        let [descriptors, driver, device] = layout.parts();
        let mut bytes =
            Vec::with_capacity((descriptors.2 + driver.2 + device.2 + queue.tables.length) as usize);
        copy_words(memory, descriptors.1, descriptors.2, &mut bytes)?;
        copy_halves(memory, driver.1, driver.2, &mut bytes)?;
        copy_halves(memory, device.1, device.2, &mut bytes)?;
        copy_words(memory, queue.tables.base, queue.tables.length & !15, &mut bytes)?;
        Ok(RingImage { layout, bytes })
    }

    /// XXH64 of the bytes, seed 0.
    pub fn digest(&self) -> u64 {
        XxHash64::oneshot(0, &self.bytes)
    }

    /// A field of 16 bits of the device area, or `None` for other cells.
    pub fn device_field(&self, cell: Cell) -> Option<u16> {
        let [descriptors, driver, device] = self.layout.parts();
        let offset = self.layout.address(cell).checked_sub(device.1).filter(|offset| *offset < device.2)?;
        let start = (descriptors.2 + driver.2 + offset) as usize;
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
