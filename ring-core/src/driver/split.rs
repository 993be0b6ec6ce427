//! The driver of a split ring (virtio 1.2, 2.7).

use super::{AddError, Driver, Notify, Used};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    fault::Place,
    indirect::{RingState, Table, TableSource},
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Layout, MAXIMUM_CHAIN_BYTES, Rule, descriptor_flag, event_crossed,
        feature,
        split::{Cell, available_flag, slot, used_flag},
    },
};
use alloc::vec::Vec;

/// A buffer that was added and has not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// What the caller gave to `add`.
    pub token: u64,
    /// Ring descriptors it holds.
    pub descriptors: u16,
    /// The table its elements stand in, if any.
    pub table: Option<Table>,
    /// Bytes the device may write, as far as a used length can say: at most 2^32 - 1.
    pub writable_bytes: u32,
    /// The available index it was placed at.
    pub available_at: u16,
}

/// What the driver knows that the device cannot see, for those who draw it. Indices run freely modulo 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitDriverState {
    /// Where the next buffer goes in the available ring.
    pub available_index: u16,
    /// avail.idx as last published.
    pub published_index: u16,
    /// avail.idx when a notification was last decided.
    pub notified_index: u16,
    /// The next used element to reap.
    pub last_used: u16,
    /// First free descriptor; meaningless if none is free.
    pub free_head: u16,
    /// Free descriptors.
    pub free: u16,
    /// Whether the driver asks to be notified.
    pub notifications: bool,
}

/// Places buffers into a split ring and gets them back.
///
/// Plain data: memory and probe are handed to each call, so the same driver runs on shared memory, and again on
/// a copy of it.
#[derive(Clone, Debug)]
pub struct SplitDriver<T> {
    layout: Layout,
    indirect: bool,
    event_index: bool,
    tables: T,
    // The links of the ring's descriptors, free or not. The device could write those in memory.
    next: Vec<u16>,
    in_flight: Vec<Option<InFlight>>,
    state: SplitDriverState,
    // used.idx as last read.
    used_seen: u16,
    broken: Option<Fault>,
}

impl<T: TableSource> SplitDriver<T> {
    /// The driver of a fresh queue: its memory is zeroed and, with a start index, [initialised](QueueConfig::initialise).
    pub fn new(config: &QueueConfig, tables: T) -> Result<Self, ConfigError> {
        config.check()?;
        let size = config.layout.queue_size;
        let start = config.start_index;
        Ok(SplitDriver {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            tables,
            next: (1..=size).collect(),
            in_flight: (0..size).map(|_| None).collect(),
            state: SplitDriverState {
                available_index: start,
                published_index: start,
                notified_index: start,
                last_used: start,
                free_head: 0,
                free: size,
                notifications: true,
            },
            used_seen: start,
            broken: None,
        })
    }

    /// Number of elements and writable bytes, or why the buffer is refused.
    #[inline]
    fn measure(&self, readable: &[Segment], writable: &[Segment]) -> Result<(u16, u32), AddError> {
        let elements = readable.len() + writable.len();
        if elements == 0 {
            return Err(refused(Rule::NonEmpty, 0, "at least one element"));
        }
        if elements > self.layout.queue_size as usize {
            return Err(refused(Rule::TooLong, elements as u64, "no more elements than the queue size"));
        }
        let bytes = |list: &[Segment]| list.iter().map(|segment| segment.length as u64).sum::<u64>();
        let writable_bytes = bytes(writable);
        let total = writable_bytes + bytes(readable);
        if total > MAXIMUM_CHAIN_BYTES {
            return Err(refused(Rule::TooLong, total, "at most 2^32 bytes in total"));
        }
        Ok((elements as u16, writable_bytes.min(u32::MAX as u64) as u32))
    }

    #[inline]
    fn fill_table<M: Memory>(
        &mut self,
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(), Fault> {
        let last = (readable.len() + writable.len() - 1) as u16;
        let mut address = table.address;
        for (index, (segment, flags)) in elements(readable, writable).enumerate() {
            let index = index as u16;
            let (flags, next) =
                if index == last { (flags, 0) } else { (flags | descriptor_flag::NEXT, index + 1) };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            memory.store_words(address, descriptor.to_words())?;
            address += DESCRIPTOR_SIZE as u64;
        }
        let head = self.state.free_head;
        let descriptor = Descriptor {
            address: table.address,
            length: (last as u32 + 1) * DESCRIPTOR_SIZE,
            flags: descriptor_flag::INDIRECT,
            next: 0,
        };
        memory.store_words(self.layout.address(Cell::Descriptor(head)), descriptor.to_words())?;
        self.state.free_head = self.next[head as usize];
        Ok(())
    }

    #[inline]
    fn fill_ring<M: Memory>(
        &mut self,
        memory: &M,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(), Fault> {
        let mut remaining = readable.len() + writable.len();
        let mut slot = self.state.free_head;
        for (segment, flags) in elements(readable, writable) {
            remaining -= 1;
            let following = self.next[slot as usize];
            let (flags, next) =
                if remaining == 0 { (flags, 0) } else { (flags | descriptor_flag::NEXT, following) };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            memory.store_words(self.layout.address(Cell::Descriptor(slot)), descriptor.to_words())?;
            slot = following;
        }
        self.state.free_head = slot;
        Ok(())
    }

    #[inline]
    fn is_published(&self, available_at: u16) -> bool {
        let unpublished = self.state.available_index.wrapping_sub(self.state.published_index);
        self.state.available_index.wrapping_sub(available_at) > unpublished
    }

    /// Puts the buffer's descriptors at the head of the free list, and its table where it came from.
    #[inline]
    fn release<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        buffer: InFlight,
    ) -> Result<(), Fault> {
        let mut last = head;
        for _ in 1..buffer.descriptors {
            last = self.next[last as usize];
        }
        self.next[last as usize] = self.state.free_head;
        self.state.free_head = head;
        self.state.free += buffer.descriptors;
        self.in_flight[head as usize] = None;
        match buffer.table {
            Some(table) => {
                self.tables.put_back(memory, probe, table).inspect_err(|fault| self.broken = Some(*fault))
            }
            None => Ok(()),
        }
    }

    /// After the device was reset: the token of a buffer it still had, or `None` when there is no more. Works on a
    /// broken queue too.
    pub fn detach<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Option<u64> {
        let head = self.in_flight.iter().position(Option::is_some)?;
        let buffer = self.in_flight[head].take()?;
        // A table that cannot be put back is lost with the queue, the buffer is not.
        let _ = self.release(memory, probe, head as u16, buffer);
        Some(buffer.token)
    }

    /// The private counters.
    pub fn state(&self) -> SplitDriverState {
        self.state
    }

    /// Buffers in flight, with the descriptor that starts each.
    pub fn in_flight(&self) -> impl Iterator<Item = (u16, &InFlight)> {
        self.in_flight.iter().enumerate().filter_map(|(head, buffer)| Some((head as u16, buffer.as_ref()?)))
    }

    /// The free descriptors in the order in which they will be taken.
    pub fn free_list(&self) -> impl Iterator<Item = u16> + '_ {
        self.links(self.state.free_head, self.state.free)
    }

    /// The descriptors that a buffer in flight holds, first to last.
    pub fn descriptors_of(&self, head: u16) -> impl Iterator<Item = u16> + '_ {
        let buffer = self.in_flight.get(head as usize).and_then(Option::as_ref);
        self.links(head, buffer.map_or(0, |buffer| buffer.descriptors))
    }

    fn links(&self, first: u16, count: u16) -> impl Iterator<Item = u16> + '_ {
        let next = |slot: &u16| self.next.get(*slot as usize).copied();
        core::iter::successors(Some(first), next).take(count as usize)
    }

    /// The table strategy.
    pub fn tables(&self) -> &T {
        &self.tables
    }

    /// Why the queue is broken, if it is.
    pub fn broken(&self) -> Option<Fault> {
        self.broken
    }

    #[inline]
    fn check_broken(&self) -> Result<(), Fault> {
        match self.broken {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    #[cold]
    fn break_with(&mut self, rule: Rule, cell: Cell, found: u64, expected: &'static str) -> Fault {
        let fault = Fault::rule(rule, Place::Ring(cell), found, expected);
        self.broken = Some(fault);
        fault
    }
}

impl<T: TableSource> Driver for SplitDriver<T> {
    #[inline]
    fn add<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError> {
        self.check_broken()?;
        let (elements, writable_bytes) = self.measure(readable, writable)?;
        let free = self.state.free;
        if free == 0 {
            return Err(AddError::Full { needed: 1, free });
        }
        let table = if self.indirect && elements > 1 {
            let ring = RingState { size: self.layout.queue_size, free };
            self.tables.take(memory, probe, elements, ring).inspect_err(|fault| self.broken = Some(*fault))?
        } else {
            None
        };
        let head = self.state.free_head;
        let descriptors = match table {
            Some(table) => {
                if let Err(fault) = self.fill_table(memory, table, readable, writable) {
                    self.tables.put_back(memory, probe, table)?;
                    return Err(fault.into());
                }
                1
            }
            None if elements > free => return Err(AddError::Full { needed: elements, free }),
            None => {
                self.fill_ring(memory, readable, writable)?;
                elements
            }
        };
        let state = &mut self.state;
        self.in_flight[head as usize] =
            Some(InFlight { token, descriptors, table, writable_bytes, available_at: state.available_index });
        state.free -= descriptors;
        let entry = self.layout.address(Cell::AvailableEntry(slot(&self.layout, state.available_index)));
        memory.store_u16(entry, head, Ordering::Relaxed)?;
        state.available_index = state.available_index.wrapping_add(1);
        probe.event(Event::Placed { head, descriptors, table });
        Ok(head)
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.check_broken()?;
        let (from, to) = (self.state.published_index, self.state.available_index);
        if from == to {
            return Ok(());
        }
        // 2.7.13.3.1: descriptors and ring entries are visible before the index that covers them, hence Release.
        memory.store_u16(self.layout.address(Cell::AvailableIndex), to, Ordering::Release)?;
        self.state.published_index = to;
        probe.event(Event::Published { from, to });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.check_broken()?;
        // 2.7.13.4.1: the index is visible before the device's wish is read. The device does the two in the other
        // order, so without a full barrier on both sides each could miss the other.
        memory.fence(Ordering::SeqCst);
        let (from, to) = (self.state.notified_index, self.state.published_index);
        let wish = if self.event_index { Cell::AvailableEvent } else { Cell::UsedFlags };
        let seen = memory.load_u16(self.layout.address(wish), Ordering::Relaxed)?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !used_flag::NO_NOTIFY != 0 {
            return Err(self.break_with(Rule::SplitUsedFlags, Cell::UsedFlags, seen.into(), "0 or 1"));
        } else {
            seen == 0 && from != to
        };
        self.state.notified_index = to;
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    #[inline]
    fn pending_used<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.check_broken()?;
        // Acquire pairs with the device's release: entries are read after the index that covers them (2.7.14).
        let index = memory.load_u16(self.layout.address(Cell::UsedIndex), Ordering::Acquire)?;
        let state = &self.state;
        let pending = index.wrapping_sub(state.last_used);
        // Neither past what was published, nor behind what it already was.
        if pending > state.published_index.wrapping_sub(state.last_used)
            || pending < self.used_seen.wrapping_sub(state.last_used)
        {
            let expected = "an index that only grows, up to avail.idx";
            return Err(self.break_with(Rule::SplitUsedIndex, Cell::UsedIndex, index.into(), expected));
        }
        self.used_seen = index;
        Ok(pending)
    }

    #[inline]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        if self.used_seen == self.state.last_used && self.pending_used(memory)? == 0 {
            return Ok(None);
        }
        self.check_broken()?;
        let cell = Cell::UsedEntry(slot(&self.layout, self.state.last_used));
        let entry = self.layout.address(cell);
        let id = memory.load_u32(entry)?;
        let length = memory.load_u32(entry + 4)?;
        let buffer = match self.in_flight.get(id as usize) {
            // A buffer that was placed but not published is not the device's to use.
            Some(Some(buffer)) if self.is_published(buffer.available_at) => *buffer,
            _ => {
                return Err(self.break_with(Rule::UsedId, cell, id.into(), "the head of a buffer in flight"));
            }
        };
        if length > buffer.writable_bytes {
            let expected = "no more than the buffer's writable bytes";
            return Err(self.break_with(Rule::UsedLength, cell, length.into(), expected));
        }
        let head = id as u16;
        self.release(memory, probe, head, buffer)?;
        self.state.last_used = self.state.last_used.wrapping_add(1);
        probe.event(Event::Reaped { head, descriptors: buffer.descriptors, length });
        Ok(Some(Used { token: buffer.token, head, length }))
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.check_broken()?;
        self.state.notifications = false;
        if self.event_index {
            // 2.7.7.1 keeps flags 0. An event just passed is not crossed again before 2^16 - 1 more elements.
            let passed = self.state.last_used.wrapping_sub(1);
            Ok(memory.store_u16(self.layout.address(Cell::UsedEvent), passed, Ordering::Relaxed)?)
        } else {
            let flags = available_flag::NO_INTERRUPT;
            Ok(memory.store_u16(self.layout.address(Cell::AvailableFlags), flags, Ordering::Relaxed)?)
        }
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.check_broken()?;
        self.state.notifications = true;
        if self.event_index {
            let next = self.state.last_used;
            memory.store_u16(self.layout.address(Cell::UsedEvent), next, Ordering::Relaxed)?;
        } else {
            memory.store_u16(self.layout.address(Cell::AvailableFlags), 0, Ordering::Relaxed)?;
        }
        // The wish is visible before used.idx is read again; the device does the two in the other order.
        memory.fence(Ordering::SeqCst);
        self.pending_used(memory)
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, mut each: impl FnMut(u16, u32)) -> Result<(), Fault> {
        for ahead in 0..self.pending_used(memory)? {
            let slot = slot(&self.layout, self.state.last_used.wrapping_add(ahead));
            let entry = self.layout.address(Cell::UsedEntry(slot));
            each(memory.load_u32(entry)? as u16, memory.load_u32(entry + 4)?);
        }
        Ok(())
    }

    fn last_used(&self) -> u16 {
        self.state.last_used
    }
}

/// Every element with its `WRITE` flag or none.
#[inline]
fn elements<'a>(
    readable: &'a [Segment],
    writable: &'a [Segment],
) -> impl Iterator<Item = (Segment, u16)> + 'a {
    let readable = readable.iter().map(|segment| (*segment, 0));
    readable.chain(writable.iter().map(|segment| (*segment, descriptor_flag::WRITE)))
}

#[cold]
fn refused(rule: Rule, found: u64, expected: &'static str) -> AddError {
    AddError::Refused(Fault::rule(rule, Place::Call, found, expected))
}
