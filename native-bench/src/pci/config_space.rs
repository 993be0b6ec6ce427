//! A device's configuration space, and the two ports through which a PC reaches it.

use crate::{bus::Bus, qemu::QtestError};

/// Port that takes the address of a configuration register.
const ADDRESS_PORT: u16 = 0xcf8;
/// Port of the register's value.
const DATA_PORT: u16 = 0xcfc;

/// The 256 bytes of configuration space of one device, by 32-bit registers.
pub trait ConfigSpace {
    /// Reads the register that holds byte `offset`.
    fn read_u32(&mut self, offset: u8) -> Result<u32, QtestError>;
    /// Writes it.
    fn write_u32(&mut self, offset: u8, value: u32) -> Result<(), QtestError>;
}

/// The configuration space of function 0 of a device on bus 0.
#[derive(Debug)]
pub struct PortConfigSpace<'a, B> {
    bus: &'a mut B,
    slot: u8,
}

impl<'a, B: Bus> PortConfigSpace<'a, B> {
    /// Of device number `slot`, below 32.
    pub fn new(bus: &'a mut B, slot: u8) -> Self {
        PortConfigSpace { bus, slot }
    }

    fn select(&mut self, offset: u8) -> Result<(), QtestError> {
        let address = 1 << 31 | u32::from(self.slot & 0x1f) << 11 | u32::from(offset & 0xfc);
        self.bus.port_write_u32(ADDRESS_PORT, address)
    }
}

impl<B: Bus> ConfigSpace for PortConfigSpace<'_, B> {
    fn read_u32(&mut self, offset: u8) -> Result<u32, QtestError> {
        self.select(offset)?;
        self.bus.port_read_u32(DATA_PORT)
    }
    fn write_u32(&mut self, offset: u8, value: u32) -> Result<(), QtestError> {
        self.select(offset)?;
        self.bus.port_write_u32(DATA_PORT, value)
    }
}

/// Vendor and device id; both 0xffff if there is no device.
pub fn identity(space: &mut impl ConfigSpace) -> Result<(u16, u16), QtestError> {
    let identity = space.read_u32(0)?;
    Ok((identity as u16, (identity >> 16) as u16))
}
