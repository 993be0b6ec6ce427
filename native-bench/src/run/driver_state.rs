//! What a driver of either format knows privately, for those who are told of a queue that stands still.

use ring_core::driver::{PackedDriverState, SplitDriverState};
use std::fmt;

/// A driver's private state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverState {
    /// Of a split ring.
    Split(SplitDriverState),
    /// Of a packed ring.
    Packed(PackedDriverState),
}

impl DriverState {
    /// Free ring descriptors.
    pub fn free(&self) -> u16 {
        match self {
            DriverState::Split(state) => state.free,
            DriverState::Packed(state) => state.free,
        }
    }

    /// What a notification carries with `NOTIFICATION_DATA`, see
    /// [`next_available`](ring_core::driver::Driver::next_available).
    pub(crate) fn next_available(&self) -> u16 {
        match self {
            DriverState::Split(state) => state.published_index,
            DriverState::Packed(state) => state.published.to_bits(),
        }
    }
}

impl fmt::Display for DriverState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverState::Split(state) => write!(
                f,
                "published {}, notified {}, reaped {}",
                state.published_index, state.notified_index, state.last_used
            )?,
            DriverState::Packed(state) => write!(
                f,
                "published up to {}, notified up to {}, reaped up to {}",
                state.published, state.notified, state.next_used
            )?,
        }
        write!(f, ", {} descriptors free", self.free())
    }
}
