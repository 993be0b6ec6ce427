//! Opening a trace: reading it and replaying every queue once.

use super::Run;
use ring_core::{
    replay::{QueueReplay, ReplayError},
    spec::Format,
    trace::{Trace, TraceError},
};
use serde::{Deserialize, Serialize};
use std::{ops::ControlFlow, rc::Rc};

/// Why a trace could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFailure {
    /// What is wrong, where, and what was expected.
    pub message: String,
    /// Calls that can be opened all the same, because they stand in whole blocks before the fault.
    pub whole_calls: u64,
}

impl From<TraceError> for OpenFailure {
    fn from(error: TraceError) -> Self {
        OpenFailure { message: error.to_string(), whole_calls: error.whole_calls() }
    }
}

/// A queue of an opened run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSummary {
    /// Its name at the device.
    pub name: String,
    /// `split` or `packed`.
    pub format: String,
    /// Descriptors of its ring.
    pub size: u16,
    /// Names of its features.
    pub features: Vec<String>,
    /// Where its tables come from.
    pub strategy: String,
    /// Its calls.
    pub calls: u64,
    /// Checkpoints whose digest the replay reached.
    pub identical: u64,
    /// Where the replay's memory first was not the recorded one: the call, and the last checkpoint before it that was
    /// identical.
    pub first_difference: Option<(u64, u64)>,
    /// A step worth opening the queue at.
    pub worth_seeing: u64,
}

/// What was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The program that recorded.
    pub made_by: String,
    /// The device.
    pub device: String,
    /// Who implements it.
    pub implementation: String,
    /// More facts, by name.
    pub facts: Vec<(String, String)>,
    /// The queues, as in the header.
    pub queues: Vec<QueueSummary>,
    /// What is missing, if only the whole part of a damaged trace was opened.
    pub salvaged: Option<String>,
}

impl Summary {
    /// Calls of all queues.
    pub fn calls(&self) -> u64 {
        self.queues.iter().map(|queue| queue.calls).sum()
    }

    /// Checkpoints of all queues whose digest the replay reached.
    pub fn identical(&self) -> u64 {
        self.queues.iter().map(|queue| queue.identical).sum()
    }

    /// The first queue that differs from its recording: its name, the call, the last identical checkpoint.
    pub fn first_difference(&self) -> Option<(&str, u64, u64)> {
        self.queues.iter().find_map(|queue| {
            queue.first_difference.map(|(call, identical)| (queue.name.as_str(), call, identical))
        })
    }
}

impl Run {
    /// Reads a trace and replays it. `progress` is told the share that is done, from 0 to 1. With `salvage`, what stands
    /// before a fault is opened.
    pub fn open(
        bytes: Vec<u8>,
        salvage: bool,
        mut progress: impl FnMut(f64),
    ) -> Result<(Run, Summary), OpenFailure> {
        progress(0.0);
        let (trace, fault) = if salvage { Trace::salvage(bytes)? } else { (Trace::open(bytes)?, None) };
        let trace = Rc::new(trace);
        let count = trace.header().queues.len();
        if count == 0 {
            let message = "the trace's header names no queue; expected one at least".to_owned();
            return Err(OpenFailure { message, whole_calls: 0 });
        }
        let all: u64 = (0..count).map(|queue| trace.calls(queue)).sum();
        let mut done = 0;
        let mut queues = Vec::new();
        let mut summaries = Vec::new();
        for index in 0..count {
            if let Some(queue) = trace.header().queues.get(index)
                && queue.config.format() == Format::Packed
            {
                let message = format!("queue \"{}\" is a packed ring; expected a split one", queue.name);
                return Err(OpenFailure { message, whole_calls: 0 });
            }
            let replay = QueueReplay::open(trace.clone(), index, |step| {
                progress((done + step.calls) as f64 / all.max(1) as f64);
                ControlFlow::Continue(())
            });
            let name = trace.header().queues.get(index).map_or("", |queue| queue.name.as_str());
            let told = |error: ReplayError| failure(name, &error);
            // Progress never breaks off: whoever cancels ends the worker.
            let Some(mut replay) = replay.map_err(told)? else { continue };
            done += replay.len();
            summaries.push(summary(&mut replay).map_err(told)?);
            queues.push(replay);
        }
        let header = trace.header();
        let summary = Summary {
            made_by: header.made_by.clone(),
            device: header.source.device.clone(),
            implementation: header.source.implementation.clone(),
            facts: header.source.facts.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            queues: summaries,
            salvaged: fault.map(|fault| fault.to_string()),
        };
        Ok((Run { trace, queues }, summary))
    }
}

fn failure(queue: &str, error: &ReplayError) -> OpenFailure {
    let message = format!("queue \"{queue}\" cannot be replayed: {error}");
    OpenFailure { message, whole_calls: 0 }
}

fn summary(replay: &mut QueueReplay) -> Result<QueueSummary, ReplayError> {
    let worth_seeing = worth_seeing(replay)?;
    let report = *replay.report();
    let header = replay.header()?;
    Ok(QueueSummary {
        name: header.name.clone(),
        format: match header.config.format() {
            Format::Split => "split".to_owned(),
            Format::Packed => "packed".to_owned(),
        },
        size: header.config.layout.queue_size,
        features: header.config.features.names().into_iter().map(str::to_owned).collect(),
        strategy: header.strategy.to_string(),
        calls: replay.len(),
        identical: report.identical,
        first_difference: report
            .first_difference
            .map(|difference| (difference.position, difference.identical_until)),
        worth_seeing,
    })
}

/// Calls among which a step worth seeing is looked for.
const LOOKED_THROUGH: u64 = 4000;

/// A step that shows most: a buffer gets a table that was used before, while others are on their way. Without one,
/// the first call.
fn worth_seeing(replay: &mut QueueReplay) -> Result<u64, ReplayError> {
    let mut best = (0, replay.len().min(1));
    let mut hits = 0;
    for position in 1..=replay.len().min(LOOKED_THROUGH) {
        let state = replay.seek(position)?;
        let now = state.driver.tables().statistics().hits;
        if now > hits {
            let uses = state.tables.iter().map(|table| table.uses).max().unwrap_or_default().min(4);
            let on_their_way = state.driver.in_flight().take(6).count() as u32;
            if uses + on_their_way > best.0 {
                best = (uses + on_their_way, position);
            }
        }
        hits = now;
    }
    Ok(best.1)
}
