//! Access to the machine's addresses and ports, as its CPU would have it.

use crate::qemu::QtestError;

/// Reads and writes of device registers, little-endian, and of the ports of the PCI configuration mechanism.
pub trait Bus {
    /// Reads 8 bits at a physical address.
    fn read_u8(&mut self, address: u64) -> Result<u8, QtestError>;
    /// Reads 16 bits.
    fn read_u16(&mut self, address: u64) -> Result<u16, QtestError>;
    /// Reads 32 bits.
    fn read_u32(&mut self, address: u64) -> Result<u32, QtestError>;
    /// Writes 8 bits at a physical address.
    fn write_u8(&mut self, address: u64, value: u8) -> Result<(), QtestError>;
    /// Writes 16 bits.
    fn write_u16(&mut self, address: u64, value: u16) -> Result<(), QtestError>;
    /// Writes 32 bits.
    fn write_u32(&mut self, address: u64, value: u32) -> Result<(), QtestError>;
    /// Reads 32 bits from a port.
    fn port_read_u32(&mut self, port: u16) -> Result<u32, QtestError>;
    /// Writes 32 bits to a port.
    fn port_write_u32(&mut self, port: u16, value: u32) -> Result<(), QtestError>;
}
