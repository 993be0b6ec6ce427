//! The driver's side: makes buffers available, gets them back.

mod split;

pub use split::{InFlight, SplitDriver, SplitDriverState};

use crate::Fault;
use core::fmt;

/// A buffer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// What the caller gave to `add`.
    pub token: u64,
    /// The descriptor that started the buffer.
    pub head: u16,
    /// Bytes the device says it wrote into the writable elements.
    pub length: u32,
}

/// Whether a notification is due, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify {
    /// Send one now.
    pub needed: bool,
    /// What the other side's wish was: its event index, or its flags without `EVENT_IDX`.
    pub seen: u16,
}

/// Why a buffer was not added. The queue is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// Not enough free descriptors; some come back with every reaped buffer.
    Full {
        /// Ring descriptors the buffer takes.
        needed: u16,
        /// Ring descriptors there are.
        free: u16,
    },
    /// The caller's buffer can never be added to this queue: rule and value.
    Refused(Fault),
    /// The queue is broken, or broke now.
    Fault(Fault),
}

impl From<Fault> for AddError {
    #[cold]
    fn from(fault: Fault) -> Self {
        AddError::Fault(fault)
    }
}

impl From<crate::memory::OutOfRange> for AddError {
    #[cold]
    fn from(out_of_range: crate::memory::OutOfRange) -> Self {
        AddError::Fault(out_of_range.into())
    }
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddError::Full { needed, free } => {
                write!(f, "the buffer takes {needed} ring descriptors and {free} are free")
            }
            AddError::Refused(fault) => write!(f, "the buffer was refused: {fault}"),
            AddError::Fault(fault) => write!(f, "the queue is broken: {fault}"),
        }
    }
}

impl core::error::Error for AddError {}
