//! Snapshots that were changed on the way: each is refused by a typed error, or the side made from it does no harm.

#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/cases.rs"]
mod cases;
#[path = "common/strategies.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod strategies;

use proptest::prelude::*;
use ring_core::{
    Fault, QueueConfig, Segment, SnapshotError,
    device::{Chain, Device, PackedDevice, PackedDeviceSnapshot, SplitDevice, SplitDeviceSnapshot},
    driver::{Driver, Elements, PackedDriver, PackedDriverSnapshot, SplitDriver, SplitDriverSnapshot},
    indirect::{AdoptError, AnyTableSource, TableStrategy},
    memory::{Memory, Ordering, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
};
use serde_json::Value;
use std::cell::Cell;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x4000;
const TABLES_LENGTH: u64 = 0x4000;

fn config(format: Format, size: u16, features: u64) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig::new(Layout::contiguous(size, BASE), Features(features | packed))
}

fn tables(strategy: TableStrategy, size: u16) -> AnyTableSource {
    strategy.build(size, TABLES, TABLES_LENGTH).unwrap()
}

fn memory() -> OwnedMemory {
    OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize)
}

/// Random numbers, the same ones for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// Calls on both sides, whatever they answer. More than a step can do never happens: that would be a loop.
fn run(
    memory: &OwnedMemory,
    driver: &mut impl Driver,
    device: &mut impl Device,
    taken: &mut Vec<u16>,
    random: &mut Random,
    calls: usize,
) {
    let mut chain = Chain::default();
    for call in 0..calls as u64 {
        let (count, which) = (random.below(5), random.below(usize::MAX));
        let element = |index: usize| Segment { address: 1 << 32 | call << 8 | index as u64, length: 8 };
        let elements: Vec<_> = (0..count).map(element).collect();
        let (readable, writable) = elements.split_at(count / 2);
        match random.below(14) {
            0..=2 => drop(driver.add(memory, &mut NoProbe, call, readable, writable)),
            3 => drop(driver.publish(memory, &mut NoProbe)),
            4 => drop(driver.notify(memory, &mut NoProbe)),
            5 | 6 => drop(driver.reap(memory, &mut NoProbe)),
            7 => drop(driver.peek_used(memory, |_| ())),
            8 => drop(driver.enable_notifications(memory)),
            9 | 10 => {
                if device.pop(memory, &mut NoProbe, &mut chain) == Ok(true) {
                    taken.push(chain.head);
                }
            }
            11 | 12 if !taken.is_empty() => {
                let head = taken.remove(if which % 2 == 0 { 0 } else { which % taken.len() });
                let batch = which % 3 == 0;
                let used = if batch {
                    device.complete_batch(memory, &mut NoProbe, head, 0)
                } else {
                    device.complete(memory, &mut NoProbe, head, 0)
                };
                // With IN_ORDER not every one may be used now.
                if used.is_err() {
                    taken.push(head);
                }
            }
            13 => drop((device.publish(memory, &mut NoProbe), device.notify(memory, &mut NoProbe))),
            _ => drop(device.enable_notifications(memory)),
        }
    }
}

/// Every field and list element of a value, counted.
fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(places).sum(),
        Value::Object(fields) => fields.values().map(places).sum(),
        _ => 0,
    }
}

/// Changes the place that so many others come before. Returns how many of them did not.
fn change(value: &mut Value, before: usize, random: &mut Random) -> Option<usize> {
    let Some(mut before) = before.checked_sub(1) else {
        *value = changed(value, random);
        return None;
    };
    let parts: Vec<&mut Value> = match value {
        Value::Array(list) => list.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    };
    for part in parts {
        before = change(part, before, random)?;
    }
    Some(before)
}

fn changed(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(!value),
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or_default();
            let near = [1, u64::MAX, 2, 16, 64, 0u64.wrapping_sub(16)];
            match random.below(4) {
                0 => number.wrapping_add(near[random.below(near.len())]).into(),
                1 => (random.below(20) as u64).into(),
                2 => [u64::from(u16::MAX), 1 << 15, u64::from(u32::MAX), u64::MAX, TABLES][random.below(5)]
                    .into(),
                _ => (random.below(1 << 16) as u64).into(),
            }
        }
        Value::Array(list) => {
            let mut list = list.clone();
            match random.below(3) {
                0 => drop(list.pop()),
                1 => list.extend(list.first().cloned()),
                _ if list.len() > 1 => {
                    let last = list.len() - 1;
                    list.swap(random.below(last), last);
                }
                _ => list.clear(),
            }
            Value::Array(list)
        }
        Value::Null => {
            let options =
                [serde_json::json!(3), serde_json::json!({"last": 1, "length": 2, "flags": 0, "id": 0})];
            options[random.below(options.len())].clone()
        }
        _ => Value::Null,
    }
}

/// What became of the changed snapshots.
#[derive(Default)]
struct Outcomes {
    unreadable: Cell<u32>,
    refused: Cell<u32>,
    restored: Cell<u32>,
}

fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

impl Outcomes {
    /// The snapshot with some places changed, if it can still be read as one, restored, if it is accepted.
    fn restore<S, R>(
        &self,
        snapshot: &S,
        random: &mut Random,
        restore: impl FnOnce(S) -> Result<R, SnapshotError>,
    ) -> Option<R>
    where
        S: serde::Serialize + serde::de::DeserializeOwned,
    {
        let mut value = serde_json::to_value(snapshot).unwrap();
        for _ in 0..=random.below(3) {
            let before = random.below(places(&value));
            assert_eq!(change(&mut value, before, random), None, "each place is one of the value's");
        }
        let Ok(snapshot) = serde_json::from_value(value) else {
            count(&self.unreadable);
            return None;
        };
        match restore(snapshot) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                count(&self.refused);
                None
            }
            Ok(restored) => {
                count(&self.restored);
                Some(restored)
            }
        }
    }
}

macro_rules! harmless {
    ($driver:ident, $driver_snapshot:ident, $device:ident, $device_snapshot:ident,
     $config:expr, $strategy:expr, $seed:expr, $outcomes:expr) => {{
        let (config, strategy, mut random) = ($config, $strategy, Random($seed));
        let size = config.layout.queue_size;
        let (memory, mut taken) = (memory(), Vec::new());
        let mut driver = $driver::new(&config, tables(strategy, size)).unwrap();
        let mut device = $device::new(&config).unwrap();
        let before = random.below(200);
        run(&memory, &mut driver, &mut device, &mut taken, &mut random, before);
        let (old_driver, old_device): ($driver_snapshot, $device_snapshot) =
            (driver.snapshot(), device.snapshot());
        let restore = |snapshot| $driver::restore(&config, tables(strategy, size), snapshot);
        if let Some(mut driver) = $outcomes.restore(&old_driver, &mut random, restore) {
            let (memory, mut device, mut taken) = (memory.clone(), device.clone(), taken.clone());
            run(&memory, &mut driver, &mut device, &mut taken, &mut random, 3000);
            // Whatever it is, a reset makes it whole.
            driver.reset(&memory, &mut NoProbe, drop).unwrap();
            assert_eq!((driver.broken(), driver.free()), (None, size));
            let _: $driver_snapshot = driver.snapshot();
        }
        if let Some(mut device) =
            $outcomes.restore(&old_device, &mut random, |s| $device::restore(&config, s))
        {
            run(&memory, &mut driver, &mut device, &mut taken, &mut random, 3000);
            let _: $device_snapshot = device.snapshot();
        }
    }};
}

fn change_and_run(
    format: Format,
    size: u16,
    features: u64,
    strategy: TableStrategy,
    seed: u64,
    outcomes: &Outcomes,
) {
    let config = config(format, size, features);
    match format {
        Format::Split => harmless!(
            SplitDriver,
            SplitDriverSnapshot,
            SplitDevice,
            SplitDeviceSnapshot,
            config,
            strategy,
            seed,
            outcomes
        ),
        Format::Packed => harmless!(
            PackedDriver,
            PackedDriverSnapshot,
            PackedDevice,
            PackedDeviceSnapshot,
            config,
            strategy,
            seed,
            outcomes
        ),
    }
}

#[test]
fn a_changed_snapshot_is_refused_or_harmless() {
    let outcomes = Outcomes::default();
    let features =
        prop::sample::subsequence(vec![feature::INDIRECT_DESC, feature::EVENT_IDX, feature::IN_ORDER], 0..=3);
    let drawn = (any::<bool>(), 0..5_u32, features, any::<prop::sample::Index>(), any::<u64>());
    let mut runner = proptest::test_runner::TestRunner::new(cases::cases(400));
    let ran = runner.run(&drawn, |(packed, power, features, strategy, seed)| {
        let format = if packed { Format::Packed } else { Format::Split };
        let size = (1 << power) + u16::from(packed && power > 1);
        let strategy = *strategy.get(&strategies::every(size));
        change_and_run(format, size, features.iter().sum(), strategy, seed, &outcomes);
        Ok(())
    });
    ran.unwrap();
    let Outcomes { unreadable, refused, restored } = outcomes;
    println!("{} unreadable, {} refused, {} restored", unreadable.get(), refused.get(), restored.get());
    assert!(refused.get() > 0 && restored.get() > 0, "both must have happened");
}

/// A split driver with two buffers in tables, and what it is made from.
fn two_in_tables() -> (QueueConfig, TableStrategy, SplitDriverSnapshot) {
    let config = config(Format::Split, 8, feature::INDIRECT_DESC);
    let strategy = TableStrategy::SlabCache { entries: 4 };
    let mut driver = SplitDriver::new(&config, tables(strategy, 8)).unwrap();
    let elements = [Segment { address: 0, length: 8 }; 2];
    for token in 0..2 {
        driver.add(&memory(), &mut NoProbe, token, &elements, &[]).unwrap();
    }
    (config, strategy, driver.snapshot())
}

/// The error of the snapshot once it was changed.
fn refused(change: impl FnOnce(&mut SplitDriverSnapshot)) -> SnapshotError {
    let (config, strategy, mut snapshot) = two_in_tables();
    change(&mut snapshot);
    SplitDriver::restore(&config, tables(strategy, 8), snapshot).unwrap_err()
}

#[test]
fn an_error_names_field_value_and_what_was_expected() {
    let message = |change: fn(&mut SplitDriverSnapshot)| refused(change).to_string();
    assert_eq!(
        message(|snapshot| snapshot.buffers.added = 7),
        "the snapshot's added is 7, expected 2 more than reaped, for as many are in flight"
    );
    assert_eq!(
        message(|snapshot| snapshot.descriptors[0] = 0),
        "the snapshot's descriptors is 0, expected each but once"
    );
    assert_eq!(
        message(|snapshot| snapshot.descriptors[0] = 8),
        "the snapshot's descriptors is 8, expected below the queue size 8"
    );
    assert_eq!(
        message(|snapshot| snapshot.used_seen = 1),
        "the snapshot's used_seen is 1, expected from reaped up to published"
    );
    let (config, ..) = two_in_tables();
    let other = QueueConfig { features: Features(feature::RING_PACKED), ..config };
    let (_, strategy, snapshot) = two_in_tables();
    let wrong = SplitDriver::restore(&other, tables(strategy, 8), snapshot).unwrap_err();
    assert!(matches!(wrong, SnapshotError::Config(_)));
}

#[test]
fn tables_lie_apart_in_the_memory_for_tables_and_fit_the_strategy() {
    let with = |address: Option<u64>, entries: Option<u16>| {
        let error = refused(|snapshot| {
            let Elements::Table(table) = &mut snapshot.buffers.in_flight[1].elements else {
                panic!("no table")
            };
            (table.address, table.entries) =
                (address.unwrap_or(table.address), entries.unwrap_or(table.entries));
        });
        match error {
            SnapshotError::Table { error, .. } => error,
            other => panic!("{other}"),
        }
    };
    assert_eq!(with(Some(TABLES + 16), None), AdoptError::InUse);
    assert_eq!(with(Some(TABLES + 8), None), AdoptError::Outside);
    assert_eq!(with(Some(BASE), None), AdoptError::Outside);
    assert_eq!(with(Some(TABLES + TABLES_LENGTH - 16), None), AdoptError::Outside);
    assert_eq!(with(Some(u64::MAX - 15), None), AdoptError::Outside);
    assert_eq!(with(None, Some(3)), AdoptError::Entries);
}

#[test]
fn a_broken_queue_is_restored_broken_and_a_reset_makes_it_whole() {
    let (config, strategy, _) = two_in_tables();
    let memory = memory();
    let mut driver = SplitDriver::new(&config, tables(strategy, 8)).unwrap();
    driver.add(&memory, &mut NoProbe, 5, &[Segment { address: 0, length: 8 }; 3], &[]).unwrap();
    driver.publish(&memory, &mut NoProbe).unwrap();
    memory.store_u16(config.layout.device_area + 2, 9, Ordering::Relaxed).unwrap();
    let fault = driver.reap(&memory, &mut NoProbe).unwrap_err();
    let json = serde_json::to_string(&driver.snapshot()).unwrap();
    let snapshot = serde_json::from_str(&json).unwrap();
    let mut restored = SplitDriver::restore(&config, tables(strategy, 8), snapshot).unwrap();
    let broken = restored.reap(&memory, &mut NoProbe).unwrap_err();
    let told = |fault| match fault {
        Fault::Rule { rule, place, found, .. } => (rule, place, found),
        Fault::Memory(outside) => panic!("{outside}"),
    };
    assert_eq!(told(broken), told(fault));
    let mut returned = Vec::new();
    restored.reset(&memory, &mut NoProbe, |token| returned.push(token)).unwrap();
    assert_eq!((returned, restored.broken()), (vec![5], None));
    let unknown = json.replace("S-USED-MONO", "S-NONE");
    assert_ne!(unknown, json);
    let unknown = SplitDriver::restore(&config, tables(strategy, 8), serde_json::from_str(&unknown).unwrap());
    assert_eq!(unknown.unwrap_err(), SnapshotError::Rule("S-NONE".to_owned()));
}
