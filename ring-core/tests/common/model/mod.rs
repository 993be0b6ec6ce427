//! A driver and a device against a model of where each buffer is: buffers are neither lost nor doubled, what arrives is what
//! was sent, no notification is lost, and memory is touched only where it may be.

mod buffer;
mod covered;
mod operation;
pub(crate) mod watch;

pub(crate) use covered::Covered;
pub(crate) use operation::{Operation, operation};

use crate::either::{EitherDevice, EitherDriver};
use buffer::{Buffer, Done};
use ring_core::{
    QueueConfig, Side,
    device::{Chain, PackedDevice, SplitDevice},
    driver::{AddError, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted, TableSource, TableStrategy},
    memory::{Observed, OwnedMemory},
    probe::NoProbe,
    spec::{Features, Format, Layout, feature},
};
use std::collections::VecDeque;
use watch::Watch;

const BASE: u64 = 0x1000;
const TABLES: u64 = 0x4000;
const TABLES_LENGTH: u64 = 0x1_0000;

/// The queue of a run. The ring takes less than what lies before the tables.
pub(crate) fn queue(format: Format, size: u16, features: u64, start_index: u16) -> QueueConfig {
    let packed = if format == Format::Packed { feature::RING_PACKED } else { 0 };
    QueueConfig { layout: Layout::contiguous(size, BASE), features: Features(features | packed), start_index }
}

/// The strategy with nothing given out.
fn tables(config: &QueueConfig, strategy: TableStrategy) -> Counted<AnyTableSource> {
    Counted::new(strategy.build(config.layout.queue_size, TABLES, TABLES_LENGTH).unwrap())
}

/// Runs the operations, brings home what is on its way, and says what the driver and the device did.
pub(crate) fn run(config: QueueConfig, strategy: TableStrategy, operations: &[Operation]) -> [Covered; 2] {
    let tables = tables(&config, strategy);
    match config.format() {
        Format::Split => {
            let driver = SplitDriver::new(&config, tables).unwrap();
            Run::new(config, strategy, driver, SplitDevice::new(&config).unwrap()).all(operations)
        }
        Format::Packed => {
            let driver = PackedDriver::new(&config, tables).unwrap();
            Run::new(config, strategy, driver, PackedDevice::new(&config).unwrap()).all(operations)
        }
    }
}

/// Both sides, and where every buffer is.
struct Run<D, V> {
    config: QueueConfig,
    strategy: TableStrategy,
    memory: Observed<OwnedMemory, Watch>,
    driver: D,
    device: V,
    chain: Chain,
    next_token: u64,
    // Each buffer is in one of these, and the words of memory that it will hand over while it is in the first.
    placed: VecDeque<(Buffer, Vec<u64>)>,
    available: VecDeque<Buffer>,
    taken: Vec<(u16, Buffer)>,
    completed: VecDeque<Done>,
    used: VecDeque<Done>,
    // Whether the next one in `used` belongs to a batch of which some came back already.
    batch_begun: bool,
    // The next position to be made available, as 2.9 counts it: split, in buffers; packed, in descriptors.
    position: u64,
    // What the last notification carried, until more is published.
    told: Option<u16>,
    // A side that went to sleep with nothing to do, and how much was published for it since.
    device_sleeps: Option<usize>,
    driver_sleeps: Option<usize>,
    // Buffers published and used since the last look.
    unnotified: usize,
    unnotified_used: usize,
    covered: [Covered; 2],
}

impl<D, V> Run<D, V>
where
    D: EitherDriver<Tables = Counted<AnyTableSource>>,
    V: EitherDevice,
{
    fn new(config: QueueConfig, strategy: TableStrategy, driver: D, device: V) -> Self {
        let memory = OwnedMemory::new(BASE, (TABLES + TABLES_LENGTH - BASE) as usize);
        config.initialise(&memory).unwrap();
        let observer = Watch::new(&config, TABLES..TABLES + TABLES_LENGTH);
        let position = if config.format() == Format::Split { config.start_index.into() } else { 0 };
        Run {
            config,
            strategy,
            memory: Observed { memory, observer },
            driver,
            device,
            chain: Chain::default(),
            next_token: 0,
            placed: VecDeque::new(),
            available: VecDeque::new(),
            taken: Vec::new(),
            completed: VecDeque::new(),
            used: VecDeque::new(),
            batch_begun: false,
            position,
            told: None,
            device_sleeps: None,
            driver_sleeps: None,
            unnotified: 0,
            unnotified_used: 0,
            covered: [Covered::default(); 2],
        }
    }

    fn all(mut self, operations: &[Operation]) -> [Covered; 2] {
        let size = self.config.layout.queue_size as usize;
        let home = operation::HOME.iter().cycle().take(operation::HOME.len() * (size + 2));
        for operation in operations.iter().chain(home) {
            self.memory.observer.call(operation.side());
            self.step(*operation);
            self.check();
        }
        let [driver, _] = &self.covered;
        assert_eq!(driver.buffers + driver.reset, self.next_token, "every buffer came back");
        let tables = self.driver.tables();
        let statistics = tables.statistics();
        let idle: u64 = tables.idle().map(|table| table.bytes() as u64).sum();
        assert_eq!(statistics.bytes_held, idle, "what is held when nothing is in flight lies idle");
        assert_eq!(statistics.allocations + statistics.hits, statistics.frees + statistics.cached);
        self.covered
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Add { readable, writable } => self.add(readable, writable),
            Operation::Publish => self.publish(),
            Operation::Notify => self.notify(),
            Operation::Peek => self.peek(),
            Operation::Reap => self.reap(),
            Operation::DriverNotifications(wanted) => self.driver_notifications(wanted),
            Operation::Pop => self.pop(),
            Operation::Complete { which, length } => self.complete(which, length),
            Operation::CompleteBatch { count } => self.complete_batch(count),
            Operation::PublishUsed => self.publish_used(),
            Operation::NotifyUsed => self.notify_used(),
            Operation::DeviceNotifications(wanted) => self.device_notifications(wanted),
            Operation::Reset => self.reset(),
            Operation::Restore(side) => self.restore(side),
        }
    }

    /// What must hold after every call.
    fn check(&self) {
        assert_eq!((self.driver.broken(), self.device.broken()), (None, None));
        let placed = self.placed.iter().map(|(buffer, _)| buffer);
        let driver: u16 = placed.chain(&self.available).map(|buffer| buffer.descriptors).sum();
        let taken: u16 = self.taken.iter().map(|(_, buffer)| buffer.descriptors).sum();
        let done: u16 = self.completed.iter().chain(&self.used).map(|done| done.descriptors).sum();
        assert_eq!(self.driver.free() + driver + taken + done, self.config.layout.queue_size);
    }

    fn has(&self, feature: u64) -> bool {
        self.config.features.contains(feature)
    }

    fn add(&mut self, readable: usize, writable: usize) {
        let mut buffer = Buffer::new(self.next_token, readable, writable);
        let free = self.driver.free();
        match self.driver.add(&self.memory, &mut NoProbe, buffer.token, &buffer.readable, &buffer.writable) {
            Ok(id) => {
                let in_flight = self.driver.held().into_iter().find(|(held, _)| *held == id);
                let table = in_flight.and_then(|(_, buffer)| buffer.table);
                buffer.descriptors = free - self.driver.free();
                self.next_token += 1;
                self.placed.push_back((buffer, self.memory.observer.written(table)));
            }
            Err(AddError::Refused(_)) => {
                let elements = buffer.elements();
                assert!(elements == 0 || elements > self.config.layout.queue_size as usize);
            }
            Err(AddError::Full { needed, free }) => assert!(needed > free),
            Err(AddError::Fault(fault)) => panic!("{fault}"),
        }
    }

    fn publish(&mut self) {
        self.driver.publish(&self.memory, &mut NoProbe).unwrap();
        if let Some(published) = &mut self.device_sleeps {
            *published += self.placed.len();
        }
        self.unnotified += self.placed.len();
        if !self.placed.is_empty() {
            self.told = None;
        }
        // On a packed ring the first one is whole only now.
        let mut written = self.memory.observer.written(None);
        for (buffer, mut words) in self.placed.drain(..) {
            words.append(&mut written);
            self.memory.observer.hand_over(buffer.token, words);
            let split = self.config.format() == Format::Split;
            self.position += if split { 1 } else { buffer.descriptors.into() };
            self.available.push_back(buffer);
        }
        assert_eq!(self.driver.next_available(), self.next_position(), "what a notification would carry");
    }

    /// What a notification carries (2.9), counted by hand.
    fn next_position(&self) -> u16 {
        match self.config.format() {
            Format::Split => self.position as u16,
            Format::Packed => {
                let size = u64::from(self.config.layout.queue_size);
                // The wrap counter starts at 1 and changes with every lap.
                let wrap = (self.position / size + 1) % 2;
                ((self.position % size) | (wrap << 15)) as u16
            }
        }
    }

    fn notify(&mut self) {
        let needed = self.driver.notify(&self.memory, &mut NoProbe).unwrap().needed;
        if self.device_sleeps.is_some_and(|published| published > 0) {
            assert!(needed, "the device sleeps on a buffer it was not told of");
            self.device_sleeps = None;
        }
        let new = std::mem::take(&mut self.unnotified) > 0;
        self.covered[0].sent += u64::from(needed);
        self.covered[0].suppressed += u64::from(new && !needed);
        if needed && self.has(feature::NOTIFICATION_DATA) {
            let told = self.driver.next_available();
            assert_eq!(told, self.next_position());
            self.told = Some(told);
            self.covered[0].positions += 1;
        }
    }

    fn peek(&mut self) {
        let mut buffers = 0;
        self.driver.peek_used(&self.memory, |element| buffers += usize::from(element.buffers)).unwrap();
        let begun = match self.batch_begun {
            true => self.used.iter().position(|done| done.ends_element).map_or(0, |last| last + 1),
            false => 0,
        };
        assert_eq!(begun + buffers, self.used.len());
    }

    fn reap(&mut self) {
        assert_eq!(self.driver.pending_used(&self.memory).unwrap() as usize, self.used.len());
        self.memory.observer.call(Side::Driver);
        let expected = self.used.pop_front();
        if let Some(done) = &expected {
            self.memory.observer.take_back(done.token, done.descriptors);
            self.batch_begun = !done.ends_element;
            self.covered[0].buffers += 1;
            self.covered[0].in_batches += u64::from(done.in_batch);
        }
        let before = self.driver.tables().statistics();
        let used = self.driver.reap(&self.memory, &mut NoProbe).unwrap();
        let expected = expected.map(|done| (done.token, done.length));
        assert_eq!(used.map(|used| (used.token, used.length)), expected);
        let after = self.driver.tables().statistics();
        self.covered[0].tables += (after.frees + after.cached) - (before.frees + before.cached);
    }

    fn driver_notifications(&mut self, wanted: bool) {
        self.driver_sleeps = None;
        if !wanted {
            return self.driver.disable_notifications(&self.memory).unwrap();
        }
        let pending = self.driver.enable_notifications(&self.memory).unwrap();
        assert_eq!(pending as usize, self.used.len());
        if pending == 0 {
            self.driver_sleeps = Some(0);
        }
    }

    fn pop(&mut self) {
        let popped = self.device.pop(&self.memory, &mut NoProbe, &mut self.chain).unwrap();
        assert_eq!(popped, !self.available.is_empty());
        let Some(buffer) = self.available.pop_front() else {
            // It stands where the driver said it would.
            if let Some(told) = self.told.take() {
                assert_eq!(self.device.position(), told);
                self.covered[1].positions += 1;
            }
            return;
        };
        let expected = (&buffer.readable[..], &buffer.writable[..]);
        assert_eq!((self.chain.readable(), self.chain.writable()), expected);
        assert_eq!(self.chain.table.is_some(), buffer.descriptors < buffer.elements() as u16);
        self.covered[1].buffers += 1;
        self.covered[1].tables += u64::from(self.chain.table.is_some());
        self.taken.push((self.chain.head, buffer));
    }

    fn complete(&mut self, which: usize, length: u32) {
        if self.taken.is_empty() {
            return;
        }
        let which = if self.has(feature::IN_ORDER) { 0 } else { which % self.taken.len() };
        let (head, buffer) = self.taken.remove(which);
        let length = length % (buffer.writable_bytes() + 1);
        self.device.complete(&self.memory, &mut NoProbe, head, length).unwrap();
        self.done(buffer, length, true, false);
    }

    fn complete_batch(&mut self, count: usize) {
        if !self.has(feature::IN_ORDER) || self.taken.is_empty() {
            return;
        }
        let count = count.min(self.taken.len());
        let (head, last) = &self.taken[count - 1];
        let length = last.writable_bytes() / 2;
        self.device.complete_batch(&self.memory, &mut NoProbe, *head, length).unwrap();
        let in_batch = count > 1;
        self.covered[1].in_batches += if in_batch { count as u64 } else { 0 };
        for (index, (_, buffer)) in self.taken.drain(..count).collect::<Vec<_>>().into_iter().enumerate() {
            let is_last = index + 1 == count;
            // The element has the length of the last one; the others were written whole as far as can be known.
            let length = if is_last { length } else { buffer.writable_bytes() };
            self.done(buffer, length, is_last, in_batch);
        }
    }

    fn done(&mut self, buffer: Buffer, length: u32, ends_element: bool, in_batch: bool) {
        let Buffer { token, descriptors, .. } = buffer;
        self.completed.push_back(Done { token, length, descriptors, ends_element, in_batch });
    }

    fn publish_used(&mut self) {
        self.device.publish(&self.memory, &mut NoProbe).unwrap();
        if let Some(published) = &mut self.driver_sleeps {
            *published += self.completed.len();
        }
        self.unnotified_used += self.completed.len();
        self.used.append(&mut self.completed);
    }

    fn notify_used(&mut self) {
        let needed = self.device.notify(&self.memory, &mut NoProbe).unwrap().needed;
        if self.driver_sleeps.is_some_and(|published| published > 0) {
            assert!(needed, "the driver sleeps on a used buffer it was not told of");
            self.driver_sleeps = None;
        }
        let new = std::mem::take(&mut self.unnotified_used) > 0;
        self.covered[1].sent += u64::from(needed);
        self.covered[1].suppressed += u64::from(new && !needed);
    }

    fn device_notifications(&mut self, wanted: bool) {
        self.device_sleeps = None;
        if !wanted {
            return self.device.disable_notifications(&self.memory).unwrap();
        }
        let pending = self.device.enable_notifications(&self.memory).unwrap();
        assert_eq!(pending, !self.available.is_empty());
        if !pending {
            self.device_sleeps = Some(0);
        }
    }

    /// A side comes back from its snapshot, and knows what it knew.
    fn restore(&mut self, side: Side) {
        match side {
            Side::Driver => {
                let (held, free) = (self.driver.held(), self.driver.free());
                self.driver = self.driver.restored(&self.config, tables(&self.config, self.strategy));
                assert_eq!((self.driver.held(), self.driver.free()), (held, free));
                let held = self.driver.held().into_iter().filter_map(|(_, buffer)| buffer.table);
                let bytes: u64 = held.map(|table| u64::from(table.bytes())).sum();
                assert_eq!(
                    self.driver.tables().statistics().bytes_held,
                    bytes,
                    "only tables in flight are held"
                );
                self.covered[0].restored += 1;
            }
            Side::Device => {
                self.device = self.device.restored(&self.config);
                self.covered[1].restored += 1;
            }
        }
    }

    /// Every buffer that the driver still had comes back once; the device knows none of them any more.
    fn reset(&mut self) {
        if !self.has(feature::RING_RESET) {
            return;
        }
        let placed = self.placed.drain(..).map(|(buffer, _)| buffer.token);
        let mut expected: Vec<u64> = placed.collect();
        expected.extend(self.available.drain(..).map(|buffer| buffer.token));
        expected.extend(self.taken.iter().map(|(_, buffer)| buffer.token));
        expected.extend(self.completed.drain(..).chain(self.used.drain(..)).map(|done| done.token));
        self.memory.observer.take_back_all();
        self.device.reset();
        let mut returned = Vec::new();
        self.driver.reset(&self.memory, &mut NoProbe, |token| returned.push(token)).unwrap();
        returned.sort_unstable();
        expected.sort_unstable();
        assert_eq!(returned, expected);
        self.covered[0].reset += returned.len() as u64;
        self.memory.observer.call(Side::Device);
        for (head, _) in std::mem::take(&mut self.taken) {
            let refused = self.device.complete(&self.memory, &mut NoProbe, head, 0);
            assert_eq!(refused.map_err(|fault| fault.rule_id()), Err(Some("B-USED-ID")));
            self.covered[1].reset += 1;
        }
        assert_eq!((self.driver.last_used(), self.device.position()), (0, self.driver.next_available()));
        self.position = 0;
        self.batch_begun = false;
        (self.told, self.device_sleeps, self.driver_sleeps) = (None, None, None);
        (self.unnotified, self.unnotified_used) = (0, 0);
    }
}
