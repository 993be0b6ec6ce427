//! Whatever a device did before it was reset, each buffer comes back once: reaped before, or handed over by the reset; and the queue
//! works again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/cases.rs"]
mod cases;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/either.rs"]
mod either;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use either::EitherDriver;
use proptest::prelude::*;
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted, TableSource},
    memory::{Memory, Ordering, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::collections::BTreeSet;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x2000;
const TABLES_LENGTH: u64 = 0x2000;

#[derive(Clone, Debug)]
enum Event {
    Add {
        readable: usize,
        writable: usize,
    },
    Publish,
    /// The device takes everything and uses so many, with `IN_ORDER` perhaps by one element.
    Serve {
        uses: usize,
        batch: bool,
        publish: bool,
    },
    Reap,
    /// The device writes a word into the ring, where it may and where it may not.
    Spoil {
        offset: u64,
        value: u64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..4_usize, 0..3_usize).prop_map(|(readable, writable)| Event::Add { readable, writable }),
        3 => Just(Event::Publish),
        4 => (0..5_usize, any::<bool>(), prop::bool::weighted(0.8))
            .prop_map(|(uses, batch, publish)| Event::Serve { uses, batch, publish }),
        4 => Just(Event::Reap),
        1 => (0..0x180_u64, prop_oneof![any::<u64>(), 0..16_u64, (0..9_u64, 0..9_u64).prop_map(|(id, length)| id | length << 32)])
            .prop_map(|(offset, value)| Event::Spoil { offset: offset & !7, value }),
    ]
}

struct Tokens {
    next: u64,
    out: BTreeSet<u64>,
}

impl Tokens {
    fn comes_back(&mut self, token: u64) {
        assert!(self.out.remove(&token), "{token} came back though it was not in flight");
    }
}

/// Runs the events until the driver finds the queue broken, if it does.
fn until_broken<D: EitherDriver, V: Device>(
    memory: &OwnedMemory,
    driver: &mut D,
    device: &mut V,
    in_order: bool,
    tokens: &mut Tokens,
    events: &[Event],
) {
    let probe = &mut NoProbe;
    let segments = [Segment { address: 0x10_0000, length: 16 }; 4];
    let mut chain = Chain::default();
    let mut taken = Vec::new();
    for event in events {
        let fault = match *event {
            Event::Add { readable, writable } => {
                match driver.add(memory, probe, tokens.next, &segments[..readable], &segments[..writable]) {
                    Ok(_) => {
                        tokens.out.insert(tokens.next);
                        tokens.next += 1;
                        None
                    }
                    Err(AddError::Fault(fault)) => Some(fault),
                    Err(_) => None,
                }
            }
            Event::Publish => driver.publish(memory, probe).err(),
            Event::Serve { uses, batch, publish } => {
                // A device that finds its own queue broken does nothing more.
                while let Ok(true) = device.pop(memory, probe, &mut chain) {
                    taken.push(chain.head);
                }
                let uses = uses.min(taken.len());
                if in_order && batch && uses > 0 {
                    let _ = device.complete_batch(memory, probe, taken[uses - 1], 0);
                    taken.drain(..uses);
                } else {
                    for _ in 0..uses {
                        let which = if in_order { 0 } else { taken.len() / 2 };
                        let _ = device.complete(memory, probe, taken.remove(which), 0);
                    }
                }
                if publish {
                    let _ = device.publish(memory, probe);
                }
                None
            }
            Event::Reap => match driver.reap(memory, probe) {
                Ok(used) => {
                    used.into_iter().for_each(|used| tokens.comes_back(used.token));
                    None
                }
                Err(fault) => Some(fault),
            },
            Event::Spoil { offset, value } => {
                memory.store_u64(BASE + offset, value, Ordering::Relaxed).unwrap();
                None
            }
        };
        if let Some(fault) = fault {
            assert_eq!(driver.broken(), Some(fault));
            assert_eq!(driver.reap(memory, probe), Err(fault), "nothing comes back from a broken queue");
            return;
        }
    }
}

fn run<D: EitherDriver<Tables = Counted<AnyTableSource>>, V: Device>(
    config: QueueConfig,
    mut driver: D,
    mut device: V,
    laps: &[Vec<Event>],
) {
    let in_order = config.features.contains(feature::IN_ORDER);
    let memory = OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize);
    let mut tokens = Tokens { next: 0, out: BTreeSet::new() };
    for events in laps {
        until_broken(&memory, &mut driver, &mut device, in_order, &mut tokens, events);
        driver.reset(&memory, &mut NoProbe, |token| tokens.comes_back(token)).unwrap();
        device.reset();
        assert_eq!(tokens.out, BTreeSet::new(), "still in flight");
        assert_eq!((driver.free(), driver.held()), (config.layout.queue_size, vec![]));
        let idle: u64 = driver.tables().idle().map(|table| table.bytes() as u64).sum();
        assert_eq!(driver.tables().statistics().bytes_held, idle, "every table came back too");
        assert_eq!(driver.broken(), None);
        works(&config, &memory, &mut driver, &mut device, &mut tokens);
        driver.reset(&memory, &mut NoProbe, |token| unreachable!("{token} is not in flight")).unwrap();
        device.reset();
    }
}

/// Two laps and a bit of buffers, one after the other.
fn works<D: EitherDriver, V: Device>(
    config: &QueueConfig,
    memory: &OwnedMemory,
    driver: &mut D,
    device: &mut V,
    tokens: &mut Tokens,
) {
    let probe = &mut NoProbe;
    let segments = [Segment { address: 0x10_0000, length: 16 }; 2];
    let mut chain = Chain::default();
    let elements = if config.layout.queue_size > 1 { 2 } else { 1 };
    for round in 0..2 * config.layout.queue_size + 1 {
        let token = tokens.next;
        tokens.next += 1;
        let id = driver.add(memory, probe, token, &[], &segments[..elements]).unwrap();
        assert!(round > 0 || id == 0, "a queue that was reset starts with descriptor 0 again");
        driver.publish(memory, probe).unwrap();
        assert!(driver.notify(memory, probe).unwrap().needed);
        assert!(device.pop(memory, probe, &mut chain).unwrap());
        device.enable_notifications(memory).unwrap();
        assert_eq!(chain.writable(), &segments[..elements]);
        if config.features.contains(feature::IN_ORDER) {
            device.complete_batch(memory, probe, chain.head, 16).unwrap();
        } else {
            device.complete(memory, probe, chain.head, 16).unwrap();
        }
        device.publish(memory, probe).unwrap();
        let used = driver.reap(memory, probe).unwrap().unwrap();
        assert_eq!((used.token, used.length), (token, 16));
    }
}

proptest! {
    #![proptest_config(cases::cases(200))]

    #[test]
    fn each_buffer_comes_back_once_and_the_queue_works_again(
        packed in any::<bool>(), mask in 0..8_u64, strategy in any::<prop::sample::Index>(),
        laps in prop::collection::vec(prop::collection::vec(event(), 0..60), 1..4),
    ) {
        let bits = [feature::INDIRECT_DESC, feature::EVENT_IDX, feature::IN_ORDER];
        let features: u64 = (0..3).filter(|bit| mask >> bit & 1 == 1).map(|bit| bits[bit]).sum();
        // What fits the smaller of the two rings fits both.
        let strategy = *strategy.get(&strategies::every(7));
        let tables = Counted::new(strategy.build(7, TABLES, TABLES_LENGTH).unwrap());
        if packed {
            let config = QueueConfig::new(Layout::contiguous(7, BASE), Features(features | feature::RING_PACKED));
            let device = PackedDevice::new(&config).unwrap();
            let driver = PackedDriver::new(&config, tables).unwrap();
            run(config, driver, device, &laps);
        } else {
            let config = QueueConfig::new(Layout::contiguous(8, BASE), Features(features));
            let device = SplitDevice::new(&config).unwrap();
            let driver = SplitDriver::new(&config, tables).unwrap();
            run(config, driver, device, &laps);
        }
    }
}
