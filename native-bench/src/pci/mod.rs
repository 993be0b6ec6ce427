//! Finding the network device on the PCI bus and the regions through which it is driven.

mod bars;
mod capabilities;
mod config_space;
#[cfg(test)]
mod fake;

pub use bars::{BarError, Bars};
pub use capabilities::{CapabilityError, Regions};
pub use config_space::{ConfigSpace, PortConfigSpace, identity};

use crate::{bus::Bus, qemu::QtestError};

/// Vendor of all virtio devices (virtio 1.2, 4.1.2 "PCI Device Discovery").
const VIRTIO_VENDOR: u16 = 0x1af4;
/// 0x1040 and the device type: 1, a network device.
const NETWORK_DEVICE: u16 = 0x1041;
/// Configuration space offset of the command register.
const COMMAND: u8 = 0x04;
/// The device answers to its memory BARs.
const MEMORY_SPACE: u32 = 1 << 1;
/// The device may access memory: its rings and buffers.
const BUS_MASTER: u32 = 1 << 2;

/// Why the device cannot be driven through PCI.
#[derive(Debug, thiserror::Error)]
pub enum PciError {
    /// Something else, or nothing, is where the device should be.
    #[error(
        "PCI device 00:{slot:02x}.0 is {vendor:04x}:{device:04x}; expected a virtio network device \
         ({VIRTIO_VENDOR:04x}:{NETWORK_DEVICE:04x})"
    )]
    OtherDevice {
        /// Device number on bus 0.
        slot: u8,
        /// Vendor id found; 0xffff if there is nothing.
        vendor: u16,
        /// Device id found.
        device: u16,
    },
    /// Its base addresses.
    #[error(transparent)]
    Bar(#[from] BarError),
    /// Its capabilities.
    #[error(transparent)]
    Capability(#[from] CapabilityError),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] QtestError),
}

/// Gives the network device at `slot` of bus 0 its addresses, turns it on, and finds its regions.
pub fn enable_network_device(bus: &mut impl Bus, slot: u8) -> Result<Regions, PciError> {
    let mut space = PortConfigSpace::new(bus, slot);
    let (vendor, device) = identity(&mut space)?;
    if (vendor, device) != (VIRTIO_VENDOR, NETWORK_DEVICE) {
        return Err(PciError::OtherDevice { slot, vendor, device });
    }
    let bars = Bars::assign(&mut space)?;
    let command = space.read_u32(COMMAND)?;
    // The upper half is the status register, whose bits are cleared by writing ones.
    space.write_u32(COMMAND, command & 0xffff | MEMORY_SPACE | BUS_MASTER)?;
    Ok(Regions::find(&mut space, &bars)?)
}

#[cfg(test)]
mod tests {
    use super::{fake::FakeDevice, *};

    #[test]
    fn finds_the_regions_of_a_device_through_the_ports() {
        let mut device = FakeDevice::network();
        let regions = enable_network_device(&mut device, 4).unwrap();
        // BAR 1 is 4 KiB, BAR 4 is 16 KiB and so aligned to that.
        assert_eq!(regions.common, 0xe000_4000);
        assert_eq!(regions.device, 0xe000_6000);
        assert_eq!(regions.notify, 0xe000_7000);
        assert_eq!(regions.notify_multiplier, 4);
        assert_eq!(device.config_u32(COMMAND) & 0xffff, 6);
    }

    #[test]
    fn says_what_is_there_instead() {
        let mut device = FakeDevice::network();
        let nothing = enable_network_device(&mut device, 5).unwrap_err().to_string();
        assert!(nothing.contains("00:05.0 is ffff:ffff"), "{nothing}");
        device.set_config_u32(0, 0x1000_8086);
        let other = enable_network_device(&mut device, 4).unwrap_err().to_string();
        assert!(other.contains("8086:1000") && other.contains("1af4:1041"), "{other}");
    }
}
