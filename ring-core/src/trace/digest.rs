//! The memory of a ring, whole, and its digest.

use super::QueueHeader;
use crate::{
    QueueConfig,
    memory::{Memory, Ordering, OutOfRange},
    spec::{Format, feature, split::Cell},
};
use alloc::vec::Vec;
use twox_hash::XxHash64;

/// A copy of everything that a queue's two sides write: descriptor area, driver area, device area, and the range that
/// tables come from, one behind the other.
#[derive(Clone, Debug)]
pub struct RingImage {
    config: QueueConfig,
    bytes: Vec<u8>,
}

impl RingImage {
    /// Copies it. What a peer writes meanwhile may be seen in part.
    pub fn copy<M: Memory>(memory: &M, queue: &QueueHeader) -> Result<Self, OutOfRange> {
        let config = queue.config;
        let mut bytes = Vec::new();
        for area in config.layout.areas(config.format()) {
            copy_halves(memory, area.address, area.length, &mut bytes)?;
        }
        copy_words(memory, queue.tables.base, queue.tables.length & !15, &mut bytes)?;
        Ok(RingImage { config, bytes })
    }

    /// XXH64 of the bytes, seed 0.
    pub fn digest(&self) -> u64 {
        XxHash64::oneshot(0, &self.bytes)
    }

    /// What the device wants of notifications, in the form of [`Notify::seen`](crate::driver::Notify::seen).
    pub fn device_wish(&self) -> Option<u32> {
        let layout = &self.config.layout;
        let [descriptors, driver, device] = layout.areas(self.config.format());
        let (address, length) = match self.config.format() {
            Format::Packed => (device.address, 4),
            Format::Split if self.config.features.contains(feature::EVENT_IDX) => {
                (layout.address(Cell::AvailableEvent), 2)
            }
            Format::Split => (layout.address(Cell::UsedFlags), 2),
        };
        let start = (descriptors.length + driver.length + (address - device.address)) as usize;
        let bytes = self.bytes.get(start..start + length)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
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
