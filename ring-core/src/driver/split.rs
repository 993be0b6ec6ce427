//! The driver of a split ring (virtio 1.2, 2.7).

mod snapshot;

pub use snapshot::SplitDriverSnapshot;

use super::{
    AddError, Driver, InFlight, Notify, Used, UsedElement,
    buffers::{Buffers, Bytes, Named, Plan},
    for_each_element,
};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    fault::Place,
    indirect::{Table, TableSource},
    memory::{Descriptors, Memory, Ordering, OutOfRange},
    probe::{Event, Probe},
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Format, Layout, Rule, descriptor_flag, event_crossed, far_event,
        feature,
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

    /// Writes the buffer's elements into a table, and the descriptor that refers to it into the ring.
    #[inline(always)]
    fn fill_table<M: Memory>(
        &self,
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Links, Bytes), Fault> {
        let entries = memory.descriptors(table.address, table.entries.into())?;
        let mut entry = 0_u16;
        let bytes = for_each_element(readable, writable, |segment, flags| {
            let next = if flags & descriptor_flag::NEXT != 0 { entry + 1 } else { 0 };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            let stored = entries.store(entry.into(), descriptor.to_words());
            entry += 1;
            stored.ok_or_else(|| lost(table.address))
        })?;
        Ok((self.refer_to_table(memory, table, entry)?, bytes))
    }

    /// The same for a table whose entries' `next` is there already.
    #[inline(always)]
    fn fill_chained_table<M: Memory>(
        &self,
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Links, Bytes), Fault> {
        let entries = memory.descriptors(table.address, table.entries.into())?;
        let mut entry = 0_u16;
        let bytes = for_each_element(readable, writable, |segment, flags| {
            entries.store_first(entry.into(), segment.address).ok_or_else(|| lost(table.address))?;
            let second = table.address + u64::from(entry) * u64::from(DESCRIPTOR_SIZE) + 8;
            entry += 1;
            memory.store_u32(second, segment.length)?;
            Ok(memory.store_u16(second + 4, flags, Ordering::Relaxed)?)
        })?;
        Ok((self.refer_to_table(memory, table, entry)?, bytes))
    }

    /// Writes the descriptor of a table with so many entries in use.
    #[inline(always)]
    fn refer_to_table<M: Memory>(&self, memory: &M, table: Table, entries: u16) -> Result<Links, Fault> {
        let head = self.free_head;
        let descriptor = Descriptor {
            address: table.address,
            length: entries as u32 * DESCRIPTOR_SIZE,
            flags: descriptor_flag::INDIRECT,
            next: 0,
        };
        memory.store_words(self.layout.address(Cell::Descriptor(head)), descriptor.to_words())?;
        let following = self.next.get(head as usize).copied().unwrap_or_default();
        Ok(Links { last: head, following })
    }

    /// Writes the buffer's elements into free descriptors of the ring.
    #[inline(always)]
    fn fill_ring<M: Memory>(
        &self,
        memory: &M,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Links, Bytes), Fault> {
        let ring = memory.descriptors(self.layout.descriptor_area, self.layout.queue_size.into())?;
        let mut links = Links { last: self.free_head, following: self.free_head };
        let bytes = for_each_element(readable, writable, |segment, flags| {
            let slot = links.following;
            let following = self.next.get(slot as usize).copied().unwrap_or_default();
            let next = if flags & descriptor_flag::NEXT != 0 { following } else { 0 };
            let descriptor = Descriptor { address: segment.address, length: segment.length, flags, next };
            links = Links { last: slot, following };
            let stored = ring.store(slot.into(), descriptor.to_words());
            stored.ok_or_else(|| lost(self.layout.address(Cell::Descriptor(slot))))
        })?;
        Ok((links, bytes))
    }

    /// Writes the buffer and its available entry. Nothing private has changed if it fails.
    #[inline(always)]
    fn place<M: Memory>(
        &self,
        memory: &M,
        plan: &Plan,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Links, u32), AddError> {
        let (links, bytes) = match plan.table {
            Some(table) if self.buffers.strategy().is_chained(table) => {
                self.fill_chained_table(memory, table, readable, writable)?
            }
            Some(table) => self.fill_table(memory, table, readable, writable)?,
            None => self.fill_ring(memory, readable, writable)?,
        };
        let writable_bytes = bytes.check()?;
        let entry = self.layout.address(Cell::AvailableEntry(slot(&self.layout, self.buffers.added)));
        memory.store_u16(entry, self.free_head, Ordering::Relaxed)?;
        Ok((links, writable_bytes))
    }

    /// Puts a buffer's descriptors at the head of the free list.
    #[inline(always)]
    fn free_descriptors(&mut self, head: u16) {
        if let Some(last) = self.last.get(head as usize)
            && let Some(next) = self.next.get_mut(*last as usize)
        {
            *next = core::mem::replace(&mut self.free_head, head);
        }
    }

    /// Reads used.idx and checks it.
    #[inline(always)]
    fn look<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        // Acquire pairs with the device's release: entries are read after the index that covers them (2.7.14).
        let index = memory.load_u16(self.layout.address(Cell::UsedIndex), Ordering::Acquire)?;
        let last_used = self.buffers.reaped;
        let pending = index.wrapping_sub(last_used);
        // Neither past what was published, nor behind what it already was.
        if pending > self.buffers.published.wrapping_sub(last_used)
            || pending < self.used_seen.wrapping_sub(last_used)
        {
            return Err(wrong_index(index));
        }
        self.used_seen = index;
        Ok(pending)
    }

    /// The next buffer that comes back, if there is one.
    #[inline(always)]
    fn next_used<M: Memory>(&mut self, memory: &M) -> Result<Option<Named>, Fault> {
        let last_used = self.buffers.reaped;
        if self.used_seen == last_used && self.look(memory)? == 0 {
            return Ok(None);
        }
        let cell = Cell::UsedEntry(slot(&self.layout, last_used));
        let [id, length] = memory.load_singles(self.layout.address(cell))?;
        self.buffers.named(|| Place::Ring(cell), id, length, false).map(Some)
    }

    /// The same with `IN_ORDER`: of what one used element stands for, one at a time.
    #[inline(never)]
    fn next_in_order<M: Memory>(&mut self, memory: &M) -> Result<Option<Named>, Fault> {
        if let Some(next) = self.buffers.next_of_batch() {
            return Ok(Some(next));
        }
        let Some(named) = self.next_used(memory)? else { return Ok(None) };
        let last_used = self.buffers.reaped;
        let place = Place::Ring(Cell::UsedEntry(slot(&self.layout, last_used)));
        let visible = self.used_seen.wrapping_sub(last_used);
        self.buffers.first_of_batch(place, named, visible).map(Some)
    }

    /// Writes what the driver wants of notifications.
    fn wish<M: Memory>(&mut self, memory: &M, value: u16) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let cell = if self.event_index { Cell::UsedEvent } else { Cell::AvailableFlags };
        let stored = memory.store_u16(self.layout.address(cell), value, Ordering::Relaxed);
        stored.map_err(|outside| self.buffers.break_for(outside.into()))
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
    pub fn in_flight(&self) -> impl Iterator<Item = (u16, InFlight)> {
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

    /// From now on the caller runs on this NUMA node, see [`TableSource::run_on`].
    pub fn run_on(&mut self, node: u16) {
        self.buffers.run_on(node);
    }

    /// The table strategy.
    pub fn tables(&self) -> &T {
        self.buffers.strategy()
    }
}

/// A descriptor that cannot be reached, though its run was found to lie in memory.
#[cold]
#[inline(never)]
fn lost(address: u64) -> Fault {
    OutOfRange { address, length: DESCRIPTOR_SIZE.into() }.into()
}

#[cold]
#[inline(never)]
fn wrong_index(index: u16) -> Fault {
    let expected = "an index that only grows, up to avail.idx";
    Fault::rule(Rule::SplitUsedIndex, Place::Ring(Cell::UsedIndex), index, expected)
}

impl<T: TableSource> Driver for SplitDriver<T> {
    #[inline(always)]
    fn add<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError> {
        let head = self.free_head;
        let plan = self.buffers.plan(memory, probe, readable.len() + writable.len(), self.free, head)?;
        let (links, writable_bytes) = match self.place(memory, &plan, readable, writable) {
            Ok(placed) => placed,
            Err(error) => return Err(self.buffers.unwind(memory, probe, head, plan, error)),
        };
        self.free_head = links.following;
        if let Some(last) = self.last.get_mut(head as usize) {
            *last = links.last;
        }
        self.free -= plan.descriptors();
        self.buffers.insert(probe, head, token, writable_bytes, &plan);
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
        let stored = memory.store_u16(self.layout.address(Cell::AvailableIndex), to, Ordering::Release);
        stored.map_err(|outside| self.buffers.break_for(outside.into()))?;
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
        let loaded = memory.load_u16(self.layout.address(wish), Ordering::Relaxed);
        let seen = loaded.map_err(|outside| self.buffers.break_for(outside.into()))?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !used_flag::NO_NOTIFY != 0 {
            let fault = Fault::rule(Rule::SplitUsedFlags, Place::Ring(wish), seen, "0 or 1");
            return Err(self.buffers.break_for(fault));
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
        self.look(memory).map_err(|fault| self.buffers.break_for(fault))
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, mut each: impl FnMut(UsedElement)) -> Result<(), Fault> {
        let pending = self.pending_used(memory)?;
        let (mut passed, _) = self.buffers.left_of_batch();
        while passed < pending {
            let slot = slot(&self.layout, self.buffers.reaped.wrapping_add(passed));
            let [id, length] = memory.load_singles(self.layout.address(Cell::UsedEntry(slot)))?;
            // With a wrong id there is no telling what the next one stands for; reaping finds the fault.
            let named = u16::try_from(id).ok().and_then(|id| self.buffers.stands_for(id, passed));
            let Some((buffers, _)) = named else {
                each(UsedElement { id, length, buffers: 1, flags: 0 });
                break;
            };
            each(UsedElement { id, length, buffers, flags: 0 });
            passed += buffers;
        }
        Ok(())
    }

    #[inline(always)]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        self.buffers.check_broken()?;
        if self.buffers.in_order {
            // Descriptors are taken in ring order and come back in it, so that the links never change.
            let named = self.next_in_order(memory).map_err(|fault| self.buffers.break_for(fault))?;
            let Some(named) = named else { return Ok(None) };
            self.free += named.descriptors();
            return Ok(Some(self.buffers.remove(memory, probe, &named)));
        }
        let named = self.next_used(memory).map_err(|fault| self.buffers.break_for(fault))?;
        let Some(named) = named else { return Ok(None) };
        self.free += named.descriptors();
        self.free_descriptors(named.id);
        Ok(Some(self.buffers.remove(memory, probe, &named)))
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.notifications = false;
        // 2.7.7.1 keeps flags 0.
        let wish =
            if self.event_index { far_event(self.buffers.reaped) } else { available_flag::NO_INTERRUPT };
        self.wish(memory, wish)
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.notifications = true;
        self.wish(memory, if self.event_index { self.buffers.reaped } else { 0 })?;
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
