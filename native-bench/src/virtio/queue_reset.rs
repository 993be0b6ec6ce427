//! Resetting one queue of a running device (virtio 1.2, 2.6.1 "Virtqueue Reset", 4.1.4.3).

use super::{BringUpError, CommonConfig};
use crate::bus::Bus;
use std::time::{Duration, Instant};

/// Resets queue `index` and waits until the device confirms it: from then on it neither uses the queue nor notifies of
/// it, and the queue can be set up again. `name` is for messages.
pub fn reset_queue<B: Bus>(
    config: &mut CommonConfig<'_, B>,
    name: &'static str,
    index: u16,
    timeout: Duration,
) -> Result<(), BringUpError> {
    config.select_queue(index)?;
    config.reset_queue()?;
    let start = Instant::now();
    // 4.1.4.3.2: both fields read 0 when the reset is over.
    while config.is_queue_resetting()? || config.is_queue_enabled()? {
        if start.elapsed() > timeout {
            return Err(BringUpError::QueueNotReset { name, waited: timeout });
        }
    }
    Ok(())
}
