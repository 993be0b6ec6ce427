//! A device behind an IOMMU, which lets it read what it must read and write what it must write, and nothing else.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::TableStrategy,
    memory::{Memory, Ordering, OutOfRange, VmMemory},
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::sync::Arc;
use vm_memory::{
    GuestAddress, GuestMemoryMmap, Iommu, IommuMemory, Iotlb, Permissions,
    iommu::{Error, IotlbIterator, IovaRange},
};

/// A page for each thing that has permissions of its own.
const DESCRIPTORS: u64 = 0x1000;
const DRIVER: u64 = 0x2000;
const DEVICE: u64 = 0x3000;
const TABLES: u64 = 0x4000;
const PAGE: usize = 0x1000;

/// Mappings that never change.
#[derive(Debug)]
struct Fixed(Iotlb);

impl Iommu for Fixed {
    type IotlbGuard<'a> = &'a Iotlb;

    fn translate(
        &self,
        iova: GuestAddress,
        length: usize,
        access: Permissions,
    ) -> Result<IotlbIterator<&Iotlb>, Error> {
        Iotlb::lookup(&self.0, iova, length, access).map_err(|_| Error::CannotResolve {
            iova_range: IovaRange { base: iova, length },
            reason: "not mapped for this".into(),
        })
    }
}

type Behind = IommuMemory<GuestMemoryMmap, Fixed>;

/// The driver's memory, and the device's view of it, at the same addresses.
fn memories(permissions: [Permissions; 4]) -> (VmMemory<Arc<GuestMemoryMmap>>, VmMemory<Box<Behind>>) {
    let guest: GuestMemoryMmap = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 0x1_0000)]).unwrap();
    let mut mappings = Iotlb::new();
    for (page, permission) in [DESCRIPTORS, DRIVER, DEVICE, TABLES].into_iter().zip(permissions) {
        let page = GuestAddress(page);
        mappings.set_mapping(page, page, PAGE, permission).unwrap();
    }
    let behind = IommuMemory::new(guest.clone(), Fixed(mappings), true, ());
    (VmMemory(Arc::new(guest)), VmMemory(Box::new(behind)))
}

fn config(features: u64) -> QueueConfig {
    let layout =
        Layout { queue_size: 8, descriptor_area: DESCRIPTORS, driver_area: DRIVER, device_area: DEVICE };
    QueueConfig::new(layout, Features(features | feature::INDIRECT_DESC | feature::EVENT_IDX))
}

fn works(mut driver: impl Driver, mut device: impl Device, permissions: [Permissions; 4]) {
    let (drivers, devices) = memories(permissions);
    let (probe, mut chain) = (&mut NoProbe, Chain::default());
    let elements = [Segment { address: 0x10_0000, length: 4 }; 3];
    for token in 0..40 {
        driver.add(&drivers, probe, token, &elements[..1], &elements[..token as usize % 3]).unwrap();
        driver.publish(&drivers, probe).unwrap();
        assert!(driver.notify(&drivers, probe).unwrap().needed);
        assert!(device.pop(&devices, probe, &mut chain).unwrap());
        device.complete(&devices, probe, chain.head, 0).unwrap();
        device.publish(&devices, probe).unwrap();
        assert!(!device.enable_notifications(&devices).unwrap());
        assert!(device.notify(&devices, probe).unwrap().needed);
        assert_eq!(driver.reap(&drivers, probe).unwrap().map(|used| used.token), Some(token));
        assert_eq!(driver.enable_notifications(&drivers), Ok(0));
    }
}

#[test]
fn a_device_needs_no_more_than_it_must() {
    use Permissions::{Read, ReadWrite, Write};
    let tables = || TableStrategy::ListCache { threshold: 4 }.build(8, TABLES, PAGE as u64).unwrap();
    let split = config(0);
    let driver = SplitDriver::new(&split, tables()).unwrap();
    works(driver, SplitDevice::new(&split).unwrap(), [Read, Read, Write, Read]);
    let packed = config(feature::RING_PACKED);
    let driver = PackedDriver::new(&packed, tables()).unwrap();
    works(driver, PackedDevice::new(&packed).unwrap(), [ReadWrite, Read, Write, Read]);
}

#[test]
fn what_is_not_mapped_is_a_fault() {
    use Permissions::{No, Read, Write};
    let split = config(0);
    let (drivers, devices) = memories([Read, Read, Write, No]);
    let tables = TableStrategy::ListCache { threshold: 4 }.build(8, TABLES, PAGE as u64).unwrap();
    let mut driver = SplitDriver::new(&split, tables).unwrap();
    let mut device = SplitDevice::new(&split).unwrap();
    let elements = [Segment { address: 0x10_0000, length: 4 }; 2];
    driver.add(&drivers, &mut NoProbe, 0, &elements, &[]).unwrap();
    driver.publish(&drivers, &mut NoProbe).unwrap();
    let popped = device.pop(&devices, &mut NoProbe, &mut Chain::default());
    assert!(matches!(popped, Err(Fault::Memory(_))), "{popped:?}");
}

/// A peer's number, taken for an address, is never added to without a look.
#[test]
fn the_end_of_all_addresses_is_an_error() {
    let (_, behind) = memories([Permissions::ReadWrite; 4]);
    for length in [2, 4, 8, 16] {
        let address = u64::MAX - length + 1;
        let outside = Err(OutOfRange { address, length });
        let stored = match length {
            2 => behind.store_u16(address, 0, Ordering::Relaxed),
            4 => behind.store_u32(address, 0),
            8 => behind.store_u64(address, 0, Ordering::Relaxed),
            _ => behind.store_words(address, [0, 0]),
        };
        assert_eq!(stored, outside);
        assert_eq!(
            behind.check_words(u64::MAX - 7, length / 2),
            Err(OutOfRange { address: u64::MAX - 7, length: 4 * length })
        );
    }
    assert!(behind.check_words(8, u64::MAX / 8).is_err());
}
