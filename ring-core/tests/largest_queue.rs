//! The largest queue: as many buffers as it holds, one buffer as long as it, over the end of the ring and of the indices.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::Direct,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Format, Layout, MAXIMUM_QUEUE_SIZE, feature},
};

const BASE: u64 = 0x1000;
const SIZE: u16 = MAXIMUM_QUEUE_SIZE;

fn run(config: QueueConfig, mut driver: impl Driver, mut device: impl Device) {
    let end = config.layout.areas(config.format()).map(|area| area.address + area.length).into_iter().max();
    let memory = OwnedMemory::new(BASE, (end.unwrap() - BASE) as usize);
    config.initialise(&memory).unwrap();
    // The indices may not start where zeroed memory asks for a notification.
    driver.enable_notifications(&memory).unwrap();
    device.enable_notifications(&memory).unwrap();
    let probe = &mut NoProbe;
    let elements = vec![Segment { address: 0x10_0000, length: 4 }; SIZE.into()];
    let mut chain = Chain::default();
    // A first small one puts what follows across the end of the ring.
    for count in [1, SIZE, 3, SIZE] {
        let (readable, writable) = elements[..count.into()].split_at((count / 2).into());
        driver.add(&memory, probe, count.into(), readable, writable).unwrap();
        driver.publish(&memory, probe).unwrap();
        assert!(driver.notify(&memory, probe).unwrap().needed);
        if count == SIZE {
            let full = driver.add(&memory, probe, 0, &elements[..1], &[]);
            assert_eq!(full, Err(AddError::Full { needed: 1, free: 0 }));
        }
        assert!(device.pop(&memory, probe, &mut chain).unwrap());
        assert_eq!((chain.readable().len(), chain.writable().len()), (readable.len(), writable.len()));
        let length = writable.len() as u32 * 4;
        device.complete(&memory, probe, chain.head, length).unwrap();
        device.publish(&memory, probe).unwrap();
        assert!(device.notify(&memory, probe).unwrap().needed);
        let used = driver.reap(&memory, probe).unwrap().unwrap();
        assert_eq!((used.token, used.length), (count.into(), length));
        driver.enable_notifications(&memory).unwrap();
        device.enable_notifications(&memory).unwrap();
    }
    // As many buffers as descriptors; the device uses them backwards.
    for _ in 0..2 {
        for token in 0..SIZE as u64 {
            driver.add(&memory, probe, token, &elements[..1], &[]).unwrap();
        }
        driver.publish(&memory, probe).unwrap();
        assert!(driver.notify(&memory, probe).unwrap().needed);
        let mut heads = Vec::new();
        while device.pop(&memory, probe, &mut chain).unwrap() {
            heads.push(chain.head);
        }
        assert_eq!(heads.len(), SIZE as usize);
        for head in heads.into_iter().rev() {
            device.complete(&memory, probe, head, 0).unwrap();
        }
        device.publish(&memory, probe).unwrap();
        assert!(device.notify(&memory, probe).unwrap().needed);
        assert_eq!(driver.pending_used(&memory), Ok(SIZE));
        for token in (0..SIZE as u64).rev() {
            assert_eq!(driver.reap(&memory, probe).unwrap().map(|used| used.token), Some(token));
        }
        assert_eq!(driver.reap(&memory, probe), Ok(None));
        driver.enable_notifications(&memory).unwrap();
        device.enable_notifications(&memory).unwrap();
    }
}

fn config(format: Format, features: u64, start_index: u16) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig { layout: Layout::contiguous(SIZE, BASE), features: Features(features | packed), start_index }
}

#[test]
fn split() {
    for (features, start) in [(0, 0), (feature::EVENT_IDX, 40_000)] {
        let config = config(Format::Split, features, start);
        run(config, SplitDriver::new(&config, Direct).unwrap(), SplitDevice::new(&config).unwrap());
    }
}

#[test]
fn packed() {
    for (features, start) in [(0, 0), (feature::EVENT_IDX, 40_000)] {
        let config = config(Format::Packed, features, start);
        run(config, PackedDriver::new(&config, Direct).unwrap(), PackedDevice::new(&config).unwrap());
    }
}
