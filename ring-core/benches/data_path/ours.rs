//! The crate's own two sides.

use crate::{ELEMENT_BYTES, Pair, QUEUE_SIZE};
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{TableArena, TableSource},
    memory::SharedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::{error::Error, ptr::NonNull};

const BASE: u64 = 0x1000;
const BYTES: usize = 1 << 20;
const TABLES: u64 = BASE + 0x1_0000;

/// Where tables come from, behind the ring.
pub(crate) fn arena() -> TableArena {
    TableArena::new(TABLES, BASE + BYTES as u64 - TABLES)
}

struct Ours<A, B> {
    memory: SharedMemory,
    driver: A,
    device: B,
    chain: Chain,
    elements: Vec<Segment>,
}

impl<A, B> Ours<A, B> {
    fn new(driver: A, device: B, elements: usize) -> Result<Self, Box<dyn Error>> {
        // Kept for as long as the process: the memory must outlive every pair.
        let words: &'static mut [u128] = Box::leak(vec![0; BYTES / 16].into_boxed_slice());
        let pointer = NonNull::new(words.as_mut_ptr().cast()).ok_or("no memory")?;
        // SAFETY: the range is never freed, 16-byte aligned, and reached through this value alone.
        let memory = unsafe { SharedMemory::new(pointer, BASE, BYTES) };
        let element = |index| Segment { address: 0x100_0000 + index * 64, length: ELEMENT_BYTES };
        let elements = (0..elements as u64).map(element).collect();
        Ok(Ours { memory, driver, device, chain: Chain::default(), elements })
    }
}

fn config(format: u64, tables: bool) -> QueueConfig {
    let indirect = if tables { feature::INDIRECT_DESC } else { 0 };
    let features = Features(feature::EVENT_IDX | format | indirect);
    QueueConfig::new(Layout::contiguous(QUEUE_SIZE, BASE), features)
}

/// Driver and device of a split ring.
pub(crate) fn split<T: TableSource + 'static>(
    source: T,
    tables: bool,
    elements: usize,
) -> Result<Box<dyn Pair>, Box<dyn Error>> {
    let config = config(0, tables);
    let driver = SplitDriver::new(&config, source)?;
    Ok(Box::new(Ours::new(driver, SplitDevice::new(&config)?, elements)?))
}

/// Driver and device of a packed ring.
pub(crate) fn packed<T: TableSource + 'static>(
    source: T,
    tables: bool,
    elements: usize,
) -> Result<Box<dyn Pair>, Box<dyn Error>> {
    let config = config(feature::RING_PACKED, tables);
    let driver = PackedDriver::new(&config, source)?;
    Ok(Box::new(Ours::new(driver, PackedDevice::new(&config)?, elements)?))
}

impl<A: Driver, B: Device> Pair for Ours<A, B> {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        let (memory, probe) = (&self.memory, &mut NoProbe);
        for token in 0..batch as u64 {
            self.driver.add(memory, probe, token, &self.elements, &[])?;
        }
        self.driver.publish(memory, probe)?;
        self.driver.notify(memory, probe)?;
        let mut bytes = 0;
        while self.device.pop(memory, probe, &mut self.chain)? {
            bytes += self.chain.readable().iter().map(|segment| segment.length as u64).sum::<u64>();
            self.device.complete(memory, probe, self.chain.head, 0)?;
        }
        self.device.publish(memory, probe)?;
        for token in 0..batch as u64 {
            if self.driver.reap(memory, probe)?.is_none_or(|used| used.token != token) {
                return Err(format!("buffer {token} did not come back in its turn").into());
            }
        }
        Ok(bytes)
    }
}
