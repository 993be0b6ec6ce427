//! Driver and device of one queue, moving buffers in rounds.

use super::{Case, Order, QUEUE_SIZE};
use crate::{Error, measure::instructions::counted, memory_file, system::GuestMemory};
use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{AddError, Driver, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, TableArena, TableSource, TableStrategy, TableVisitor},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
};

/// Guest memory: the ring, and behind it the tables.
const BYTES: u64 = 1 << 20;
const RING: u64 = 0x1000;
const TABLES: u64 = 0x1_0000;
/// Where the elements are said to lie: nobody looks there.
const ELEMENTS: u64 = 0x1000_0000;
const ELEMENT_BYTES: u32 = 64;

/// Moves a batch of buffers there and back.
pub(super) trait Pair {
    /// What the driver does is [`counted`]. `None` if the ring does not hold the batch.
    fn round(&mut self) -> Result<Option<()>, Error>;
}

/// The pair for a case, with the strategy's own type in it.
pub(super) fn pair(strategy: TableStrategy, case: Case) -> Result<Box<dyn Pair>, Error> {
    strategy.check(QUEUE_SIZE)?;
    strategy.visit(Make(case))
}

struct Make(Case);

impl TableVisitor for Make {
    type Output = Result<Box<dyn Pair>, Error>;
    fn visit<T: TableSource + Clone + Into<AnyTableSource> + 'static>(
        self,
        make: impl Fn(TableArena) -> T + 'static,
    ) -> Self::Output {
        let case = self.0;
        let layout = Layout::contiguous(QUEUE_SIZE, RING);
        let features = Features(feature::INDIRECT_DESC | feature::EVENT_IDX);
        let tables = make(TableArena::new(TABLES, BYTES - TABLES));
        Ok(match case.format {
            Format::Split => {
                let config = QueueConfig::new(layout, features);
                Box::new(Both::new(SplitDriver::new(&config, tables)?, SplitDevice::new(&config)?, case)?)
            }
            Format::Packed => {
                let config = QueueConfig::new(layout, Features(features.0 | feature::RING_PACKED));
                Box::new(Both::new(PackedDriver::new(&config, tables)?, PackedDevice::new(&config)?, case)?)
            }
        })
    }
}

struct Both<D, V> {
    memory: GuestMemory,
    driver: D,
    device: V,
    case: Case,
    elements: Vec<Segment>,
    chain: Chain,
    taken: Vec<u16>,
    shuffle: Shuffle,
}

impl<D: Driver, V: Device> Both<D, V> {
    fn new(driver: D, device: V, case: Case) -> Result<Self, Error> {
        let failed = |source| Error::System { what: "memory for a queue", source };
        let file = memory_file::create("queue", BYTES).map_err(failed)?;
        let element = |index| Segment { address: ELEMENTS + index * 0x1000, length: ELEMENT_BYTES };
        Ok(Both {
            memory: GuestMemory::map(&file, BYTES as usize).map_err(failed)?,
            driver,
            device,
            case,
            elements: (0..case.elements as u64).map(element).collect(),
            chain: Chain::default(),
            taken: Vec::with_capacity(case.batch),
            shuffle: Shuffle::new(1),
        })
    }

    #[inline]
    fn add(&mut self) -> Result<(), AddError> {
        for token in 0..self.case.batch as u64 {
            self.driver.add(&self.memory, &mut NoProbe, token, &self.elements, &[])?;
        }
        self.driver.publish(&self.memory, &mut NoProbe)?;
        self.driver.notify(&self.memory, &mut NoProbe)?;
        Ok(())
    }

    /// The device uses everything it finds.
    fn use_all(&mut self) -> Result<(), ring_core::Fault> {
        self.taken.clear();
        while self.device.pop(&self.memory, &mut NoProbe, &mut self.chain)? {
            self.taken.push(self.chain.head);
        }
        if self.case.order == Order::OutOfOrder {
            self.shuffle.shuffle(&mut self.taken);
        }
        for head in &self.taken {
            self.device.complete(&self.memory, &mut NoProbe, *head, 0)?;
        }
        self.device.publish(&self.memory, &mut NoProbe)
    }

    #[inline]
    fn reap(&mut self) -> Result<usize, ring_core::Fault> {
        let mut back = 0;
        while self.driver.reap(&self.memory, &mut NoProbe)?.is_some() {
            back += 1;
        }
        Ok(back)
    }
}

impl<D: Driver, V: Device> Pair for Both<D, V> {
    fn round(&mut self) -> Result<Option<()>, Error> {
        let queue = "measured";
        let mut added = Ok(());
        counted(&mut || added = self.add());
        match added {
            Ok(()) => {}
            Err(AddError::Full { .. }) => return Ok(None),
            Err(error) => return Err(Error::Add { queue, error }),
        }
        self.use_all().map_err(|fault| Error::Ring { queue, fault })?;
        let mut back = Ok(0);
        counted(&mut || back = self.reap());
        let back = back.map_err(|fault| Error::Ring { queue, fault })?;
        if back != self.case.batch {
            return Err(Error::Lost { added: self.case.batch, back });
        }
        Ok(Some(()))
    }
}

/// Repeatable disorder.
pub(super) struct Shuffle(u64);

impl Shuffle {
    /// Which disorder it is; not 0.
    pub(super) fn new(seed: u64) -> Self {
        Shuffle(seed)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    pub(super) fn shuffle(&mut self, heads: &mut [u16]) {
        for last in (1..heads.len()).rev() {
            heads.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
