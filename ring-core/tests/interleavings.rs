//! Every interleaving, and every value that a weakly ordered load may see, of publishing, notifying and looking once more:
//! no notification is lost and no buffer is seen in part. Each model must fail when its barrier is taken away, or it would
//! prove nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU32, AtomicU64, fence},
    },
    thread,
};
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::Direct,
    memory::{EachChecked, Memory, Ordering, OutOfRange},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const BASE: u64 = 0x1000;

/// Which barrier a model does without.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The fence between publishing and reading the other side's wish, and its counterpart.
    Fence,
    /// The release order of what publishes.
    Release,
}

/// Memory whose cells are loom's atomics, each of the width in which the rings use it.
struct Cells {
    words: Vec<AtomicU64>,
    singles: Vec<AtomicU32>,
    halves: Vec<AtomicU16>,
    // What stands in the buffer: written before it is handed over, read after.
    contents: AtomicU64,
    config: QueueConfig,
    without: Without,
}

impl Cells {
    fn new(config: QueueConfig, without: Without) -> Self {
        let size = config.layout.queue_size as usize;
        Cells {
            words: (0..2 * size).map(|_| AtomicU64::new(0)).collect(),
            singles: (0..2 * size.max(1)).map(|_| AtomicU32::new(0)).collect(),
            halves: (0..6 + size).map(|_| AtomicU16::new(0)).collect(),
            contents: AtomicU64::new(0),
            config,
            without,
        }
    }

    fn word(&self, address: u64) -> Result<&AtomicU64, OutOfRange> {
        let index = address.wrapping_sub(self.config.layout.descriptor_area) / 8;
        self.words.get(index as usize).ok_or(OutOfRange { address, length: 8 })
    }

    /// Used entries of a split ring, event structures of a packed one.
    fn single(&self, address: u64) -> Result<&AtomicU32, OutOfRange> {
        let layout = self.config.layout;
        let index = match self.config.format() {
            Format::Split => address.wrapping_sub(layout.device_area + 4) / 4,
            Format::Packed => (address == layout.device_area) as u64,
        };
        self.singles.get(index as usize).ok_or(OutOfRange { address, length: 4 })
    }

    /// Everything else of a split ring: the driver area, then flags, idx and event of the device area.
    fn half(&self, address: u64) -> Result<&AtomicU16, OutOfRange> {
        let layout = self.config.layout;
        let size = layout.queue_size as u64;
        let index = match address.wrapping_sub(layout.device_area) {
            offset @ (0 | 2) => 3 + size + offset / 2,
            offset if offset == 4 + 8 * size => 5 + size,
            _ => address.wrapping_sub(layout.driver_area) / 2,
        };
        self.halves.get(index as usize).ok_or(OutOfRange { address, length: 2 })
    }

    fn weaken(&self, ordering: Ordering) -> Ordering {
        match (self.without, ordering) {
            (Without::Release, Ordering::Release) => Ordering::Relaxed,
            _ => ordering,
        }
    }
}

impl Memory for Cells {
    type Descriptors<'a>
        = EachChecked<'a, Self>
    where
        Self: 'a;
    fn descriptors(&self, address: u64, count: u32) -> Result<EachChecked<'_, Self>, OutOfRange> {
        EachChecked::new(self, address, count)
    }
    fn check_words(&self, _: u64, _: u64) -> Result<(), OutOfRange> {
        Ok(())
    }
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        Ok(self.half(address)?.load(ordering))
    }
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        self.half(address)?.store(value, self.weaken(ordering));
        Ok(())
    }
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        Ok(self.single(address)?.load(Ordering::Relaxed))
    }
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.single(address)?.store(value, Ordering::Relaxed);
        Ok(())
    }
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        Ok(self.word(address)?.load(ordering))
    }
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        self.word(address)?.store(value, self.weaken(ordering));
        Ok(())
    }
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        Ok([self.load_u64(address, Ordering::Relaxed)?, self.load_u64(address + 8, Ordering::Relaxed)?])
    }
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        self.store_u64(address, words[0], Ordering::Relaxed)?;
        self.store_u64(address + 8, words[1], Ordering::Relaxed)
    }
    fn fence(&self, ordering: Ordering) {
        if self.without != Without::Fence {
            fence(ordering);
        }
    }
}

fn config(format: Format, features: u64) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig::new(Layout::contiguous(2, BASE), Features(features | packed))
}

fn element() -> [Segment; 1] {
    [Segment { address: 0x55_0000, length: 77 }]
}

/// The driver publishes a buffer and looks whether to notify, while the device asks to be notified and looks once more.
fn driver_publishes(
    config: QueueConfig,
    driver: impl Driver + Send + 'static,
    mut device: impl Device,
    without: Without,
) {
    let cells = Arc::new(Cells::new(config, without));
    let notified = {
        let cells = cells.clone();
        let mut driver = driver;
        thread::spawn(move || {
            cells.contents.store(7, Ordering::Relaxed);
            driver.add(&*cells, &mut NoProbe, 1, &element(), &[]).unwrap();
            driver.publish(&*cells, &mut NoProbe).unwrap();
            driver.notify(&*cells, &mut NoProbe).unwrap().needed
        })
    };
    // As a device that was awake goes to sleep.
    let seen = device.enable_notifications(&*cells).unwrap();
    if seen {
        let mut chain = Chain::default();
        assert!(device.pop(&*cells, &mut NoProbe, &mut chain).unwrap());
        assert_eq!(chain.readable(), element(), "a buffer seen in part");
        assert_eq!(cells.contents.load(Ordering::Relaxed), 7, "contents from before");
    }
    let notified = notified.join().unwrap();
    assert!(seen || notified, "the device sleeps on a buffer it was not told of");
}

/// The device publishes a used buffer and looks whether to notify, while the driver asks to be notified and looks once
/// more.
fn device_publishes(
    config: QueueConfig,
    mut driver: impl Driver,
    device: impl Device + Send + 'static,
    without: Without,
) {
    let cells = Arc::new(Cells::new(config, without));
    driver.add(&*cells, &mut NoProbe, 1, &[], &element()).unwrap();
    driver.publish(&*cells, &mut NoProbe).unwrap();
    let notified = {
        let cells = cells.clone();
        let mut device = device;
        thread::spawn(move || {
            let mut chain = Chain::default();
            assert!(device.pop(&*cells, &mut NoProbe, &mut chain).unwrap());
            cells.contents.store(8, Ordering::Relaxed);
            device.complete(&*cells, &mut NoProbe, chain.head, 33).unwrap();
            device.publish(&*cells, &mut NoProbe).unwrap();
            device.notify(&*cells, &mut NoProbe).unwrap().needed
        })
    };
    let seen = driver.enable_notifications(&*cells).unwrap() > 0;
    if seen {
        let used = driver.reap(&*cells, &mut NoProbe).unwrap().unwrap();
        assert_eq!((used.token, used.length), (1, 33), "a used element seen in part");
        assert_eq!(cells.contents.load(Ordering::Relaxed), 8, "contents from before");
    }
    let notified = notified.join().unwrap();
    assert!(seen || notified, "the driver sleeps on a used buffer it was not told of");
}

fn model(format: Format, features: u64, by_driver: bool, without: Without) {
    loom::model(move || {
        let config = config(format, features);
        match (format, by_driver) {
            (Format::Split, true) => {
                let driver = SplitDriver::new(&config, Direct).unwrap();
                driver_publishes(config, driver, SplitDevice::new(&config).unwrap(), without);
            }
            (Format::Split, false) => {
                let driver = SplitDriver::new(&config, Direct).unwrap();
                device_publishes(config, driver, SplitDevice::new(&config).unwrap(), without);
            }
            (Format::Packed, true) => {
                let driver = PackedDriver::new(&config, Direct).unwrap();
                driver_publishes(config, driver, PackedDevice::new(&config).unwrap(), without);
            }
            (Format::Packed, false) => {
                let driver = PackedDriver::new(&config, Direct).unwrap();
                device_publishes(config, driver, PackedDevice::new(&config).unwrap(), without);
            }
        }
    });
}

fn all(mut check: impl FnMut(Format, u64, bool)) {
    for format in [Format::Split, Format::Packed] {
        for features in [0, feature::EVENT_IDX] {
            for by_driver in [true, false] {
                check(format, features, by_driver);
            }
        }
    }
}

#[test]
fn no_interleaving_loses_a_notification_or_tears_a_buffer() {
    all(|format, features, by_driver| model(format, features, by_driver, Without::Nothing));
}

#[test]
fn each_model_fails_without_its_barrier() {
    let fails = |format, features, by_driver, without| {
        catch_unwind(AssertUnwindSafe(|| model(format, features, by_driver, without))).is_err()
    };
    all(|format, features, by_driver| {
        assert!(
            fails(format, features, by_driver, Without::Release),
            "{format} {features:#x} {by_driver} without release"
        );
    });
    // The flags say "notify" from the start here, so they cannot be missed; an event index that moves can.
    for format in [Format::Split, Format::Packed] {
        for by_driver in [true, false] {
            assert!(
                fails_asleep(format, by_driver, Without::Fence),
                "{format} {by_driver} without the full barrier"
            );
            assert!(!fails_asleep(format, by_driver, Without::Nothing), "{format} {by_driver}");
        }
    }
}

/// The same race where the sleeper had asked for no notifications before, so that its wish must be seen.
fn fails_asleep(format: Format, by_driver: bool, without: Without) -> bool {
    catch_unwind(AssertUnwindSafe(|| {
        loom::model(move || {
            let config = config(format, 0);
            match format {
                Format::Split => {
                    let driver = SplitDriver::new(&config, Direct).unwrap();
                    asleep(config, driver, SplitDevice::new(&config).unwrap(), by_driver, without);
                }
                Format::Packed => {
                    let driver = PackedDriver::new(&config, Direct).unwrap();
                    asleep(config, driver, PackedDevice::new(&config).unwrap(), by_driver, without);
                }
            }
        });
    }))
    .is_err()
}

fn asleep(
    config: QueueConfig,
    mut driver: impl Driver + Send + 'static,
    mut device: impl Device + Send + 'static,
    by_driver: bool,
    without: Without,
) {
    let cells = Arc::new(Cells::new(config, without));
    driver.disable_notifications(&*cells).unwrap();
    device.disable_notifications(&*cells).unwrap();
    driver.add(&*cells, &mut NoProbe, 1, &element(), &[]).unwrap();
    let other = cells.clone();
    let (seen, notified) = if by_driver {
        let publisher = thread::spawn(move || {
            driver.publish(&*other, &mut NoProbe).unwrap();
            driver.notify(&*other, &mut NoProbe).unwrap().needed
        });
        (device.enable_notifications(&*cells).unwrap(), publisher.join().unwrap())
    } else {
        driver.publish(&*cells, &mut NoProbe).unwrap();
        let publisher = thread::spawn(move || {
            let mut chain = Chain::default();
            assert!(device.pop(&*other, &mut NoProbe, &mut chain).unwrap());
            device.complete(&*other, &mut NoProbe, chain.head, 0).unwrap();
            device.publish(&*other, &mut NoProbe).unwrap();
            device.notify(&*other, &mut NoProbe).unwrap().needed
        });
        (driver.enable_notifications(&*cells).unwrap() > 0, publisher.join().unwrap())
    };
    assert!(seen || notified, "asleep on a buffer nobody told of");
}
