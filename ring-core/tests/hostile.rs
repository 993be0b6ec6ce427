//! A bad peer: every rule that a side can notice, by its id; and memory that changes at random under both sides.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/cases.rs"]
mod cases;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use proptest::prelude::*;
use ring_core::{
    Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, TableStrategy},
    memory::{Memory, Ordering, OutOfRange, OwnedMemory},
    probe::NoProbe,
    spec::{self, Features, Format, Layout, RingCell, feature, packed, split},
};

const BASE: u64 = 0x1000;
const SIZE: u16 = 8;
const TABLES: u64 = 0x2000;
const TABLES_LENGTH: u64 = 0x1000;
const INDIRECT: u64 = feature::INDIRECT_DESC;
const EVENT: u64 = feature::EVENT_IDX;

fn config(format: Format, features: u64) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig::new(Layout::contiguous(SIZE, BASE), Features(features | packed))
}

fn memory() -> OwnedMemory {
    OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize)
}

fn tables(strategy: TableStrategy) -> AnyTableSource {
    strategy.build(SIZE, TABLES, TABLES_LENGTH).unwrap()
}

const LIST: TableStrategy = TableStrategy::ListCache { threshold: 4 };

fn segments(count: u64) -> Vec<Segment> {
    (0..count).map(|index| Segment { address: 0x10_0000 + index * 64, length: 64 }).collect()
}

fn rule(fault: Fault) -> &'static str {
    fault.rule_id().unwrap_or("memory")
}

// ── the split device against a bad driver ──

struct SplitGuest {
    config: QueueConfig,
    memory: OwnedMemory,
    device: SplitDevice,
}

impl SplitGuest {
    fn new(features: u64) -> Self {
        let config = config(Format::Split, features);
        SplitGuest { config, memory: memory(), device: SplitDevice::new(&config).unwrap() }
    }

    fn descriptor(&self, index: u16, address: u64, length: u32, flags: u16, next: u16) -> &Self {
        let words = spec::Descriptor { address, length, flags, next }.to_words();
        self.memory.store_words(self.config.layout.address(split::Cell::Descriptor(index)), words).unwrap();
        self
    }

    fn entry(&self, table: u64, index: u64, length: u32, flags: u16, next: u16) -> &Self {
        let words = spec::Descriptor { address: 0x10_0000, length, flags, next }.to_words();
        self.memory.store_words(table + index * 16, words).unwrap();
        self
    }

    fn store(&self, cell: split::Cell, value: u16) -> &Self {
        self.memory.store_u16(self.config.layout.address(cell), value, Ordering::Relaxed).unwrap();
        self
    }

    /// Makes `head` available and pops it.
    fn pop(&mut self, head: u16) -> Result<Chain, &'static str> {
        let index = self.device.state().last_available;
        self.store(split::Cell::AvailableEntry(index % 8), head)
            .store(split::Cell::AvailableIndex, index.wrapping_add(1));
        let mut chain = Chain::default();
        let popped = self.device.pop(&self.memory, &mut NoProbe, &mut chain).map_err(rule)?;
        assert!(popped);
        Ok(chain)
    }
}

#[test]
fn split_device_names_what_a_driver_does_wrong() {
    const NEXT: u16 = 1;
    const WRITE: u16 = 2;
    const TABLE: u16 = 4;
    type Case = (&'static str, u64, fn(&SplitGuest));
    let cases: &[Case] = &[
        ("S-NEXT", 0, |guest| _ = guest.descriptor(0, 1, 1, NEXT, 8)),
        ("S-NEXT", 0, |guest| _ = guest.descriptor(0, 1, 1, NEXT, 1).descriptor(1, 1, 1, NEXT, 0)),
        ("S-NEXT", 0, |guest| _ = guest.descriptor(0, 1, 1, NEXT, 0)),
        ("B-ORDER-RW", 0, |guest| _ = guest.descriptor(0, 1, 1, NEXT | WRITE, 1).descriptor(1, 1, 1, 0, 0)),
        ("B-LONG", 0, |guest| _ = guest.descriptor(0, 1, u32::MAX, NEXT, 1).descriptor(1, 1, 2, 0, 0)),
        ("B-INDIRECT-FEATURE", 0, |guest| _ = guest.descriptor(0, TABLES, 16, TABLE, 0)),
        ("S-INDIRECT-NEXT", INDIRECT, |guest| _ = guest.descriptor(0, TABLES, 16, TABLE | NEXT, 1)),
        ("B-INDIRECT-LEN", INDIRECT, |guest| _ = guest.descriptor(0, TABLES, 0, TABLE, 0)),
        ("B-INDIRECT-LEN", INDIRECT, |guest| _ = guest.descriptor(0, TABLES, 17, TABLE, 0)),
        ("B-INDIRECT-NEST", INDIRECT, |guest| {
            _ = guest
                .descriptor(0, TABLES, 32, TABLE, 0)
                .entry(TABLES, 0, 1, NEXT, 1)
                .entry(TABLES, 1, 16, TABLE, 0)
        }),
        ("S-NEXT", INDIRECT, |guest| {
            _ = guest.descriptor(0, TABLES, 16, TABLE, 0).entry(TABLES, 0, 1, NEXT, 1)
        }),
        ("S-NEXT", INDIRECT, |guest| {
            _ = guest.descriptor(0, TABLES, 16, TABLE, 0).entry(TABLES, 0, 1, NEXT, 0)
        }),
        ("B-LONG", INDIRECT, |guest| {
            guest.descriptor(0, TABLES, 16 * 9, TABLE, 0);
            (0..9).for_each(|index| {
                _ = guest.entry(TABLES, index, 1, if index < 8 { NEXT } else { 0 }, index as u16 + 1)
            });
        }),
        ("memory", INDIRECT, |guest| _ = guest.descriptor(0, u64::MAX - 15, 32, TABLE, 0)),
        ("memory", INDIRECT, |guest| _ = guest.descriptor(0, 0, 32, TABLE, 0)),
    ];
    for (id, features, prepare) in cases {
        let mut guest = SplitGuest::new(*features);
        prepare(&guest);
        assert_eq!(guest.pop(0), Err(*id));
        // Broken from then on: nothing is handed over any more, and every call says so.
        let mut chain = Chain::default();
        let (memory, device) = (&guest.memory, &mut guest.device);
        assert!(device.broken().is_some());
        assert_eq!(device.pop(memory, &mut NoProbe, &mut chain).map_err(rule), Err(*id));
        assert_eq!(device.publish(memory, &mut NoProbe).map_err(rule), Err(*id));
        assert_eq!(device.notify(memory, &mut NoProbe).map(|_| ()).map_err(rule), Err(*id));
        assert_eq!(device.enable_notifications(memory).map(|_| ()).map_err(rule), Err(*id));
        device.reset();
        guest.memory = crate::memory();
        guest.descriptor(0, 1, 1, 0, 0);
        assert_eq!(guest.pop(0).unwrap().readable().len(), 1, "after a reset it works again");
    }
}

#[test]
fn split_device_names_wrong_indices_and_heads() {
    let mut guest = SplitGuest::new(0);
    assert_eq!(guest.pop(8), Err("S-HEAD"));
    let mut guest = SplitGuest::new(0);
    guest.pop(3).unwrap();
    assert_eq!(guest.pop(3), Err("S-HEAD"), "a head that is in use");
    for wrong in [9, 100, u16::MAX] {
        let mut guest = SplitGuest::new(0);
        guest.store(split::Cell::AvailableIndex, wrong);
        let popped = guest.device.pop(&guest.memory, &mut NoProbe, &mut Chain::default());
        assert_eq!(popped.map_err(rule), Err("S-AVAIL-MONO"));
    }
    // Going back is as wrong, and so is running ahead of what was used.
    let mut guest = SplitGuest::new(0);
    guest.pop(0).unwrap();
    guest.store(split::Cell::AvailableIndex, 0);
    let popped = guest.device.pop(&guest.memory, &mut NoProbe, &mut Chain::default());
    assert_eq!(popped.map_err(rule), Err("S-AVAIL-MONO"));
    let mut guest = SplitGuest::new(0);
    guest.pop(0).unwrap();
    guest.store(split::Cell::AvailableIndex, 9);
    let popped = guest.device.pop(&guest.memory, &mut NoProbe, &mut Chain::default());
    assert_eq!(popped.map_err(rule), Err("S-AVAIL-MONO"));
    let mut guest = SplitGuest::new(0);
    guest.store(split::Cell::AvailableFlags, 2);
    assert_eq!(
        guest.device.notify(&guest.memory, &mut NoProbe).map(|_| ()).map_err(rule),
        Err("S-AVAIL-FLAGS")
    );
}

#[test]
fn split_device_accepts_what_is_legal() {
    // S-INDIRECT-TAIL: ordinary descriptors, then a table. B-INDIRECT-WRITE: WRITE on the one that refers is ignored.
    let mut guest = SplitGuest::new(INDIRECT);
    guest
        .descriptor(0, 1, 7, 1, 5)
        .descriptor(5, TABLES, 32, 4 | 2, 0)
        .entry(TABLES, 0, 8, 1, 1)
        .entry(TABLES, 1, 9, 2, 0);
    let chain = guest.pop(0).unwrap();
    assert_eq!(chain.readable().iter().map(|segment| segment.length).collect::<Vec<_>>(), [7, 8]);
    assert_eq!(chain.writable().iter().map(|segment| segment.length).collect::<Vec<_>>(), [9]);
    // A table in any order, only part of it in use; exactly 2^32 bytes in all; as many elements as the ring has.
    let mut guest = SplitGuest::new(INDIRECT);
    guest.descriptor(0, TABLES, 48, 4, 0).entry(TABLES, 0, u32::MAX, 1, 2).entry(TABLES, 2, 1, 0, 1);
    assert_eq!(guest.pop(0).unwrap().readable().len(), 2);
    let mut guest = SplitGuest::new(0);
    (0..8).for_each(|index| _ = guest.descriptor(index, 1, 1, (index < 7) as u16, index + 1));
    assert_eq!(guest.pop(0).unwrap().readable().len(), 8);
}

// ── the drivers against a bad device ──

/// A driver of either format with two buffers in flight, the first of which is direct and may take 64 bytes.
fn with_drivers(
    features: u64,
    check: impl Fn(&QueueConfig, &OwnedMemory, &mut dyn FnMut(Call) -> Result<u64, Fault>),
) {
    for format in [Format::Split, Format::Packed] {
        let config = config(format, features);
        let memory = memory();
        match format {
            Format::Split => {
                drive(SplitDriver::new(&config, tables(LIST)).unwrap(), &config, &memory, &check)
            }
            Format::Packed => {
                drive(PackedDriver::new(&config, tables(LIST)).unwrap(), &config, &memory, &check)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Call {
    Reap,
    Notify,
    Add,
}

fn drive<D: Driver>(
    mut driver: D,
    config: &QueueConfig,
    memory: &OwnedMemory,
    check: &impl Fn(&QueueConfig, &OwnedMemory, &mut dyn FnMut(Call) -> Result<u64, Fault>),
) {
    driver.add(memory, &mut NoProbe, 10, &[], &segments(1)).unwrap();
    driver.add(memory, &mut NoProbe, 11, &segments(2), &[]).unwrap();
    driver.publish(memory, &mut NoProbe).unwrap();
    check(config, memory, &mut |call| match call {
        Call::Reap => driver.reap(memory, &mut NoProbe).map(|used| used.map_or(0, |used| used.token)),
        Call::Notify => driver.notify(memory, &mut NoProbe).map(|notify| notify.needed as u64),
        Call::Add => match driver.add(memory, &mut NoProbe, 12, &segments(1), &[]) {
            Ok(_) => Ok(12),
            Err(AddError::Fault(fault)) => Err(fault),
            Err(error) => panic!("{error}"),
        },
    });
}

/// Writes a used element by hand, as the first one, and makes it visible.
fn use_by_hand(config: &QueueConfig, memory: &OwnedMemory, id: u16, length: u32) {
    let layout = config.layout;
    match config.format() {
        Format::Split => {
            let entry = layout.address(split::Cell::UsedEntry(0));
            memory.store_u32(entry, id.into()).unwrap();
            memory.store_u32(entry + 4, length).unwrap();
            memory.store_u16(layout.address(split::Cell::UsedIndex), 1, Ordering::Relaxed).unwrap();
        }
        Format::Packed => {
            let flags = packed::Position::START.used_bits() | packed::descriptor_flag::WRITE;
            let words = packed::Descriptor { address: 0, length, id, flags }.to_words();
            memory.store_words(layout.address(packed::Cell::Descriptor(0)), words).unwrap();
        }
    }
}

#[test]
fn drivers_name_what_a_device_does_wrong() {
    for (id, length, expected) in [
        (9, 0, Err("B-USED-ID")),
        (3, 0, Err("B-USED-ID")),
        (u16::MAX, 0, Err("B-USED-ID")),
        (0, 65, Err("B-USED-LEN")),
        (0, u32::MAX, Err("B-USED-LEN")),
        (0, 64, Ok(10)),
        (1, 1, Err("B-USED-LEN")),
        (1, 0, Ok(11)),
    ] {
        with_drivers(INDIRECT | EVENT, |config, memory, call| {
            use_by_hand(config, memory, id, length);
            assert_eq!(
                call(Call::Reap).map_err(rule),
                expected,
                "{} id {id} length {length}",
                config.format()
            );
            if expected.is_err() {
                for again in [Call::Reap, Call::Notify, Call::Add] {
                    assert_eq!(call(again).map_err(rule), expected, "a broken queue says so");
                }
            }
        });
    }
}

#[test]
fn a_buffer_is_not_used_twice() {
    with_drivers(0, |config, memory, call| {
        use_by_hand(config, memory, 0, 1);
        assert_eq!(call(Call::Reap), Ok(10));
        let layout = config.layout;
        match config.format() {
            Format::Split => {
                let second = layout.address(split::Cell::UsedEntry(1));
                memory.store_u32(second, 0).unwrap();
                memory.store_u16(layout.address(split::Cell::UsedIndex), 2, Ordering::Relaxed).unwrap();
            }
            Format::Packed => {
                let flags = packed::Position::START.used_bits();
                let words = packed::Descriptor { address: 0, length: 0, id: 0, flags }.to_words();
                memory.store_words(layout.address(packed::Cell::Descriptor(1)), words).unwrap();
            }
        }
        assert_eq!(call(Call::Reap).map_err(rule), Err("B-USED-ID"));
    });
}

#[test]
fn a_buffer_that_was_not_published_cannot_be_used() {
    with_drivers(0, |config, memory, call| {
        assert_eq!(call(Call::Add), Ok(12));
        let id = if config.format() == Format::Split { 3 } else { 2 };
        use_by_hand(config, memory, id, 0);
        assert_eq!(call(Call::Reap).map_err(rule), Err("B-USED-ID"));
    });
}

#[test]
fn split_driver_names_wrong_indices_and_flags() {
    for (index, features) in [(3, 0), (u16::MAX, 0), (100, EVENT)] {
        with_drivers(features, |config, memory, call| {
            if config.format() == Format::Packed {
                return;
            }
            let cell = config.layout.address(split::Cell::UsedIndex);
            memory.store_u16(cell, index, Ordering::Relaxed).unwrap();
            assert_eq!(call(Call::Reap).map_err(rule), Err("S-USED-MONO"));
        });
    }
    with_drivers(0, |config, memory, call| {
        if config.format() == Format::Split {
            memory.store_u16(config.layout.address(split::Cell::UsedFlags), 2, Ordering::Relaxed).unwrap();
            assert_eq!(call(Call::Notify).map_err(rule), Err("S-USED-FLAGS"));
        }
    });
}

#[test]
fn packed_sides_name_reserved_events() {
    for (event, features, expected) in [
        (packed::Event { offset: 0, flags: 3 }, EVENT, "P-EVENT-FLAGS"),
        (packed::Event { offset: 0, flags: 8 }, EVENT, "P-EVENT-FLAGS"),
        (packed::Event { offset: 0, flags: 2 }, 0, "P-EVENT-FLAGS"),
        (packed::Event { offset: 8, flags: 2 }, EVENT, "P-EVENT-OFF"),
    ] {
        with_drivers(features, |config, memory, call| {
            if config.format() == Format::Packed {
                memory.store_u32(config.layout.address(packed::Cell::DeviceEvent), event.to_bits()).unwrap();
                assert_eq!(call(Call::Notify).map_err(rule), Err(expected));
            }
        });
        let config = config(Format::Packed, features);
        let memory = memory();
        memory.store_u32(config.layout.address(packed::Cell::DriverEvent), event.to_bits()).unwrap();
        let mut device = PackedDevice::new(&config).unwrap();
        assert_eq!(device.notify(&memory, &mut NoProbe).map(|_| ()).map_err(rule), Err(expected));
    }
}

// ── the packed device against a bad driver ──

fn packed_pop(features: u64, descriptors: &[(u16, packed::Descriptor)]) -> Result<Chain, &'static str> {
    let config = config(Format::Packed, features);
    let memory = memory();
    for (slot, descriptor) in descriptors {
        memory
            .store_words(packed::Cell::Descriptor(*slot).address(&config.layout), descriptor.to_words())
            .unwrap();
    }
    let mut device = PackedDevice::new(&config).unwrap();
    let mut chain = Chain::default();
    match device.pop(&memory, &mut NoProbe, &mut chain) {
        Ok(true) => Ok(chain),
        Ok(false) => Err("nothing"),
        Err(fault) => {
            assert_eq!(device.broken(), Some(fault));
            assert_eq!(device.pop(&memory, &mut NoProbe, &mut chain), Err(fault));
            Err(rule(fault))
        }
    }
}

#[test]
fn packed_device_names_what_a_driver_does_wrong() {
    use packed::descriptor_flag::{AVAIL, INDIRECT as TABLE, NEXT, USED, WRITE};
    let descriptor = |flags, id, length| packed::Descriptor { address: TABLES, length, id, flags };
    let pop = |features, list: &[packed::Descriptor]| {
        packed_pop(features, &(0..).zip(list.iter().copied()).collect::<Vec<_>>())
    };
    assert!(pop(0, &[descriptor(AVAIL, 3, 1)]).is_ok());
    assert_eq!(pop(0, &[descriptor(AVAIL | USED, 0, 1)]), Err("nothing"));
    assert_eq!(pop(0, &[descriptor(USED, 0, 1)]), Err("nothing"));
    assert_eq!(pop(0, &[descriptor(AVAIL, 8, 1)]), Err("P-ID-LAST"));
    assert_eq!(pop(0, &[descriptor(AVAIL | NEXT, 0, 1), descriptor(0, 0, 1)]), Err("P-AVAIL-BITS"));
    assert_eq!(
        pop(0, &[descriptor(AVAIL | NEXT, 0, 1); 8]),
        Err("P-AVAIL-BITS"),
        "the ninth is of the next lap"
    );
    assert_eq!(pop(0, &[descriptor(AVAIL | NEXT | WRITE, 0, 1), descriptor(AVAIL, 0, 1)]), Err("B-ORDER-RW"));
    assert_eq!(pop(0, &[descriptor(AVAIL | TABLE, 0, 16)]), Err("B-INDIRECT-FEATURE"));
    assert_eq!(
        pop(INDIRECT, &[descriptor(AVAIL | TABLE | NEXT, 0, 16), descriptor(AVAIL, 0, 1)]),
        Err("P-TABLE-MIX")
    );
    assert_eq!(
        pop(INDIRECT, &[descriptor(AVAIL | NEXT, 0, 1), descriptor(AVAIL | TABLE, 0, 16)]),
        Err("P-TABLE-MIX")
    );
    assert_eq!(pop(INDIRECT, &[descriptor(AVAIL | TABLE, 0, 0)]), Err("B-INDIRECT-LEN"));
    assert_eq!(pop(INDIRECT, &[descriptor(AVAIL | TABLE, 0, 24)]), Err("B-INDIRECT-LEN"));
    assert_eq!(pop(INDIRECT, &[descriptor(AVAIL | TABLE, 0, 16 * 9)]), Err("B-LONG"));
    let wide = packed::Descriptor { address: u64::MAX - 3, ..descriptor(AVAIL | TABLE, 0, 16) };
    assert_eq!(pop(INDIRECT, &[wide]), Err("memory"));
}

#[test]
fn packed_device_names_a_slot_rewritten_too_early() {
    let config = config(Format::Packed, 0);
    let memory = memory();
    let mut device = PackedDevice::new(&config).unwrap();
    let mut chain = Chain::default();
    let mut position = packed::Position::START;
    let mut pop = |position: packed::Position, id| {
        let flags = position.available_bits();
        let words = packed::Descriptor { address: 0, length: 1, id, flags }.to_words();
        memory.store_words(config.layout.address(packed::Cell::Descriptor(position.index)), words).unwrap();
        device.pop(&memory, &mut NoProbe, &mut chain).map_err(rule)
    };
    for id in 0..8 {
        assert_eq!(pop(position, id), Ok(true));
        position = position.advance(1, 8);
    }
    assert_eq!(pop(position, 0), Err("P-NO-TOUCH"));
}

// ── the caller's own mistakes do not break a queue ──

#[test]
fn a_device_that_uses_what_it_may_not_is_told() {
    let mut guest = SplitGuest::new(feature::IN_ORDER);
    guest.descriptor(0, 1, 64, 2, 0).descriptor(1, 1, 64, 2, 0);
    for head in [0, 1] {
        guest.pop(head).unwrap();
    }
    let mut complete =
        |head, length| guest.device.complete(&guest.memory, &mut NoProbe, head, length).map_err(rule);
    assert_eq!(complete(5, 0), Err("B-USED-ID"));
    assert_eq!(complete(99, 0), Err("B-USED-ID"));
    assert_eq!(complete(0, 65), Err("B-USED-LEN"));
    assert_eq!(complete(1, 0), Err("B-IN-ORDER"));
    assert_eq!(complete(0, 64), Ok(()));
    assert_eq!(complete(0, 64), Err("B-USED-ID"), "used once is used");
    assert_eq!(complete(1, 1), Ok(()));
    assert_eq!(guest.device.broken(), None);
}

#[test]
fn what_is_in_flight_comes_back_after_a_reset_and_once() {
    let config = config(Format::Split, INDIRECT);
    let memory = memory();
    let mut driver = SplitDriver::new(&config, tables(LIST)).unwrap();
    for token in 0..5 {
        driver.add(&memory, &mut NoProbe, token, &segments(token % 2 + 1), &[]).unwrap();
    }
    driver.publish(&memory, &mut NoProbe).unwrap();
    use_by_hand(&config, &memory, 7, 0);
    assert_eq!(driver.reap(&memory, &mut NoProbe).map_err(rule), Err("B-USED-ID"));
    let mut tokens = vec![];
    driver.reset(&memory, &mut NoProbe, |token| tokens.push(token)).unwrap();
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2, 3, 4]);
    assert_eq!(driver.state().free, 8);
    assert!(driver.add(&memory, &mut NoProbe, 9, &segments(8), &[]).is_ok(), "after a reset it works again");
}

// ── memory that changes at random ──

#[derive(Clone, Debug)]
enum Chaos {
    Write { offset: u16, value: u64 },
    Driver(u8, u8),
    Device(u8, u16, u32),
}

fn chaos() -> impl Strategy<Value = Chaos> {
    prop_oneof![
        (0..0x400_u16, any::<u64>()).prop_map(|(offset, value)| Chaos::Write { offset, value }),
        // Small values come nearer to being believed.
        (0..0x400_u16, 0..16_u64, 0..4_u32)
            .prop_map(|(offset, value, shift)| Chaos::Write { offset, value: value << (shift * 16) }),
        (any::<u8>(), any::<u8>()).prop_map(|(call, size)| Chaos::Driver(call, size)),
        (any::<u8>(), 0..10_u16, any::<u32>())
            .prop_map(|(call, head, length)| Chaos::Device(call, head, length)),
    ]
}

fn survive<D: Driver, V: Device>(
    config: QueueConfig,
    fresh_driver: impl Fn() -> D,
    fresh_device: impl Fn() -> V,
    events: &[Chaos],
) -> Result<(), OutOfRange> {
    let memory = memory();
    let (mut driver, mut device) = (fresh_driver(), fresh_device());
    let mut token = 0;
    let mut chain = Chain::default();
    for event in events {
        match *event {
            Chaos::Write { offset, value } => {
                // The ring, or the tables.
                let address =
                    if offset < 0x200 { BASE + offset as u64 } else { TABLES + offset as u64 - 0x200 };
                memory.store_u64(address & !7, value, Ordering::Relaxed)?;
            }
            Chaos::Driver(call, size) => {
                let failed = match call % 6 {
                    0 => match driver.add(
                        &memory,
                        &mut NoProbe,
                        token,
                        &segments(size as u64 % 4),
                        &segments(size as u64 / 4 % 3),
                    ) {
                        Ok(_) => {
                            token += 1;
                            None
                        }
                        Err(AddError::Fault(fault)) => Some(fault),
                        Err(_) => None,
                    },
                    1 => driver.publish(&memory, &mut NoProbe).err(),
                    2 => driver.notify(&memory, &mut NoProbe).err(),
                    3 => driver.enable_notifications(&memory).err(),
                    _ => match driver.reap(&memory, &mut NoProbe) {
                        Ok(Some(used)) => {
                            assert!(used.token < token, "a buffer that was never added");
                            None
                        }
                        Ok(None) => None,
                        Err(fault) => Some(fault),
                    },
                };
                if failed.is_some() {
                    // Broken for good; go on with a new one on the same spoilt memory.
                    driver = fresh_driver();
                }
            }
            Chaos::Device(call, head, length) => {
                let failed = match call % 6 {
                    0 => device.complete(&memory, &mut NoProbe, head, length % 200).err(),
                    1 => device.publish(&memory, &mut NoProbe).err(),
                    2 => device.notify(&memory, &mut NoProbe).err(),
                    3 => device.enable_notifications(&memory).err(),
                    _ => device.pop(&memory, &mut NoProbe, &mut chain).err(),
                };
                assert!(chain.elements() <= config.layout.queue_size as usize + 1);
                if failed.is_some() {
                    device = fresh_device();
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases::cases(2000))]

    /// Nothing panics, loops or invents a buffer, whatever stands in memory. Arithmetic is checked in this build.
    #[test]
    fn nothing_breaks_but_the_queue(
        packed in any::<bool>(), mask in 0..8_u64, strategy in any::<prop::sample::Index>(), start in any::<u16>(),
        events in prop::collection::vec(chaos(), 0..200),
    ) {
        let bits = [INDIRECT, EVENT, feature::IN_ORDER];
        let features: u64 = (0..3).filter(|bit| mask >> bit & 1 == 1).map(|bit| bits[bit]).sum();
        let strategy = *strategy.get(&strategies::every(SIZE));
        let format = if packed { Format::Packed } else { Format::Split };
        let config = QueueConfig { start_index: start, ..config(format, features) };
        let done = match format {
            Format::Split => survive(
                config,
                || SplitDriver::new(&config, tables(strategy)).unwrap(),
                || SplitDevice::new(&config).unwrap(),
                &events,
            ),
            Format::Packed => survive(
                config,
                || PackedDriver::new(&config, tables(strategy)).unwrap(),
                || PackedDevice::new(&config).unwrap(),
                &events,
            ),
        };
        prop_assert_eq!(done, Ok(()));
    }
}
