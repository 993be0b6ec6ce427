//! Bringing a virtio device up (virtio 1.2, 3.1 "Device Initialization").

mod common_config;
#[cfg(test)]
mod fake;
mod negotiation;
mod queue_reset;
mod queue_setup;
pub mod status;
#[cfg(test)]
mod tests;

pub use common_config::CommonConfig;
pub use negotiation::{Negotiated, negotiate};
pub use queue_reset::reset_queue;
pub use queue_setup::{QueueSetup, set_up_queue};

use crate::qemu::QtestError;
use status::Status;
use std::time::Duration;

/// Why a device cannot be brought up.
#[derive(Debug, thiserror::Error)]
pub enum BringUpError {
    /// The status byte never became 0.
    #[error("the device did not finish its reset within {waited:?}; its status is {status}")]
    NotReset {
        /// How long it was waited for.
        waited: Duration,
        /// The status byte.
        status: Status,
    },
    /// The device does not have what is needed.
    #[error("the device does not offer {missing}; it offers {offered}")]
    NotOffered {
        /// Features that are needed and not offered, by name.
        missing: String,
        /// All that are offered, by name.
        offered: String,
    },
    /// The device took none of it.
    #[error("the device refused the features {asked}: FEATURES_OK did not stay set, its status is {status}")]
    Refused {
        /// Features that were asked for, by name.
        asked: String,
        /// The status byte.
        status: Status,
    },
    /// The queue is not there.
    #[error("the device has {available} queues; the {name} queue would be number {index}")]
    NoQueue {
        /// Which.
        name: &'static str,
        /// Its number.
        index: u16,
        /// How many there are.
        available: u16,
    },
    /// The queue cannot be as large.
    #[error("the device's {name} queue has at most {maximum} descriptors; --queue-size asks for {asked}")]
    QueueTooLarge {
        /// Which.
        name: &'static str,
        /// The size that was asked for.
        asked: u16,
        /// The device's limit; 0 if the queue is not available.
        maximum: u16,
    },
    /// The reset of a queue does not end.
    #[error("the device did not finish the reset of its {name} queue within {waited:?}")]
    QueueNotReset {
        /// Which.
        name: &'static str,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The doorbell lies nowhere.
    #[error("the {name} queue's doorbell lies {offset:#x} bytes into a region of {length:#x} bytes")]
    DoorbellOutside {
        /// Which queue.
        name: &'static str,
        /// Where its doorbell would be.
        offset: u64,
        /// Bytes of the region.
        length: u32,
    },
    /// The bus.
    #[error(transparent)]
    Bus(#[from] QtestError),
}
