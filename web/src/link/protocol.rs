//! The messages. They travel in postcard's encoding; the bytes of a file go beside them and are moved, not copied.

use crate::{
    run::{CallMark, Move, OpenFailure, Summary},
    scene::{Cursor, Scene, View},
};
use serde::{Deserialize, Serialize};

/// What the page asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Open the file whose bytes come with the message. Answered by progress, then `Opened` or `Failed`.
    Open {
        /// Open what stands before a fault.
        salvage: bool,
    },
    /// A scene. Answered by `Scene` or `Lost`.
    Scene {
        /// Comes back with the answer.
        number: u32,
        /// The queue.
        queue: u16,
        /// Where to start from.
        from: Cursor,
        /// How to move from there.
        by: Move,
        /// How much room there is.
        view: View,
    },
    /// Marks of the timeline. Answered by `Marks` or `Lost`.
    Marks {
        /// The queue.
        queue: u16,
        /// Position after the first call.
        first: u64,
        /// How many calls.
        count: u64,
    },
    /// Buffers in flight over the whole run. Answered by `Overview` or `Lost`.
    Overview {
        /// The queue.
        queue: u16,
        /// How many bars.
        bars: u16,
    },
}

/// What the worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Response {
    /// It listens.
    Ready,
    /// This share of the file was replayed, from 0 to 1.
    Progress(f64),
    /// The file is open.
    Opened(Summary),
    /// The file cannot be opened.
    Failed(OpenFailure),
    /// A scene.
    Scene {
        /// As in the request.
        number: u32,
        /// The scene.
        scene: Box<Scene>,
    },
    /// Marks of the timeline.
    Marks {
        /// The queue.
        queue: u16,
        /// Position after the first call.
        first: u64,
        /// One for each call.
        marks: Vec<CallMark>,
    },
    /// Buffers in flight over the whole run.
    Overview {
        /// The queue.
        queue: u16,
        /// The most in each equal part of the run.
        bars: Vec<u16>,
    },
    /// A request of an open run could not be answered.
    Lost(String),
}
