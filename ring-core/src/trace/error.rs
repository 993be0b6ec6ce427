//! Why a file is not a trace, or not a whole one.

use super::TRACE_VERSION;
use alloc::string::String;
use core::fmt;

/// What is wrong, where, and what was expected. Offsets are bytes from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// There is no byte in it.
    Empty,
    /// It does not begin as a trace of either encoding does.
    NotATrace {
        /// What it begins like.
        looks_like: &'static str,
    },
    /// It is a trace of a version that this program does not know.
    Version {
        /// The version it says.
        found: u16,
    },
    /// It ends in the middle of something.
    Truncated {
        /// Where that something begins.
        offset: u64,
        /// What it is.
        inside: &'static str,
        /// Calls in the whole blocks before it.
        whole_calls: u64,
    },
    /// Its bytes are not those that were written.
    Damaged {
        /// Where the damaged part begins.
        offset: u64,
        /// What it is.
        part: &'static str,
        /// What is wrong with it.
        reason: String,
        /// Calls in the whole blocks before it.
        whole_calls: u64,
    },
    /// A line of a JSON Lines trace cannot be read.
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The header describes something impossible.
    Header {
        /// What.
        reason: String,
    },
}

impl TraceError {
    /// How many calls [`Trace::salvage`](super::Trace::salvage) would keep.
    pub fn whole_calls(&self) -> u64 {
        match self {
            TraceError::Truncated { whole_calls, .. } | TraceError::Damaged { whole_calls, .. } => {
                *whole_calls
            }
            _ => 0,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Empty => {
                f.write_str("the file is empty; expected a trace, binary (.vqt) or JSON Lines")
            }
            TraceError::NotATrace { looks_like } => {
                write!(f, "the file begins like {looks_like}; expected a trace, binary (.vqt) or JSON Lines")
            }
            TraceError::Version { found } => write!(
                f,
                "the trace has version {found}; this program reads up to version {TRACE_VERSION}, a newer one is needed"
            ),
            TraceError::Truncated { offset, inside, whole_calls } => write!(
                f,
                "the file ends inside {inside} that begins at byte {offset}; \
                 the whole blocks before it hold {whole_calls} calls"
            ),
            TraceError::Damaged { offset, part, reason, whole_calls } => write!(
                f,
                "{part} at byte {offset} is damaged: {reason}; the whole blocks before it hold {whole_calls} calls"
            ),
            TraceError::Line { line, reason } => write!(f, "line {line}: {reason}"),
            TraceError::Header { reason } => write!(f, "the trace's header: {reason}"),
        }
    }
}

impl core::error::Error for TraceError {}
