//! A device that writes into the links of idle tables: told, and harmless after a reset.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, SplitDevice},
    driver::{AddError, Driver, SplitDriver},
    indirect::{Counted, Limit, TableSource, TableStrategy},
    memory::{Memory, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Layout, feature},
};

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x2000;

fn round_trip(
    memory: &OwnedMemory,
    driver: &mut SplitDriver<impl TableSource>,
    device: &mut SplitDevice,
    buffers: u64,
) -> Result<(), AddError> {
    let segments = [Segment { address: 0x10_0000, length: 16 }; 2];
    let mut chain = Chain::default();
    for token in 0..buffers {
        driver.add(memory, &mut NoProbe, token, &segments, &[])?;
    }
    driver.publish(memory, &mut NoProbe).unwrap();
    while device.pop(memory, &mut NoProbe, &mut chain).unwrap() {
        device.complete(memory, &mut NoProbe, chain.head, 0).unwrap();
    }
    device.publish(memory, &mut NoProbe).unwrap();
    while driver.reap(memory, &mut NoProbe).unwrap().is_some() {}
    Ok(())
}

#[test]
fn a_changed_link_breaks_the_queue_until_a_reset() {
    let config = QueueConfig::new(Layout::contiguous(8, BASE), Features(feature::INDIRECT_DESC));
    for strategy in [
        TableStrategy::ListCache { threshold: 4 },
        TableStrategy::SingleList { threshold: 4, limit: Limit::None },
    ] {
        let memory = OwnedMemory::new(BASE, 0x4000);
        let tables = Counted::new(strategy.build(8, TABLES, 0x2000).unwrap());
        let mut driver = SplitDriver::new(&config, tables).unwrap();
        let mut device = SplitDevice::new(&config).unwrap();
        round_trip(&memory, &mut driver, &mut device, 3).unwrap();
        let first = driver.tables().idle().next().unwrap();
        memory.store_words(first.address, [0x2fc0, 0]).unwrap();
        let Err(AddError::Fault(fault)) = round_trip(&memory, &mut driver, &mut device, 1) else {
            unreachable!("{strategy}: the changed link was followed")
        };
        assert_eq!(fault.rule_id(), Some("B-READONLY"));
        assert_eq!(driver.broken(), Some(fault));
        // No buffer holds a table, so all that are held lie idle.
        let idle: u64 = driver.tables().idle().map(|table| table.bytes() as u64).sum();
        assert_eq!(driver.tables().statistics().bytes_held, idle, "{strategy}: a table is lost");
        driver.reset(&memory, &mut NoProbe, |token| unreachable!("{token} is not in flight")).unwrap();
        let mut device = SplitDevice::new(&config).unwrap();
        round_trip(&memory, &mut driver, &mut device, 3).unwrap();
        round_trip(&memory, &mut driver, &mut device, 3).unwrap();
    }
}
