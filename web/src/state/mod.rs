//! Everything the page knows, and every way it changes: one reducer.

mod address;
mod app;
mod granularity;
mod room;

pub use address::{Address, Source};
pub use app::{Action, App, Ask, Failure, Goal, OpenRun, Opening, Panel};
pub use granularity::{Granularity, Speed};
pub use room::{NARROW, room};

/// Calls whose marks are asked for at once.
pub const MARKS_AT_ONCE: u64 = 128;
