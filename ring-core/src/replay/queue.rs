//! The replay of one queue of a trace.

use super::{Outcome, Packed, ReplayError, RingFormat, Split, State, Step, state::Details};
use crate::{
    spec::Format,
    trace::{QueueHeader, Record, Trace, TraceError},
};
use alloc::{rc::Rc, vec::Vec};
use core::{cell::RefCell, ops::ControlFlow};

/// How far the first run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Calls replayed.
    pub calls: u64,
    /// Calls there are.
    pub of: u64,
}

/// What the first run found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls replayed.
    pub calls: u64,
    /// Checkpoints whose digest the replay reached.
    pub identical: u64,
    /// The first checkpoint whose digest it did not reach.
    pub first_difference: Option<Difference>,
}

/// A checkpoint at which the replay's memory is not the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The position after the checkpoint.
    pub position: u64,
    /// The digest that was recorded.
    pub recorded: u64,
    /// The digest of the replay.
    pub replayed: u64,
    /// The position after the last checkpoint that was identical, or 0.
    pub identical_until: u64,
}

/// Calls between snapshots, at first. A snapshot is reached again within a few milliseconds from the one before.
const FIRST_INTERVAL: u64 = 4096;
/// Bytes of snapshots that are kept. Past it every second one is dropped and the interval doubles.
const SNAPSHOT_BYTES: usize = 96 << 20;
/// Calls between two reports of progress.
const PROGRESS_INTERVAL: u64 = 8192;

/// A queue of a split ring of a trace, at any position.
pub type QueueReplay = Replay<Split>;

/// A queue of a trace, at any position.
pub struct Replay<F: RingFormat> {
    trace: Rc<Trace>,
    queue: usize,
    report: Report,
    snapshots: Vec<(u64, State<F>)>,
    interval: u64,
    // Where the replay stands: the state at `position`.
    position: u64,
    state: State<F>,
    block: DecodedBlock,
}

/// The block read last.
#[derive(Default)]
struct DecodedBlock {
    first_call: u64,
    records: Vec<Record<'static>>,
}

impl<F: RingFormat> Replay<F> {
    /// Runs the queue once from beginning to end. `progress` is told now and then and may break off; then the result
    /// is `None`.
    pub fn open(
        trace: Rc<Trace>,
        queue: usize,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Self>, ReplayError> {
        let state = State::new(header(&trace, queue)?)?;
        let mut replay = Replay {
            trace,
            queue,
            report: Report::default(),
            snapshots: Vec::from([(0, state.clone())]),
            interval: FIRST_INTERVAL,
            position: 0,
            state,
            block: DecodedBlock::default(),
        };
        let of = replay.len();
        let mut identical_until = 0;
        while replay.position < of {
            if replay.position.is_multiple_of(PROGRESS_INTERVAL)
                && progress(Progress { calls: replay.position, of }).is_break()
            {
                return Ok(None);
            }
            match replay.advance()? {
                Outcome::Checkpoint { recorded, replayed } if recorded == replayed => {
                    replay.report.identical += 1;
                    identical_until = replay.position;
                }
                Outcome::Checkpoint { recorded, replayed } if replay.report.first_difference.is_none() => {
                    let position = replay.position;
                    replay.report.first_difference =
                        Some(Difference { position, recorded, replayed, identical_until });
                }
                _ => {}
            }
            replay.report.calls = replay.position;
            replay.snapshot();
        }
        let _ = progress(Progress { calls: of, of });
        Ok(Some(replay))
    }

    /// What the first run found.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Calls of the queue: the last position.
    pub fn len(&self) -> u64 {
        self.trace.calls(self.queue)
    }

    /// Whether the queue has no call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The queue's header.
    pub fn header(&self) -> Result<&QueueHeader, ReplayError> {
        header(&self.trace, self.queue)
    }

    /// The state at a position; past the end means the end.
    pub fn seek(&mut self, position: u64) -> Result<&State<F>, ReplayError> {
        let position = position.min(self.len());
        let after = self.snapshots.partition_point(|(at, _)| *at <= position);
        if let Some((at, state)) = after.checked_sub(1).and_then(|index| self.snapshots.get(index))
            && (self.position > position || self.position < *at)
        {
            self.state.clone_from(state);
            self.position = *at;
        }
        while self.position < position {
            self.advance()?;
        }
        Ok(&self.state)
    }

    /// The call that leads to a position, from 1 on; `None` for position 0 and past the end.
    pub fn step(&mut self, position: u64) -> Result<Option<Step<F>>, ReplayError> {
        if position == 0 || position > self.len() {
            return Ok(None);
        }
        let before = self.seek(position - 1)?.clone();
        let record = self.record(position)?.clone();
        let accesses = RefCell::new(Vec::new());
        let mut events = Vec::new();
        let mut after = before.clone();
        let details = Details { accesses: &accesses, events: &mut events };
        let outcome = after.apply(header(&self.trace, self.queue)?, position, &record.call, Some(details))?;
        let accesses = accesses.into_inner();
        Ok(Some(Step { position, record, before, after, accesses, events, outcome }))
    }

    /// The record of the call that leads to a position, from 1 on.
    pub fn record(&mut self, position: u64) -> Result<&Record<'static>, ReplayError> {
        let call = position.wrapping_sub(1);
        let DecodedBlock { first_call, records } = &self.block;
        if call < *first_call || call - first_call >= records.len() as u64 {
            let index = self.trace.block_of(self.queue, call).ok_or_else(|| self.missing(position))?;
            let records = self.trace.read_block(self.queue, index).map_err(ReplayError::Trace)?;
            let first_call = self.trace.blocks(self.queue).get(index).map_or(0, |block| block.first_call);
            self.block = DecodedBlock { first_call, records };
        }
        let index = (call - self.block.first_call) as usize;
        self.block.records.get(index).ok_or_else(|| self.missing(position))
    }

    fn missing(&self, position: u64) -> ReplayError {
        ReplayError::Nothing { position, call: "end of the queue" }
    }

    fn advance(&mut self) -> Result<Outcome, ReplayError> {
        let position = self.position + 1;
        self.record(position)?;
        // Borrowed from the block just read, beside the state that it changes.
        let index = (position - 1 - self.block.first_call) as usize;
        let Some(record) = self.block.records.get(index) else { return Err(self.missing(position)) };
        let outcome = self.state.apply(header(&self.trace, self.queue)?, position, &record.call, None)?;
        self.position = position;
        Ok(outcome)
    }

    fn snapshot(&mut self) {
        if !self.position.is_multiple_of(self.interval) {
            return;
        }
        self.snapshots.push((self.position, self.state.clone()));
        while self.snapshots.len() > 2 && self.snapshots.len() * self.state.size() > SNAPSHOT_BYTES {
            self.interval *= 2;
            let interval = self.interval;
            self.snapshots.retain(|(at, _)| at.is_multiple_of(interval));
        }
    }
}

/// Runs a queue of either format once from beginning to end, as [`Replay::open`] does, and says what that found; `None` if
/// `progress` broke it off.
pub fn verify(
    trace: &Rc<Trace>,
    queue: usize,
    progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Report>, ReplayError> {
    Ok(match header(trace, queue)?.config.format() {
        Format::Split => {
            Replay::<Split>::open(trace.clone(), queue, progress)?.map(|replay| *replay.report())
        }
        Format::Packed => {
            Replay::<Packed>::open(trace.clone(), queue, progress)?.map(|replay| *replay.report())
        }
    })
}

fn header(trace: &Trace, queue: usize) -> Result<&QueueHeader, ReplayError> {
    let queues = &trace.header().queues;
    queues.get(queue).ok_or_else(|| {
        let reason = alloc::format!("there is no queue {queue}, only {}", queues.len());
        ReplayError::Trace(TraceError::Header { reason })
    })
}
