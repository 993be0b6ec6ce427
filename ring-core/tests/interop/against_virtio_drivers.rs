//! Our device against the driver of rcore's `virtio-drivers`.
//!
//! The peer makes each buffer available at once, knows no reset, and takes a used buffer only by its name, so its user looks
//! which one is next. With an event index it asks for the next notification whenever it took a buffer, and cannot stop; and
//! it compares indices as if they never passed their end, so that it may owe the device a notification there, which is
//! counted below: a device that sleeps on an index near the end must not lean on this driver alone.

use crate::{
    cases,
    content::{Content, cut},
    guest,
    hal::{self, Bounce},
    is_passed, may_sleep, operation,
    operation::Operation,
    transport::Remember,
};
use proptest::prelude::*;
use ring_core::{
    QueueConfig, Side,
    device::{Chain, Device, SplitDevice},
    memory::VmMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature, split::Cell},
};
use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};
use virtio_drivers::{Error, queue::VirtQueue};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// The driver's own buffers, which stay where they are until they come back.
struct Buffer {
    content: Content,
    readable: Vec<Vec<u8>>,
    writable: Vec<Vec<u8>>,
}

struct Run<const SIZE: usize> {
    config: QueueConfig,
    memory: VmMemory<Rc<GuestMemoryMmap>>,
    driver: VirtQueue<Bounce, SIZE>,
    device: SplitDevice,
    chain: Chain,
    next_number: u64,
    // By the driver's token.
    in_flight: BTreeMap<u16, Buffer>,
    available: VecDeque<(u16, Content)>,
    taken: Vec<(u16, Content)>,
    completed: VecDeque<(u16, u32)>,
    used: VecDeque<(u16, u32)>,
    // Buffers made available, used, and come back, as the indices count them, and where they stood at the last look.
    published: u16,
    notified: u16,
    answered: u16,
    interrupted: u16,
    reaped: u16,
    // Where the indices stood when a side went to sleep with nothing to do.
    device_sleeps: Option<u16>,
    driver_sleeps: Option<u16>,
    driver_listens: bool,
    device_listens: bool,
    came_back: u64,
    // Notifications that the driver owed where an index passed its end.
    lost: u64,
}

impl<const SIZE: usize> Run<SIZE> {
    fn new(features: u64) -> Self {
        let memory = VmMemory(hal::start());
        let mut transport = Remember::default();
        let (indirect, event_index) =
            (features & feature::INDIRECT_DESC != 0, features & feature::EVENT_IDX != 0);
        let driver = VirtQueue::new(&mut transport, 0, indirect, event_index).unwrap();
        let [descriptor_area, driver_area, device_area] = transport.areas.unwrap();
        let layout = Layout { queue_size: SIZE as u16, descriptor_area, driver_area, device_area };
        let config = QueueConfig::new(layout, Features(features));
        Run {
            config,
            memory,
            driver,
            device: SplitDevice::new(&config).unwrap(),
            chain: Chain::default(),
            next_number: 0,
            in_flight: BTreeMap::new(),
            available: VecDeque::new(),
            taken: Vec::new(),
            completed: VecDeque::new(),
            used: VecDeque::new(),
            published: 0,
            notified: 0,
            answered: 0,
            interrupted: 0,
            reaped: 0,
            device_sleeps: None,
            driver_sleeps: None,
            driver_listens: true,
            device_listens: true,
            came_back: 0,
            lost: 0,
        }
    }

    fn all(mut self, operations: &[Operation]) {
        let home = operation::HOME.len() * (SIZE + 2);
        for operation in operations.iter().chain(operation::HOME.iter().cycle().take(home)) {
            self.step(*operation);
        }
        assert_eq!((self.came_back, self.lost), (self.next_number, 0), "every buffer came back");
        assert!(self.in_flight.is_empty() && hal::is_nothing_shared());
        assert_eq!(self.driver.available_desc(), SIZE);
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Add { readable, writable } => self.add(readable, writable),
            Operation::Notify => self.notify(),
            Operation::Peek => self.take_the_wrong_one(),
            Operation::Reap => self.reap(),
            Operation::DriverNotifications(wanted) => self.driver_notifications(wanted),
            Operation::Pop => self.pop(),
            Operation::Complete { which, length } => self.complete(which, length),
            Operation::CompleteBatch { count } => (0..count).for_each(|_| self.complete(0, u32::MAX)),
            Operation::PublishUsed => self.publish_used(),
            Operation::NotifyUsed => self.notify_used(),
            Operation::DeviceNotifications(wanted) => self.device_notifications(wanted),
            Operation::Restore(Side::Device) => {
                self.device = SplitDevice::restore(&self.config, self.device.snapshot()).unwrap();
            }
            // The peer publishes as it adds, and has neither a reset nor a snapshot.
            Operation::Publish | Operation::Reset | Operation::Restore(Side::Driver) => {}
        }
    }

    fn has(&self, feature: u64) -> bool {
        self.config.features.contains(feature)
    }

    fn field(&self, cell: Cell) -> u16 {
        self.memory.0.read_obj(GuestAddress(self.config.layout.address(cell))).unwrap()
    }

    fn add(&mut self, readable: usize, writable: usize) {
        let content = Content { number: self.next_number, readable, writable };
        let mut buffer = Buffer {
            content,
            readable: cut(&content.question(), content.readable_lengths()),
            writable: content.writable_lengths().map(|length| vec![0xee; length as usize]).collect(),
        };
        let readable: Vec<&[u8]> = buffer.readable.iter().map(|piece| &piece[..]).collect();
        let mut writable: Vec<&mut [u8]> = buffer.writable.iter_mut().map(|piece| &mut piece[..]).collect();
        // SAFETY: the pieces stay where they are, untouched, until the buffer is taken back with its token.
        match unsafe { self.driver.add(&readable, &mut writable) } {
            Ok(token) => {
                self.next_number += 1;
                self.published = self.published.wrapping_add(1);
                self.available.push_back((token, content));
                assert!(self.in_flight.insert(token, buffer).is_none(), "{token} is in flight");
            }
            Err(Error::InvalidParam) => assert_eq!(readable.len() + writable.len(), 0),
            Err(Error::QueueFull) => assert!(readable.len() + writable.len() > 0),
            Err(error) => panic!("{error}"),
        }
    }

    fn notify(&mut self) {
        let needed = self.driver.should_notify();
        if !self.has(feature::EVENT_IDX) {
            assert_eq!(needed, self.device_listens);
        } else if !needed && is_passed(self.field(Cell::AvailableEvent), self.notified, self.published) {
            // It takes an event that was passed for one still to come, since its number is larger.
            assert!(self.published <= self.field(Cell::AvailableEvent));
            self.lost += 1;
            self.device_sleeps = None;
        }
        assert!(needed || may_sleep(self.device_sleeps, self.published), "the device sleeps on a buffer");
        self.notified = self.published;
        self.device_sleeps = self.device_sleeps.filter(|_| !needed);
    }

    fn pop(&mut self) {
        let popped = self.device.pop(&self.memory, &mut NoProbe, &mut self.chain).unwrap();
        assert_eq!(popped, !self.available.is_empty());
        let Some((token, content)) = self.available.pop_front() else { return };
        assert_eq!(self.chain.head, token);
        let lengths: Vec<u32> = self.chain.readable().iter().map(|segment| segment.length).collect();
        assert_eq!(lengths, content.readable_lengths().collect::<Vec<_>>());
        let lengths: Vec<u32> = self.chain.writable().iter().map(|segment| segment.length).collect();
        assert_eq!(lengths, content.writable_lengths().collect::<Vec<_>>());
        let indirect = self.has(feature::INDIRECT_DESC) && self.chain.elements() > 1;
        assert_eq!(self.chain.table.is_some(), indirect);
        let read = self.chain.readable().iter();
        let read: Vec<u8> =
            read.flat_map(|segment| guest::read(&self.memory.0, segment.address, segment.length)).collect();
        assert_eq!(read, content.question());
        // Written now, completed at some time: in between only the device knows.
        for (segment, bytes) in self
            .chain
            .writable()
            .iter()
            .zip(cut(&content.answer(content.writable_bytes()), content.writable_lengths()))
        {
            guest::write(&self.memory.0, segment.address, &bytes);
        }
        self.taken.push((token, content));
    }

    fn complete(&mut self, which: usize, length: u32) {
        if self.taken.is_empty() {
            return;
        }
        let (token, content) = self.taken.remove(which % self.taken.len());
        let length = length % (content.writable_bytes() + 1);
        self.device.complete(&self.memory, &mut NoProbe, token, length).unwrap();
        self.completed.push_back((token, length));
    }

    fn publish_used(&mut self) {
        self.device.publish(&self.memory, &mut NoProbe).unwrap();
        self.answered = self.answered.wrapping_add(self.completed.len() as u16);
        self.used.append(&mut self.completed);
    }

    fn notify_used(&mut self) {
        let needed = self.device.notify(&self.memory, &mut NoProbe).unwrap().needed;
        let expected = if self.has(feature::EVENT_IDX) {
            is_passed(self.field(Cell::UsedEvent), self.interrupted, self.answered)
        } else {
            self.answered != self.interrupted && self.driver_listens
        };
        assert_eq!(needed, expected);
        assert!(needed || may_sleep(self.driver_sleeps, self.answered), "the driver sleeps on a used buffer");
        self.interrupted = self.answered;
        self.driver_sleeps = self.driver_sleeps.filter(|_| !needed);
    }

    fn reap(&mut self) {
        let next = self.driver.peek_used();
        assert_eq!(next, self.used.front().map(|(token, _)| *token));
        assert_eq!(self.driver.can_pop(), next.is_some());
        let Some((token, length)) = self.used.pop_front() else { return };
        let mut buffer = self.in_flight.remove(&token).unwrap();
        let readable: Vec<&[u8]> = buffer.readable.iter().map(|piece| &piece[..]).collect();
        let mut writable: Vec<&mut [u8]> = buffer.writable.iter_mut().map(|piece| &mut piece[..]).collect();
        // SAFETY: these are the pieces that were added under this token.
        let popped = unsafe { self.driver.pop_used(token, &readable, &mut writable) };
        assert_eq!(popped, Ok(length));
        let content = buffer.content;
        assert_eq!(buffer.writable.concat(), content.answer(content.writable_bytes()));
        self.came_back += 1;
        self.reaped = self.reaped.wrapping_add(1);
        if self.has(feature::EVENT_IDX) {
            // It has just asked for the next one, and sleeps if there is none yet.
            assert_eq!(self.field(Cell::UsedEvent), self.reaped);
            self.driver_sleeps = self.used.is_empty().then_some(self.answered);
        }
    }

    /// A buffer in flight that is not the next to come back is refused, and nothing changes.
    fn take_the_wrong_one(&mut self) {
        let next = self.driver.peek_used();
        let Some((token, buffer)) = self.in_flight.iter_mut().find(|(token, _)| Some(**token) != next) else {
            return;
        };
        let readable: Vec<&[u8]> = buffer.readable.iter().map(|piece| &piece[..]).collect();
        let mut writable: Vec<&mut [u8]> = buffer.writable.iter_mut().map(|piece| &mut piece[..]).collect();
        // SAFETY: these are the pieces that were added under this token.
        let popped = unsafe { self.driver.pop_used(*token, &readable, &mut writable) };
        assert_eq!(popped, Err(if next.is_some() { Error::WrongToken } else { Error::NotReady }));
    }

    fn driver_notifications(&mut self, wanted: bool) {
        if self.has(feature::EVENT_IDX) {
            // It has no way to say so then.
            return self.driver.set_dev_notify(wanted);
        }
        self.driver.set_dev_notify(wanted);
        self.driver_listens = wanted;
        self.driver_sleeps = (wanted && !self.driver.can_pop()).then_some(self.answered);
    }

    fn device_notifications(&mut self, wanted: bool) {
        self.device_sleeps = None;
        self.device_listens = wanted;
        if !wanted {
            return self.device.disable_notifications(&self.memory).unwrap();
        }
        let pending = self.device.enable_notifications(&self.memory).unwrap();
        assert_eq!(pending, !self.available.is_empty());
        self.device_sleeps = (!pending).then_some(self.published);
    }
}

proptest! {
    #![proptest_config(cases::cases(200))]

    #[test]
    fn random_calls(
        size in 1..9_u32,
        features in prop::sample::subsequence(vec![feature::INDIRECT_DESC, feature::EVENT_IDX], 0..=2),
        operations in prop::collection::vec(operation::operation(), 0..500),
    ) {
        let features = features.iter().sum();
        match size {
            1 => Run::<2>::new(features).all(&operations),
            2 => Run::<4>::new(features).all(&operations),
            3 => Run::<8>::new(features).all(&operations),
            4 => Run::<16>::new(features).all(&operations),
            5 => Run::<32>::new(features).all(&operations),
            6 => Run::<64>::new(features).all(&operations),
            7 => Run::<128>::new(features).all(&operations),
            _ => Run::<256>::new(features).all(&operations),
        }
    }
}

/// Every index passes its end, from a fresh queue on. Two buffers at once there are more than the driver's comparison can
/// do: with an event index it owes a notification that it does not send, that one and no other.
#[test]
fn more_buffers_than_an_index_counts() {
    let one = Operation::Add { readable: 2, writable: 0 };
    let back = [
        Operation::Pop,
        Operation::Complete { which: 0, length: 0 },
        Operation::PublishUsed,
        Operation::NotifyUsed,
        Operation::Reap,
    ];
    for features in [0, feature::INDIRECT_DESC | feature::EVENT_IDX] {
        let mut run = Run::<4>::new(features);
        let rounds = |run: &mut Run<4>, count, batch| {
            for _ in 0..count {
                run.step(Operation::DeviceNotifications(true));
                (0..batch).for_each(|_| run.step(one));
                run.step(Operation::Notify);
                (0..batch).flat_map(|_| back).for_each(|operation| run.step(operation));
            }
        };
        rounds(&mut run, 65_534, 1);
        assert_eq!((run.published, run.lost), (65_534, 0));
        rounds(&mut run, 1, 2);
        assert_eq!((run.published, run.lost), (0, u64::from(features & feature::EVENT_IDX != 0)));
        rounds(&mut run, 464, 1);
        assert_eq!((run.came_back, run.device.state().last_available), (66_000, 464));
        assert!(run.lost <= 1);
    }
}
