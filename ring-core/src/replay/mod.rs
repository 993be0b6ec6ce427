//! A recorded run, run again through the real driver and device.
//!
//! A [`QueueReplay`] runs a queue of a trace once from its first call to its last, compares the memory with every
//! checkpoint on the way and keeps snapshots; from then on any position is reached from the snapshot before it.
//! Position 0 is before the first call, position *n* after call *n*.

mod queue;
mod state;
mod step;
mod tables;
mod watch;
mod writers;

pub use queue::{Difference, Progress, QueueReplay, Report};
pub use state::{Counts, Outcome, ReplayError, State};
pub use step::Step;
pub use tables::{TableInfo, Tables};
pub use writers::Writers;
