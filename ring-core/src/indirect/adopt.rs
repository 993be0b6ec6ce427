//! Why a table is not adopted.

use core::fmt;

/// Why a strategy does not take a table for one that it gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdoptError {
    /// It does not lie wholly in the strategy's memory, or is not aligned as its tables are.
    Outside,
    /// Some of its bytes are another table's.
    InUse,
    /// The strategy gives no tables of so many entries.
    Entries,
}

impl fmt::Display for AdoptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AdoptError::Outside => "expected one that lies aligned in the memory for tables",
            AdoptError::InUse => "expected one that shares no byte with another",
            AdoptError::Entries => "expected as many entries as the strategy's tables have",
        })
    }
}

impl core::error::Error for AdoptError {}
