//! An opened trace and the questions that can be asked of it. It lives in the worker.

mod marks;
mod open;
mod overview;
mod walk;

pub use marks::{CallMark, LaneMark, TableMark};
pub use open::{OpenFailure, QueueSummary, Summary};
pub use overview::OverviewJob;
pub use walk::Move;

use crate::scene::{Cursor, Moment, Scene, View, build};
use ring_core::{
    replay::{Outcome, QueueReplay, ReplayError},
    trace::Trace,
};
use std::rc::Rc;

/// A trace with a replay of each of its queues.
pub struct Run {
    trace: Rc<Trace>,
    queues: Vec<QueueReplay>,
}

impl Run {
    /// The trace.
    pub fn trace(&self) -> &Rc<Trace> {
        &self.trace
    }

    /// The replay of a queue, by its position in the header.
    pub fn queue(&mut self, queue: u16) -> Result<&mut QueueReplay, String> {
        let count = self.queues.len();
        self.queues
            .get_mut(usize::from(queue))
            .ok_or_else(|| format!("the run has {count} queues and none with number {queue}"))
    }

    /// The scene that is reached from a cursor by a move.
    pub fn scene(&mut self, queue: u16, from: Cursor, by: Move, view: &View) -> Result<Scene, String> {
        let ticks_per_second = self.trace.header().ticks_per_second;
        let replay = self.queue(queue)?;
        let cursor = walk::walk(replay, from, by).map_err(|error| error.to_string())?;
        scene_at(replay, queue, ticks_per_second, cursor, view).map_err(|error| error.to_string())
    }
}

fn scene_at(
    replay: &mut QueueReplay,
    queue: u16,
    ticks_per_second: u64,
    cursor: Cursor,
    view: &View,
) -> Result<Scene, ReplayError> {
    let calls = replay.len();
    let Some(step) = replay.step(cursor.position)? else {
        let state = replay.seek(cursor.position)?.clone();
        let moment = Moment {
            queue,
            header: replay.header()?,
            ticks_per_second,
            cursor,
            calls,
            before: &state,
            after: &state,
            memory: &state.memory,
            call: None,
            ticks: 0,
            accesses: &[],
            events: &[],
            outcome: &Outcome::Done,
        };
        return Ok(build(&moment, view));
    };
    let partial = cursor.access.map(|access| step.memory_after(access as usize));
    let moment = Moment {
        queue,
        header: replay.header()?,
        ticks_per_second,
        cursor,
        calls,
        before: &step.before,
        after: &step.after,
        memory: partial.as_ref().unwrap_or(&step.after.memory),
        call: Some(&step.record.call),
        ticks: step.record.time,
        accesses: &step.accesses,
        events: &step.events,
        outcome: &step.outcome,
    };
    Ok(build(&moment, view))
}
