//! Cells of shared memory and what a step did to them.

use ring_core::spec::split::Cell;
use serde::{Deserialize, Serialize};

/// A cell that the page draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CellId {
    /// A field of the ring.
    Ring(Cell),
    /// A descriptor of an indirect table.
    Entry {
        /// Guest address of the table.
        table: u64,
        /// Index of the descriptor in it.
        entry: u16,
    },
}

/// What a step did to a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The number of the deed, from 1, where it is the first to touch its cell.
    pub order: Option<u8>,
    /// It was written.
    pub written: bool,
    /// It was read.
    pub read: bool,
}

impl Mark {
    /// Whether the step touched the cell.
    pub fn touched(self) -> bool {
        self.written || self.read
    }
}
