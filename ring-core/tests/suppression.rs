//! A side that asked for no notifications gets none from a side of ours, and one that asked again gets the next one: with
//! flags and with an event index, in both formats.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::Direct,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};

const BASE: u64 = 0x1000;

struct Queue<D, V> {
    memory: OwnedMemory,
    driver: D,
    device: V,
}

impl<D: Driver, V: Device> Queue<D, V> {
    /// One buffer is published; whether the device is to be notified.
    fn send(&mut self) -> bool {
        let element = [Segment { address: 0x10_0000, length: 1 }];
        self.driver.add(&self.memory, &mut NoProbe, 0, &element, &[]).unwrap();
        self.driver.publish(&self.memory, &mut NoProbe).unwrap();
        self.driver.notify(&self.memory, &mut NoProbe).unwrap().needed
    }

    /// One buffer is used; whether the driver is to be notified.
    fn answer(&mut self) -> bool {
        let mut chain = Chain::default();
        assert!(self.device.pop(&self.memory, &mut NoProbe, &mut chain).unwrap());
        self.device.complete(&self.memory, &mut NoProbe, chain.head, 0).unwrap();
        self.device.publish(&self.memory, &mut NoProbe).unwrap();
        self.device.notify(&self.memory, &mut NoProbe).unwrap().needed
    }

    fn reap(&mut self) {
        assert!(self.driver.reap(&self.memory, &mut NoProbe).unwrap().is_some());
    }
}

fn check(config: QueueConfig, driver: impl Driver, device: impl Device) {
    let event_index = config.features.contains(feature::EVENT_IDX);
    let memory = OwnedMemory::new(BASE, 0x1000);
    config.initialise(&memory).unwrap();
    let mut queue = Queue { memory, driver, device };
    // More than two laps of each state, over the end of the indices too.
    for lap in 0..40 {
        queue.device.disable_notifications(&queue.memory).unwrap();
        queue.driver.disable_notifications(&queue.memory).unwrap();
        for _ in 0..lap {
            assert!(!queue.send(), "the device asked for none");
            assert!(!queue.answer(), "the driver asked for none");
            queue.reap();
        }
        assert!(!queue.device.enable_notifications(&queue.memory).unwrap());
        assert_eq!(queue.driver.enable_notifications(&queue.memory), Ok(0));
        assert!(queue.send(), "the device asked for the next one");
        assert!(queue.answer(), "the driver asked for the next one");
        queue.reap();
        // An event is passed once; flags hold until they are changed.
        assert_eq!(queue.send(), !event_index);
        assert_eq!(queue.answer(), !event_index);
        queue.reap();
        // Nothing new, nothing to tell.
        let Queue { memory, driver, device } = &mut queue;
        assert!(!driver.notify(memory, &mut NoProbe).unwrap().needed);
        assert!(!device.notify(memory, &mut NoProbe).unwrap().needed);
    }
}

#[test]
fn split() {
    for features in [0, feature::EVENT_IDX] {
        for start_index in [0, 65_400] {
            let layout = Layout::contiguous(4, BASE);
            let config = QueueConfig { layout, features: Features(features), start_index };
            let driver = SplitDriver::new(&config, Direct).unwrap();
            check(config, driver, SplitDevice::new(&config).unwrap());
        }
    }
}

#[test]
fn packed() {
    for features in [0, feature::EVENT_IDX] {
        for size in [1, 3, 4] {
            let layout = Layout::contiguous(size, BASE);
            let config = QueueConfig::new(layout, Features(features | feature::RING_PACKED));
            let driver = PackedDriver::new(&config, Direct).unwrap();
            check(config, driver, PackedDevice::new(&config).unwrap());
        }
    }
}
