//! Tables whose chain is made once: a buffer leaves `next` alone, the device finds its end all the same, and a table holds
//! buffers of any length up to its own.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Table, TableSource, TableStrategy, Unconditional},
    memory::{Access, AccessKind, Memory, Observed, Observer, OwnedMemory},
    probe::NoProbe,
    spec::{Descriptor, Features, Layout, descriptor_flag, feature},
};
use std::cell::RefCell;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x2000;
const LENGTH: u64 = 0x1000;

/// Remembers where was written.
#[derive(Default)]
struct Stores(RefCell<Vec<(u64, u64)>>);

impl Observer for Stores {
    fn access(&self, access: Access) {
        if let AccessKind::Store { .. } = access.kind {
            self.0.borrow_mut().push((access.address, access.address + access.length as u64));
        }
    }
}

fn element(index: u64) -> Segment {
    Segment { address: 0x10_0000 + index * 0x1000, length: 10 + index as u32 }
}

/// A buffer's way there and back. What the device finds must be what was added.
fn round_trip<M: Memory>(memory: &M, driver: &mut impl Driver, device: &mut impl Device, elements: u64) {
    let segments: Vec<_> = (0..elements).map(element).collect();
    let (readable, writable) = segments.split_at(elements as usize / 2);
    let mut chain = Chain::default();
    driver.add(memory, &mut NoProbe, elements, readable, writable).unwrap();
    driver.publish(memory, &mut NoProbe).unwrap();
    assert!(device.pop(memory, &mut NoProbe, &mut chain).unwrap());
    assert_eq!((chain.readable(), chain.writable()), (readable, writable));
    device.complete(memory, &mut NoProbe, chain.head, 1).unwrap();
    device.publish(memory, &mut NoProbe).unwrap();
    assert_eq!(driver.reap(memory, &mut NoProbe).unwrap().map(|used| used.token), Some(elements));
}

fn entries(memory: &OwnedMemory, table: Table) -> Vec<Descriptor> {
    let at = |entry| table.address + u64::from(entry) * 16;
    (0..table.entries).map(|entry| Descriptor::from_words(memory.load_words(at(entry)).unwrap())).collect()
}

#[test]
fn the_chain_is_made_once_and_holds_for_every_length() {
    for strategy in [
        TableStrategy::PreChained { entries: 8 },
        TableStrategy::Threshold { free: 16, over: Unconditional::PreChained { entries: 8 } },
    ] {
        let config = QueueConfig::new(Layout::contiguous(16, BASE), Features(feature::INDIRECT_DESC));
        let memory = Observed { memory: OwnedMemory::new(BASE, 0x2000), observer: Stores::default() };
        let mut driver: SplitDriver<AnyTableSource> =
            SplitDriver::new(&config, strategy.build(16, TABLES, LENGTH).unwrap()).unwrap();
        let mut device = SplitDevice::new(&config).unwrap();
        // A buffer in the ring first, so that fewer than all descriptors are free where a threshold asks for that.
        driver.add(&memory, &mut NoProbe, 99, &[element(0)], &[]).unwrap();
        driver.publish(&memory, &mut NoProbe).unwrap();
        let mut chain = Chain::default();
        assert!(device.pop(&memory, &mut NoProbe, &mut chain).unwrap());
        round_trip(&memory, &mut driver, &mut device, 5);
        let table = driver.tables().idle().next().unwrap();
        assert_eq!(table.entries, 8);
        memory.observer.0.take();
        for elements in [8, 2, 8, 3, 7, 8] {
            round_trip(&memory, &mut driver, &mut device, elements);
            assert!(driver.tables().idle().eq([table]), "the one table is used again");
            let entries = entries(&memory.memory, table);
            assert!(entries.iter().zip(1..).all(|(entry, next)| entry.next == next), "the chain is whole");
            let end = entries.iter().position(|entry| !entry.has(descriptor_flag::NEXT));
            assert_eq!(end, Some(elements as usize - 1));
        }
        let next_fields = |start: u64, end: u64| {
            (table.address..table.address + 8 * 16)
                .step_by(16)
                .any(|entry| start < entry + 16 && end > entry + 14)
        };
        let stores = memory.observer.0.take();
        assert!(stores.iter().any(|(start, _)| (table.address..table.address + 128).contains(start)));
        assert!(!stores.iter().any(|(start, end)| next_fields(*start, *end)), "next is left alone");
    }
}

#[test]
fn a_larger_buffer_has_a_table_that_is_chained_for_it() {
    let config = QueueConfig::new(Layout::contiguous(16, BASE), Features(feature::INDIRECT_DESC));
    let memory = OwnedMemory::new(BASE, 0x2000);
    let tables = TableStrategy::PreChained { entries: 8 }.build(16, TABLES, LENGTH).unwrap();
    let mut driver = SplitDriver::new(&config, tables).unwrap();
    let mut device = SplitDevice::new(&config).unwrap();
    for elements in [9, 16, 4, 12] {
        round_trip(&memory, &mut driver, &mut device, elements);
    }
    assert_eq!(driver.tables().idle().count(), 1);
}

#[test]
fn a_packed_ring_has_no_chain_and_works_all_the_same() {
    let features = Features(feature::INDIRECT_DESC | feature::RING_PACKED);
    let config = QueueConfig::new(Layout::contiguous(16, BASE), features);
    let memory = OwnedMemory::new(BASE, 0x2000);
    let tables = TableStrategy::PreChained { entries: 8 }.build(16, TABLES, LENGTH).unwrap();
    let mut driver = PackedDriver::new(&config, tables).unwrap();
    let mut device = PackedDevice::new(&config).unwrap();
    for elements in [8, 2, 9, 8] {
        round_trip(&memory, &mut driver, &mut device, elements);
    }
}
