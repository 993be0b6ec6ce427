//! The first thing in a trace.

use crate::{QueueConfig, Side, indirect::TableStrategy};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// The version this crate writes, and the newest it reads.
pub const TRACE_VERSION: u16 = 1;

/// What was recorded, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub version: u16,
    /// The program that recorded, with its version.
    pub made_by: String,
    /// Where the calls come from.
    pub source: Source,
    /// The side whose calls were recorded as they were made; the other side's were observed from it.
    pub observed_from: Side,
    /// What a tick of [`Record::time`](super::Record) is: ticks in a second.
    pub ticks_per_second: u64,
    /// One for each recorded queue.
    pub queues: Vec<QueueHeader>,
}

/// Where the calls come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The device, as people call it: `virtio-net`.
    pub device: String,
    /// Who implements it, with version: `QEMU 10.0.2`.
    pub implementation: String,
    /// More facts, by name: machine, command line, seed.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// A recorded queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHeader {
    /// Its name at the device: `transmit`.
    pub name: String,
    /// Its index at the device.
    pub index: u16,
    /// Size, addresses, features.
    pub config: QueueConfig,
    /// Where its tables come from.
    pub strategy: TableStrategy,
    /// The memory that tables come from.
    pub tables: MemoryRange,
}

/// A range of guest memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRange {
    /// First guest address.
    pub base: u64,
    /// Bytes.
    pub length: u64,
}

/// More memory than this for one queue's ring and tables is refused, lest a header's two far addresses ask for all.
pub(crate) const LARGEST_MEMORY: u64 = 64 << 20;

impl QueueHeader {
    /// The range that holds the ring and its tables; `None` if it would be larger than 64 MiB or reaches past the
    /// last address.
    pub fn memory(&self) -> Option<MemoryRange> {
        let areas = self.config.layout.areas(self.config.format()).map(|area| (area.address, area.length));
        let tables = (self.tables.base, self.tables.length);
        let mut base = u64::MAX;
        let mut end = 0;
        for (start, length) in areas.into_iter().chain([tables]) {
            if length > 0 {
                base = base.min(start);
                end = end.max(start.checked_add(length)?);
            }
        }
        let length = end.checked_sub(base)?;
        (length <= LARGEST_MEMORY).then_some(MemoryRange { base, length })
    }
}
