//! The private state of a packed ring's driver, as plain data.

use super::{PackedDriver, PackedDriverState};
use crate::{
    QueueConfig,
    driver::{BuffersSnapshot, Elements, buffers::Buffers},
    indirect::TableSource,
    snapshot::{SnapshotError, before, check_complete, check_position},
    spec::{
        DESCRIPTOR_SIZE, Format, feature,
        packed::{Descriptor, Position, descriptor_flag},
    },
};
use alloc::{format, vec::Vec};

/// What a [`PackedDriver`] knows that nobody else does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PackedDriverSnapshot {
    /// Buffers and counters.
    pub buffers: BuffersSnapshot,
    /// Every id below the queue size once: the free ones in the order in which they will be taken, then those of the buffers
    /// in flight.
    pub ids: Vec<u16>,
    /// Where the next used descriptor is expected. All other positions follow from it.
    pub next_used: Position,
    /// The first descriptor that is placed and not published; `None` if all are published.
    pub first_unpublished: Option<UnpublishedDescriptor>,
    /// Descriptors published since a notification was last decided.
    pub undecided: u32,
    /// Whether the driver asks to be notified.
    pub notifications: bool,
}

/// A descriptor whose flags are not yet in the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnpublishedDescriptor {
    /// Bytes of its element or table.
    pub length: u32,
    /// `NEXT`, `WRITE` and `INDIRECT`; the others follow from the position.
    pub flags: u16,
}

const FLAGS: u16 = descriptor_flag::NEXT | descriptor_flag::WRITE | descriptor_flag::INDIRECT;

impl<T: TableSource> PackedDriver<T> {
    /// The private state; see [`snapshot`](crate::snapshot).
    pub fn snapshot(&self) -> PackedDriverSnapshot {
        let first_unpublished = self.unpublished_head.map(|(_, rest)| {
            let Descriptor { length, flags, .. } = Descriptor::from_words([0, rest]);
            UnpublishedDescriptor { length, flags: flags & FLAGS }
        });
        PackedDriverSnapshot {
            buffers: self.buffers.snapshot(),
            ids: self.free_ids.iter().rev().copied().chain(self.in_flight().map(|(id, _)| id)).collect(),
            next_used: self.state.next_used,
            first_unpublished,
            undecided: self.undecided,
            notifications: self.state.notifications,
        }
    }

    /// The driver that a snapshot was taken of. Memory is as it was then, or as the device has changed it since. `tables` is a
    /// fresh strategy of the same kind, parameters and memory.
    pub fn restore(
        config: &QueueConfig,
        tables: T,
        snapshot: PackedDriverSnapshot,
    ) -> Result<Self, SnapshotError> {
        config.check_format(Format::Packed)?;
        let PackedDriverSnapshot { buffers, ids, next_used, first_unpublished, undecided, notifications } =
            snapshot;
        let size = config.layout.queue_size;
        let held = buffers.check(config)?;
        check_complete("ids", &ids, size)?;
        check_position("next_used", next_used, size)?;
        // As many free ids as buffers are missing, which the check has counted.
        let (free, taken) = ids.split_at_checked(ids.len() - buffers.in_flight.len()).unwrap_or_default();
        let unpublished = buffers.in_flight.iter().filter(|buffer| buffers.is_unpublished(buffer.number));
        let unpublished: u16 = unpublished.map(|buffer| buffer.elements.descriptors()).sum();
        let published = next_used.advance(held - unpublished, size);
        let unpublished_head = restore_head(&buffers, taken, published, first_unpublished)?;
        Ok(PackedDriver {
            layout: config.layout,
            event_index: config.features.contains(feature::EVENT_IDX),
            free_ids: free.iter().rev().copied().collect(),
            buffers: Buffers::restore(config, tables, buffers, taken.iter().copied())?,
            state: PackedDriverState {
                next_available: next_used.advance(held, size),
                published,
                notified: before(published, undecided, size),
                next_used,
                free: size - held,
                notifications,
            },
            unpublished_head,
            undecided,
        })
    }
}

/// The word that makes the first unpublished buffer available, and its slot.
fn restore_head(
    buffers: &BuffersSnapshot,
    ids: &[u16],
    published: Position,
    first: Option<UnpublishedDescriptor>,
) -> Result<Option<(u16, u64)>, SnapshotError> {
    let mut held = buffers.in_flight.iter().zip(ids);
    let held =
        held.find(|(buffer, _)| buffer.number == buffers.published && buffers.is_unpublished(buffer.number));
    let (UnpublishedDescriptor { length, flags }, (buffer, id)) = match (first, held) {
        (None, None) => return Ok(None),
        (Some(first), Some(held)) => (first, held),
        (first, _) => {
            let expected = "one if a buffer is not published, none if all are";
            return Err(SnapshotError::field("first_unpublished", u64::from(first.is_some()), expected));
        }
    };
    let (link, table_flag) = match buffer.elements {
        Elements::Ring(1) => (0, 0),
        Elements::Ring(_) => (descriptor_flag::NEXT, 0),
        Elements::Table(_) => (0, descriptor_flag::INDIRECT),
    };
    let write = if table_flag == 0 { flags & descriptor_flag::WRITE } else { 0 };
    if flags != link | table_flag | write {
        let expected = format!("{} as the buffer's elements stand, or WRITE with it", link | table_flag);
        return Err(SnapshotError::field("first_unpublished.flags", flags, expected));
    }
    if let Elements::Table(table) = buffer.elements
        && (length == 0 || !length.is_multiple_of(DESCRIPTOR_SIZE) || length > table.bytes())
    {
        let expected = format!("whole entries of a table of {} bytes", table.bytes());
        return Err(SnapshotError::field("first_unpublished.length", length, expected));
    }
    let flags = flags | published.available_bits();
    let [_, rest] = Descriptor { address: 0, length, id: *id, flags }.to_words();
    Ok(Some((published.index, rest)))
}
