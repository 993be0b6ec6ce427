//! Our driver against the device of rust-vmm's `virtio-queue`.
//!
//! The peer makes each used element visible at once. With an event index it never withdraws its wish for notifications; without
//! one it notifies always, whatever the driver's flag says. It knows no IN_ORDER, so a device that uses buffers in order is
//! made of it here, without batches.

use crate::{
    cases,
    content::{Content, cut},
    guest::{self, Pieces},
    is_passed, may_sleep, operation,
    operation::Operation,
    strategies,
};
use proptest::prelude::*;
use ring_core::{
    QueueConfig, Segment, Side,
    driver::{AddError, Driver, SplitDriver},
    indirect::{AnyTableSource, TableStrategy},
    memory::VmMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature, split::Cell},
};
use std::{collections::VecDeque, io::Read};
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// A buffer in flight.
struct Buffer {
    content: Content,
    readable: Vec<Segment>,
    writable: Vec<Segment>,
}

struct Run {
    config: QueueConfig,
    strategy: TableStrategy,
    memory: VmMemory<Box<GuestMemoryMmap>>,
    driver: SplitDriver<AnyTableSource>,
    device: Queue,
    pieces: Pieces,
    next_number: u64,
    placed: VecDeque<Buffer>,
    available: VecDeque<Buffer>,
    taken: Vec<(u16, Buffer)>,
    // With the length that the device said.
    used: VecDeque<(Buffer, u32)>,
    // Buffers made available and used, as the indices count them, and where they stood at the last look.
    published: u16,
    notified: u16,
    answered: u16,
    interrupted: u16,
    // Where the indices stood when a side went to sleep with nothing to do.
    device_sleeps: Option<u16>,
    driver_sleeps: Option<u16>,
    // Whether the driver wants notifications.
    driver_listens: bool,
    came_back: u64,
}

fn peer(config: &QueueConfig) -> Queue {
    let Layout { queue_size, descriptor_area, driver_area, device_area } = config.layout;
    let mut device = Queue::new(256).unwrap();
    device.set_size(queue_size);
    device.set_desc_table_address(Some(descriptor_area as u32), Some(0));
    device.set_avail_ring_address(Some(driver_area as u32), Some(0));
    device.set_used_ring_address(Some(device_area as u32), Some(0));
    device.set_event_idx(config.features.contains(feature::EVENT_IDX));
    device.set_next_avail(config.start_index);
    device.set_next_used(config.start_index);
    device.set_ready(true);
    device
}

/// The strategy with nothing given out.
fn tables(strategy: TableStrategy, queue_size: u16) -> AnyTableSource {
    strategy.build(queue_size, guest::TABLES, guest::TABLES_LENGTH).unwrap()
}

impl Run {
    fn new(size: u16, features: u64, start_index: u16, strategy: TableStrategy) -> Self {
        let layout = Layout::contiguous(size, guest::RING);
        let config = QueueConfig { layout, features: Features(features), start_index };
        let memory = VmMemory(Box::new(guest::memory()));
        config.initialise(&memory).unwrap();
        let device = peer(&config);
        assert!(device.is_valid(&*memory.0));
        Run {
            config,
            strategy,
            memory,
            driver: SplitDriver::new(&config, tables(strategy, size)).unwrap(),
            device,
            pieces: Pieces::new(),
            next_number: 0,
            placed: VecDeque::new(),
            available: VecDeque::new(),
            taken: Vec::new(),
            used: VecDeque::new(),
            published: start_index,
            notified: start_index,
            answered: start_index,
            interrupted: start_index,
            device_sleeps: None,
            driver_sleeps: None,
            driver_listens: true,
            came_back: 0,
        }
    }

    fn all(mut self, operations: &[Operation]) {
        let home = operation::HOME.len() * (self.config.layout.queue_size as usize + 2);
        for operation in operations.iter().chain(operation::HOME.iter().cycle().take(home)) {
            self.step(*operation);
        }
        assert_eq!(self.came_back, self.next_number, "every buffer came back");
        assert!(self.pieces.is_whole());
        assert_eq!(self.driver.free(), self.config.layout.queue_size);
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Add { readable, writable } => self.add(readable, writable),
            Operation::Publish => self.publish(),
            Operation::Notify => self.notify(),
            Operation::Peek => {
                let mut waiting = 0;
                self.driver
                    .peek_used(&self.memory, |element| waiting += usize::from(element.buffers))
                    .unwrap();
                assert_eq!(waiting, self.used.len());
            }
            Operation::Reap => self.reap(),
            Operation::DriverNotifications(wanted) => self.driver_notifications(wanted),
            Operation::Pop => self.pop(),
            Operation::Complete { which, length } => self.complete(which, length),
            Operation::CompleteBatch { count } => {
                for _ in 0..count {
                    self.complete(0, u32::MAX);
                }
            }
            // The peer has done that already.
            Operation::PublishUsed => {}
            Operation::NotifyUsed => self.notify_used(),
            Operation::DeviceNotifications(wanted) => self.device_notifications(wanted),
            Operation::Reset => self.reset(),
            Operation::Restore(Side::Driver) => {
                let tables = tables(self.strategy, self.config.layout.queue_size);
                self.driver = SplitDriver::restore(&self.config, tables, self.driver.snapshot()).unwrap();
            }
            // The peer's snapshot is not what is tested here.
            Operation::Restore(Side::Device) => {}
        }
    }

    fn has(&self, feature: u64) -> bool {
        self.config.features.contains(feature)
    }

    fn field(&self, cell: Cell) -> u16 {
        self.memory.0.read_obj(GuestAddress(self.config.layout.address(cell))).unwrap()
    }

    fn add(&mut self, readable: usize, writable: usize) {
        if readable + writable == 0 {
            return;
        }
        let content = Content { number: self.next_number, readable, writable };
        let mut segment = |length| Segment { address: self.pieces.take(), length };
        let buffer = Buffer {
            content,
            readable: content.readable_lengths().map(&mut segment).collect(),
            writable: content.writable_lengths().map(&mut segment).collect(),
        };
        for (segment, bytes) in
            buffer.readable.iter().zip(cut(&content.question(), content.readable_lengths()))
        {
            guest::write(&self.memory.0, segment.address, &bytes);
        }
        for segment in &buffer.writable {
            guest::write(&self.memory.0, segment.address, &vec![0; segment.length as usize]);
        }
        let added =
            self.driver.add(&self.memory, &mut NoProbe, content.number, &buffer.readable, &buffer.writable);
        match added {
            Ok(_) => {
                self.next_number += 1;
                self.placed.push_back(buffer);
            }
            Err(AddError::Full { .. } | AddError::Refused(_)) => self.put_back(&buffer),
            Err(AddError::Fault(fault)) => panic!("{fault}"),
        }
    }

    fn put_back(&mut self, buffer: &Buffer) {
        for segment in buffer.readable.iter().chain(&buffer.writable) {
            self.pieces.put_back(segment.address);
        }
    }

    fn publish(&mut self) {
        self.driver.publish(&self.memory, &mut NoProbe).unwrap();
        self.published = self.published.wrapping_add(self.placed.len() as u16);
        self.available.append(&mut self.placed);
    }

    fn notify(&mut self) {
        let needed = self.driver.notify(&self.memory, &mut NoProbe).unwrap().needed;
        let expected = if self.has(feature::EVENT_IDX) {
            is_passed(self.field(Cell::AvailableEvent), self.notified, self.published)
        } else {
            self.published != self.notified && self.field(Cell::UsedFlags) == 0
        };
        assert_eq!(needed, expected);
        assert!(needed || may_sleep(self.device_sleeps, self.published), "the device sleeps on a buffer");
        self.notified = self.published;
        self.device_sleeps = self.device_sleeps.filter(|_| !needed);
    }

    fn pop(&mut self) {
        let Some(chain) = self.device.pop_descriptor_chain(&*self.memory.0) else {
            assert_eq!(self.available.len(), 0, "the device saw nothing");
            return;
        };
        let buffer = self.available.pop_front().unwrap();
        let lengths = |writable: bool| {
            let chain = chain.clone().filter(move |descriptor| descriptor.is_write_only() == writable);
            chain.map(|descriptor| descriptor.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(false), buffer.content.readable_lengths().collect::<Vec<_>>());
        assert_eq!(lengths(true), buffer.content.writable_lengths().collect::<Vec<_>>());
        let mut question = Vec::new();
        chain.clone().reader(&*self.memory.0).unwrap().read_to_end(&mut question).unwrap();
        assert_eq!(question, buffer.content.question());
        self.taken.push((chain.head_index(), buffer));
    }

    fn complete(&mut self, which: usize, length: u32) {
        if self.taken.is_empty() {
            return;
        }
        let which = if self.has(feature::IN_ORDER) { 0 } else { which % self.taken.len() };
        let (head, buffer) = self.taken.remove(which);
        let length = length % (buffer.content.writable_bytes() + 1);
        for (segment, bytes) in
            buffer.writable.iter().zip(cut(&buffer.content.answer(length), buffer.content.writable_lengths()))
        {
            guest::write(&self.memory.0, segment.address, &bytes);
        }
        self.device.add_used(&*self.memory.0, head, length).unwrap();
        self.answered = self.answered.wrapping_add(1);
        self.used.push_back((buffer, length));
    }

    fn notify_used(&mut self) {
        let needed = self.device.needs_notification(&*self.memory.0).unwrap();
        if self.has(feature::EVENT_IDX) {
            let event = self.field(Cell::UsedEvent);
            assert_eq!(needed, is_passed(event, self.interrupted, self.answered));
            assert!(self.driver_listens || !needed, "the driver asked for none");
        } else {
            assert!(needed, "without an event index the peer always notifies");
            assert_eq!(self.field(Cell::AvailableFlags) == 0, self.driver_listens);
        }
        assert!(needed || may_sleep(self.driver_sleeps, self.answered), "the driver sleeps on a used buffer");
        self.interrupted = self.answered;
        self.driver_sleeps = self.driver_sleeps.filter(|_| !needed);
    }

    fn reap(&mut self) {
        assert_eq!(self.driver.pending_used(&self.memory).unwrap() as usize, self.used.len());
        let used = self.driver.reap(&self.memory, &mut NoProbe).unwrap();
        let Some((buffer, length)) = self.used.pop_front() else {
            assert_eq!(used, None);
            return;
        };
        let content = buffer.content;
        assert_eq!(used.map(|used| (used.token, used.length)), Some((content.number, length)));
        let mut answer = content.answer(length);
        // What the device did not write is as it was.
        answer.resize(content.writable_bytes() as usize, 0);
        let read = buffer.writable.iter();
        let read: Vec<u8> =
            read.flat_map(|segment| guest::read(&self.memory.0, segment.address, segment.length)).collect();
        assert_eq!(read, answer);
        self.put_back(&buffer);
        self.came_back += 1;
    }

    fn driver_notifications(&mut self, wanted: bool) {
        self.driver_sleeps = None;
        self.driver_listens = wanted;
        if !wanted {
            return self.driver.disable_notifications(&self.memory).unwrap();
        }
        let pending = self.driver.enable_notifications(&self.memory).unwrap();
        assert_eq!(pending as usize, self.used.len());
        self.driver_sleeps = (pending == 0).then_some(self.answered);
    }

    fn device_notifications(&mut self, wanted: bool) {
        self.device_sleeps = None;
        if !wanted {
            return self.device.disable_notification(&*self.memory.0).unwrap();
        }
        let pending = self.device.enable_notification(&*self.memory.0).unwrap();
        assert_eq!(pending, !self.available.is_empty());
        self.device_sleeps = (!pending).then_some(self.published);
    }

    /// Whatever is in flight comes back, and the queue goes on from index 0.
    fn reset(&mut self) {
        let mut expected: Vec<Buffer> = self.placed.drain(..).chain(self.available.drain(..)).collect();
        expected.extend(self.taken.drain(..).map(|(_, buffer)| buffer));
        expected.extend(self.used.drain(..).map(|(buffer, _)| buffer));
        let mut returned = Vec::new();
        self.driver.reset(&self.memory, &mut NoProbe, |token| returned.push(token)).unwrap();
        let mut numbers: Vec<u64> = expected.iter().map(|buffer| buffer.content.number).collect();
        returned.sort_unstable();
        numbers.sort_unstable();
        assert_eq!(returned, numbers);
        self.came_back += returned.len() as u64;
        for buffer in &expected {
            self.put_back(buffer);
        }
        self.device.reset();
        self.device = peer(&QueueConfig { start_index: 0, ..self.config });
        (self.published, self.notified, self.answered, self.interrupted) = (0, 0, 0, 0);
        (self.device_sleeps, self.driver_sleeps, self.driver_listens) = (None, None, true);
    }
}

proptest! {
    #![proptest_config(cases::cases(200))]

    #[test]
    fn random_calls(
        size in 0..9_u32, strategy in any::<prop::sample::Index>(),
        features in prop::sample::subsequence(
            vec![feature::INDIRECT_DESC, feature::EVENT_IDX, feature::IN_ORDER], 0..=3,
        ),
        start in prop_oneof![Just(0), 65_400_u16..=65_535, any::<u16>()],
        operations in prop::collection::vec(operation::operation(), 0..500),
    ) {
        let strategy = *strategy.get(&strategies::every(1 << size));
        Run::new(1 << size, features.iter().sum(), start, strategy).all(&operations);
    }
}

/// Every index passes its end, from a fresh queue on.
#[test]
fn more_buffers_than_an_index_counts() {
    let features = feature::INDIRECT_DESC | feature::EVENT_IDX;
    let mut run = Run::new(4, features, 0, TableStrategy::ListCache { threshold: 4 });
    let round = [
        Operation::Add { readable: 1, writable: 1 },
        Operation::Publish,
        Operation::Notify,
        Operation::Pop,
        Operation::Complete { which: 0, length: 9 },
        Operation::NotifyUsed,
        Operation::Reap,
    ];
    for number in 0..66_000 {
        if number % 5 == 0 {
            run.step(Operation::DeviceNotifications(true));
            run.step(Operation::DriverNotifications(number % 2 == 0));
        }
        round.iter().for_each(|operation| run.step(*operation));
    }
    assert_eq!((run.came_back, run.driver.last_used()), (66_000, 464));
}
