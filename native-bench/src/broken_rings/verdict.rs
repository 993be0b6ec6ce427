//! What a device did with a ring.

use super::case::Expected;
use serde::Serialize;
use std::fmt;

/// What a device did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It used buffers as if all were well.
    Accepted {
        /// Their ids, in the order in which they were used.
        ids: Vec<u32>,
    },
    /// It wants to be reset.
    Refused {
        /// QEMU's message; ring-core's rule, or `memory`.
        by: String,
    },
    /// It found nothing to do.
    Ignored,
    /// It was not asked: it does not have the features.
    Unavailable {
        /// Which, by name.
        missing: String,
    },
    /// Its process ended.
    Ended {
        /// How, and its last words.
        how: String,
    },
}

impl Verdict {
    /// Whether it is what was recorded.
    pub(super) fn is(&self, expected: Expected) -> bool {
        match (self, expected) {
            (Verdict::Accepted { ids }, Expected::Accepts(buffers)) => ids.len() == buffers,
            (Verdict::Refused { by }, Expected::Refuses(part)) => by.contains(part),
            (Verdict::Ignored, Expected::Ignores) | (Verdict::Ended { .. }, Expected::Ends) => true,
            _ => false,
        }
    }

    /// Whether two devices mean the same: both go on, both refuse, or both do nothing.
    pub(super) fn agrees_with(&self, other: &Verdict) -> bool {
        match (self, other) {
            (Verdict::Accepted { ids }, Verdict::Accepted { ids: others }) => ids == others,
            (Verdict::Refused { .. }, Verdict::Refused { .. }) | (Verdict::Ignored, Verdict::Ignored) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Accepted { ids } => match &ids[..] {
                [id] => write!(f, "accepts, uses id {id}"),
                [first, second] => write!(f, "accepts, uses ids {first} and {second}"),
                ids => write!(f, "accepts, uses {} buffers", ids.len()),
            },
            Verdict::Refused { by } => write!(f, "refuses: {by}"),
            Verdict::Ignored => write!(f, "sees nothing"),
            Verdict::Unavailable { missing } => write!(f, "does not offer {missing}"),
            Verdict::Ended { how } => write!(f, "ENDS: {how}"),
        }
    }
}
