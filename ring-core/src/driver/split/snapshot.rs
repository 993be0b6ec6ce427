//! The private state of a split ring's driver, as plain data.

use super::SplitDriver;
use crate::{
    QueueConfig,
    driver::{BuffersSnapshot, buffers::Buffers},
    indirect::TableSource,
    snapshot::{SnapshotError, check_complete},
    spec::{Format, feature},
};
use alloc::vec::Vec;

/// What a [`SplitDriver`] knows that nobody else does. Indices run freely modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SplitDriverSnapshot {
    /// Buffers and counters.
    pub buffers: BuffersSnapshot,
    /// Every ring descriptor once: the free ones in the order in which they will be taken, then those of each buffer in
    /// flight, first to last. The first one of a buffer is its id.
    pub descriptors: Vec<u16>,
    /// avail.idx when a notification was last decided.
    pub notified_index: u16,
    /// used.idx as last read.
    pub used_seen: u16,
    /// Whether the driver asks to be notified.
    pub notifications: bool,
}

impl<T: TableSource> SplitDriver<T> {
    /// The private state; see [`snapshot`](crate::snapshot).
    pub fn snapshot(&self) -> SplitDriverSnapshot {
        let held = self.in_flight().flat_map(|(head, _)| self.descriptors_of(head));
        SplitDriverSnapshot {
            buffers: self.buffers.snapshot(),
            descriptors: self.free_list().chain(held).collect(),
            notified_index: self.notified,
            used_seen: self.used_seen,
            notifications: self.notifications,
        }
    }

    /// The driver that a snapshot was taken of. Memory is as it was then, or as the device has changed it since. `tables` is a
    /// fresh strategy of the same kind, parameters and memory.
    pub fn restore(
        config: &QueueConfig,
        tables: T,
        snapshot: SplitDriverSnapshot,
    ) -> Result<Self, SnapshotError> {
        config.check_format(Format::Split)?;
        let SplitDriverSnapshot { buffers, descriptors, notified_index, used_seen, notifications } = snapshot;
        let size = config.layout.queue_size;
        let held = buffers.check(config)?;
        check_complete("descriptors", &descriptors, size)?;
        check_used_seen(&buffers, used_seen)?;
        let (free, rest) = descriptors.split_at_checked(usize::from(size - held)).unwrap_or_default();
        let mut chains = Vec::with_capacity(buffers.in_flight.len());
        let mut rest = rest;
        for buffer in &buffers.in_flight {
            let count = usize::from(buffer.elements.descriptors());
            let (chain, others) = rest.split_at_checked(count).unwrap_or_default();
            chains.push(chain);
            rest = others;
        }
        let in_order = config.features.contains(feature::IN_ORDER);
        let mut next: Vec<u16> = (0..size).map(|slot| (slot + 1) % size).collect();
        let mut last: Vec<u16> = (0..size).collect();
        let mut free_head = free.first().copied().unwrap_or_default();
        if in_order {
            let mut aged: Vec<_> = buffers.in_flight.iter().zip(&chains).collect();
            aged.sort_by_key(|(buffer, _)| buffer.number.wrapping_sub(buffers.reaped));
            let ring = aged.into_iter().flat_map(|(_, chain)| chain.iter()).chain(free).copied();
            check_sequence(ring.clone(), size)?;
            // On a full ring the next buffer starts where the oldest one did.
            free_head = free.first().copied().or(ring.clone().next()).unwrap_or_default();
        }
        for chain in chains.iter().copied().chain([free]) {
            for (slot, following) in chain.iter().zip(chain.iter().skip(1)) {
                set(&mut next, *slot, *following);
            }
            if let (Some(head), Some(end)) = (chain.first(), chain.last()) {
                set(&mut last, *head, *end);
            }
        }
        let heads = chains.iter().filter_map(|chain| chain.first().copied());
        Ok(SplitDriver {
            layout: config.layout,
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: Buffers::restore(config, tables, buffers, heads)?,
            next,
            last,
            free_head,
            free: size - held,
            notified: notified_index,
            notifications,
            used_seen,
        })
    }
}

fn set(links: &mut [u16], slot: u16, value: u16) {
    if let Some(place) = links.get_mut(usize::from(slot)) {
        *place = value;
    }
}

/// Between what was reaped and what was published; a batch that was begun was seen whole.
fn check_used_seen(buffers: &BuffersSnapshot, used_seen: u16) -> Result<(), SnapshotError> {
    let seen = used_seen.wrapping_sub(buffers.reaped);
    if seen > buffers.published.wrapping_sub(buffers.reaped) {
        return Err(SnapshotError::field("used_seen", used_seen, "from reaped up to published"));
    }
    match &buffers.batch {
        Some(batch) if batch.last.wrapping_sub(buffers.reaped) >= seen => {
            Err(SnapshotError::field("used_seen", used_seen, "past the batch's last buffer"))
        }
        _ => Ok(()),
    }
}

/// With `IN_ORDER` descriptors are taken in ring order and come back in it (2.7.5.1).
fn check_sequence(ring: impl Iterator<Item = u16> + Clone, queue_size: u16) -> Result<(), SnapshotError> {
    let behind = ring.clone().skip(1);
    for (slot, next) in ring.zip(behind) {
        if next != (slot + 1) % queue_size {
            return Err(SnapshotError::field(
                "descriptors",
                next,
                "ring order, since IN_ORDER was negotiated",
            ));
        }
    }
    Ok(())
}
