//! The private state of a packed ring's device, as plain data.

use super::{PackedDevice, PackedDeviceState};
use crate::{
    QueueConfig,
    device::{TakenSnapshot, taken::TakenBuffers},
    snapshot::{SnapshotError, before, check_position},
    spec::{
        Format, feature,
        packed::{Descriptor, Event, Position, descriptor_flag},
    },
};
use alloc::format;

/// What a [`PackedDevice`] knows that nobody else does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PackedDeviceSnapshot {
    /// Buffers and counters.
    pub buffers: TakenSnapshot,
    /// Where the first used descriptor goes that is not published. All other positions follow from it.
    pub published: Position,
    /// Ring descriptors of the buffers that were used, but not visibly for the driver.
    pub unpublished_descriptors: u16,
    /// The first used descriptor that is not published; `None` if all are.
    pub first_unpublished: Option<UnpublishedUsed>,
    /// Descriptors published since a notification was last decided.
    pub undecided: u32,
    /// The event structure that the device last wrote.
    pub notify_wish: Event,
}

/// A used descriptor that is not yet in the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnpublishedUsed {
    /// The id it names.
    pub id: u16,
    /// Bytes that were written.
    pub length: u32,
}

impl PackedDevice {
    /// The private state; see [`snapshot`](crate::snapshot).
    pub fn snapshot(&self) -> PackedDeviceSnapshot {
        let PackedDeviceState { next_used, published, notify_wish, .. } = self.state;
        let first_unpublished = self.unpublished.map(|(_, rest)| {
            let Descriptor { id, length, .. } = Descriptor::from_words([0, rest]);
            UnpublishedUsed { id, length }
        });
        PackedDeviceSnapshot {
            buffers: self.buffers.snapshot(),
            published,
            // No more than the ring has.
            unpublished_descriptors: next_used.distance_from(published, self.layout.queue_size) as u16,
            first_unpublished,
            undecided: self.undecided,
            notify_wish,
        }
    }

    /// The device that a snapshot was taken of. Memory is as it was then, or as the driver has changed it since.
    pub fn restore(config: &QueueConfig, snapshot: PackedDeviceSnapshot) -> Result<Self, SnapshotError> {
        config.check_format(Format::Packed)?;
        let taken = snapshot.buffers.check(config)?;
        let size = config.layout.queue_size;
        check_position("published", snapshot.published, size)?;
        check_unpublished(config, &snapshot, taken)?;
        let PackedDeviceSnapshot { buffers, published, unpublished_descriptors, .. } = snapshot;
        let unpublished = snapshot.first_unpublished.map(|UnpublishedUsed { id, length }| {
            let write = if length > 0 { descriptor_flag::WRITE } else { 0 };
            let flags = published.used_bits() | write;
            let [_, rest] = Descriptor { address: 0, length, id, flags }.to_words();
            (published.index, rest)
        });
        let next_used = published.advance(unpublished_descriptors, size);
        Ok(PackedDevice {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: TakenBuffers::restore(config, buffers)?,
            state: PackedDeviceState {
                next_available: next_used.advance(taken, size),
                next_used,
                published,
                notified: before(published, snapshot.undecided, size),
                held: taken + unpublished_descriptors,
                notify_wish: snapshot.notify_wish,
            },
            unpublished,
            undecided: snapshot.undecided,
        })
    }
}

/// What was used and not published: its descriptors, and the first of its used descriptors.
fn check_unpublished(
    config: &QueueConfig,
    snapshot: &PackedDeviceSnapshot,
    taken: u16,
) -> Result<(), SnapshotError> {
    let size = config.layout.queue_size;
    let ids = &snapshot.buffers.unpublished;
    let descriptors = snapshot.unpublished_descriptors;
    // A queue that broke while a used descriptor was written did not come past it.
    let least = if snapshot.buffers.broken.is_some() { usize::from(!ids.is_empty()) } else { ids.len() };
    let most = if ids.is_empty() { 0 } else { size - taken };
    if usize::from(descriptors) < least || descriptors > most {
        let expected = format!("{least} to {most}, for {} buffers", ids.len());
        return Err(SnapshotError::field("unpublished_descriptors", descriptors, expected));
    }
    match &snapshot.first_unpublished {
        Some(first) => {
            // In order it may be the last of a batch.
            let in_order = config.features.contains(feature::IN_ORDER);
            let known = if in_order { ids.contains(&first.id) } else { ids.first() == Some(&first.id) };
            if !known {
                let expected = "the id of the first used element that is not published";
                return Err(SnapshotError::field("first_unpublished.id", first.id, expected));
            }
            Ok(())
        }
        None if ids.is_empty() => Ok(()),
        None => {
            let expected = "one, for there are used buffers that are not published";
            Err(SnapshotError::field("first_unpublished", 0_u64, expected))
        }
    }
}
