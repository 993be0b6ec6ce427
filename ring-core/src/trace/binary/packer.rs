//! From records to blocks, and from blocks to a file.

use super::{
    block::{MAXIMUM_BLOCK, RECORDS_PER_BLOCK, pack_block},
    delta::Delta,
    file::pack_index,
};
use crate::trace::Record;
use alloc::vec::Vec;

/// Bytes of room that come with a queue's first record.
const SMALLEST_BUFFER: usize = 4096;

/// Collects the records of one queue into a block.
#[derive(Debug)]
pub(crate) struct Packer {
    queue: u16,
    delta: Delta,
    unpacked: Vec<u8>,
    used: usize,
    records: u32,
    last_time: u64,
}

/// A block ready to be written.
pub(crate) struct PackedBlock {
    queue: u16,
    records: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Packer {
    pub(crate) fn new(queue: u16) -> Self {
        // Room comes with the first record: a header may name many queues that have none.
        Packer { queue, delta: Delta::default(), unpacked: Vec::new(), used: 0, records: 0, last_time: 0 }
    }

    pub(crate) fn push(&mut self, record: &Record<'_>) {
        self.last_time = record.time;
        let (unpacked, used) = (&mut self.unpacked, self.used);
        let end = self.delta.encode(record, |coded| {
            loop {
                match postcard::to_slice(coded, unpacked.get_mut(used..).unwrap_or_default()) {
                    Ok(written) => break used + written.len(),
                    // Only a full buffer stops postcard from writing these types. It grows with what is written, for a
                    // header may name many queues that have few records each.
                    Err(_) => unpacked.resize((unpacked.len() * 2).max(SMALLEST_BUFFER), 0),
                }
            }
        });
        self.used = end;
        self.records += 1;
    }

    pub(crate) fn last_time(&self) -> u64 {
        self.last_time
    }

    pub(crate) fn is_full(&self) -> bool {
        self.records >= RECORDS_PER_BLOCK || self.used >= MAXIMUM_BLOCK
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The block so far; the next one begins.
    pub(crate) fn take(&mut self) -> PackedBlock {
        let mut bytes = Vec::new();
        pack_block(self.queue, self.records, &self.unpacked[..self.used], &mut bytes);
        self.delta.restart();
        self.used = 0;
        let records = core::mem::take(&mut self.records);
        PackedBlock { queue: self.queue, records, bytes }
    }
}

/// Where each block of a file stands, for its index.
#[derive(Debug)]
pub(crate) struct Index {
    offset: u64,
    blocks: Vec<(u64, u16, u32)>,
}

impl Index {
    /// Of a file whose first block stands at `offset`.
    pub(crate) fn new(offset: u64) -> Self {
        Index { offset, blocks: Vec::new() }
    }

    pub(crate) fn add(&mut self, block: &PackedBlock) {
        self.blocks.push((self.offset, block.queue, block.records));
        self.offset += block.bytes.len() as u64;
    }

    /// Bytes of the file so far.
    #[cfg(feature = "std")]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Calls in the file so far.
    #[cfg(feature = "std")]
    pub(crate) fn calls(&self) -> u64 {
        self.blocks.iter().map(|(_, _, records)| *records as u64).sum()
    }

    /// The bytes behind the last block.
    pub(crate) fn pack(&self) -> Vec<u8> {
        pack_index(self.offset, self.blocks.iter().copied())
    }
}
