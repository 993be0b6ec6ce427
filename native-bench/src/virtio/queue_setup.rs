//! Giving the device a queue's size and addresses (virtio 1.2, 4.1.5.1.3 "Virtqueue Configuration").

use super::{BringUpError, CommonConfig};
use crate::{bus::Bus, pci::Regions};
use ring_core::spec::Layout;

/// The queue to set up.
#[derive(Clone, Copy, Debug)]
pub struct QueueSetup {
    /// Its name, for messages.
    pub name: &'static str,
    /// Its number.
    pub index: u16,
    /// Its size and addresses.
    pub layout: Layout,
    /// Bytes of a notification: 2, or 4 with `NOTIFICATION_DATA` (4.1.4.4).
    pub doorbell_bytes: u8,
}

/// Sets the queue up and enables it. Returns the address of its doorbell.
pub fn set_up_queue<B: Bus>(
    config: &mut CommonConfig<'_, B>,
    regions: &Regions,
    queue: &QueueSetup,
) -> Result<u64, BringUpError> {
    let QueueSetup { name, index, layout, doorbell_bytes } = *queue;
    let available = config.queues()?;
    if index >= available {
        return Err(BringUpError::NoQueue { name, index, available });
    }
    config.select_queue(index)?;
    let maximum = config.queue_size()?;
    if layout.queue_size > maximum {
        return Err(BringUpError::QueueTooLarge { name, asked: layout.queue_size, maximum });
    }
    config.set_queue_size(layout.queue_size)?;
    config.set_queue_areas(layout.descriptor_area, layout.driver_area, layout.device_area)?;
    let offset = u64::from(config.queue_notify_offset()?) * u64::from(regions.notify_multiplier);
    if offset + u64::from(doorbell_bytes) > u64::from(regions.notify_length) {
        return Err(BringUpError::DoorbellOutside { name, offset, length: regions.notify_length });
    }
    config.enable_queue()?;
    Ok(regions.notify + offset)
}
