//! The crate's own two sides.

use crate::{ELEMENT_BYTES, Pair, QUEUE_SIZE, cases::Case};
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{TableArena, TableSource},
    memory::{Memory, SharedMemory},
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use std::{alloc, error::Error, ptr::NonNull};

pub(crate) const BASE: u64 = 0x1000;
pub(crate) const BYTES: usize = 1 << 20;
pub(crate) const TABLES: u64 = BASE + 0x1_0000;

/// Where tables come from, behind the ring.
pub(crate) fn arena() -> TableArena {
    TableArena::new(TABLES, BASE + BYTES as u64 - TABLES)
}

/// Zeroed memory, page-aligned, kept for as long as the process: it must outlive every pair.
pub(crate) fn forever(bytes: usize) -> Result<NonNull<u8>, Box<dyn Error>> {
    let layout = alloc::Layout::from_size_align(bytes, 4096)?;
    // SAFETY: every caller asks for more than nothing.
    NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or_else(|| "no memory".into())
}

/// The elements of every buffer. Nobody looks into them.
pub(crate) fn elements(number: usize) -> Vec<Segment> {
    let element = |index| Segment { address: 0x100_0000 + index * 64, length: ELEMENT_BYTES };
    (0..number as u64).map(element).collect()
}

/// The driver's part of a round: adds, publishes and looks whether to notify.
#[inline(always)]
pub(crate) fn add_batch<D: Driver>(
    driver: &mut D,
    memory: &impl Memory,
    elements: &[Segment],
    batch: usize,
) -> Result<(), Box<dyn Error>> {
    for token in 0..batch as u64 {
        driver.add(memory, &mut NoProbe, token, elements, &[])?;
    }
    driver.publish(memory, &mut NoProbe)?;
    driver.notify(memory, &mut NoProbe)?;
    Ok(())
}

/// The device's part: takes and uses everything. Returns the bytes it saw.
#[inline(always)]
pub(crate) fn serve<D: Device>(
    device: &mut D,
    memory: &impl Memory,
    chain: &mut Chain,
) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    while device.pop(memory, &mut NoProbe, chain)? {
        bytes += chain.readable().iter().map(|segment| segment.length as u64).sum::<u64>();
        device.complete(memory, &mut NoProbe, chain.head, 0)?;
    }
    device.publish(memory, &mut NoProbe)?;
    Ok(bytes)
}

/// The driver's last part: gets everything back.
#[inline(always)]
pub(crate) fn reap_batch<D: Driver>(
    driver: &mut D,
    memory: &impl Memory,
    batch: usize,
) -> Result<(), Box<dyn Error>> {
    for token in 0..batch as u64 {
        if driver.reap(memory, &mut NoProbe)?.is_none_or(|used| used.token != token) {
            return Err(format!("buffer {token} did not come back in its turn").into());
        }
    }
    Ok(())
}

struct Ours<A, B> {
    memory: SharedMemory,
    driver: A,
    device: B,
    chain: Chain,
    elements: Vec<Segment>,
}

/// Where the ring lies and what was negotiated.
pub(crate) fn config(features: u64) -> QueueConfig {
    QueueConfig::new(Layout::contiguous(QUEUE_SIZE, BASE), Features(feature::EVENT_IDX | features))
}

/// Driver and device of the case's format.
pub(crate) fn pair<T: TableSource + 'static>(
    case: Case,
    tables: bool,
    source: T,
) -> Result<Box<dyn Pair>, Box<dyn Error>> {
    // SAFETY: the range is never freed, page-aligned, and reached through this value alone.
    let memory = unsafe { SharedMemory::new(forever(BYTES)?, BASE, BYTES) };
    let format = if case.packed { feature::RING_PACKED } else { 0 };
    let config = config(format | if tables { feature::INDIRECT_DESC } else { 0 });
    let (chain, elements) = (Chain::default(), elements(case.elements));
    Ok(if case.packed {
        let (driver, device) = (PackedDriver::new(&config, source)?, PackedDevice::new(&config)?);
        Box::new(Ours { memory, driver, device, chain, elements })
    } else {
        let (driver, device) = (SplitDriver::new(&config, source)?, SplitDevice::new(&config)?);
        Box::new(Ours { memory, driver, device, chain, elements })
    })
}

impl<A: Driver, B: Device> Pair for Ours<A, B> {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        add_batch(&mut self.driver, &self.memory, &self.elements, batch)?;
        let bytes = serve(&mut self.device, &self.memory, &mut self.chain)?;
        reap_batch(&mut self.driver, &self.memory, batch)?;
        Ok(bytes)
    }
}
