//! The calls that a trace is made of.

use crate::{Segment, Side};
use alloc::borrow::Cow;
use serde::{Deserialize, Serialize};

/// A call and when it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<'a> {
    /// Ticks since the recording began. Never falls within a queue.
    pub time: u64,
    /// The call.
    pub call: Call<'a>,
}

/// A call of one side. The names are those of [`Driver`](crate::driver::Driver) and [`Device`](crate::device::Device).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call<'a> {
    /// The driver added a buffer.
    Add {
        /// The caller's token.
        token: u64,
        /// Device-readable elements.
        readable: Cow<'a, [Segment]>,
        /// Device-writable elements.
        writable: Cow<'a, [Segment]>,
    },
    /// The driver published what it had added.
    Publish,
    /// The driver looked whether the device wants to be notified.
    Notify {
        /// Whether it then notified.
        sent: bool,
    },
    /// The driver got a buffer back.
    Reap,
    /// The driver asked for no notifications.
    DisableNotifications,
    /// The driver asked for notifications.
    EnableNotifications,
    /// The device took the next available buffer.
    Pop,
    /// The device wrote a used element.
    Complete {
        /// The descriptor that started the buffer.
        head: u16,
        /// Bytes written.
        length: u32,
    },
    /// With `IN_ORDER`, the device wrote one used element for every buffer up to this one.
    CompleteBatch {
        /// The id of the last of them.
        head: u16,
        /// Bytes written into that one.
        length: u32,
    },
    /// The device published used elements.
    PublishUsed,
    /// The device looked whether the driver wants to be notified.
    NotifyUsed {
        /// Whether it then notified; `None` where that could not be observed.
        sent: Option<bool>,
    },
    /// The device wrote what it wants of notifications.
    Wish {
        /// The value written, in the form of [`Notify::seen`](crate::driver::Notify::seen).
        value: u32,
    },
    /// Nobody's call: what the ring's memory was at this point.
    Checkpoint {
        /// See [`RingImage::digest`](super::RingImage::digest).
        digest: u64,
    },
    /// The driver reset the queue and the device confirmed it (2.6.1 "Virtqueue Reset"): both start anew, on zeroed memory.
    Reset,
    /// The device of a packed ring wrote a used descriptor that was seen in the ring.
    CompletePacked {
        /// The id in it.
        head: u16,
        /// The length in it; without `WRITE` it is reserved and may be any (2.8.4).
        length: u32,
        /// The flags in it but AVAIL and USED, which its position says: not every device sets `WRITE` where it wrote.
        flags: u16,
        /// Whether it stands, with `IN_ORDER`, for every buffer up to the one it names.
        batch: bool,
    },
}

impl Call<'_> {
    /// Who makes the call; `None` for a checkpoint.
    pub fn side(&self) -> Option<Side> {
        match self {
            Call::Add { .. }
            | Call::Publish
            | Call::Notify { .. }
            | Call::Reap
            | Call::DisableNotifications
            | Call::EnableNotifications
            | Call::Reset => Some(Side::Driver),
            Call::Pop
            | Call::Complete { .. }
            | Call::CompleteBatch { .. }
            | Call::CompletePacked { .. }
            | Call::PublishUsed
            | Call::NotifyUsed { .. }
            | Call::Wish { .. } => Some(Side::Device),
            Call::Checkpoint { .. } => None,
        }
    }

    /// The call's name as it stands in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Call::Add { .. } => "add",
            Call::Publish => "publish",
            Call::Notify { .. } => "notify",
            Call::Reap => "reap",
            Call::DisableNotifications => "disable_notifications",
            Call::EnableNotifications => "enable_notifications",
            Call::Pop => "pop",
            Call::Complete { .. } => "complete",
            Call::CompleteBatch { .. } => "complete_batch",
            Call::CompletePacked { .. } => "complete_packed",
            Call::PublishUsed => "publish_used",
            Call::NotifyUsed { .. } => "notify_used",
            Call::Wish { .. } => "wish",
            Call::Checkpoint { .. } => "checkpoint",
            Call::Reset => "reset",
        }
    }
}
