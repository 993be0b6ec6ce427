//! What a side says when the other side broke a rule.

use crate::{
    memory::OutOfRange,
    spec::{Rule, packed, split},
};
use core::fmt;

/// Where a fault was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Place {
    /// A field of a split ring.
    Ring(split::Cell),
    /// A field of a packed ring.
    PackedRing(packed::Cell),
    /// An entry of the indirect table at a guest address.
    Table {
        /// Guest address of the table.
        address: u64,
        /// Index of the descriptor in it.
        entry: u16,
    },
    /// The call itself: what the caller handed over.
    Call,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Ring(cell) => cell.fmt(f),
            Place::PackedRing(cell) => cell.fmt(f),
            Place::Table { address, entry } => write!(f, "entry {entry} of the table at {address:#x}"),
            Place::Call => f.write_str("the call"),
        }
    }
}

/// A rule broken by the peer, or memory that is not there. The queue that returns one is broken from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The peer wrote something that a rule forbids.
    Rule {
        /// The rule.
        rule: Rule,
        /// Where.
        place: Place,
        /// The value found there.
        found: u64,
        /// What the rule wants.
        expected: &'static str,
    },
    /// The peer named an address outside guest memory, or the queue itself lies outside.
    Memory(OutOfRange),
}

impl Fault {
    #[cold]
    pub(crate) fn rule(rule: Rule, place: Place, found: impl Into<u64>, expected: &'static str) -> Self {
        Fault::Rule { rule, place, found: found.into(), expected }
    }

    /// The rule's stable id; `None` for memory faults, which no rule speaks of.
    pub fn rule_id(&self) -> Option<&'static str> {
        match self {
            Fault::Rule { rule, .. } => Some(rule.id()),
            Fault::Memory(_) => None,
        }
    }
}

impl From<OutOfRange> for Fault {
    #[cold]
    fn from(out_of_range: OutOfRange) -> Self {
        Fault::Memory(out_of_range)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Rule { rule, place, found, expected } => {
                let (id, section) = (rule.id(), rule.section());
                write!(f, "{id} ({section}): {place} is {found}, expected {expected}")
            }
            Fault::Memory(out_of_range) => out_of_range.fmt(f),
        }
    }
}

impl core::error::Error for Fault {}
