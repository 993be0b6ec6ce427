//! Rings on the guest memory of the crate `vm-memory`: several regions, holes, alignment, dirty pages.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    fault::Fault,
    indirect::TableStrategy,
    memory::{Memory, Ordering, OutOfRange, VmMemory},
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::{ops::Range, sync::Arc};
use vm_memory::{
    Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, GuestMemoryRegion,
    bitmap::{AtomicBitmap, Bitmap},
};

/// Two regions that touch, a hole, and one whose start is aligned to 4 bytes only.
const REGIONS: [Range<u64>; 3] = [0x100..0x140, 0x140..0x180, 0x204..0x244];

fn guest() -> GuestMemoryMmap {
    let ranges = REGIONS.map(|region| (GuestAddress(region.start), (region.end - region.start) as usize));
    GuestMemoryMmap::from_ranges(&ranges).unwrap()
}

/// Whether `length` bytes lie in one region, aligned to their length in the guest and, where a region starts at an odd
/// place, in the host, which is where the atomic is.
fn is_there(address: u64, length: u64) -> bool {
    REGIONS.iter().any(|region| {
        let inside = address >= region.start && address.saturating_add(length) <= region.end;
        inside && address.is_multiple_of(length) && (address - region.start).is_multiple_of(length)
    })
}

/// Every address in and around the regions, and the last ones there are.
fn addresses() -> impl Iterator<Item = u64> {
    (0xe0..0x260).chain([0, u64::MAX - 15, u64::MAX - 7, u64::MAX - 3, u64::MAX - 1, u64::MAX])
}

#[test]
fn reaches_what_lies_in_a_region_and_nothing_else() {
    let guest = guest();
    let memory = VmMemory(&guest);
    for address in addresses() {
        let expected = |length| match is_there(address, length) {
            true => Ok(()),
            false => Err(OutOfRange { address, length }),
        };
        assert_eq!(memory.store_u16(address, 1, Ordering::Release), expected(2), "{address:#x}");
        assert_eq!(memory.load_u16(address, Ordering::Acquire).map(drop), expected(2), "{address:#x}");
        assert_eq!(memory.store_u32(address, 1), expected(4), "{address:#x}");
        assert_eq!(memory.load_u32(address).map(drop), expected(4), "{address:#x}");
        assert_eq!(memory.store_u64(address, 1, Ordering::Release), expected(8), "{address:#x}");
        assert_eq!(memory.load_u64(address, Ordering::Acquire).map(drop), expected(8), "{address:#x}");
        // The two halves may lie in two regions.
        let expected = |half| match is_there(address, half) && is_there(address + half, half) {
            true => Ok(()),
            false => Err(OutOfRange { address, length: 2 * half }),
        };
        assert_eq!(memory.store_words(address, [1, 2]), expected(8), "{address:#x}");
        assert_eq!(memory.load_words(address).map(drop), expected(8), "{address:#x}");
        assert_eq!(memory.store_singles(address, [1, 2]), expected(4), "{address:#x}");
        assert_eq!(memory.load_singles(address).map(drop), expected(4), "{address:#x}");
    }
}

#[test]
fn writes_little_endian_bytes_where_they_belong() {
    let guest = guest();
    let memory = VmMemory(&guest);
    let bytes = |address, length| {
        let mut bytes = vec![0; length];
        guest.read_slice(&mut bytes, GuestAddress(address)).unwrap();
        bytes
    };
    memory.store_u16(0x102, 0xbeef, Ordering::Relaxed).unwrap();
    memory.store_u32(0x104, 0x0403_0201).unwrap();
    assert_eq!(bytes(0x100, 8), [0, 0, 0xef, 0xbe, 1, 2, 3, 4]);
    memory.store_u64(0x108, 0x0807_0605_0403_0201, Ordering::Relaxed).unwrap();
    assert_eq!(bytes(0x108, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
    // In one region, and over the place where two of them touch.
    for address in [0x110, 0x138] {
        memory.store_words(address, [0x11, 0x22]).unwrap();
        assert_eq!(memory.load_words(address), Ok([0x11, 0x22]));
        assert_eq!((bytes(address, 1), bytes(address + 8, 1)), (vec![0x11], vec![0x22]));
    }
    for address in [0x150, 0x13c] {
        memory.store_singles(address, [0x33, 0x44]).unwrap();
        assert_eq!(memory.load_singles(address), Ok([0x33, 0x44]));
        assert_eq!((bytes(address, 1), bytes(address + 4, 1)), (vec![0x33], vec![0x44]));
    }
}

#[test]
fn a_refused_store_changes_nothing() {
    let guest = guest();
    let memory = VmMemory(&guest);
    // The second half lies in the hole.
    memory.store_words(0x178, [u64::MAX; 2]).unwrap_err();
    memory.store_singles(0x17c, [u32::MAX; 2]).unwrap_err();
    let mut bytes = [1; 0x40];
    guest.read_slice(&mut bytes, GuestAddress(0x140)).unwrap();
    assert_eq!(bytes, [0; 0x40]);
}

const RING: u64 = 0x1_0000;
const TABLES: u64 = 0x10_0000;
const BUFFERS: u64 = 0x20_0000;

/// Ring, tables and buffers each in a region of its own, with holes between them.
fn spread<B: vm_memory::bitmap::NewBitmap>() -> GuestMemoryMmap<B> {
    let ranges = [RING, TABLES, BUFFERS].map(|start| (GuestAddress(start), 0x4000));
    GuestMemoryMmap::from_ranges(&ranges).unwrap()
}

fn queues() -> [QueueConfig; 2] {
    [0, feature::RING_PACKED].map(|format| {
        let features = Features(format | feature::INDIRECT_DESC | feature::EVENT_IDX);
        QueueConfig::new(Layout::contiguous(8, RING), features)
    })
}

/// The driver on its own handle to the memory, the device on another, as in a VMM's threads.
fn echo<D: Driver, V: Device>(mut driver: D, mut device: V) {
    let guest = Arc::new(spread::<()>());
    let (drivers, devices) = (VmMemory(Arc::clone(&guest)), VmMemory(guest));
    let probe = &mut NoProbe;
    let mut chain = Chain::default();
    for round in 0..100_u64 {
        let asked = Segment { address: BUFFERS + round % 8 * 64, length: 8 };
        let answer = Segment { address: BUFFERS + 0x2000 + round % 8 * 64, length: 8 };
        drivers.0.write_obj(round, GuestAddress(asked.address)).unwrap();
        driver.add(&drivers, probe, round, &[asked], &[answer]).unwrap();
        driver.publish(&drivers, probe).unwrap();
        assert!(driver.notify(&drivers, probe).unwrap().needed);
        assert!(device.pop(&devices, probe, &mut chain).unwrap());
        assert_eq!((chain.readable(), chain.writable()), (&[asked][..], &[answer][..]));
        let question: u64 = devices.0.read_obj(GuestAddress(chain.readable()[0].address)).unwrap();
        devices.0.write_obj(!question, GuestAddress(chain.writable()[0].address)).unwrap();
        device.complete(&devices, probe, chain.head, 8).unwrap();
        device.publish(&devices, probe).unwrap();
        assert!(!device.enable_notifications(&devices).unwrap());
        assert!(device.notify(&devices, probe).unwrap().needed);
        let used = driver.reap(&drivers, probe).unwrap().unwrap();
        assert_eq!((used.token, used.length), (round, 8));
        assert_eq!(driver.enable_notifications(&drivers), Ok(0));
        assert_eq!(drivers.0.read_obj::<u64>(GuestAddress(answer.address)).unwrap(), !round);
    }
}

#[test]
fn carries_both_sides_of_both_formats() {
    let tables = || TableStrategy::ListCache { threshold: 4 }.build(8, TABLES, 0x4000).unwrap();
    let [split, packed] = queues();
    echo(SplitDriver::new(&split, tables()).unwrap(), SplitDevice::new(&split).unwrap());
    echo(PackedDriver::new(&packed, tables()).unwrap(), PackedDevice::new(&packed).unwrap());
}

#[test]
fn a_table_that_reaches_into_a_hole_is_a_fault_of_either_side() {
    let guest = spread::<()>();
    let memory = VmMemory(&guest);
    // Its last descriptor would lie behind the region.
    let arena = || TableStrategy::PlainAllocation.build(8, TABLES + 0x3fe0, 0x4000).unwrap();
    let elements = [Segment { address: BUFFERS, length: 1 }; 3];
    // A table is looked at as a whole.
    let outside = |address| Fault::Memory(OutOfRange { address, length: 48 });
    let [split, packed] = queues();
    let mut driver = SplitDriver::new(&split, arena()).unwrap();
    let added = driver.add(&memory, &mut NoProbe, 0, &elements, &[]);
    // The allocator gives it a cache line of its own, the next one.
    assert_eq!(added, Err(AddError::Fault(outside(TABLES + 0x4000))));
    // The same table from a driver that does not look: written where there is memory, its head by hand.
    memory.store_words(RING, [TABLES + 0x3fe0, 48 | 4 << 32]).unwrap();
    for entry in 0..2 {
        memory.store_words(TABLES + 0x3fe0 + entry * 16, [BUFFERS, 1 | 1 << 32 | (entry + 1) << 48]).unwrap();
    }
    memory.store_u16(split.layout.driver_area + 2, 1, Ordering::Release).unwrap();
    let mut device = SplitDevice::new(&split).unwrap();
    assert_eq!(device.pop(&memory, &mut NoProbe, &mut Chain::default()), Err(outside(TABLES + 0x3fe0)));
    // Packed: INDIRECT and AVAIL, the driver's wrap counter being 1.
    memory.store_words(RING, [TABLES + 0x3fe0, 48 | (4 | 1 << 7) << 48]).unwrap();
    let mut device = PackedDevice::new(&packed).unwrap();
    assert_eq!(device.pop(&memory, &mut NoProbe, &mut Chain::default()), Err(outside(TABLES + 0x3fe0)));
}

/// Migration copies the pages that a device dirtied: those that it wrote, and no others.
#[test]
fn what_is_written_is_dirty_and_nothing_else() {
    let guest = spread::<AtomicBitmap>();
    let memory = VmMemory(&guest);
    // Each area on a page of its own.
    let layout = Layout {
        queue_size: 8,
        descriptor_area: RING,
        driver_area: RING + 0x1000,
        device_area: RING + 0x2000,
    };
    let config = QueueConfig::new(layout, Features(0));
    let tables = TableStrategy::Direct.build(8, TABLES, 0x4000).unwrap();
    let mut driver = SplitDriver::new(&config, tables).unwrap();
    let mut device = SplitDevice::new(&config).unwrap();
    let region = guest.find_region(GuestAddress(RING)).unwrap();
    let dirty = || [0, 0x1000, 0x2000].map(|offset| region.bitmap().dirty_at(offset));
    assert_eq!(dirty(), [false; 3]);
    driver.add(&memory, &mut NoProbe, 0, &[Segment { address: BUFFERS, length: 1 }], &[]).unwrap();
    driver.publish(&memory, &mut NoProbe).unwrap();
    assert_eq!(dirty(), [true, true, false]);
    (**region).bitmap().reset();
    let mut chain = Chain::default();
    assert!(device.pop(&memory, &mut NoProbe, &mut chain).unwrap());
    assert_eq!(dirty(), [false; 3]);
    device.complete(&memory, &mut NoProbe, chain.head, 0).unwrap();
    device.publish(&memory, &mut NoProbe).unwrap();
    assert_eq!(dirty(), [false, false, true]);
}
