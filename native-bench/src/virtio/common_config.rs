//! The common configuration structure (virtio 1.2, 4.1.4.3).

use super::status::Status;
use crate::{bus::Bus, qemu::QtestError};
use ring_core::spec::Features;

// Offsets in the structure, by the specification's names.
const DEVICE_FEATURE_SELECT: u64 = 0;
const DEVICE_FEATURE: u64 = 4;
const DRIVER_FEATURE_SELECT: u64 = 8;
const DRIVER_FEATURE: u64 = 12;
const NUM_QUEUES: u64 = 18;
const DEVICE_STATUS: u64 = 20;
const QUEUE_SELECT: u64 = 22;
const QUEUE_SIZE: u64 = 24;
const QUEUE_ENABLE: u64 = 28;
const QUEUE_NOTIFY_OFF: u64 = 30;
const QUEUE_DESC: u64 = 32;
const QUEUE_DRIVER: u64 = 40;
const QUEUE_DEVICE: u64 = 48;
const QUEUE_RESET: u64 = 58;

/// The structure of one device. Fields of a queue are those of the queue last selected.
#[derive(Debug)]
pub struct CommonConfig<'a, B> {
    bus: &'a mut B,
    base: u64,
}

impl<'a, B: Bus> CommonConfig<'a, B> {
    /// The structure at address `base`.
    pub fn new(bus: &'a mut B, base: u64) -> Self {
        CommonConfig { bus, base }
    }

    /// The features the device offers.
    pub fn device_features(&mut self) -> Result<Features, QtestError> {
        let mut half = |select| {
            self.bus.write_u32(self.base + DEVICE_FEATURE_SELECT, select)?;
            self.bus.read_u32(self.base + DEVICE_FEATURE).map(u64::from)
        };
        Ok(Features(half(0)? | half(1)? << 32))
    }

    /// The features the driver takes.
    pub fn set_driver_features(&mut self, features: Features) -> Result<(), QtestError> {
        for (select, half) in [(0, features.0 as u32), (1, (features.0 >> 32) as u32)] {
            self.bus.write_u32(self.base + DRIVER_FEATURE_SELECT, select)?;
            self.bus.write_u32(self.base + DRIVER_FEATURE, half)?;
        }
        Ok(())
    }

    /// How many queues the device has.
    pub fn queues(&mut self) -> Result<u16, QtestError> {
        self.bus.read_u16(self.base + NUM_QUEUES)
    }

    /// The status byte.
    pub fn status(&mut self) -> Result<Status, QtestError> {
        self.bus.read_u8(self.base + DEVICE_STATUS).map(Status)
    }

    /// Writes the status byte; 0 resets the device.
    pub fn set_status(&mut self, status: u8) -> Result<(), QtestError> {
        self.bus.write_u8(self.base + DEVICE_STATUS, status)
    }

    /// Selects the queue that the following fields are of.
    pub fn select_queue(&mut self, index: u16) -> Result<(), QtestError> {
        self.bus.write_u16(self.base + QUEUE_SELECT, index)
    }

    /// Descriptors of the queue: at first the most the device can do, 0 if there is no such queue.
    pub fn queue_size(&mut self) -> Result<u16, QtestError> {
        self.bus.read_u16(self.base + QUEUE_SIZE)
    }

    /// Makes the queue smaller.
    pub fn set_queue_size(&mut self, size: u16) -> Result<(), QtestError> {
        self.bus.write_u16(self.base + QUEUE_SIZE, size)
    }

    /// Guest addresses of descriptor, driver and device area.
    pub fn set_queue_areas(&mut self, descriptor: u64, driver: u64, device: u64) -> Result<(), QtestError> {
        for (field, address) in [(QUEUE_DESC, descriptor), (QUEUE_DRIVER, driver), (QUEUE_DEVICE, device)] {
            self.bus.write_u32(self.base + field, address as u32)?;
            self.bus.write_u32(self.base + field + 4, (address >> 32) as u32)?;
        }
        Ok(())
    }

    /// Lets the device use the queue, once DRIVER_OK is set.
    pub fn enable_queue(&mut self) -> Result<(), QtestError> {
        self.bus.write_u16(self.base + QUEUE_ENABLE, 1)
    }

    /// Whether the device may use the queue.
    pub fn is_queue_enabled(&mut self) -> Result<bool, QtestError> {
        Ok(self.bus.read_u16(self.base + QUEUE_ENABLE)? != 0)
    }

    /// Asks the device to reset the queue; only with `RING_RESET`.
    pub fn reset_queue(&mut self) -> Result<(), QtestError> {
        self.bus.write_u16(self.base + QUEUE_RESET, 1)
    }

    /// Whether the device is still at the reset of the queue.
    pub fn is_queue_resetting(&mut self) -> Result<bool, QtestError> {
        Ok(self.bus.read_u16(self.base + QUEUE_RESET)? != 0)
    }

    /// The queue's doorbell, counted in multiples of the notification capability's multiplier.
    pub fn queue_notify_offset(&mut self) -> Result<u16, QtestError> {
        self.bus.read_u16(self.base + QUEUE_NOTIFY_OFF)
    }
}
