//! The recorded run: the workload and what cannot be computed again, as calls of both sides.
//!
//! Each queue is a sequence of [`Call`]s of its own, and replays on its own; what relates queues is time. Loads and
//! stores are not recorded: [`replay`](crate::replay) runs the real driver and device again, and a
//! [`Call::Checkpoint`] holds the digest of the ring's memory that it must reach.
//!
//! A trace has two encodings of the same types, told apart by content:
//! - binary ([`binary`]): compressed blocks with checksums and an index, for programs;
//! - JSON Lines ([`json_lines`]): a header line and a line for each call, for people.

pub mod binary;
mod call;
mod digest;
mod error;
mod header;
pub mod json_lines;
#[cfg(feature = "std")]
mod record;
#[cfg(feature = "std")]
mod writer;

pub use call::{Call, Record};
pub use digest::RingImage;
pub use error::TraceError;
pub use header::{Header, MemoryRange, QueueHeader, Source, TRACE_VERSION};
#[cfg(feature = "std")]
pub use record::RecordedDriver;
#[cfg(feature = "std")]
pub use writer::{QueueWriter, Totals, TraceWriter};

use alloc::vec::Vec;
use binary::Block;

/// A trace, whole in memory in its compressed form.
#[derive(Clone, Debug)]
pub struct Trace {
    header: Header,
    bytes: Vec<u8>,
    queues: Vec<Vec<Block>>,
}

impl Trace {
    /// Reads a trace of either encoding and checks it: every block's checksum, every JSON line.
    pub fn open(bytes: Vec<u8>) -> Result<Trace, TraceError> {
        match binary::recognise(&bytes)? {
            binary::Kind::Binary => binary::open(bytes),
            binary::Kind::JsonLines => json_lines::open(&bytes),
        }
    }

    /// Like [`open`](Self::open), but keeps what stands before the first fault of a binary trace, with the fault.
    pub fn salvage(bytes: Vec<u8>) -> Result<(Trace, Option<TraceError>), TraceError> {
        match binary::recognise(&bytes)? {
            binary::Kind::Binary => binary::salvage(bytes),
            binary::Kind::JsonLines => json_lines::open(&bytes).map(|trace| (trace, None)),
        }
    }

    pub(crate) fn from_parts(header: Header, bytes: Vec<u8>, queues: Vec<Vec<Block>>) -> Self {
        Trace { header, bytes, queues }
    }

    /// What was recorded, and how.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Calls of a queue, by its position in the header.
    pub fn calls(&self, queue: usize) -> u64 {
        self.blocks(queue).last().map_or(0, |block| block.first_call + block.records as u64)
    }

    /// The blocks of a queue, in order.
    pub fn blocks(&self, queue: usize) -> &[Block] {
        self.queues.get(queue).map_or(&[], Vec::as_slice)
    }

    /// The block that holds a call of a queue.
    pub fn block_of(&self, queue: usize, call: u64) -> Option<usize> {
        let index = self.blocks(queue).partition_point(|block| block.first_call <= call).checked_sub(1)?;
        (call < self.calls(queue)).then_some(index)
    }

    /// The records of one block.
    pub fn read_block(&self, queue: usize, block: usize) -> Result<Vec<Record<'static>>, TraceError> {
        match self.blocks(queue).get(block) {
            Some(block) => block.read(&self.bytes),
            None => Ok(Vec::new()),
        }
    }

    /// The trace in its binary encoding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
