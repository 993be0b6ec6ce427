//! `IN_ORDER` against a device that does not keep it, and indices that go back or too far.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver, Used},
    indirect::Direct,
    memory::{Memory, Ordering, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature, packed, split},
};

const BASE: u64 = 0x1000;

fn config(format: Format, features: u64) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig::new(Layout::contiguous(8, BASE), Features(features | packed))
}

/// Writes a used element at a position of the ring, and, on a split ring, used.idx.
fn use_at(config: &QueueConfig, memory: &OwnedMemory, position: u16, id: u16, length: u32, index: u16) {
    let layout = config.layout;
    match config.format() {
        Format::Split => {
            let entry = layout.address(split::Cell::UsedEntry(position));
            memory.store_u32(entry, id.into()).unwrap();
            memory.store_u32(entry + 4, length).unwrap();
            memory.store_u16(layout.address(split::Cell::UsedIndex), index, Ordering::Relaxed).unwrap();
        }
        Format::Packed => {
            let flags = packed::Position::START.used_bits() | packed::descriptor_flag::WRITE;
            let words = packed::Descriptor { address: 0, length, id, flags }.to_words();
            memory.store_words(layout.address(packed::Cell::Descriptor(position)), words).unwrap();
        }
    }
}

/// A driver with four buffers of one writable element of 10, 20, 30 and 40 bytes in flight; their ids are 0 to 3.
fn with_four(
    format: Format,
    check: impl Fn(&QueueConfig, &OwnedMemory, &mut dyn FnMut() -> Result<Option<Used>, Option<&'static str>>),
) {
    fn fill(driver: &mut impl Driver, memory: &OwnedMemory) {
        for token in 0..4_u32 {
            let element = Segment { address: 0x10_0000, length: 10 * (token + 1) };
            driver.add(memory, &mut NoProbe, token.into(), &[], &[element]).unwrap();
        }
        driver.publish(memory, &mut NoProbe).unwrap();
    }
    let config = config(format, feature::IN_ORDER);
    let memory = OwnedMemory::new(BASE, 0x1000);
    match format {
        Format::Split => {
            let mut driver = SplitDriver::new(&config, Direct).unwrap();
            fill(&mut driver, &memory);
            let reap = &mut || driver.reap(&memory, &mut NoProbe).map_err(|fault| fault.rule_id());
            check(&config, &memory, reap);
        }
        Format::Packed => {
            let mut driver = PackedDriver::new(&config, Direct).unwrap();
            fill(&mut driver, &memory);
            let reap = &mut || driver.reap(&memory, &mut NoProbe).map_err(|fault| fault.rule_id());
            check(&config, &memory, reap);
        }
    }
}

fn used(token: u16, length: u32) -> Result<Option<Used>, Option<&'static str>> {
    Ok(Some(Used { token: token.into(), head: token, length }))
}

#[test]
fn one_element_stands_for_a_batch_and_its_length_for_the_last() {
    for format in [Format::Split, Format::Packed] {
        with_four(format, |config, memory, reap| {
            use_at(config, memory, 0, 2, 7, 3);
            assert_eq!(reap(), used(0, 10));
            assert_eq!(reap(), used(1, 20));
            assert_eq!(reap(), used(2, 7));
            assert_eq!(reap(), Ok(None));
            // The ring position skips the batch.
            use_at(config, memory, 3, 3, 40, 4);
            assert_eq!(reap(), used(3, 40));
            assert_eq!(reap(), Ok(None));
        });
    }
}

#[test]
fn a_batch_that_used_idx_does_not_cover_is_out_of_order() {
    with_four(Format::Split, |config, memory, reap| {
        use_at(config, memory, 0, 1, 0, 1);
        assert_eq!(reap(), Err(Some("B-IN-ORDER")));
        assert_eq!(reap(), Err(Some("B-IN-ORDER")), "a broken queue says so");
    });
    with_four(Format::Split, |config, memory, reap| {
        use_at(config, memory, 0, 3, 0, 3);
        assert_eq!(reap(), Err(Some("B-IN-ORDER")));
    });
}

#[test]
fn a_buffer_of_a_past_batch_is_not_used_again() {
    for format in [Format::Split, Format::Packed] {
        for id in 0..3 {
            with_four(format, |config, memory, reap| {
                use_at(config, memory, 0, 2, 0, 3);
                (0..3).for_each(|_| assert!(matches!(reap(), Ok(Some(_)))));
                use_at(config, memory, 3, id, 0, 4);
                assert_eq!(reap(), Err(Some("B-USED-ID")));
            });
        }
    }
}

#[test]
fn the_length_of_a_batch_is_bounded_by_its_last_buffer() {
    for format in [Format::Split, Format::Packed] {
        with_four(format, |config, memory, reap| {
            use_at(config, memory, 0, 1, 21, 2);
            assert_eq!(reap(), Err(Some("B-USED-LEN")));
        });
    }
}

#[test]
fn used_idx_that_goes_back_is_told_even_where_it_would_say_nothing_is_new() {
    let config = config(Format::Split, 0);
    let memory = OwnedMemory::new(BASE, 0x1000);
    let mut driver = SplitDriver::new(&config, Direct).unwrap();
    for token in 0..3 {
        driver.add(&memory, &mut NoProbe, token, &[Segment { address: 0, length: 1 }], &[]).unwrap();
    }
    driver.publish(&memory, &mut NoProbe).unwrap();
    use_at(&config, &memory, 0, 0, 0, 2);
    assert_eq!(driver.pending_used(&memory), Ok(2));
    for back in [1, 0] {
        let mut driver = driver.clone();
        memory.store_u16(config.layout.address(split::Cell::UsedIndex), back, Ordering::Relaxed).unwrap();
        assert_eq!(driver.pending_used(&memory).map_err(|fault| fault.rule_id()), Err(Some("S-USED-MONO")));
        assert!(driver.reap(&memory, &mut NoProbe).is_err());
    }
}

#[test]
fn avail_idx_that_goes_back_is_told_even_where_it_would_say_nothing_is_new() {
    let config = config(Format::Split, 0);
    let memory = OwnedMemory::new(BASE, 0x1000);
    let mut device = SplitDevice::new(&config).unwrap();
    let index = config.layout.address(split::Cell::AvailableIndex);
    memory.store_u16(index, 2, Ordering::Relaxed).unwrap();
    assert_eq!(device.pending_available(&memory), Ok(2));
    for back in [1, 0] {
        let mut device = device.clone();
        memory.store_u16(index, back, Ordering::Relaxed).unwrap();
        let pending = device.pending_available(&memory);
        assert_eq!(pending.map_err(|fault| fault.rule_id()), Err(Some("S-AVAIL-MONO")));
        assert!(device.pop(&memory, &mut NoProbe, &mut Chain::default()).is_err());
    }
}

#[test]
fn used_idx_that_covers_what_was_not_published_is_told() {
    let config = config(Format::Split, 0);
    let memory = OwnedMemory::new(BASE, 0x1000);
    let mut driver = SplitDriver::new(&config, Direct).unwrap();
    let element = [Segment { address: 0, length: 1 }];
    driver.add(&memory, &mut NoProbe, 0, &element, &[]).unwrap();
    driver.publish(&memory, &mut NoProbe).unwrap();
    driver.add(&memory, &mut NoProbe, 1, &element, &[]).unwrap();
    use_at(&config, &memory, 0, 0, 0, 2);
    let reaped = driver.reap(&memory, &mut NoProbe);
    assert_eq!(reaped.map_err(|fault| fault.rule_id()), Err(Some("S-USED-MONO")));
}
