//! Nothing on a buffer's way allocates from the heap once a queue is warm, whatever the strategy.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::Counted,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::{
    alloc::{GlobalAlloc, Layout as AllocLayout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is the system allocator's; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: AllocLayout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: AllocLayout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn round(memory: &OwnedMemory, driver: &mut impl Driver, device: &mut impl Device, chain: &mut Chain) {
    let segments: [Segment; 6] =
        std::array::from_fn(|index| Segment { address: index as u64 * 64, length: 64 });
    let probe = &mut NoProbe;
    for batch in 0..4 {
        for token in 0..=batch {
            driver.add(memory, probe, token, &segments[..1 + token as usize], &segments[..2]).unwrap();
        }
        driver.publish(memory, probe).unwrap();
        driver.notify(memory, probe).unwrap();
        while device.pop(memory, probe, chain).unwrap() {
            device.complete(memory, probe, chain.head, 5).unwrap();
        }
        device.publish(memory, probe).unwrap();
        device.notify(memory, probe).unwrap();
        device.enable_notifications(memory).unwrap();
        let mut back = 0;
        while driver.reap(memory, probe).unwrap().is_some() {
            back += 1;
        }
        driver.enable_notifications(memory).unwrap();
        assert_eq!(back, batch + 1);
    }
}

fn check(name: &str, mut driver: impl Driver, mut device: impl Device) {
    let memory = OwnedMemory::new(0x1000, 0x1_0000);
    let mut chain = Chain::default();
    // Longer than a strategy goes between looks at what it holds.
    for _ in 0..130 {
        round(&memory, &mut driver, &mut device, &mut chain);
    }
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..130 {
        round(&memory, &mut driver, &mut device, &mut chain);
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{name}");
}

#[test]
fn a_warm_queue_allocates_nothing() {
    // The counter counts at all.
    let before = ALLOCATIONS.with(Cell::get);
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 1);
    for features in
        [0, feature::INDIRECT_DESC | feature::EVENT_IDX, feature::INDIRECT_DESC | feature::IN_ORDER]
    {
        for strategy in strategies::every(32) {
            let tables = || Counted::new(strategy.build(32, 0x4000, 0x8000).unwrap());
            let layout = Layout::contiguous(32, 0x1000);
            let config = QueueConfig::new(layout, Features(features));
            let driver = SplitDriver::new(&config, tables()).unwrap();
            check(&format!("split, {strategy}"), driver, SplitDevice::new(&config).unwrap());
            let config = QueueConfig::new(layout, Features(features | feature::RING_PACKED));
            let driver = PackedDriver::new(&config, tables()).unwrap();
            check(&format!("packed, {strategy}"), driver, PackedDevice::new(&config).unwrap());
        }
    }
}
