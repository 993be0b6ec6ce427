//! How much memory a strategy holds, under loads that differ in how they change.

use super::{QUEUE_SIZE, pair::Shuffle};
use crate::Error;
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, SplitDevice},
    driver::{AddError, Driver, SplitDriver},
    indirect::{Counted, TableStrategy},
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};
use serde::Serialize;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x1_0000;
const TABLES_LENGTH: u64 = 1 << 20;
const TICKS: u64 = 4000;

/// How the load changes from tick to tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// 64 buffers of 3 elements in flight, always.
    Steady,
    /// 8 buffers of 4 elements in flight, and 200 for a short while every 1000 ticks.
    Bursty,
    /// Up to 128 buffers of 1 to 16 elements, small ones mostly.
    Mixed,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 3] = [Workload::Steady, Workload::Bursty, Workload::Mixed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Steady => "steady",
            Workload::Bursty => "bursty",
            Workload::Mixed => "mixed",
        }
    }

    /// Buffers that are to be in flight at a tick.
    fn depth(self, tick: u64, random: &mut Shuffle) -> usize {
        match self {
            Workload::Steady => 64,
            Workload::Bursty => {
                if (100..110).contains(&(tick % 1000)) {
                    200
                } else {
                    8
                }
            }
            Workload::Mixed => 1 + random.below(128) as usize,
        }
    }

    /// Elements of the next buffer.
    fn elements(self, random: &mut Shuffle) -> usize {
        match self {
            Workload::Steady => 3,
            Workload::Bursty => 4,
            // Each further element is half as likely.
            Workload::Mixed => 1 + (random.below(1 << 15).trailing_ones() as usize).min(15),
        }
    }
}

/// What a strategy held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The most bytes of tables at any moment.
    pub high_water: u64,
    /// Bytes of tables, the mean over all ticks.
    pub mean: f64,
    /// Bytes of tables in the end: with bursts, 890 ticks after the last of them.
    pub end: u64,
    /// Buffers that the full ring turned away, of every thousand.
    pub turned_away: f64,
}

/// Runs a load of 4000 ticks on a split ring. The same calls for every strategy, but for buffers that a full ring turns
/// away.
pub fn held(strategy: TableStrategy, workload: Workload) -> Result<Held, Error> {
    let ring = |fault| Error::Ring { queue: "simulated", fault };
    let layout = Layout::contiguous(QUEUE_SIZE, BASE);
    let config = QueueConfig::new(layout, Features(feature::INDIRECT_DESC | feature::EVENT_IDX));
    let memory = OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize);
    let tables = Counted::new(strategy.build(QUEUE_SIZE, TABLES, TABLES_LENGTH)?);
    let mut driver = SplitDriver::new(&config, tables)?;
    let mut device = SplitDevice::new(&config)?;
    let elements = [Segment { address: 0x1000_0000, length: 64 }; 16];
    let (mut chain, mut taken) = (Chain::default(), Vec::new());
    let (mut random, probe) = (Shuffle::new(7), &mut NoProbe);
    let (mut added, mut turned_away, mut bytes) = (0_u64, 0_u64, 0_u64);
    for tick in 0..TICKS {
        let depth = workload.depth(tick, &mut random);
        for _ in taken.len()..depth {
            let count = workload.elements(&mut random);
            match driver.add(&memory, probe, added, elements.get(..count).unwrap_or_default(), &[]) {
                Ok(_) => added += 1,
                Err(AddError::Full { .. }) => turned_away += 1,
                Err(error) => return Err(Error::Add { queue: "simulated", error }),
            }
        }
        bytes += driver.tables().statistics().bytes_held;
        driver.publish(&memory, probe).map_err(ring)?;
        while device.pop(&memory, probe, &mut chain).map_err(ring)? {
            taken.push(chain.head);
        }
        // A half stays in flight, which half is a matter of chance.
        random.shuffle(&mut taken);
        for head in taken.drain(depth.min(taken.len()) / 2..) {
            device.complete(&memory, probe, head, 0).map_err(ring)?;
        }
        device.publish(&memory, probe).map_err(ring)?;
        while driver.reap(&memory, probe).map_err(ring)?.is_some() {}
    }
    let statistics = driver.tables().statistics();
    Ok(Held {
        high_water: statistics.high_water,
        mean: bytes as f64 / TICKS as f64,
        end: statistics.bytes_held,
        turned_away: turned_away as f64 * 1000.0 / (added + turned_away).max(1) as f64,
    })
}
