//! Driver and device on two threads over shared memory, each asleep while it has nothing to do: what one sends the other
//! sees whole, and nobody sleeps through a notification.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/pages.rs"]
mod pages;

use pages::Pages;
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::{ListCache, TableArena},
    memory::SharedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const LENGTH: usize = 0x2_0000;
const TABLES: u64 = 0x8000;
const BUFFERS: u64 = 30_000;

/// A notification: set by one side, taken by the other.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_one();
    }

    /// Sleeps until rung. A minute without it is a lost notification.
    fn wait(&self, who: &str) {
        let rung = self.rung.lock().unwrap();
        let (mut rung, timeout) =
            self.changed.wait_timeout_while(rung, Duration::from_secs(60), |rung| !*rung).unwrap();
        assert!(!timeout.timed_out(), "the {who} slept through a notification");
        *rung = false;
    }
}

fn buffer(token: u64) -> (Vec<Segment>, Vec<Segment>) {
    let segment = |index: u64| Segment { address: token << 8 | index, length: 1 + (token % 100) as u32 };
    ((0..1 + token % 3).map(segment).collect(), (3..3 + token % 2).map(segment).collect())
}

fn exchange(mut driver: impl Driver + Send, mut device: impl Device + Send, in_order: bool) {
    let pages = Pages::new(LENGTH);
    // SAFETY: the pages outlive both threads and are reached through this only.
    let memory = unsafe { SharedMemory::new(pages.pointer(), 0, LENGTH) };
    let (to_device, to_driver, done) = (Bell::default(), Bell::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let probe = &mut NoProbe;
            let mut chain = Chain::default();
            let mut held: Vec<(u16, u32)> = Vec::new();
            let mut expected = 0;
            while !done.load(Ordering::Acquire) {
                while device.pop(&memory, probe, &mut chain).unwrap() {
                    assert_eq!((chain.readable().to_vec(), chain.writable().to_vec()), buffer(expected));
                    expected += 1;
                    held.push((chain.head, chain.writable_bytes() as u32));
                }
                if !in_order {
                    held.reverse();
                }
                for (head, length) in held.drain(..) {
                    device.complete(&memory, probe, head, length).unwrap();
                }
                device.publish(&memory, probe).unwrap();
                if device.notify(&memory, probe).unwrap().needed {
                    to_driver.ring();
                }
                if !device.enable_notifications(&memory).unwrap() {
                    to_device.wait("device");
                }
                device.disable_notifications(&memory).unwrap();
            }
        });
        let probe = &mut NoProbe;
        let (mut sent, mut back) = (0, 0);
        let mut seen = vec![false; BUFFERS as usize];
        while back < BUFFERS {
            while sent < BUFFERS {
                let (readable, writable) = buffer(sent);
                match driver.add(&memory, probe, sent, &readable, &writable) {
                    Ok(_) => sent += 1,
                    Err(AddError::Full { .. }) => break,
                    Err(error) => panic!("{error}"),
                }
                // Batches of any size.
                if sent % 7 < 3 {
                    driver.publish(&memory, probe).unwrap();
                    if driver.notify(&memory, probe).unwrap().needed {
                        to_device.ring();
                    }
                }
            }
            driver.publish(&memory, probe).unwrap();
            if driver.notify(&memory, probe).unwrap().needed {
                to_device.ring();
            }
            let before = back;
            while let Some(used) = driver.reap(&memory, probe).unwrap() {
                assert!(!std::mem::replace(&mut seen[used.token as usize], true), "a buffer came back twice");
                let (_, writable) = buffer(used.token);
                assert_eq!(used.length, writable.iter().map(|segment| segment.length).sum::<u32>());
                back += 1;
            }
            if back == before && driver.enable_notifications(&memory).unwrap() == 0 {
                to_driver.wait("driver");
            }
            driver.disable_notifications(&memory).unwrap();
        }
        done.store(true, Ordering::Release);
        to_device.ring();
    });
}

fn features() -> impl Iterator<Item = u64> {
    [0, feature::EVENT_IDX]
        .into_iter()
        .flat_map(|event| [0, feature::IN_ORDER].map(|in_order| event | in_order | feature::INDIRECT_DESC))
}

#[test]
fn split() {
    for features in features() {
        let config = QueueConfig::new(Layout::contiguous(16, 0x1000), Features(features));
        let tables = ListCache::new(TableArena::new(TABLES, LENGTH as u64 - TABLES), 4);
        let driver = SplitDriver::new(&config, tables).unwrap();
        exchange(driver, SplitDevice::new(&config).unwrap(), config.features.contains(feature::IN_ORDER));
    }
}

#[test]
fn packed() {
    for features in features() {
        let config =
            QueueConfig::new(Layout::contiguous(13, 0x1000), Features(features | feature::RING_PACKED));
        let tables = ListCache::new(TableArena::new(TABLES, LENGTH as u64 - TABLES), 4);
        let driver = PackedDriver::new(&config, tables).unwrap();
        exchange(driver, PackedDevice::new(&config).unwrap(), config.features.contains(feature::IN_ORDER));
    }
}
