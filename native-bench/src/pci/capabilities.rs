//! The device's list of capabilities, which says where its virtio structures lie
//! (virtio 1.2, 4.1.4 "Virtio Structure PCI Capabilities").

use super::{
    bars::{BarError, Bars},
    config_space::ConfigSpace,
};
use crate::qemu::QtestError;

/// Configuration space offset of the first capability's offset.
const LIST: u8 = 0x34;
/// Where capabilities may begin: behind the header.
const HEADER: u8 = 0x40;
/// More cannot be in 192 bytes.
const MOST: usize = 48;
/// Id of the capabilities that virtio uses.
const VENDOR_SPECIFIC: u8 = 0x09;

/// `cfg_type`: the common configuration.
const COMMON: u8 = 1;
/// `cfg_type`: the doorbells.
const NOTIFY: u8 = 2;
/// `cfg_type`: the configuration of the device type.
const DEVICE: u8 = 4;
/// Bytes of the common configuration that every 1.0 device has.
const COMMON_LENGTH: u32 = 56;

/// Addresses of the device's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regions {
    /// The common configuration (4.1.4.3).
    pub common: u64,
    /// The doorbells (4.1.4.4).
    pub notify: u64,
    /// Bytes of the doorbells' region.
    pub notify_length: u32,
    /// Bytes from one doorbell to the next, to be multiplied with the queue's `queue_notify_off`.
    pub notify_multiplier: u32,
    /// The configuration of the device type (4.1.4.6).
    pub device: u64,
}

/// Why the structures were not found.
#[derive(Debug, thiserror::Error)]
pub enum CapabilityError {
    /// An offset that no capability can be at.
    #[error("the capability list leads to offset {0:#x}; expected a multiple of 4 from {HEADER:#x} on")]
    Offset(u8),
    /// The list never ends.
    #[error("the capability list does not end after {MOST} entries: it runs in a circle")]
    Circle,
    /// A structure is missing.
    #[error("the device has no virtio capability of type {cfg_type} ({name})")]
    Missing {
        /// `cfg_type` that was looked for.
        cfg_type: u8,
        /// Its name.
        name: &'static str,
    },
    /// The common configuration is cut short.
    #[error("the common configuration has {0} bytes; expected at least {COMMON_LENGTH}")]
    Short(u32),
    /// A structure lies outside the device's regions.
    #[error(transparent)]
    Bar(#[from] BarError),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] QtestError),
}

/// One capability: where its structure lies.
struct Structure {
    address: u64,
    length: u32,
    /// Offset of the capability itself.
    at: u8,
}

impl Regions {
    /// Walks the list. Of several structures of one type, the first is the one to use (4.1.4.1).
    pub fn find(space: &mut impl ConfigSpace, bars: &Bars) -> Result<Self, CapabilityError> {
        let (mut common, mut notify, mut device) = (None, None, None);
        let mut at = space.read_u32(LIST)? as u8;
        let mut left = MOST;
        while at != 0 {
            if at < HEADER || !at.is_multiple_of(4) {
                return Err(CapabilityError::Offset(at));
            }
            left = left.checked_sub(1).ok_or(CapabilityError::Circle)?;
            let [id, next, _, cfg_type] = space.read_u32(at)?.to_le_bytes();
            let place = match cfg_type {
                COMMON => Some(&mut common),
                NOTIFY => Some(&mut notify),
                DEVICE => Some(&mut device),
                _ => None,
            };
            if let Some(place @ None) = place.filter(|_| id == VENDOR_SPECIFIC) {
                *place = Some(structure(space, bars, at)?);
            }
            at = next;
        }
        let missing = |cfg_type, name| move || CapabilityError::Missing { cfg_type, name };
        let common = common.ok_or_else(missing(COMMON, "common configuration"))?;
        let notify = notify.ok_or_else(missing(NOTIFY, "notifications"))?;
        let device = device.ok_or_else(missing(DEVICE, "device configuration"))?;
        if common.length < COMMON_LENGTH {
            return Err(CapabilityError::Short(common.length));
        }
        Ok(Regions {
            common: common.address,
            notify: notify.address,
            notify_length: notify.length,
            notify_multiplier: space.read_u32(notify.at.wrapping_add(16))?,
            device: device.address,
        })
    }
}

fn structure(space: &mut impl ConfigSpace, bars: &Bars, at: u8) -> Result<Structure, CapabilityError> {
    let [bar, ..] = space.read_u32(at.wrapping_add(4))?.to_le_bytes();
    let offset = space.read_u32(at.wrapping_add(8))?;
    let length = space.read_u32(at.wrapping_add(12))?;
    let address = bars.address(bar, u64::from(offset), u64::from(length))?;
    Ok(Structure { address, length, at })
}

#[cfg(test)]
mod tests {
    use super::{super::config_space::PortConfigSpace, super::fake::FakeDevice, *};
    use proptest::prelude::*;

    fn find(device: &mut FakeDevice) -> Result<Regions, CapabilityError> {
        let mut space = PortConfigSpace::new(device, 4);
        let bars = Bars::assign(&mut space).unwrap();
        Regions::find(&mut space, &bars)
    }

    #[test]
    fn refuses_lists_that_lead_nowhere() {
        let mut device = FakeDevice::network();
        device.set_config_u32(LIST, 0x3c);
        assert!(matches!(find(&mut device), Err(CapabilityError::Offset(0x3c))));
        device.set_config_u32(LIST, 0x42);
        assert!(matches!(find(&mut device), Err(CapabilityError::Offset(0x42))));
        device.set_config_u32(LIST, 0);
        assert!(matches!(find(&mut device), Err(CapabilityError::Missing { cfg_type: COMMON, .. })));
        device.set_config_u32(LIST, 0x40);
        device.set_config_u32(0x40, 0x4009);
        assert!(matches!(find(&mut device), Err(CapabilityError::Circle)));
    }

    #[test]
    fn refuses_structures_outside_their_region() {
        let mut device = FakeDevice::network();
        device.set_config_u32(FakeDevice::COMMON + 8, 0x3fff);
        assert!(matches!(find(&mut device), Err(CapabilityError::Bar(BarError::Outside { bar: 4, .. }))));
        let mut device = FakeDevice::network();
        device.set_config_u32(FakeDevice::COMMON + 12, 20);
        assert!(matches!(find(&mut device), Err(CapabilityError::Short(20))));
    }

    proptest! {
        #[test]
        fn any_configuration_space_is_walked_to_an_end(words in prop::collection::vec(any::<u32>(), 48), first: u8) {
            let mut device = FakeDevice::network();
            device.set_config_u32(LIST, u32::from(first));
            for (index, word) in words.into_iter().enumerate() {
                device.set_config_u32(HEADER + 4 * index as u8, word);
            }
            let _ = find(&mut device);
        }
    }
}
