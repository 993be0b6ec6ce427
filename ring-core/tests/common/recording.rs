//! A recorded run against our own device, as a real device would be recorded: only from the driver's side.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a run that cannot be recorded fails its test")]

use ring_core::{
    QueueConfig, Segment, Side,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::TableStrategy,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
    trace::{Header, MemoryRange, QueueHeader, RecordedDriver, Source, TRACE_VERSION, TraceWriter},
};
use std::{cell::Cell, rc::Rc};

/// A queue with everything the run uses.
pub(crate) fn queue(
    queue_size: u16,
    features: u64,
    strategy: TableStrategy,
    start_index: u16,
) -> QueueHeader {
    let layout = Layout::contiguous(queue_size, 0x1_0000);
    QueueHeader {
        name: "transmit".into(),
        index: 1,
        config: QueueConfig { layout, features: Features(features), start_index },
        strategy,
        tables: MemoryRange { base: 0x1_2000, length: 0x8000 },
    }
}

pub(crate) fn header(queues: Vec<QueueHeader>) -> Header {
    Header {
        version: TRACE_VERSION,
        made_by: "ring-core tests".into(),
        source: Source {
            device: "a test".into(),
            implementation: "ring-core's device".into(),
            ..Default::default()
        },
        observed_from: Side::Driver,
        ticks_per_second: 1_000_000_000,
        queues,
    }
}

/// Repeatable pseudo-random numbers: which run it is must not change from test to test.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A trace of `rounds` rounds; each adds some buffers and lets the device use some, out of order unless that was
/// negotiated. With `RING_RESET` the queue is reset now and then.
pub(crate) fn record(queue: QueueHeader, rounds: u64, seed: u64) -> Vec<u8> {
    let (config, size) = (queue.config, queue.config.layout.queue_size);
    let tables = queue.strategy.build(size, queue.tables.base, queue.tables.length).unwrap();
    match config.format() {
        Format::Split => {
            let device = SplitDevice::new(&config).unwrap();
            run(queue, SplitDriver::new(&config, tables).unwrap(), device, rounds, seed)
        }
        Format::Packed => {
            let device = PackedDevice::new(&config).unwrap();
            run(queue, PackedDriver::new(&config, tables).unwrap(), device, rounds, seed)
        }
    }
}

fn run(queue: QueueHeader, driver: impl Driver, mut device: impl Device, rounds: u64, seed: u64) -> Vec<u8> {
    let range = queue.memory().unwrap();
    let memory = OwnedMemory::new(range.base, range.length as usize);
    queue.config.initialise(&memory).unwrap();
    let has = |feature| queue.config.features.contains(feature);
    let (in_order, resets) = (has(feature::IN_ORDER), has(feature::RING_RESET));
    // A split ring's device asks in its flags, which are 0 from the start, or by an event index.
    let event_index = has(feature::EVENT_IDX);
    let wishes = event_index || has(feature::RING_PACKED);
    let writer = TraceWriter::new(Vec::new(), &header(vec![queue.clone()])).unwrap();
    let time = Rc::new(Cell::new(0));
    let clock = {
        let time = time.clone();
        move || time.replace(time.get() + 7)
    };
    let mut driver = RecordedDriver::new(driver, queue, writer.queue(0).unwrap(), clock);
    let mut numbers = Numbers(seed);
    let mut token = 0;
    let mut held: Vec<Chain> = Vec::new();
    if numbers.below(2) == 0 {
        driver.disable_notifications(&memory).unwrap();
    }
    for round in 0..rounds {
        for _ in 0..numbers.below(6) {
            let segment =
                |i: u64| Segment { address: 0x100_0000 + token * 4096 + i * 512, length: 64 + i as u32 };
            let readable: Vec<_> = (0..numbers.below(6)).map(segment).collect();
            let writable: Vec<_> = (0..numbers.below(3) + readable.is_empty() as u64).map(segment).collect();
            match driver.add(&memory, &mut NoProbe, token, &readable, &writable) {
                Ok(_) => token += 1,
                // The queue may be too small for it at all.
                Err(AddError::Full { .. } | AddError::Refused(_)) => break,
                Err(error) => panic!("{error}"),
            }
        }
        driver.publish(&memory, &mut NoProbe).unwrap();
        driver.notify(&memory, &mut NoProbe).unwrap();
        let mut chain = Chain::default();
        while device.pop(&memory, &mut NoProbe, &mut chain).unwrap() {
            held.push(chain.clone());
        }
        let uses = numbers.below(held.len() as u64 + 1);
        if in_order && uses > 0 && numbers.below(2) == 0 {
            let last = held.drain(..uses as usize).next_back().unwrap();
            device.complete_batch(&memory, &mut NoProbe, last.head, last.writable_bytes() as u32).unwrap();
        } else {
            for _ in 0..uses {
                let which = if in_order { 0 } else { numbers.below(held.len() as u64) as usize };
                let chain = held.remove(which);
                let length = numbers.below(chain.writable_bytes() + 1) as u32;
                device.complete(&memory, &mut NoProbe, chain.head, length).unwrap();
            }
        }
        device.publish(&memory, &mut NoProbe).unwrap();
        device.notify(&memory, &mut NoProbe).unwrap();
        if wishes && numbers.below(3) == 0 {
            device.enable_notifications(&memory).unwrap();
        }
        while driver.reap(&memory, &mut NoProbe).unwrap().is_some() {}
        if numbers.below(4) == 0 {
            driver.enable_notifications(&memory).unwrap();
        }
        if resets && round % 40 == 39 {
            device.reset();
            driver.reset(&memory, &mut NoProbe, |_| {}).unwrap();
            held.clear();
        }
        // The device holds buffers still; what it has not written it cannot have changed.
        if round % 16 == 15 {
            assert!(driver.checkpoint(&memory).unwrap());
        }
    }
    drop(driver);
    writer.finish().unwrap().0
}
