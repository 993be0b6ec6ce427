//! How often each strategy goes to its allocator and how often to its cache, for buffers one at a time and for many.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, SplitDevice},
    driver::{Driver, SplitDriver},
    indirect::{Counted, Limit, TableStatistics, TableStrategy, Unconditional},
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};

const ROUNDS: u64 = 20;

/// The counts after `ROUNDS` rounds of so many buffers in flight, each of so many elements.
fn counts(strategy: TableStrategy, in_flight: usize, elements: usize) -> TableStatistics {
    let config = QueueConfig::new(Layout::contiguous(8, 0x1000), Features(feature::INDIRECT_DESC));
    let memory = OwnedMemory::new(0x1000, 0x5000);
    let tables = Counted::new(strategy.build(8, 0x2000, 0x4000).unwrap());
    let mut driver = SplitDriver::new(&config, tables).unwrap();
    let mut device = SplitDevice::new(&config).unwrap();
    let segments = [Segment { address: 0x10_0000, length: 1 }; 8];
    let (probe, mut chain) = (&mut NoProbe, Chain::default());
    for _ in 0..ROUNDS {
        for token in 0..in_flight as u64 {
            driver.add(&memory, probe, token, &segments[..elements], &[]).unwrap();
        }
        driver.publish(&memory, probe).unwrap();
        while device.pop(&memory, probe, &mut chain).unwrap() {
            device.complete(&memory, probe, chain.head, 0).unwrap();
        }
        device.publish(&memory, probe).unwrap();
        while driver.reap(&memory, probe).unwrap().is_some() {}
    }
    driver.tables().statistics()
}

#[test]
fn a_cache_allocates_once_for_each_buffer_in_flight() {
    for (strategy, largest) in [
        (TableStrategy::ListCache { threshold: 4 }, 4),
        (TableStrategy::SingleList { threshold: 4, limit: Limit::None }, 4),
        (TableStrategy::SlabCache { entries: 2 }, 2),
        (TableStrategy::PerSlot { entries: 4 }, 4),
        (TableStrategy::TwoDescriptorCache, 2),
        (TableStrategy::PreChained { entries: 7 }, 7),
        (TableStrategy::PerNodeList { threshold: 4 }, 4),
    ] {
        for in_flight in [1, 3] {
            let counts = counts(strategy, in_flight, largest);
            let (first, all) = (in_flight as u64, in_flight as u64 * ROUNDS);
            assert_eq!((counts.allocations, counts.hits), (first, all - first), "{strategy}");
            assert_eq!((counts.frees, counts.cached), (0, all), "{strategy}");
            assert_eq!(counts.bytes_held, first * largest as u64 * 16, "{strategy}");
        }
        // Larger buffers pass by.
        let counts = counts(strategy, 1, largest + 1);
        assert_eq!((counts.allocations, counts.frees), (ROUNDS, ROUNDS), "{strategy}");
        assert_eq!((counts.hits, counts.cached, counts.bytes_held), (0, 0, 0), "{strategy}");
    }
}

#[test]
fn a_limit_lets_go_of_what_is_beyond() {
    for limit in [Limit::Tables(2), Limit::Bytes(2 * 64), Limit::Bytes(3 * 64 - 1)] {
        let counts = counts(TableStrategy::SingleList { threshold: 4, limit }, 5, 2);
        assert_eq!(counts.bytes_held, 2 * 64, "{limit:?}");
        assert_eq!((counts.hits, counts.cached), (2 * (ROUNDS - 1), 2 * ROUNDS), "{limit:?}");
        assert_eq!(counts.high_water, 5 * 64, "{limit:?}");
    }
}

#[test]
fn the_two_ends_of_the_scale() {
    assert_eq!(counts(TableStrategy::Direct, 2, 4), TableStatistics::default());
    let plain = counts(TableStrategy::PlainAllocation, 3, 2);
    let all = 3 * ROUNDS;
    assert_eq!((plain.allocations, plain.frees, plain.hits, plain.cached), (all, all, 0, 0));
    assert_eq!((plain.bytes_held, plain.high_water), (0, 3 * 32));
    // One element never takes a table.
    assert_eq!(counts(TableStrategy::PlainAllocation, 3, 1), TableStatistics::default());
}

#[test]
fn a_receive_queue_that_never_goes_indirect_holds_no_table() {
    // The feature is negotiated, and every buffer has one element.
    for strategy in strategies::every(8) {
        assert_eq!(counts(strategy, 8, 1), TableStatistics::default(), "{strategy}");
    }
}

#[test]
fn a_threshold_asks_for_tables_only_when_the_ring_runs_short() {
    for strategy in strategies::every(8) {
        let TableStrategy::Threshold { free: 4, over } = strategy else { continue };
        // The first three find 8, 6 and 4 descriptors free, the fourth 2.
        assert_eq!(counts(strategy, 3, 2), TableStatistics::default(), "{strategy}");
        let fourth = counts(strategy, 4, 2);
        let expected = if over == Unconditional::Direct { 0 } else { ROUNDS };
        assert_eq!(fourth.allocations + fourth.hits, expected, "{strategy}");
        assert_eq!(fourth.frees + fourth.cached, expected, "{strategy}");
    }
}
