//! How much a buffer may be written, as the device counts it: its writable elements and not one byte more, wherever they
//! stand; and how long a buffer may be in all.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::{Direct, TableStrategy},
    memory::{Memory, Ordering, OwnedMemory},
    probe::NoProbe,
    spec::{
        Features, Layout, feature,
        packed::{self, Descriptor, Position},
    },
};

fn check(mut driver: impl Driver, mut device: impl Device) {
    let memory = OwnedMemory::new(0x1000, 0x3000);
    let (probe, mut chain) = (&mut NoProbe, Chain::default());
    let segment = |length: u32| Segment { address: 0x10_0000, length };
    let cases: [(&[u32], &[u32]); 8] = [
        (&[5], &[]),
        (&[5, 6, 7], &[]),
        (&[], &[9]),
        (&[], &[9, 10]),
        (&[100], &[1]),
        (&[5, 6], &[7, 8, 9]),
        (&[0], &[0]),
        // The most that a used length can say; one byte more of it is readable, 2^32 in all.
        (&[1], &[u32::MAX]),
    ];
    for (readable, writable) in cases {
        let most: u32 = writable.iter().sum();
        let readable: Vec<_> = readable.iter().copied().map(segment).collect();
        let writable: Vec<_> = writable.iter().copied().map(segment).collect();
        driver.add(&memory, probe, 1, &readable, &writable).unwrap();
        driver.publish(&memory, probe).unwrap();
        assert!(device.pop(&memory, probe, &mut chain).unwrap());
        assert_eq!((chain.readable(), chain.writable()), (&readable[..], &writable[..]));
        assert_eq!(chain.writable_bytes(), u64::from(most));
        if let Some(more) = most.checked_add(1) {
            let refused: Result<(), Fault> = device.complete(&memory, probe, chain.head, more);
            assert_eq!(refused.map_err(|fault| fault.rule_id()), Err(Some("B-USED-LEN")));
        }
        device.complete(&memory, probe, chain.head, most).unwrap();
        device.publish(&memory, probe).unwrap();
        assert_eq!(driver.reap(&memory, probe).unwrap().map(|used| used.length), Some(most));
    }
    for (readable, writable) in [(segment(2), segment(u32::MAX)), (segment(u32::MAX), segment(2))] {
        let Err(AddError::Refused(fault)) = driver.add(&memory, probe, 1, &[readable], &[writable]) else {
            unreachable!("more than 2^32 bytes")
        };
        assert_eq!(fault.rule_id(), Some("B-LONG"));
    }
}

/// QEMU never sets WRITE in a used descriptor, and tells the length there all the same.
#[test]
fn a_length_without_the_write_flag_counts_where_it_can_be_one() {
    let layout = Layout::contiguous(4, 0x1000);
    let config = QueueConfig::new(layout, Features(feature::RING_PACKED));
    let memory = OwnedMemory::new(0x1000, 0x1000);
    let mut driver = PackedDriver::new(&config, Direct).unwrap();
    let segment = [Segment { address: 0x10_0000, length: 100 }];
    let mut position = Position::START;
    let cases: [(&[Segment], &[Segment], u32, u32); 4] =
        [(&[], &segment, 60, 60), (&[], &segment, 101, 0), (&segment, &[], 60, 0), (&segment, &[], 0, 0)];
    for (readable, writable, written, expected) in cases {
        let id = driver.add(&memory, &mut NoProbe, 7, readable, writable).unwrap();
        driver.publish(&memory, &mut NoProbe).unwrap();
        let used = Descriptor { address: 0, length: written, id, flags: position.used_bits() };
        let slot = layout.address(packed::Cell::Descriptor(position.index));
        memory.store_u64(slot + 8, used.to_words()[1], Ordering::Release).unwrap();
        let used = driver.reap(&memory, &mut NoProbe).unwrap().unwrap();
        assert_eq!((used.token, used.length), (7, expected));
        position = position.advance(1, 4);
    }
}

#[test]
fn in_ring_and_table_of_both_formats() {
    for strategy in [TableStrategy::Direct, TableStrategy::ListCache { threshold: 4 }] {
        let tables = || strategy.build(8, 0x2000, 0x2000).unwrap();
        let layout = Layout::contiguous(8, 0x1000);
        let config = QueueConfig::new(layout, Features(feature::INDIRECT_DESC));
        check(SplitDriver::new(&config, tables()).unwrap(), SplitDevice::new(&config).unwrap());
        let config = QueueConfig::new(layout, Features(feature::INDIRECT_DESC | feature::RING_PACKED));
        check(PackedDriver::new(&config, tables()).unwrap(), PackedDevice::new(&config).unwrap());
    }
}
