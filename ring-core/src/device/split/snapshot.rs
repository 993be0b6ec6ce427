//! The private state of a split ring's device, as plain data.

use super::SplitDevice;
use crate::{
    QueueConfig,
    device::{TakenSnapshot, taken::TakenBuffers},
    snapshot::SnapshotError,
    spec::{Format, feature},
};
use alloc::format;

/// What a [`SplitDevice`] knows that nobody else does. Indices run freely modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SplitDeviceSnapshot {
    /// Buffers and counters.
    pub buffers: TakenSnapshot,
    /// used.idx when a notification was last decided.
    pub notified_index: u16,
    /// What the device last asked for: the avail_event it wrote, or its flags without `EVENT_IDX`.
    pub notify_wish: u16,
    /// avail.idx as last read.
    pub available_seen: u16,
    /// With `IN_ORDER`, the descriptor that must start the next buffer; `None` if any may.
    pub next_head: Option<u16>,
}

impl SplitDevice {
    /// The private state; see [`snapshot`](crate::snapshot).
    pub fn snapshot(&self) -> SplitDeviceSnapshot {
        SplitDeviceSnapshot {
            buffers: self.buffers.snapshot(),
            notified_index: self.notified,
            notify_wish: self.notify_wish,
            available_seen: self.available_seen,
            next_head: self.next_head.filter(|_| self.buffers.in_order),
        }
    }

    /// The device that a snapshot was taken of. Memory is as it was then, or as the driver has changed it since.
    pub fn restore(config: &QueueConfig, snapshot: SplitDeviceSnapshot) -> Result<Self, SnapshotError> {
        config.check_format(Format::Split)?;
        let SplitDeviceSnapshot { buffers, notified_index, notify_wish, available_seen, next_head } =
            snapshot;
        let size = config.layout.queue_size;
        buffers.check(config)?;
        // The check has counted no more than the queue size between the two.
        let free = size - buffers.popped.wrapping_sub(buffers.published);
        if available_seen.wrapping_sub(buffers.popped) > free {
            let expected =
                format!("from popped to {free} more, so that no buffer is more than the queue holds");
            return Err(SnapshotError::field("available_seen", available_seen, expected));
        }
        if let Some(head) = next_head {
            if !config.features.contains(feature::IN_ORDER) {
                return Err(SnapshotError::field("next_head", head, "none without IN_ORDER"));
            }
            if head >= size {
                let expected = format!("below the queue size {size}");
                return Err(SnapshotError::field("next_head", head, expected));
            }
        }
        Ok(SplitDevice {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: TakenBuffers::restore(config, buffers)?,
            notified: notified_index,
            notify_wish,
            available_seen,
            next_head,
        })
    }
}
