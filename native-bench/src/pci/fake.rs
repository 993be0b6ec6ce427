//! A configuration space in memory, shaped as QEMU shows that of its virtio network device.

use crate::{bus::Bus, qemu::QtestError};

/// A device at slot 4; elsewhere there is nothing.
pub(super) struct FakeDevice {
    config: [u8; 256],
    /// Bytes of each region; 0 for none.
    bar_lengths: [u32; 6],
    selected: u32,
}

impl FakeDevice {
    /// Offset of the capability of the common configuration.
    pub(super) const COMMON: u8 = 0x84;

    pub(super) fn network() -> Self {
        let mut device =
            FakeDevice { config: [0; 256], bar_lengths: [0, 0x1000, 0, 0, 0x4000, 0], selected: 0 };
        device.set_config_u32(0, 0x1041_1af4);
        device.set_config_u32(0x20, 0xc); // BAR 4: 64 bits wide, prefetchable
        device.set_config_u32(0x34, 0x98);
        device.set_config_u32(0x98, 0x8411); // MSI-X comes first in the list
        let virtio = [
            (Self::COMMON, 1, 0, 0x1000),
            (0x70, 3, 0x1000, 0x1000),
            (0x60, 4, 0x2000, 0x1000),
            (0x4c, 2, 0x3000, 0x1000),
        ];
        let nexts = [0x70, 0x60, 0x4c, 0];
        for ((at, cfg_type, offset, length), next) in virtio.into_iter().zip(nexts) {
            device.set_config_u32(at, u32::from_le_bytes([9, next, 16, cfg_type]));
            device.set_config_u32(at + 4, 4);
            device.set_config_u32(at + 8, offset);
            device.set_config_u32(at + 12, length);
        }
        device.set_config_u32(0x4c + 16, 4);
        device
    }

    pub(super) fn config_u32(&self, offset: u8) -> u32 {
        let offset = usize::from(offset & 0xfc);
        u32::from_le_bytes(self.config[offset..offset + 4].try_into().unwrap())
    }

    pub(super) fn set_config_u32(&mut self, offset: u8, value: u32) {
        let offset = usize::from(offset & 0xfc);
        self.config[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn set_bar_length(&mut self, bar: usize, length: u32) {
        self.bar_lengths[bar] = length;
    }

    fn selected(&self) -> Option<u8> {
        (self.selected >> 8 == 0x0080_0020).then_some(self.selected as u8)
    }
}

impl Bus for FakeDevice {
    fn port_write_u32(&mut self, port: u16, value: u32) -> Result<(), QtestError> {
        match (port, self.selected()) {
            (0xcf8, _) => self.selected = value,
            (0xcfc, Some(offset @ 0x10..0x28)) => {
                let length = self.bar_lengths[usize::from(offset - 0x10) / 4];
                let attributes = self.config_u32(offset) & 0xf;
                let value = if length == 0 { 0 } else { value & !(length - 1) | attributes };
                self.set_config_u32(offset, value);
            }
            (0xcfc, Some(offset)) => self.set_config_u32(offset, value),
            _ => {}
        }
        Ok(())
    }
    fn port_read_u32(&mut self, port: u16) -> Result<u32, QtestError> {
        Ok(match (port, self.selected()) {
            (0xcfc, Some(offset)) => self.config_u32(offset),
            _ => u32::MAX,
        })
    }
    fn read_u8(&mut self, _: u64) -> Result<u8, QtestError> {
        Ok(0xff)
    }
    fn read_u16(&mut self, _: u64) -> Result<u16, QtestError> {
        Ok(0xffff)
    }
    fn read_u32(&mut self, _: u64) -> Result<u32, QtestError> {
        Ok(u32::MAX)
    }
    fn write_u8(&mut self, _: u64, _: u8) -> Result<(), QtestError> {
        Ok(())
    }
    fn write_u16(&mut self, _: u64, _: u16) -> Result<(), QtestError> {
        Ok(())
    }
    fn write_u32(&mut self, _: u64, _: u32) -> Result<(), QtestError> {
        Ok(())
    }
}
