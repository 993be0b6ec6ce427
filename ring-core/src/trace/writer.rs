//! Writing a trace while it is recorded.

use super::{
    Header, Record,
    binary::{self, Index, Packer},
};
use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How much was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Calls of all queues.
    pub calls: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// A binary trace being written. Queues write to it through handles of their own, from any thread.
pub struct TraceWriter<W> {
    shared: Arc<Mutex<Shared<W>>>,
    queues: usize,
}

struct Shared<W> {
    output: W,
    index: Index,
    // The first failure; nothing is written after it, so that the file ends with its last whole block.
    failed: Option<io::Error>,
}

impl<W: Write> Shared<W> {
    fn write_block(&mut self, packer: &mut Packer) {
        let block = packer.take();
        if self.failed.is_some() {
            return;
        }
        match self.output.write_all(&block.bytes) {
            Ok(()) => self.index.add(&block),
            Err(error) => self.failed = Some(error),
        }
    }
}

/// A panic elsewhere leaves the state whole: every change to it is the last thing its method does.
fn lock<W>(shared: &Mutex<Shared<W>>) -> MutexGuard<'_, Shared<W>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write> TraceWriter<W> {
    /// Writes the header to `output`.
    pub fn new(mut output: W, header: &Header) -> io::Result<Self> {
        let bytes = binary::pack_header(header)?;
        output.write_all(&bytes)?;
        let index = Index::new(bytes.len() as u64);
        Ok(TraceWriter {
            shared: Arc::new(Mutex::new(Shared { output, index, failed: None })),
            queues: header.queues.len(),
        })
    }

    /// The handle through which a queue is written, by its position in the header; `None` if there is no such queue.
    /// Each queue has one writer.
    pub fn queue(&self, queue: usize) -> Option<QueueWriter<W>> {
        (queue < self.queues)
            .then(|| QueueWriter { shared: self.shared.clone(), packer: Packer::new(queue as u16) })
    }

    /// Writes the index, once every queue's writer is dropped, and gives the output back, flushed.
    pub fn finish(self) -> io::Result<(W, Totals)> {
        let shared = Arc::try_unwrap(self.shared)
            .map_err(|_| io::Error::other("a queue is still being recorded"))?
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let Shared { mut output, index, failed } = shared;
        if let Some(error) = failed {
            return Err(error);
        }
        let end = index.pack();
        output.write_all(&end)?;
        output.flush()?;
        Ok((output, Totals { calls: index.calls(), bytes: index.offset() + end.len() as u64 }))
    }
}

/// Writes the calls of one queue. What is not yet a full block is written when it is dropped.
pub struct QueueWriter<W: Write> {
    shared: Arc<Mutex<Shared<W>>>,
    packer: Packer,
}

impl<W: Write> QueueWriter<W> {
    /// Records a call. A failure to write shows in [`TraceWriter::finish`]: a run does not stop for its recording.
    #[inline]
    pub fn record(&mut self, record: &Record<'_>) {
        self.packer.push(record);
        if self.packer.is_full() {
            lock(&self.shared).write_block(&mut self.packer);
        }
    }
}

impl<W: Write> Drop for QueueWriter<W> {
    fn drop(&mut self) {
        if !self.packer.is_empty() {
            lock(&self.shared).write_block(&mut self.packer);
        }
    }
}
