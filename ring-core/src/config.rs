//! What a queue is made from.

use crate::{
    memory::{Memory, Ordering, OutOfRange},
    spec::{Features, Format, Layout, LayoutError, feature, split::Cell},
};
use core::fmt;

/// Everything both sides must agree on before the first buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueConfig {
    /// Where the ring lies, and its size.
    pub layout: Layout,
    /// The negotiated features.
    pub features: Features,
    /// The value that all free-running indices start from: 0 on a real device, others to test the wrap at 2^16.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start_index: u16,
}

impl QueueConfig {
    /// A fresh queue.
    pub fn new(layout: Layout, features: Features) -> Self {
        QueueConfig { layout, features, start_index: 0 }
    }

    /// The ring's format, which the features decide.
    pub fn format(&self) -> Format {
        if self.features.contains(feature::RING_PACKED) { Format::Packed } else { Format::Split }
    }

    /// Sets the indices of a ring whose memory is zeroed to the start index. Neither side does it by itself: each only
    /// ever writes what is its own.
    pub fn initialise<M: Memory>(&self, memory: &M) -> Result<(), OutOfRange> {
        // A packed ring holds no index.
        if self.format() == Format::Packed {
            return Ok(());
        }
        let indices: &[Cell] = if self.features.contains(feature::EVENT_IDX) {
            // As on a fresh queue, each side wants to be told of the first buffer.
            &[Cell::AvailableIndex, Cell::UsedIndex, Cell::UsedEvent, Cell::AvailableEvent]
        } else {
            &[Cell::AvailableIndex, Cell::UsedIndex]
        };
        for cell in indices {
            memory.store_u16(self.layout.address(*cell), self.start_index, Ordering::Relaxed)?;
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.layout.check(self.format()).map_err(ConfigError::Layout)
    }

    /// Like [`check`](Self::check), for a driver or device of one format.
    pub(crate) fn check_format(&self, format: Format) -> Result<(), ConfigError> {
        if self.format() != format {
            return Err(ConfigError::Format(self.format()));
        }
        self.check()
    }
}

/// Why a queue cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The layout is impossible.
    Layout(LayoutError),
    /// The features say that the ring has this format, which is the other one.
    Format(Format),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Layout(error) => error.fmt(f),
            ConfigError::Format(format) => write!(f, "by its features this is a {format} ring"),
        }
    }
}

impl core::error::Error for ConfigError {}
