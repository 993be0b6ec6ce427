//! How much a buffer may be written, as the device counts it: its writable elements and not one byte more, wherever they
//! stand; and how long a buffer may be in all.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::TableStrategy,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
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
