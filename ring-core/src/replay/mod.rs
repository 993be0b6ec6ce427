//! A recorded run, run again through the real driver and device.
//!
//! A [`QueueReplay`] runs a queue of a trace once from its first call to its last, compares the memory with every
//! checkpoint on the way and keeps snapshots; from then on any position is reached from the snapshot before it.
//! Position 0 is before the first call, position *n* after call *n*.
//!
//! The replay of a queue knows its ring format, [`Split`] unless said otherwise; [`verify`] takes a queue of either.

mod format;
mod queue;
mod state;
mod step;
mod tables;
mod watch;
mod writers;

pub use format::{Packed, ReplayedTables, RingFormat, Split};
pub use queue::{Difference, Progress, QueueReplay, Replay, Report, verify};
pub use state::{Counts, Outcome, ReplayError, State};
pub use step::Step;
pub use tables::{TableInfo, Tables};
pub use writers::Writers;
