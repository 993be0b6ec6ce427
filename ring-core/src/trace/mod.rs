//! The recorded run: the workload and what cannot be computed again, as calls of both sides.
//!
//! Each queue is a sequence of [`Call`]s of its own, and replays on its own; what relates queues is time. Loads and
//! stores are not recorded: [`replay`](crate::replay) runs the real driver and device again, and a
//! [`Call::Checkpoint`] holds the digest of the ring's memory that it must reach.
//!
//! A trace has two encodings of the same types, told apart by content:
//! - binary ([`binary`]): compressed blocks with checksums and an index, for programs;
//! - JSON Lines ([`json_lines`]): a header line and a line for each call, for people.
//!
//! A run recorded, and replayed to where a buffer had come back:
//!
//! ```
//! # #[cfg(feature = "std")] {
//! use ring_core::{QueueConfig, Segment, Side, device::{Chain, Device, SplitDevice}, driver::{Driver, SplitDriver}};
//! use ring_core::{indirect::TableStrategy, memory::OwnedMemory, probe::NoProbe, replay::QueueReplay};
//! use ring_core::{spec::{Features, Layout}, trace::*};
//! use std::{ops::ControlFlow, rc::Rc, time::Instant};
//!
//! let queue = QueueHeader {
//!     name: "transmit".into(),
//!     index: 0,
//!     config: QueueConfig::new(Layout::contiguous(16, 0x1000), Features(0)),
//!     strategy: TableStrategy::Direct,
//!     tables: MemoryRange { base: 0x2000, length: 0x1000 },
//! };
//! let header = Header {
//!     version: TRACE_VERSION,
//!     made_by: "an example".into(),
//!     source: Source { device: "an example".into(), ..Source::default() },
//!     observed_from: Side::Driver,
//!     ticks_per_second: 1_000_000_000,
//!     queues: vec![queue.clone()],
//! };
//! let writer = TraceWriter::new(Vec::new(), &header)?; // a file, elsewhere
//! let recorder = writer.queue(0).ok_or("no such queue")?;
//! let start = Instant::now();
//! let clock = move || start.elapsed().as_nanos() as u64;
//!
//! // A driver like any other, only wrapped; the device may be any, here it is ours.
//! let memory = OwnedMemory::new(0x1000, 0x2000);
//! let tables = queue.strategy.build(16, queue.tables.base, queue.tables.length)?;
//! let driver = SplitDriver::new(&queue.config, tables)?;
//! let mut device = SplitDevice::new(&queue.config)?;
//! let mut driver = RecordedDriver::new(driver, queue, recorder, clock);
//! let mut chain = Chain::default();
//! driver.add(&memory, &mut NoProbe, 7, &[Segment { address: 0x10_0000, length: 60 }], &[])?;
//! driver.publish(&memory, &mut NoProbe)?;
//! device.pop(&memory, &mut NoProbe, &mut chain)?;
//! device.complete(&memory, &mut NoProbe, chain.head, 0)?;
//! device.publish(&memory, &mut NoProbe)?;
//! driver.reap(&memory, &mut NoProbe)?;
//! drop(driver);
//! let (bytes, _) = writer.finish()?;
//!
//! let trace = Rc::new(Trace::open(bytes)?);
//! let mut replay = QueueReplay::open(trace, 0, |_| ControlFlow::Continue(()))?.ok_or("broken off")?;
//! let step = replay.step(replay.len())?.ok_or("no such call")?;
//! assert!(matches!(step.record.call, Call::Reap));
//! assert!(!step.accesses.is_empty());
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
