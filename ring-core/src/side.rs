//! The two sides of a queue.

use core::fmt;

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Side {
    /// Makes buffers available and gets them back.
    Driver,
    /// Takes available buffers and uses them.
    Device,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Driver => "driver",
            Side::Device => "device",
        })
    }
}
