//! One compressed block of records of one queue.

use super::delta::Delta;
use crate::trace::{Record, TraceError};
use alloc::{format, vec, vec::Vec};
use core::hash::Hasher;
use twox_hash::XxHash64;

/// Records after which a block is full.
pub(crate) const RECORDS_PER_BLOCK: u32 = 4096;
/// Bytes after which a block is full, before packing. One record may reach past it.
pub(crate) const MAXIMUM_BLOCK: usize = 256 * 1024;
/// The most a reader unpacks: a full block and one buffer of 32768 elements.
const LARGEST_UNPACKED: usize = MAXIMUM_BLOCK + 1024 * 1024;

/// Bytes that one byte of an LZ4 block stands for at most: each more of a match's length stands for 255.
const LZ4_LARGEST_RATIO: u64 = 255;

pub(super) const BLOCK_MARK: [u8; 4] = *b"VQBK";
pub(super) const BLOCK_HEAD: usize = 28;

/// Where a block lies and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The queue's position in the header.
    pub queue: u16,
    /// The number of its first call in the queue.
    pub first_call: u64,
    /// Records in it.
    pub records: u32,
    /// Byte in the file at which it begins.
    pub offset: u64,
    pub(super) unpacked: u32,
    pub(super) packed: u32,
}

/// Appends a block.
pub(crate) fn pack_block(queue: u16, records: u32, unpacked: &[u8], to: &mut Vec<u8>) {
    let packed = lz4_flex::block::compress(unpacked);
    let start = to.len();
    to.extend_from_slice(&BLOCK_MARK);
    to.extend_from_slice(&queue.to_le_bytes());
    to.extend_from_slice(&[0, 0]);
    for number in [records, unpacked.len() as u32, packed.len() as u32] {
        to.extend_from_slice(&number.to_le_bytes());
    }
    let checksum = checksum(&to[start..], &packed);
    to.extend_from_slice(&checksum.to_le_bytes());
    to.extend_from_slice(&packed);
}

/// XXH64 of two pieces, one behind the other.
pub(super) fn checksum(head: &[u8], packed: &[u8]) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(head);
    hasher.write(packed);
    hasher.finish()
}

/// What stands at an offset where a block may begin.
pub(super) enum Next {
    /// A whole block and the offset behind it. Its `first_call` is not known yet.
    Block(Block, usize),
    /// Something that is not a block.
    Other,
}

impl Block {
    /// Reads a block's head and checks the whole block.
    pub(super) fn parse(
        bytes: &[u8],
        offset: usize,
        queues: usize,
        whole_calls: u64,
    ) -> Result<Next, TraceError> {
        let rest = bytes.get(offset..).unwrap_or_default();
        if rest.len() >= 4 && rest[..4] != BLOCK_MARK {
            return Ok(Next::Other);
        }
        let truncated = TraceError::Truncated { offset: offset as u64, inside: "a block", whole_calls };
        let damaged =
            |reason| TraceError::Damaged { offset: offset as u64, part: "the block", reason, whole_calls };
        let Some(head) = rest.get(..BLOCK_HEAD) else { return Err(truncated) };
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let queue = u16::from_le_bytes([head[4], head[5]]);
        let [records, unpacked, packed] = [8, 12, 16].map(number);
        let Some(body) = rest[BLOCK_HEAD..].get(..packed as usize) else { return Err(truncated) };
        let stored = number(20) as u64 | (number(24) as u64) << 32;
        let found = checksum(&head[..20], body);
        if found != stored {
            return Err(damaged(format!("its checksum is {found:016x}, and {stored:016x} was written")));
        }
        if queue as usize >= queues {
            return Err(damaged(format!("it belongs to queue {queue}, and the header has {queues} queues")));
        }
        // A few bytes must not make a reader allocate for many that they cannot hold.
        if records > RECORDS_PER_BLOCK
            || unpacked as usize > LARGEST_UNPACKED
            || unpacked as u64 > packed as u64 * LZ4_LARGEST_RATIO
            || records > unpacked
        {
            let reason = format!("{records} records in {unpacked} bytes, {packed} when packed, cannot be");
            return Err(damaged(reason));
        }
        let block = Block { queue, first_call: 0, records, offset: offset as u64, unpacked, packed };
        Ok(Next::Block(block, offset + BLOCK_HEAD + packed as usize))
    }

    /// The records in it. `file` is the file it was found in.
    pub(crate) fn read(&self, file: &[u8]) -> Result<Vec<Record<'static>>, TraceError> {
        let damaged = |reason| TraceError::Damaged {
            offset: self.offset,
            part: "the block",
            reason,
            whole_calls: self.first_call,
        };
        let start = self.offset as usize + BLOCK_HEAD;
        let packed = file.get(start..start + self.packed as usize).unwrap_or_default();
        let mut unpacked = vec![0; self.unpacked as usize];
        let length = lz4_flex::block::decompress_into(packed, &mut unpacked)
            .map_err(|error| damaged(format!("it cannot be unpacked: {error}")))?;
        let mut rest = unpacked.get(..length).unwrap_or_default();
        let mut delta = Delta::default();
        let mut records = Vec::with_capacity(self.records as usize);
        for index in 0..self.records {
            let (mut record, behind) = postcard::take_from_bytes::<Record<'static>>(rest)
                .map_err(|error| damaged(format!("its record {index} cannot be read: {error}")))?;
            delta.decode(&mut record);
            records.push(record);
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(damaged(format!("{} bytes are left behind its last record", rest.len())));
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        match Block::parse(bytes, 0, 1, 0) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("a block was taken that cannot be"),
        }
    }

    #[test]
    fn a_block_cannot_ask_its_reader_for_more_than_it_holds() {
        let mut block = Vec::new();
        pack_block(0, RECORDS_PER_BLOCK, &[0; 8192], &mut block);
        assert!(matches!(Block::parse(&block, 0, 1, 0), Ok(Next::Block(..))));
        block.clear();
        pack_block(0, RECORDS_PER_BLOCK + 1, &[0; 8192], &mut block);
        assert!(refused(&block).contains("4097 records in 8192 bytes"), "{}", refused(&block));
        // Few bytes that say they were many.
        block.truncate(BLOCK_HEAD + 4);
        block[8..12].copy_from_slice(&1_u32.to_le_bytes());
        block[12..16].copy_from_slice(&1021_u32.to_le_bytes());
        block[16..20].copy_from_slice(&4_u32.to_le_bytes());
        let checksum = checksum(&block[..20], &block[BLOCK_HEAD..]);
        block[20..BLOCK_HEAD].copy_from_slice(&checksum.to_le_bytes());
        assert!(refused(&block).contains("1 records in 1021 bytes, 4 when packed"), "{}", refused(&block));
    }
}
