//! The private state of a side as plain data, to be put back later: after a crash, in another process, or on another
//! machine once the guest's memory is there.
//!
//! [`SplitDriver`], [`PackedDriver`], [`SplitDevice`] and [`PackedDevice`] each have `snapshot` and `restore`. A snapshot holds
//! what only that side knows; configuration and memory go their own way, and what follows from the rest is not in it. With
//! the feature `serde` it can be written in any of serde's formats.
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! use ring_core::{QueueConfig, Segment, device::{Chain, Device, SplitDevice}, driver::{Driver, SplitDriver}};
//! use ring_core::indirect::TableStrategy;
//! use ring_core::{memory::OwnedMemory, probe::NoProbe, spec::{Features, Layout, feature}};
//!
//! let config = QueueConfig::new(Layout::contiguous(16, 0x1000), Features(feature::INDIRECT_DESC));
//! let memory = OwnedMemory::new(0x1000, 0x2000);
//! let tables = || TableStrategy::ListCache { threshold: 4 }.build(16, 0x2000, 0x1000);
//! let mut driver = SplitDriver::new(&config, tables()?)?;
//! let mut device = SplitDevice::new(&config)?;
//! let readable = [Segment { address: 0x10_0000, length: 12 }, Segment { address: 0x10_0800, length: 60 }];
//! driver.add(&memory, &mut NoProbe, 7, &readable, &[])?;
//! driver.publish(&memory, &mut NoProbe)?;
//! let mut chain = Chain::default();
//! assert!(device.pop(&memory, &mut NoProbe, &mut chain)?);
//!
//! // Both sides go away with a buffer in flight, and come back.
//! let driver = serde_json::to_string(&driver.snapshot())?;
//! let device = serde_json::to_string(&device.snapshot())?;
//! let mut driver = SplitDriver::restore(&config, tables()?, serde_json::from_str(&driver)?)?;
//! let mut device = SplitDevice::restore(&config, serde_json::from_str(&device)?)?;
//!
//! device.complete(&memory, &mut NoProbe, chain.head, 0)?;
//! device.publish(&memory, &mut NoProbe)?;
//! assert_eq!(driver.reap(&memory, &mut NoProbe)?.map(|used| used.token), Some(7));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is checked
//!
//! A snapshot comes from outside, so `restore` checks it against the configuration: see [`SnapshotError`]. One that adds up but
//! was never taken from this queue cannot be told from one that was; the side made from it then gives typed faults, or hands
//! its peer what the peer refuses, as after any other write to shared memory.
//!
//! # Tables
//!
//! Tables of buffers in flight are [adopted](crate::indirect::TableSource::adopt) by the strategy that `restore` is given, which
//! is a fresh one of the same kind and parameters. Idle tables are not in a snapshot: caches start empty, and their
//! memory is free again. Statistics start anew.
//!
//! # A broken queue
//!
//! It is broken when restored, by the same rule at the same place with the same value. What was expected is told in the words
//! of the rule.
//!
//! [`SplitDriver`]: crate::driver::SplitDriver
//! [`PackedDriver`]: crate::driver::PackedDriver
//! [`SplitDevice`]: crate::device::SplitDevice
//! [`PackedDevice`]: crate::device::PackedDevice

use crate::{
    ConfigError, Fault,
    fault::Place,
    indirect::{AdoptError, Table},
    memory::OutOfRange,
    spec::{Rule, packed::Position},
};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::fmt;

/// Why a snapshot cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The queue that it is to be restored on is impossible.
    Config(ConfigError),
    /// A field has a value that it cannot have.
    Field {
        /// The field's name; of a list, any of its elements.
        field: &'static str,
        /// Its value; of a list as a whole, its length.
        found: u64,
        /// What it can be.
        expected: String,
    },
    /// The table of a buffer in flight is none that the strategy could have given.
    Table {
        /// The table.
        table: Table,
        /// Why the strategy does not adopt it.
        error: AdoptError,
    },
    /// The queue is said to be broken by a rule that there is not.
    Rule(String),
}

impl SnapshotError {
    pub(crate) fn field(field: &'static str, found: impl Into<u64>, expected: impl ToString) -> Self {
        SnapshotError::Field { field, found: found.into(), expected: expected.to_string() }
    }
}

impl From<ConfigError> for SnapshotError {
    fn from(error: ConfigError) -> Self {
        SnapshotError::Config(error)
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Config(error) => error.fmt(f),
            SnapshotError::Field { field, found, expected } => {
                write!(f, "the snapshot's {field} is {found}, expected {expected}")
            }
            SnapshotError::Table { table, error } => {
                write!(
                    f,
                    "the snapshot's table of {} entries at {:#x}: {error}",
                    table.entries, table.address
                )
            }
            SnapshotError::Rule(id) => write!(f, "the snapshot's rule is {id:?}, expected the id of a rule"),
        }
    }
}

impl core::error::Error for SnapshotError {}

/// Why a queue is broken: a [`Fault`] without its words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FaultSnapshot {
    /// See [`Fault::Rule`].
    Rule {
        /// The rule's stable id.
        rule: String,
        /// Where.
        place: Place,
        /// The value found there.
        found: u64,
    },
    /// See [`Fault::Memory`].
    Memory {
        /// Guest address of the access.
        address: u64,
        /// Its bytes.
        length: u64,
    },
}

impl From<Fault> for FaultSnapshot {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Rule { rule, place, found, .. } => {
                FaultSnapshot::Rule { rule: rule.id().to_string(), place, found }
            }
            Fault::Memory(OutOfRange { address, length }) => FaultSnapshot::Memory { address, length },
        }
    }
}

impl TryFrom<FaultSnapshot> for Fault {
    type Error = SnapshotError;
    fn try_from(snapshot: FaultSnapshot) -> Result<Self, SnapshotError> {
        match snapshot {
            FaultSnapshot::Rule { rule: id, place, found } => {
                let rule = Rule::ALL.iter().find(|rule| rule.id() == id).copied();
                let rule = rule.ok_or(SnapshotError::Rule(id))?;
                Ok(Fault::rule(rule, place, found, rule.requirement()))
            }
            FaultSnapshot::Memory { address, length } => Ok(OutOfRange { address, length }.into()),
        }
    }
}

/// Whether each of the list is below the queue size and no two are equal.
pub(crate) fn check_distinct<'a>(
    field: &'static str,
    list: impl IntoIterator<Item = &'a u16>,
    queue_size: u16,
) -> Result<(), SnapshotError> {
    let mut seen = vec![false; queue_size.into()];
    for index in list {
        let Some(seen) = seen.get_mut(usize::from(*index)) else {
            return Err(SnapshotError::field(
                field,
                *index,
                alloc::format!("below the queue size {queue_size}"),
            ));
        };
        if core::mem::replace(seen, true) {
            return Err(SnapshotError::field(field, *index, "each but once"));
        }
    }
    Ok(())
}

/// Whether the list has each number below the queue size once.
pub(crate) fn check_complete(
    field: &'static str,
    list: &[u16],
    queue_size: u16,
) -> Result<(), SnapshotError> {
    if list.len() != usize::from(queue_size) {
        return Err(SnapshotError::field(field, list.len() as u64, alloc::format!("{queue_size} of them")));
    }
    check_distinct(field, list, queue_size)
}

/// Whether the numbers are those from `first` to before `end`, each once; others only if `others` may be.
pub(crate) fn check_numbers(
    numbers: impl Iterator<Item = u16>,
    first: u16,
    end: u16,
    others: bool,
) -> Result<(), SnapshotError> {
    let count = end.wrapping_sub(first);
    let expected = || alloc::format!("each of the {count} numbers from {first} on once");
    let mut seen: Vec<bool> = vec![false; count.into()];
    let mut found = 0_u16;
    for number in numbers {
        match seen.get_mut(usize::from(number.wrapping_sub(first))) {
            Some(seen) if !*seen => *seen = true,
            None if others => continue,
            _ => return Err(SnapshotError::field("number", number, expected())),
        }
        found = found.saturating_add(1);
    }
    if found != count {
        return Err(SnapshotError::field("number", found, expected()));
    }
    Ok(())
}

/// Whether a position can be in a ring of this size.
pub(crate) fn check_position(
    field: &'static str,
    position: Position,
    queue_size: u16,
) -> Result<(), SnapshotError> {
    if position.index >= queue_size {
        let expected = alloc::format!("a slot below the queue size {queue_size}");
        return Err(SnapshotError::field(field, position.index, expected));
    }
    Ok(())
}

/// The position so many slots before another, modulo two laps.
pub(crate) fn before(position: Position, slots: u32, queue_size: u16) -> Position {
    let (size, laps) = (u32::from(queue_size), 2 * u32::from(queue_size));
    let line = (position.distance_from(Position::START, queue_size) + laps - slots % laps) % laps;
    Position { index: (line % size) as u16, wrap: line < size }
}
