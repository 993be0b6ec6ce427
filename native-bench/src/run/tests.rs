//! What the run's tests share, and a device that misbehaves.

use super::{
    DriverState, Options, Scenario,
    bring_up::bring_up,
    machine::Machine,
    memory_map::MemoryMap,
    ring_format::{Packed, RingFormat, Split},
    transmit::Transmit,
};
use crate::{Error, doorbell::Bell, net::Sizes};
use ring_core::{
    QueueConfig,
    indirect::{Direct, TableStrategy},
    memory::{Memory, Ordering},
    spec::{Format, split::Cell},
};
use std::{sync::atomic::AtomicBool, time::Duration};

/// An ordinary run.
pub(super) fn options() -> Options {
    Options {
        packets: 1000,
        queue_size: 256,
        elements: 3,
        receive_elements: 2,
        receive_bytes: 1600,
        strategy: TableStrategy::ListCache { threshold: 4 },
        format: Format::Split,
        event_index: true,
        in_order: false,
        mergeable: true,
        notification_data: false,
        reset_queues: false,
        batch: 64,
        scenario: Scenario::Uniform,
        sizes: Sizes::default(),
        seed: 1,
        timeout: Duration::from_secs(10),
        qemu: None,
        device_options: Vec::new(),
        record: None,
        measure_recording: false,
    }
}

#[test]
fn rounds_are_a_twentieth_within_bounds() {
    let round = |packets, batch| Options { packets, batch, ..options() }.round();
    assert_eq!((round(100_000, 64), round(1000, 64), round(10_000_000, 64)), (5000, 64, 5000));
    assert_eq!(round(100_000, 6000), 6000);
}

/// Whether there is a QEMU; if not, says why the test is skipped, or fails if one is required.
fn have_qemu() -> bool {
    let Err(reason) = crate::qemu::locate(None) else { return true };
    let required = std::env::var("NATIVE_BENCH_REQUIRE_QEMU").is_ok_and(|value| value == "1");
    assert!(!required, "NATIVE_BENCH_REQUIRE_QEMU is set, but {reason}");
    println!("SKIPPED: {reason}");
    false
}

/// A device that is ready, and the driver of its transmit queue.
fn ready<F: RingFormat>(
    format: Format,
    interrupted: &AtomicBool,
) -> (Machine<'_>, Transmit, F::Driver<Direct>) {
    let options = Options { timeout: Duration::from_millis(1200), format, ..options() };
    let map = MemoryMap::of(&options);
    let (machine, found) = bring_up(&options, &map, interrupted).unwrap();
    let config = QueueConfig::new(map.transmit.layout, found.negotiated.accepted);
    (machine, Transmit::new(&options, &map.transmit), F::driver(&config, Direct).unwrap())
}

#[test]
fn a_device_that_does_nothing_more_is_a_stall() {
    if !have_qemu() {
        return;
    }
    let interrupted = AtomicBool::new(false);
    let (mut machine, mut transmit, mut driver) = ready::<Split>(Format::Split, &interrupted);
    transmit.round(&mut driver, &mut machine, 7).unwrap();
    let memory = machine.memory();
    let error =
        transmit.queue.wait(&mut driver, &mut machine, &memory, 1, "what was never sent").unwrap_err();
    let Error::Stalled(stall) = &error else { panic!("{error}") };
    let DriverState::Split(driver) = stall.driver else { panic!("{stall:?}") };
    assert_eq!((driver.published_index, driver.last_used, stall.repeated), (7, 7, 1));
    assert!(stall.fields.contains(&("avail.idx", 7)) && stall.fields.contains(&("used.idx", 7)), "{error}");
    let text = error.to_string();
    for part in ["the transmit queue", "what was never sent", "published 7", "avail_event", "DRIVER_OK"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_packed_ring_that_stands_still_tells_of_both_sides_too() {
    if !have_qemu() {
        return;
    }
    let interrupted = AtomicBool::new(false);
    let (mut machine, mut transmit, mut driver) = ready::<Packed>(Format::Packed, &interrupted);
    // Three descriptors each.
    transmit.round(&mut driver, &mut machine, 7).unwrap();
    let memory = machine.memory();
    let error =
        transmit.queue.wait(&mut driver, &mut machine, &memory, 1, "what was never sent").unwrap_err();
    let Error::Stalled(stall) = &error else { panic!("{error}") };
    let DriverState::Packed(driver) = stall.driver else { panic!("{stall:?}") };
    assert_eq!((driver.published.index, driver.next_used.index, driver.free), (21, 21, 256));
    // The device waits for the next descriptor, in the first lap.
    assert!(stall.fields.contains(&("device event offset", 0x8000 | 21)), "{error}");
    assert!(stall.fields.contains(&("flags where the next is used", 0)), "{error}");
    let text = error.to_string();
    for part in
        ["published up to slot 21 (wrap counter 1)", "device event flags 0x0002", "256 descriptors free"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_device_that_wants_a_reset_is_heard() {
    if !have_qemu() {
        return;
    }
    let interrupted = AtomicBool::new(false);
    let (mut machine, mut transmit, mut driver) = ready::<Split>(Format::Split, &interrupted);
    let memory = machine.memory();
    // A head that no descriptor table has (S-HEAD).
    let layout = transmit.queue.layout;
    memory.store_u16(layout.address(Cell::AvailableEntry(0)), 9999, Ordering::Relaxed).unwrap();
    memory.store_u16(layout.address(Cell::AvailableIndex), 1, Ordering::Release).unwrap();
    machine.ring(Bell::Transmit, 1).unwrap();
    let error = transmit.queue.wait(&mut driver, &mut machine, &memory, 1, "a reset").unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::NeedsReset { .. }), "{text}");
    assert!(text.contains("DEVICE_NEEDS_RESET") && text.contains("9999"), "{text}");
}

#[test]
fn a_packet_that_is_changed_on_its_way_is_found() {
    if !have_qemu() {
        return;
    }
    let interrupted = AtomicBool::new(false);
    let options = Options { timeout: Duration::from_secs(5), ..options() };
    let map = MemoryMap::of(&options);
    let (mut machine, found) = bring_up(&options, &map, &interrupted).unwrap();
    let config = QueueConfig::new(map.transmit.layout, found.negotiated.accepted);
    let mut driver = Split::driver(&config, Direct).unwrap();
    // Packets of another seed than the sink expects.
    let mut transmit = Transmit::new(&Options { seed: 2, ..options }, &map.transmit);
    let error = transmit.round(&mut driver, &mut machine, 1).unwrap_err();
    assert!(matches!(error, Error::Sink(_)), "{error}");
    assert!(error.to_string().contains("transmitted packet 0"), "{error}");
}
