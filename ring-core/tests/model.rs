//! Random calls on a driver and a device against a model of where each buffer is: both formats, every feature, every
//! strategy. Buffers are neither lost nor doubled, what arrives is what was sent, no notification is lost, and each side
//! writes only where it may.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use proptest::{prelude::*, strategy::ValueTree};
use ring_core::{
    QueueConfig, Segment, Side,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted, TableSource, TableStatistics, TableStrategy},
    memory::{Access, AccessKind, Observed, Observer, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
};
use std::{cell::Cell, collections::VecDeque};

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x4000;
const TABLES_LENGTH: u64 = 0x1_0000;

type Tables = Counted<AnyTableSource>;

/// Lets each side write only what is its own.
struct Watch {
    config: QueueConfig,
    side: Cell<Side>,
}

impl Observer for Watch {
    fn access(&self, access: Access) {
        let AccessKind::Store { .. } = access.kind else { return };
        let [descriptors, driver, device] = self.config.layout.areas(self.config.format());
        let within = |start: u64, length: u64| {
            access.address >= start && access.address + access.length as u64 <= start + length
        };
        let allowed = match (self.side.get(), self.config.format()) {
            (Side::Driver, _) => {
                within(descriptors.address, descriptors.length)
                    || within(driver.address, driver.length)
                    || within(TABLES, TABLES_LENGTH)
            }
            (Side::Device, Format::Split) => within(device.address, device.length),
            (Side::Device, Format::Packed) => {
                within(device.address, device.length) || within(descriptors.address, descriptors.length)
            }
        };
        assert!(allowed, "the {} wrote at {access:x?}", self.side.get());
    }
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Add { readable: usize, writable: usize },
    Publish,
    Notify,
    Pop,
    Complete { which: usize, length: u32 },
    CompleteBatch { count: usize },
    PublishUsed,
    NotifyUsed,
    Reap,
    DriverNotifications(bool),
    DeviceNotifications(bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..5_usize, 0..4_usize).prop_map(|(readable, writable)| Operation::Add { readable, writable }),
        3 => Just(Operation::Publish),
        2 => Just(Operation::Notify),
        4 => Just(Operation::Pop),
        4 => (any::<usize>(), any::<u32>()).prop_map(|(which, length)| Operation::Complete { which, length }),
        1 => (1..4_usize).prop_map(|count| Operation::CompleteBatch { count }),
        3 => Just(Operation::PublishUsed),
        2 => Just(Operation::NotifyUsed),
        5 => Just(Operation::Reap),
        1 => any::<bool>().prop_map(Operation::DriverNotifications),
        1 => any::<bool>().prop_map(Operation::DeviceNotifications),
    ]
}

struct Buffer {
    token: u64,
    readable: Vec<Segment>,
    writable: Vec<Segment>,
}

impl Buffer {
    fn new(token: u64, readable: usize, writable: usize) -> Self {
        let segment = |index: usize| Segment {
            address: token << 16 | (index as u64) << 8,
            length: 1 + index as u32 * 3,
        };
        Buffer {
            token,
            readable: (0..readable).map(segment).collect(),
            writable: (readable..readable + writable).map(segment).collect(),
        }
    }

    fn writable_bytes(&self) -> u32 {
        self.writable.iter().map(|segment| segment.length).sum()
    }
}

/// Where every buffer is, and who waits for whom.
#[derive(Default)]
struct Model {
    placed: VecDeque<Buffer>,
    available: VecDeque<Buffer>,
    taken: Vec<(u16, Buffer)>,
    // With the length that must arrive.
    completed: VecDeque<(u64, u32)>,
    used: VecDeque<(u64, u32)>,
    next_token: u64,
    // The device went to sleep with nothing available; how much was published since.
    device_sleeps: Option<usize>,
    driver_sleeps: Option<usize>,
    reaped: u64,
}

fn run<D: Driver, V: Device>(
    config: QueueConfig,
    mut driver: D,
    mut device: V,
    statistics: impl Fn(&D) -> (TableStatistics, usize),
    operations: &[Operation],
) {
    let memory = Observed {
        memory: OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize),
        observer: Watch { config, side: Cell::new(Side::Driver) },
    };
    config.initialise(&memory.memory).unwrap();
    let in_order = config.features.contains(feature::IN_ORDER);
    let probe = &mut NoProbe;
    let mut model = Model::default();
    let mut chain = Chain::default();
    // In the end everything that is still on its way is brought home.
    let drain = [
        Operation::Publish,
        Operation::Notify,
        Operation::Pop,
        Operation::Complete { which: 0, length: 0 },
        Operation::PublishUsed,
        Operation::NotifyUsed,
        Operation::Reap,
    ];
    let drain = drain.iter().cycle().take(drain.len() * (config.layout.queue_size as usize + 2));
    for operation in operations.iter().chain(drain) {
        let side = match operation {
            Operation::Add { .. }
            | Operation::Publish
            | Operation::Notify
            | Operation::Reap
            | Operation::DriverNotifications(_) => Side::Driver,
            _ => Side::Device,
        };
        memory.observer.side.set(side);
        match *operation {
            Operation::Add { readable, writable } => {
                let buffer = Buffer::new(model.next_token, readable, writable);
                match driver.add(&memory, probe, buffer.token, &buffer.readable, &buffer.writable) {
                    Ok(_) => {
                        model.next_token += 1;
                        model.placed.push_back(buffer);
                    }
                    Err(AddError::Refused(_)) => {
                        let elements = readable + writable;
                        assert!(elements == 0 || elements > config.layout.queue_size as usize);
                    }
                    Err(AddError::Full { needed, free }) => assert!(needed > free),
                    Err(AddError::Fault(fault)) => panic!("{fault}"),
                }
            }
            Operation::Publish => {
                driver.publish(&memory, probe).unwrap();
                if let Some(published) = &mut model.device_sleeps {
                    *published += model.placed.len();
                }
                model.available.append(&mut model.placed);
            }
            Operation::Notify => {
                let needed = driver.notify(&memory, probe).unwrap().needed;
                if model.device_sleeps.is_some_and(|published| published > 0) {
                    assert!(needed, "the device sleeps on a buffer it was not told of");
                    model.device_sleeps = None;
                }
            }
            Operation::Pop => {
                let popped = device.pop(&memory, probe, &mut chain).unwrap();
                assert_eq!(popped, !model.available.is_empty());
                if let Some(buffer) = model.available.pop_front() {
                    assert_eq!(
                        (chain.readable(), chain.writable()),
                        (&buffer.readable[..], &buffer.writable[..])
                    );
                    model.taken.push((chain.head, buffer));
                }
            }
            Operation::Complete { which, length } => {
                if model.taken.is_empty() {
                    continue;
                }
                let which = if in_order { 0 } else { which % model.taken.len() };
                let (head, buffer) = model.taken.remove(which);
                let length = length % (buffer.writable_bytes() + 1);
                device.complete(&memory, probe, head, length).unwrap();
                model.completed.push_back((buffer.token, length));
            }
            Operation::CompleteBatch { count } => {
                if !in_order || model.taken.is_empty() {
                    continue;
                }
                let count = count.min(model.taken.len());
                let (head, last) = &model.taken[count - 1];
                device.complete_batch(&memory, probe, *head, last.writable_bytes()).unwrap();
                model.completed.extend(
                    model.taken.drain(..count).map(|(_, buffer)| (buffer.token, buffer.writable_bytes())),
                );
            }
            Operation::PublishUsed => {
                device.publish(&memory, probe).unwrap();
                if let Some(published) = &mut model.driver_sleeps {
                    *published += model.completed.len();
                }
                model.used.append(&mut model.completed);
            }
            Operation::NotifyUsed => {
                let needed = device.notify(&memory, probe).unwrap().needed;
                if model.driver_sleeps.is_some_and(|published| published > 0) {
                    assert!(needed, "the driver sleeps on a used buffer it was not told of");
                    model.driver_sleeps = None;
                }
            }
            Operation::Reap => {
                assert_eq!(driver.pending_used(&memory).unwrap() as usize, model.used.len());
                let used = driver.reap(&memory, probe).unwrap();
                assert_eq!(used.map(|used| (used.token, used.length)), model.used.pop_front());
                model.reaped += used.is_some() as u64;
            }
            Operation::DriverNotifications(wanted) => {
                model.driver_sleeps = None;
                if wanted {
                    let pending = driver.enable_notifications(&memory).unwrap();
                    assert_eq!(pending > 0, !model.used.is_empty());
                    if pending == 0 {
                        model.driver_sleeps = Some(0);
                    }
                } else {
                    driver.disable_notifications(&memory).unwrap();
                }
            }
            Operation::DeviceNotifications(wanted) => {
                model.device_sleeps = None;
                if wanted {
                    let pending = device.enable_notifications(&memory).unwrap();
                    assert_eq!(pending, !model.available.is_empty());
                    if !pending {
                        model.device_sleeps = Some(0);
                    }
                } else {
                    device.disable_notifications(&memory).unwrap();
                }
            }
        }
    }
    assert_eq!(model.reaped, model.next_token, "every buffer came back");
    let (statistics, idle_bytes) = statistics(&driver);
    assert_eq!(statistics.bytes_held, idle_bytes as u64, "what is held when nothing is in flight lies idle");
    assert_eq!(statistics.allocations + statistics.hits, statistics.frees + statistics.cached);
}

fn idle_bytes<T: TableSource>(tables: &T) -> usize {
    tables.idle().map(|table| table.bytes() as usize).sum()
}

fn run_with<T: TableSource>(
    config: QueueConfig,
    tables: T,
    counts: fn(&T) -> TableStatistics,
    operations: &[Operation],
) {
    match config.format() {
        Format::Split => {
            let driver = SplitDriver::new(&config, tables).unwrap();
            let device = SplitDevice::new(&config).unwrap();
            let statistics = |driver: &SplitDriver<T>| (counts(driver.tables()), idle_bytes(driver.tables()));
            run(config, driver, device, statistics, operations);
        }
        Format::Packed => {
            let driver = PackedDriver::new(&config, tables).unwrap();
            let device = PackedDevice::new(&config).unwrap();
            let statistics =
                |driver: &PackedDriver<T>| (counts(driver.tables()), idle_bytes(driver.tables()));
            run(config, driver, device, statistics, operations);
        }
    }
}

fn check(
    format: Format,
    size: u16,
    features: u64,
    strategy: TableStrategy,
    start: u16,
    operations: &[Operation],
) {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    let layout = Layout::contiguous(size, BASE);
    let config = QueueConfig { layout, features: Features(features | packed), start_index: start };
    let tables: Tables = Counted::new(strategy.build(size, TABLES, TABLES_LENGTH).unwrap());
    run_with(config, tables, Counted::statistics, operations);
}

fn features() -> impl Strategy<Value = u64> {
    let bit = |bit: u64| prop_oneof![Just(0), Just(bit)];
    (bit(feature::INDIRECT_DESC), bit(feature::EVENT_IDX), bit(feature::IN_ORDER))
        .prop_map(|(indirect, event, in_order)| indirect | event | in_order)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(debug_assertions) { 300 } else { 3000 }, ..ProptestConfig::default() })]

    #[test]
    fn split(
        size in 0..6_u32, features in features(), strategy in any::<prop::sample::Index>(),
        start in prop_oneof![Just(0), 65_500_u16..=65_535, any::<u16>()],
        operations in prop::collection::vec(operation(), 0..400),
    ) {
        let strategy = *strategy.get(&strategies::every(1 << size));
        check(Format::Split, 1 << size, features, strategy, start, &operations);
    }

    #[test]
    fn packed(
        size in 1..40_u16, features in features(), strategy in any::<prop::sample::Index>(),
        start in prop_oneof![Just(0), 65_500_u16..=65_535, any::<u16>()],
        operations in prop::collection::vec(operation(), 0..400),
    ) {
        let strategy = *strategy.get(&strategies::every(size));
        check(Format::Packed, size, features, strategy, start, &operations);
    }
}

/// Names what is covered: every format with every set of features and every strategy, once each with a long run.
#[test]
fn every_combination_once() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let operations = prop::collection::vec(operation(), 600).new_tree(&mut runner).unwrap().current();
    for format in [Format::Split, Format::Packed] {
        for mask in 0..8_u64 {
            let bits = [feature::INDIRECT_DESC, feature::EVENT_IDX, feature::IN_ORDER];
            let features: u64 = (0..3).filter(|bit| mask >> bit & 1 == 1).map(|bit| bits[bit]).sum();
            let strategies = strategies::every(16);
            for strategy in &strategies {
                check(format, 16, features, *strategy, 65_530, &operations);
            }
            println!(
                "{format}, driver and device: {:?}, {} strategies",
                Features(features).names(),
                strategies.len()
            );
        }
    }
}
