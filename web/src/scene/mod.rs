//! What the page draws for one step, made in the worker by pure functions from replayed memory and state.
//!
//! A [`Scene`] is complete: the view decides how things look, never what they are.

mod accesses;
mod buffers;
mod build;
mod cell;
mod deeds;
mod descriptors;
mod device;
mod driver;
mod explanation;
mod lookup;
mod moment;
mod narrate;
mod next;
mod rings;
mod rules;
mod tables;
mod told;
mod words;

pub use build::build;
pub use cell::{CellId, Mark};
pub(crate) use descriptors::flag_names;
pub use descriptors::{DescriptorGroup, DescriptorRow, Share, SlotState};
pub use device::DeviceScene;
pub use driver::{Buffer, Buffers, DriverScene, IdleTable, TableSourceScene};
pub use explanation::{Explanation, Item, RuleKept, Written};
pub use lookup::CellFacts;
pub use moment::{Cursor, Moment, View};
pub use rings::{Column, Flag, RingsScene};
pub use tables::{TableCard, TableRow, TablesScene};
pub(crate) use words::{nth, spoken};

use serde::{Deserialize, Serialize};

/// A value before and after the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<T> {
    /// Before the step.
    pub before: T,
    /// After it.
    pub after: T,
}

impl<T: PartialEq> Change<T> {
    /// Before and after.
    pub fn new(before: T, after: T) -> Self {
        Change { before, after }
    }

    /// Whether the step changed it.
    pub fn changed(&self) -> bool {
        self.before != self.after
    }
}

/// Which way something goes in this step, for the arrow and the motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Travel {
    /// A table leaves the cache for the slot that refers to it: its guest address.
    TableFromCache(u64),
    /// A table goes back to the cache: its guest address.
    TableToCache(u64),
    /// The device takes a buffer from this slot of the available ring.
    BufferToDevice(u16),
    /// The device returns a buffer through this slot of the used ring.
    BufferToUsed(u16),
    /// The driver gets a buffer back from this slot of the used ring.
    BufferToDriver(u16),
    /// The driver notifies the device.
    Kick,
    /// The device notifies the driver.
    Interrupt,
}

/// Everything that is drawn for one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// The queue, by its position in the trace's header.
    pub queue: u16,
    /// Where in the run.
    pub cursor: Cursor,
    /// Calls of the queue.
    pub calls: u64,
    /// Loads, stores and fences of the call.
    pub accesses: u32,
    /// The call's name as it stands in a trace; empty before the first.
    pub call: String,
    /// What happened, in a few words.
    pub title: String,
    /// What it means.
    pub subtitle: String,
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// The driver's private state.
    pub driver: DriverScene,
    /// Descriptors, whole or a window of them.
    pub descriptors: Vec<DescriptorGroup>,
    /// The whole ring as bars, where the window does not show all of it.
    pub whole_ring: Vec<Share>,
    /// Tables beside the slots that refer to them.
    pub tables: TablesScene,
    /// Both rings on one line.
    pub rings: RingsScene,
    /// The device's private state.
    pub device: DeviceScene,
    /// What happened, in order.
    pub explanation: Explanation,
    /// What moves.
    pub travel: Option<Travel>,
}
