//! Runs recorded in memory against our own device.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "a run that cannot be recorded fails its test; each test uses a part"
)]

use ring_core::{
    QueueConfig, Segment, Side,
    device::{Chain, Device, SplitDevice},
    driver::{Driver, SplitDriver},
    indirect::TableStrategy,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
    trace::{Header, MemoryRange, QueueHeader, RecordedDriver, Source, TRACE_VERSION, TraceWriter},
};
use web::{
    run::{Move, Run},
    scene::{Cursor, Scene, View},
};

/// A run of one queue: `rounds` times three buffers of 1, 2 and 3 elements, which the device uses in order, and a
/// checkpoint at the end.
pub(crate) fn recorded(queue_size: u16, rounds: u64) -> Vec<u8> {
    let layout = Layout::contiguous(queue_size, 0x1_0000);
    let queue = QueueHeader {
        name: "transmit".into(),
        index: 1,
        config: QueueConfig {
            layout,
            features: Features(feature::INDIRECT_DESC | feature::EVENT_IDX),
            start_index: 0,
        },
        strategy: TableStrategy::ListCache { threshold: 4 },
        tables: MemoryRange { base: tables_base(&layout), length: 0x1000 },
    };
    let header = Header {
        version: TRACE_VERSION,
        made_by: "tests of the page".into(),
        source: Source {
            device: "a test".into(),
            implementation: "ring-core's device".into(),
            ..Default::default()
        },
        observed_from: Side::Driver,
        ticks_per_second: 1_000_000_000,
        queues: vec![queue.clone()],
    };
    let range = queue.memory().unwrap();
    let memory = OwnedMemory::new(range.base, range.length as usize);
    let writer = TraceWriter::new(Vec::new(), &header).unwrap();
    let tables =
        queue.strategy.build(queue.config.layout.queue_size, queue.tables.base, queue.tables.length).unwrap();
    let driver = SplitDriver::new(&queue.config, tables).unwrap();
    let mut device = SplitDevice::new(&queue.config).unwrap();
    let mut time = 0;
    let clock = move || {
        time += 100;
        time
    };
    let mut driver = RecordedDriver::new(driver, queue, writer.queue(0).unwrap(), clock);
    for round in 0..rounds {
        for elements in 1..=3 {
            let token = round * 3 + elements - 1;
            let segment =
                |element| Segment { address: 0x100_0000 + token * 4096 + element * 512, length: 64 };
            let readable: Vec<Segment> = (0..elements).map(segment).collect();
            driver.add(&memory, &mut NoProbe, token, &readable, &[]).unwrap();
        }
        driver.publish(&memory, &mut NoProbe).unwrap();
        driver.notify(&memory, &mut NoProbe).unwrap();
        let mut chain = Chain::default();
        while device.pop(&memory, &mut NoProbe, &mut chain).unwrap() {
            device.complete(&memory, &mut NoProbe, chain.head, 0).unwrap();
        }
        device.publish(&memory, &mut NoProbe).unwrap();
        device.notify(&memory, &mut NoProbe).unwrap();
        device.enable_notifications(&memory).unwrap();
        while driver.reap(&memory, &mut NoProbe).unwrap().is_some() {}
        driver.enable_notifications(&memory).unwrap();
    }
    assert!(driver.checkpoint(&memory).unwrap());
    drop(driver);
    writer.finish().unwrap().0
}

/// Close behind the ring, since memory in between would be replayed too: 0x1_1000 behind a small one.
fn tables_base(layout: &Layout) -> u64 {
    let [_, _, device] = layout.areas(Format::Split);
    (device.address + device.length).next_multiple_of(0x1000)
}

/// The run, opened.
pub(crate) fn opened(bytes: Vec<u8>) -> Run {
    Run::open(bytes, false, |_| ()).unwrap().0
}

/// The scene after a call.
pub(crate) fn scene(run: &mut Run, position: u64) -> Scene {
    run.scene(0, Cursor { position, access: None }, Move::Stay, &View::LAPTOP).unwrap()
}

/// The position after the first call with this name, from `from` on.
pub(crate) fn find(run: &mut Run, name: &str, from: u64) -> u64 {
    (from..).find(|position| scene(run, *position).call == name).unwrap()
}
