//! What the timeline's lanes show of each call.

use super::Run;
use ring_core::{indirect::TableStatistics, replay::Counts, trace::Call};
use serde::{Deserialize, Serialize};

/// What a call is in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaneMark {
    /// The driver added a buffer.
    Add,
    /// The driver published.
    Publish,
    /// The driver got a buffer back.
    Reap,
    /// The driver said whether it wants notifications.
    DriverWish,
    /// The device took a buffer.
    Pop,
    /// The device used a buffer.
    Complete,
    /// The device published.
    PublishUsed,
    /// The device said whether it wants notifications.
    DeviceWish,
    /// The driver notified.
    Kick,
    /// The driver saw that it need not.
    KickSaved,
    /// The device notified.
    Interrupt,
    /// The device saw that it need not.
    InterruptSaved,
    /// A checkpoint.
    Checkpoint,
}

/// What a call did with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableMark {
    /// Took one from the cache.
    Reused,
    /// Took one from the allocator.
    Allocated,
    /// Put one into the cache.
    Cached,
    /// Gave one back to the allocator.
    Freed,
}

/// A call on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallMark {
    /// What it is.
    pub lane: LaneMark,
    /// What it did with a table.
    pub table: Option<TableMark>,
}

impl Run {
    /// The marks of up to `count` calls, from the one that leads to position `first` on.
    pub fn marks(&mut self, queue: u16, first: u64, count: u64) -> Result<Vec<CallMark>, String> {
        let replay = self.queue(queue)?;
        let first = first.max(1);
        let last = first.saturating_add(count).min(replay.len() + 1);
        let told = |error: ring_core::replay::ReplayError| error.to_string();
        let mut marks = Vec::new();
        let state = replay.seek(first - 1).map_err(told)?;
        let (mut counts, mut statistics) = (state.counts, state.driver.tables().statistics());
        for position in first..last {
            let state = replay.seek(position).map_err(told)?;
            let (now, tables) = (state.counts, state.driver.tables().statistics());
            let call = &replay.record(position).map_err(told)?.call;
            marks.push(CallMark { lane: lane(call, &counts, &now), table: table(&statistics, &tables) });
            (counts, statistics) = (now, tables);
        }
        Ok(marks)
    }
}

fn lane(call: &Call<'_>, before: &Counts, after: &Counts) -> LaneMark {
    match call {
        Call::Add { .. } => LaneMark::Add,
        Call::Publish => LaneMark::Publish,
        Call::Notify { .. } if after.kicks > before.kicks => LaneMark::Kick,
        Call::Notify { .. } => LaneMark::KickSaved,
        Call::Reap => LaneMark::Reap,
        Call::DisableNotifications | Call::EnableNotifications => LaneMark::DriverWish,
        Call::Pop => LaneMark::Pop,
        Call::Complete { .. } | Call::CompleteBatch { .. } | Call::CompletePacked { .. } => {
            LaneMark::Complete
        }
        Call::PublishUsed => LaneMark::PublishUsed,
        Call::NotifyUsed { .. } if after.interrupts > before.interrupts => LaneMark::Interrupt,
        Call::NotifyUsed { .. } => LaneMark::InterruptSaved,
        Call::Wish { .. } => LaneMark::DeviceWish,
        Call::Checkpoint { .. } | Call::Reset => LaneMark::Checkpoint,
    }
}

fn table(before: &TableStatistics, after: &TableStatistics) -> Option<TableMark> {
    if after.hits > before.hits {
        Some(TableMark::Reused)
    } else if after.allocations > before.allocations {
        Some(TableMark::Allocated)
    } else if after.cached > before.cached {
        Some(TableMark::Cached)
    } else if after.frees > before.frees {
        Some(TableMark::Freed)
    } else {
        None
    }
}
