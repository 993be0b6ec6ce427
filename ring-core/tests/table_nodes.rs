//! Tables on several NUMA nodes: what was filled on one and used on another is counted, and the list per node has none.
//! The nodes are ranges of one memory, and the caller says which it runs on.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{Counted, Limit, RingState, Strategy, Table, TableArena, TableSource, TableStrategy},
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};

const BASE: u64 = 0x1000;
const LENGTH: u64 = 0x1_0000;
const BUFFERS: u64 = 8;

fn taken(memory: &OwnedMemory, source: &mut impl TableSource) -> Vec<(u16, Table)> {
    let ring = |id| RingState { size: 16, free: 16 - id, id };
    let mut take = |id| source.take(memory, &mut NoProbe, 2, ring(id)).unwrap().unwrap();
    (0..BUFFERS as u16).map(|id| (id, take(id))).collect()
}

/// Filled on node 0, used on node 1 in two rounds, then on node 0 again: tables taken across nodes in each of the three.
fn across(strategy: TableStrategy) -> [u64; 3] {
    let memory = OwnedMemory::new(BASE, LENGTH as usize);
    let mut source = Counted::new(strategy.build_from(16, TableArena::of_nodes(BASE, LENGTH, 2)).unwrap());
    let mut on = |node| {
        let before = source.statistics().across_nodes;
        source.run_on(node);
        for (id, table) in taken(&memory, &mut source) {
            source.put_back(&memory, &mut NoProbe, table, id).unwrap();
        }
        source.statistics().across_nodes - before
    };
    assert_eq!(on(0), 0, "{strategy}: new tables are local");
    [on(1), on(1), on(0)]
}

#[test]
fn a_cache_filled_on_one_node_goes_on_giving_its_tables_on_another() {
    for strategy in [
        Strategy::ListCache { threshold: 4 },
        Strategy::SingleList { threshold: 4, limit: Limit::None },
        Strategy::SlabCache { entries: 4 },
        Strategy::TwoDescriptorCache,
        Strategy::PreChained { entries: 8 },
        Strategy::PerSlot { entries: 4 },
        Strategy::LineStack { direct: 0 },
    ] {
        assert_eq!(across(strategy), [BUFFERS, BUFFERS, 0], "{strategy}");
    }
}

#[test]
fn a_list_per_node_gives_none_across() {
    assert_eq!(across(Strategy::PerNodeList { threshold: 4 }), [0; 3]);
    // What is allocated for each buffer is local too.
    assert_eq!(across(Strategy::PlainAllocation), [0; 3]);
}

#[test]
fn a_table_in_flight_goes_back_to_its_node() {
    let memory = OwnedMemory::new(BASE, LENGTH as usize);
    let strategy = TableStrategy::PerNodeList { threshold: 4 };
    let mut source = Counted::new(strategy.build_from(16, TableArena::of_nodes(BASE, LENGTH, 2)).unwrap());
    let tables = taken(&memory, &mut source);
    // The caller moves while the device has the buffers, so they come back on the other node.
    source.run_on(1);
    for (id, table) in &tables {
        source.put_back(&memory, &mut NoProbe, *table, *id).unwrap();
    }
    let elsewhere = taken(&memory, &mut source);
    assert!(elsewhere.iter().all(|(_, table)| source.is_local(*table)));
    source.run_on(0);
    // Last in, first out.
    let again = taken(&memory, &mut source).into_iter().rev().map(|(_, table)| table);
    assert!(again.eq(tables.into_iter().map(|(_, table)| table)));
    assert_eq!(source.statistics().across_nodes, 0);
}

#[test]
fn a_driver_is_told_the_node() {
    let arena = || TableArena::of_nodes(BASE + 0x1000, 0x1000, 2);
    let memory = OwnedMemory::new(BASE, 0x2000);
    let element = [Segment { address: 0x10_0000, length: 1 }; 2];
    let half = BASE + 0x1800;
    for format in [0, feature::RING_PACKED] {
        let config = QueueConfig::new(Layout::contiguous(8, BASE), Features(feature::INDIRECT_DESC | format));
        let tables = TableStrategy::PlainAllocation.build_from(8, arena()).unwrap();
        let tables: Vec<Table> = if format == 0 {
            let mut driver = SplitDriver::new(&config, tables).unwrap();
            driver.add(&memory, &mut NoProbe, 0, &element, &[]).unwrap();
            driver.run_on(1);
            driver.add(&memory, &mut NoProbe, 1, &element, &[]).unwrap();
            driver.in_flight().filter_map(|(_, buffer)| buffer.table).collect()
        } else {
            let mut driver = PackedDriver::new(&config, tables).unwrap();
            driver.add(&memory, &mut NoProbe, 0, &element, &[]).unwrap();
            driver.run_on(1);
            driver.add(&memory, &mut NoProbe, 1, &element, &[]).unwrap();
            driver.in_flight().filter_map(|(_, buffer)| buffer.table).collect()
        };
        let mut on_node_1: Vec<bool> = tables.iter().map(|table| table.address >= half).collect();
        on_node_1.sort_unstable();
        assert_eq!(on_node_1, [false, true]);
    }
}
