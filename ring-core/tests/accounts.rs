//! What a driver says of itself agrees with what it holds, after every call: free descriptors, buffers in flight, tables
//! and their bytes; and a buffer is turned away only if there is no room for it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/cases.rs"]
mod cases;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/either.rs"]
mod either;
#[path = "common/strategies.rs"]
mod strategies;

use either::EitherDriver;
use proptest::prelude::*;
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted, TableSource, TableStrategy},
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::collections::BTreeSet;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x4000;
const TABLES_LENGTH: u64 = 0x1_0000;

#[derive(Clone, Debug)]
enum Operation {
    Add {
        readable: usize,
        writable: usize,
    },
    /// The device takes everything and uses so many, from the last taken on if wanted.
    Serve {
        uses: usize,
        backwards: bool,
    },
    Reap {
        most: usize,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => (0..6_usize, 0..4_usize).prop_map(|(readable, writable)| Operation::Add { readable, writable }),
        2 => (0..6_usize, any::<bool>()).prop_map(|(uses, backwards)| Operation::Serve { uses, backwards }),
        2 => (1..6_usize).prop_map(|most| Operation::Reap { most }),
    ]
}

/// Free descriptors and tables add up. Returns the bytes of all tables there are.
fn check<D: EitherDriver<Tables = Counted<AnyTableSource>>>(driver: &D, queue_size: u16) -> u64 {
    let held = driver.held();
    let descriptors: u16 = held.iter().map(|(_, buffer)| buffer.descriptors).sum();
    assert_eq!(driver.free() + descriptors, queue_size);
    let named = driver.named_descriptors();
    if !named.is_empty() {
        let different: BTreeSet<u16> = named.iter().copied().collect();
        assert_eq!(named.len(), queue_size as usize, "every descriptor is free or held");
        assert_eq!(different, (0..queue_size).collect(), "and only once");
    }
    let out = held.iter().filter_map(|(_, buffer)| buffer.table);
    let tables: Vec<_> = out.chain(driver.tables().idle()).collect();
    let mut ranges: Vec<_> =
        tables.iter().map(|table| (table.address, table.address + table.bytes() as u64)).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "tables overlap: {ranges:x?}");
    let bytes = tables.iter().map(|table| table.bytes() as u64).sum();
    let statistics = driver.tables().statistics();
    assert_eq!(statistics.bytes_held, bytes, "tables out and idle");
    assert!(statistics.high_water >= bytes);
    bytes
}

fn run<D: EitherDriver<Tables = Counted<AnyTableSource>>, V: Device>(
    config: QueueConfig,
    mut driver: D,
    mut device: V,
    strategy: TableStrategy,
    operations: &[Operation],
) {
    let memory = OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize);
    config.initialise(&memory).unwrap();
    let size = config.layout.queue_size;
    let in_order = config.features.contains(feature::IN_ORDER);
    let probe = &mut NoProbe;
    let mut chain = Chain::default();
    let mut taken = Vec::new();
    let mut expected_tokens = BTreeSet::new();
    let mut most_bytes = 0;
    for (token, operation) in (0..).zip(operations) {
        match *operation {
            Operation::Add { readable, writable } => {
                let segments = [Segment { address: 0x100_0000, length: 8 }; 6];
                let elements = (readable + writable) as u16;
                let free = driver.free();
                let with_table = config.features.contains(feature::INDIRECT_DESC)
                    && strategies::goes_indirect(strategy, elements, free, size);
                let needed = if with_table { 1 } else { elements };
                let result = driver.add(&memory, probe, token, &segments[..readable], &segments[..writable]);
                let refused = elements == 0 || elements > size;
                match result {
                    Err(AddError::Refused(fault)) => {
                        let rule = if elements == 0 { "B-NONEMPTY" } else { "B-LONG" };
                        assert_eq!(fault.rule_id(), Some(rule));
                        assert!(refused);
                    }
                    Err(AddError::Full { needed: says, free: left }) => {
                        assert!(!refused && needed > free, "{needed} of {free} descriptors are there");
                        // Without any descriptor nobody asks whether it would have been a table.
                        assert_eq!((says, left), (if free == 0 { 1 } else { needed }, free));
                    }
                    Ok(id) => {
                        assert!(!refused && needed <= free);
                        assert_eq!(driver.free(), free - needed);
                        let held = driver.held();
                        let (_, buffer) = held.iter().find(|(held, _)| *held == id).unwrap();
                        assert_eq!(buffer.token, token);
                        assert_eq!(buffer.table.is_some(), with_table);
                        assert_eq!(buffer.writable_bytes, writable as u32 * 8);
                        assert!(buffer.table.is_none_or(|table| table.entries >= elements));
                        expected_tokens.insert(token);
                    }
                    Err(AddError::Fault(fault)) => panic!("{fault}"),
                }
            }
            Operation::Serve { uses, backwards } => {
                driver.publish(&memory, probe).unwrap();
                while device.pop(&memory, probe, &mut chain).unwrap() {
                    taken.push(chain.head);
                }
                for _ in 0..uses.min(taken.len()) {
                    let which = if backwards && !in_order { taken.len() - 1 } else { 0 };
                    device.complete(&memory, probe, taken.remove(which), 0).unwrap();
                }
                device.publish(&memory, probe).unwrap();
            }
            Operation::Reap { most } => {
                for _ in 0..most {
                    let Some(used) = driver.reap(&memory, probe).unwrap() else { break };
                    assert!(expected_tokens.remove(&used.token), "{} was not in flight", used.token);
                }
            }
        }
        most_bytes = most_bytes.max(check(&driver, size));
        let tokens: BTreeSet<u64> = driver.held().iter().map(|(_, buffer)| buffer.token).collect();
        assert_eq!(tokens, expected_tokens);
    }
    assert_eq!(driver.tables().statistics().high_water, most_bytes);
}

proptest! {
    #![proptest_config(cases::cases(200))]

    #[test]
    fn every_descriptor_and_table_is_accounted_for(
        packed in any::<bool>(), size in 0..5_u32, mask in 0..8_u64,
        strategy in any::<prop::sample::Index>(),
        operations in prop::collection::vec(operation(), 0..150),
    ) {
        let bits = [feature::INDIRECT_DESC, feature::EVENT_IDX, feature::IN_ORDER];
        let features: u64 = (0..3).filter(|bit| mask >> bit & 1 == 1).map(|bit| bits[bit]).sum();
        let strategy = *strategy.get(&strategies::every(1 << size));
        let tables = Counted::new(strategy.build(1 << size, TABLES, TABLES_LENGTH).unwrap());
        if packed {
            // Sizes that are no power of two among them.
            let layout = Layout::contiguous((1 << size) + (size as u16 & 1), BASE);
            let config = QueueConfig::new(layout, Features(features | feature::RING_PACKED));
            let device = PackedDevice::new(&config).unwrap();
            run(config, PackedDriver::new(&config, tables).unwrap(), device, strategy, &operations);
        } else {
            let config = QueueConfig::new(Layout::contiguous(1 << size, BASE), Features(features));
            let device = SplitDevice::new(&config).unwrap();
            run(config, SplitDriver::new(&config, tables).unwrap(), device, strategy, &operations);
        }
    }
}
