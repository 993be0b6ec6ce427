//! A common configuration in memory, with a device's manners.

use super::status::FEATURES_OK;
use crate::{bus::Bus, qemu::QtestError};
use std::collections::BTreeMap;

/// A device whose common configuration stands at address 0.
#[derive(Default)]
pub(super) struct FakeDevice {
    pub(super) offered: u64,
    /// The device takes a driver's features only if none of these is among them.
    pub(super) dislikes: u64,
    pub(super) queue_sizes: Vec<u16>,
    /// Ignores the reset.
    pub(super) stuck: bool,
    pub(super) status: u8,
    pub(super) accepted: u64,
    /// Fields of the queues, by queue and offset.
    pub(super) queues: BTreeMap<(u16, u64), u32>,
    pub(super) selects: [u32; 3],
}

impl FakeDevice {
    fn queue(&self) -> u16 {
        self.selects[2] as u16
    }
}

impl Bus for FakeDevice {
    fn read_u8(&mut self, address: u64) -> Result<u8, QtestError> {
        Ok(if address == 20 { self.status } else { 0 })
    }
    fn read_u16(&mut self, address: u64) -> Result<u16, QtestError> {
        Ok(match address {
            18 => self.queue_sizes.len() as u16,
            24 => self.queue_sizes.get(usize::from(self.queue())).copied().unwrap_or(0),
            28 | 58 => self.queues.get(&(self.queue(), address)).map_or(0, |value| *value as u16),
            30 => self.queue(),
            _ => 0,
        })
    }
    fn read_u32(&mut self, address: u64) -> Result<u32, QtestError> {
        Ok(if address == 4 { (self.offered >> (32 * self.selects[0])) as u32 } else { 0 })
    }
    fn write_u8(&mut self, address: u64, value: u8) -> Result<(), QtestError> {
        if address == 20 && !self.stuck {
            let refused = self.accepted & self.dislikes != 0;
            self.status = if refused { value & !FEATURES_OK } else { value };
        }
        Ok(())
    }
    fn write_u16(&mut self, address: u64, value: u16) -> Result<(), QtestError> {
        match address {
            22 => self.selects[2] = value.into(),
            // The reset of a queue is over at once, unless the device is stuck.
            58 if !self.stuck => drop(self.queues.insert((self.queue(), 28), 0)),
            _ => drop(self.queues.insert((self.queue(), address), value.into())),
        }
        Ok(())
    }
    fn write_u32(&mut self, address: u64, value: u32) -> Result<(), QtestError> {
        match address {
            0 => self.selects[0] = value,
            8 => self.selects[1] = value,
            12 if self.selects[1] == 0 => self.accepted = self.accepted >> 32 << 32 | u64::from(value),
            12 => self.accepted = u64::from(self.accepted as u32) | u64::from(value) << 32,
            _ => drop(self.queues.insert((self.queue(), address), value)),
        }
        Ok(())
    }
    fn port_read_u32(&mut self, _: u16) -> Result<u32, QtestError> {
        Ok(u32::MAX)
    }
    fn port_write_u32(&mut self, _: u16, _: u32) -> Result<(), QtestError> {
        Ok(())
    }
}
