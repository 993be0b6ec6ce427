//! From one step to another.

use crate::scene::Cursor;
use ring_core::replay::{QueueReplay, ReplayError};
use serde::{Deserialize, Serialize};

/// A move that only the run can make, since it depends on what the calls did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// To the cursor itself.
    #[default]
    Stay,
    /// This many loads, stores and fences forward, or back if negative.
    Accesses(i32),
    /// To the next notification that was sent.
    NextNotification,
    /// To the one before.
    PreviousNotification,
}

/// Calls that are looked through at once when searching backwards.
const STRETCH: u64 = 512;

/// Where a move leads. The cursor that comes back is one that there is.
pub(super) fn walk(replay: &mut QueueReplay, from: Cursor, by: Move) -> Result<Cursor, ReplayError> {
    let start = settle(replay, from)?;
    match by {
        Move::Stay => Ok(start),
        Move::Accesses(count) => by_accesses(replay, start, count),
        Move::NextNotification => {
            let found = first_notification(replay, start.position, replay.len())?;
            whole_or_last(replay, start, found.unwrap_or(replay.len()))
        }
        Move::PreviousNotification => {
            let mut end = start.position.saturating_sub(1);
            let mut found = None;
            while end > 0 && found.is_none() {
                let begin = end.saturating_sub(STRETCH);
                let mut from = begin;
                while let Some(position) = first_notification(replay, from, end)? {
                    found = Some(position);
                    from = position;
                }
                end = begin;
            }
            whole_or_last(replay, start, found.unwrap_or(0))
        }
    }
}

/// At single accesses one arrives at the last of a call, so that the granularity stays.
fn whole_or_last(replay: &mut QueueReplay, start: Cursor, position: u64) -> Result<Cursor, ReplayError> {
    let access = start.access.map(|_| u32::MAX);
    settle(replay, Cursor { position, access })
}

/// The nearest cursor that there is.
fn settle(replay: &mut QueueReplay, cursor: Cursor) -> Result<Cursor, ReplayError> {
    let position = cursor.position.min(replay.len());
    let access = match cursor.access {
        None => None,
        Some(access) => {
            Some(access.clamp(1, accesses(replay, position)?.max(1)).min(accesses(replay, position)?))
        }
    };
    Ok(Cursor { position, access })
}

fn accesses(replay: &mut QueueReplay, position: u64) -> Result<u32, ReplayError> {
    Ok(replay.step(position)?.map_or(0, |step| step.accesses.len() as u32))
}

fn by_accesses(replay: &mut QueueReplay, start: Cursor, count: i32) -> Result<Cursor, ReplayError> {
    let mut position = start.position;
    // A call without any access still is one step.
    let mut there_are = accesses(replay, position)?;
    let mut access = start.access.unwrap_or(there_are);
    for _ in 0..count.unsigned_abs() {
        if count > 0 && access < there_are {
            access += 1;
        } else if count > 0 && position < replay.len() {
            position += 1;
            there_are = accesses(replay, position)?;
            access = there_are.min(1);
        } else if count < 0 && access > 1 {
            access -= 1;
        } else if count < 0 && position > 0 {
            position -= 1;
            there_are = accesses(replay, position)?;
            access = there_are;
        } else {
            break;
        }
    }
    Ok(Cursor { position, access: Some(access) })
}

/// The first call after `from`, up to `until`, that sent a notification.
fn first_notification(replay: &mut QueueReplay, from: u64, until: u64) -> Result<Option<u64>, ReplayError> {
    let sent = |replay: &mut QueueReplay, position: u64| -> Result<u64, ReplayError> {
        let counts = replay.seek(position)?.counts;
        Ok(counts.kicks + counts.interrupts)
    };
    let before = sent(replay, from)?;
    for position in from + 1..=until {
        if sent(replay, position)? > before {
            return Ok(Some(position));
        }
    }
    Ok(None)
}
