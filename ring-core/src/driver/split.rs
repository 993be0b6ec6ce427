//! The driver of a split ring (virtio 1.2, 2.7).

use super::{
    AddError, Driver, InFlight, Notify, Used,
    buffers::{Buffers, Plan},
    for_each_element,
};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    fault::Place,
    indirect::{Table, TableSource},
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Format, Layout, Rule, descriptor_flag, event_crossed, feature,
        split::{Cell, available_flag, slot, used_flag},
    },
};
use alloc::vec::Vec;

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
    event_index: bool,
    buffers: Buffers<T>,
    // The links of the ring's descriptors, free or not. The device could write those in memory.
    next: Vec<u16>,
    // The last descriptor of the buffer that starts at each, so that freeing it does not follow the links.
    last: Vec<u16>,
    free_head: u16,
    free: u16,
    notified: u16,
    notifications: bool,
    // used.idx as last read.
    used_seen: u16,
}

/// Where a buffer's descriptors end: its last one, and the one that is free behind it.
#[derive(Clone, Copy)]
struct Links {
    last: u16,
    following: u16,
}

impl<T: TableSource> SplitDriver<T> {
    /// The driver of a fresh queue: its memory is zeroed and, with a start index,
    /// [initialised](QueueConfig::initialise).
    pub fn new(config: &QueueConfig, tables: T) -> Result<Self, ConfigError> {
        config.check_format(Format::Split)?;
        let size = config.layout.queue_size;
        Ok(SplitDriver {
            layout: config.layout,
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: Buffers::new(config, tables),
            next: (0..size).map(|slot| (slot + 1) % size).collect(),
            last: (0..size).collect(),
            free_head: 0,
            free: size,
            notified: config.start_index,
            notifications: true,
            used_seen: config.start_index,
        })
    }

    #[inline(always)]
    fn fill_table<M: Memory>(
        &self,
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(), Fault> {
        let mut address = table.address;
        let mut entries = 0_u16;
        for_each_element(readable, writable, |segment, flags| {
            entries += 1;
            let next = if flags & descriptor_flag::NEXT != 0 { entries } else { 0 };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            memory.store_words(address, descriptor.to_words())?;
            address += DESCRIPTOR_SIZE as u64;
            Ok(())
        })?;
        let descriptor = Descriptor {
            address: table.address,
            length: entries as u32 * DESCRIPTOR_SIZE,
            flags: descriptor_flag::INDIRECT,
            next: 0,
        };
        Ok(memory
            .store_words(self.layout.address(Cell::Descriptor(self.free_head)), descriptor.to_words())?)
    }

    #[inline(always)]
    fn fill_ring<M: Memory>(
        &self,
        memory: &M,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<Links, Fault> {
        let mut links = Links { last: self.free_head, following: self.free_head };
        for_each_element(readable, writable, |segment, flags| {
            let slot = links.following;
            let following = self.next[slot as usize];
            let next = if flags & descriptor_flag::NEXT != 0 { following } else { 0 };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            memory.store_words(self.layout.address(Cell::Descriptor(slot)), descriptor.to_words())?;
            links = Links { last: slot, following };
            Ok(())
        })?;
        Ok(links)
    }

    /// Writes the buffer and its available entry. Nothing private has changed if it fails.
    #[inline(always)]
    fn place<M: Memory>(
        &self,
        memory: &M,
        plan: &Plan,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<Links, Fault> {
        let links = match plan.table {
            Some(table) => {
                self.fill_table(memory, table, readable, writable)?;
                Links { last: self.free_head, following: self.next[self.free_head as usize] }
            }
            None => self.fill_ring(memory, readable, writable)?,
        };
        let entry = self.layout.address(Cell::AvailableEntry(slot(&self.layout, self.buffers.added)));
        memory.store_u16(entry, self.free_head, Ordering::Relaxed)?;
        Ok(links)
    }

    /// Puts a buffer's descriptors at the head of the free list. With `IN_ORDER` they are taken in ring order and come
    /// back in it, so that the links never change.
    #[inline(always)]
    fn free_descriptors(&mut self, head: u16, count: u16) {
        self.free += count;
        if self.buffers.in_order {
            return;
        }
        let last = self.last[head as usize];
        self.next[last as usize] = self.free_head;
        self.free_head = head;
    }

    /// The private counters.
    pub fn state(&self) -> SplitDriverState {
        SplitDriverState {
            available_index: self.buffers.added,
            published_index: self.buffers.published,
            notified_index: self.notified,
            last_used: self.buffers.reaped,
            free_head: self.free_head,
            free: self.free,
            notifications: self.notifications,
        }
    }

    /// Buffers in flight, with the descriptor that starts each.
    pub fn in_flight(&self) -> impl Iterator<Item = (u16, &InFlight)> {
        self.buffers.in_flight()
    }

    /// The free descriptors in the order in which they will be taken.
    pub fn free_list(&self) -> impl Iterator<Item = u16> + '_ {
        self.links(self.free_head, self.free)
    }

    /// The descriptors that a buffer in flight holds, first to last.
    pub fn descriptors_of(&self, head: u16) -> impl Iterator<Item = u16> + '_ {
        self.links(head, self.buffers.get(head).map_or(0, |buffer| buffer.descriptors))
    }

    fn links(&self, first: u16, count: u16) -> impl Iterator<Item = u16> + '_ {
        let next = |slot: &u16| self.next.get(*slot as usize).copied();
        core::iter::successors(Some(first), next).take(count as usize)
    }

    /// The table strategy.
    pub fn tables(&self) -> &T {
        self.buffers.tables()
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
        let plan = self.buffers.plan(memory, probe, readable, writable, self.free, self.free_head)?;
        let links = match self.place(memory, &plan, readable, writable) {
            Ok(links) => links,
            Err(fault) => return Err(self.buffers.unwind(memory, probe, self.free_head, &plan, fault)),
        };
        let head = core::mem::replace(&mut self.free_head, links.following);
        self.last[head as usize] = links.last;
        self.free -= plan.descriptors();
        self.buffers.insert(probe, head, token, &plan);
        Ok(head)
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let (from, to) = (self.buffers.published, self.buffers.added);
        if from == to {
            return Ok(());
        }
        // 2.7.13.3.1: descriptors and ring entries are visible before the index that covers them, hence Release.
        memory.store_u16(self.layout.address(Cell::AvailableIndex), to, Ordering::Release)?;
        self.buffers.published = to;
        probe.event(Event::Published { from, to });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.buffers.check_broken()?;
        // 2.7.13.4.1: the index is visible before the device's wish is read. The device does the two in the other
        // order, so without a full barrier on both sides each could miss the other.
        memory.fence(Ordering::SeqCst);
        let (from, to) = (self.notified, self.buffers.published);
        let wish = if self.event_index { Cell::AvailableEvent } else { Cell::UsedFlags };
        let seen = memory.load_u16(self.layout.address(wish), Ordering::Relaxed)?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !used_flag::NO_NOTIFY != 0 {
            return Err(self.buffers.break_with(Rule::SplitUsedFlags, Place::Ring(wish), seen, "0 or 1"));
        } else {
            seen == 0 && from != to
        };
        self.notified = to;
        let seen = seen.into();
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    #[inline]
    fn pending_used<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.buffers.check_broken()?;
        // Acquire pairs with the device's release: entries are read after the index that covers them (2.7.14).
        let index = memory.load_u16(self.layout.address(Cell::UsedIndex), Ordering::Acquire)?;
        let last_used = self.buffers.reaped;
        let pending = index.wrapping_sub(last_used);
        // Neither past what was published, nor behind what it already was.
        if pending > self.buffers.published.wrapping_sub(last_used)
            || pending < self.used_seen.wrapping_sub(last_used)
        {
            let (place, expected) =
                (Place::Ring(Cell::UsedIndex), "an index that only grows, up to avail.idx");
            return Err(self.buffers.break_with(Rule::SplitUsedIndex, place, index, expected));
        }
        self.used_seen = index;
        Ok(pending)
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, mut each: impl FnMut(u16, u32, u16)) -> Result<(), Fault> {
        let pending = self.pending_used(memory)?;
        let (mut passed, _) = self.buffers.left_of_batch();
        while passed < pending {
            let slot = slot(&self.layout, self.buffers.reaped.wrapping_add(passed));
            let entry = self.layout.address(Cell::UsedEntry(slot));
            let (id, length) = (memory.load_u32(entry)? as u16, memory.load_u32(entry + 4)?);
            let (buffers, _) = self.buffers.stands_for(id, passed).unwrap_or((1, 1));
            each(id, length, buffers);
            passed += buffers;
        }
        Ok(())
    }

    #[inline]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        let last_used = self.buffers.reaped;
        if self.used_seen == last_used && self.pending_used(memory)? == 0 {
            return Ok(None);
        }
        self.buffers.check_broken()?;
        let (head, buffer, length) = match self.buffers.next_of_batch() {
            Some(next) => next,
            None => {
                let cell = Cell::UsedEntry(slot(&self.layout, last_used));
                let entry = self.layout.address(cell);
                let [id, length] = memory.load_singles(entry)?;
                let visible = self.used_seen.wrapping_sub(last_used);
                self.buffers.next_used(|| Place::Ring(cell), id, length, visible)?
            }
        };
        self.free_descriptors(head, buffer.descriptors);
        self.buffers.remove(memory, probe, head, &buffer, length).map(Some)
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        self.notifications = false;
        if self.event_index {
            // 2.7.7.1 keeps flags 0. An event just passed is not crossed again before 2^16 - 1 more elements.
            let passed = self.buffers.reaped.wrapping_sub(1);
            Ok(memory.store_u16(self.layout.address(Cell::UsedEvent), passed, Ordering::Relaxed)?)
        } else {
            let flags = available_flag::NO_INTERRUPT;
            Ok(memory.store_u16(self.layout.address(Cell::AvailableFlags), flags, Ordering::Relaxed)?)
        }
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.buffers.check_broken()?;
        self.notifications = true;
        if self.event_index {
            let next = self.buffers.reaped;
            memory.store_u16(self.layout.address(Cell::UsedEvent), next, Ordering::Relaxed)?;
        } else {
            memory.store_u16(self.layout.address(Cell::AvailableFlags), 0, Ordering::Relaxed)?;
        }
        // The wish is visible before used.idx is read again; the device does the two in the other order.
        memory.fence(Ordering::SeqCst);
        self.pending_used(memory)
    }

    fn last_used(&self) -> u16 {
        self.buffers.reaped
    }

    fn next_available(&self) -> u16 {
        self.buffers.published
    }

    fn free(&self) -> u16 {
        self.free
    }

    fn broken(&self) -> Option<Fault> {
        self.buffers.broken
    }

    fn reset<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        returned: impl FnMut(u64),
    ) -> Result<(), Fault> {
        let size = self.layout.queue_size;
        self.next.iter_mut().zip(1..).for_each(|(next, slot)| *next = slot % size);
        (self.free_head, self.free) = (0, size);
        (self.notified, self.used_seen) = (0, 0);
        self.notifications = true;
        self.buffers.restart(memory, probe, self.layout.areas(Format::Split), returned)
    }
}
