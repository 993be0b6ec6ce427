//! The device of a split ring (virtio 1.2, 2.7).

mod snapshot;

pub use snapshot::SplitDeviceSnapshot;

use super::{
    Chain, Device, Taken,
    chain::{Walk, Walked, nested, not_negotiated, too_many_elements},
    taken::{Popped, TakenBuffers},
};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    driver::Notify,
    fault::Place,
    memory::{Descriptors, Memory, Ordering},
    probe::{Event, Probe},
    spec::{
        Descriptor, Format, Layout, Rule, descriptor_flag, event_crossed, far_event, feature,
        split::{Cell, available_flag, slot, used_flag},
    },
};

/// What the device knows that the driver cannot see, for those who draw it. Indices run freely modulo 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitDeviceState {
    /// The next available entry to take.
    pub last_available: u16,
    /// Where the next used element goes.
    pub used_index: u16,
    /// used.idx as last published.
    pub published_index: u16,
    /// used.idx when a notification was last decided.
    pub notified_index: u16,
    /// What the device last asked for: the avail_event it wrote, or its flags without `EVENT_IDX`.
    pub notify_wish: u16,
}

/// Takes buffers from a split ring and uses them, in any order unless `IN_ORDER` was negotiated.
///
/// Its cursors are its own and never read back from memory. Plain data, like the driver.
#[derive(Clone, Debug)]
pub struct SplitDevice {
    layout: Layout,
    indirect: bool,
    event_index: bool,
    buffers: TakenBuffers,
    notified: u16,
    notify_wish: u16,
    // avail.idx as last read.
    available_seen: u16,
    // The descriptor behind the last chain: with IN_ORDER the next one starts there (2.7.5.1). Not known of the first one,
    // since a device may be started on a ring in use.
    next_head: Option<u16>,
}

impl SplitDevice {
    /// The device of a fresh queue.
    pub fn new(config: &QueueConfig) -> Result<Self, ConfigError> {
        config.check_format(Format::Split)?;
        let start = config.start_index;
        Ok(SplitDevice {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: TakenBuffers::new(config),
            notified: start,
            notify_wish: 0,
            available_seen: start,
            next_head: None,
        })
    }

    /// Available buffers that were not taken yet.
    pub fn pending_available<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.buffers.check_broken()?;
        self.look(memory).map_err(|fault| self.buffers.break_for(fault))
    }

    /// Reads avail.idx and checks it.
    #[inline(always)]
    fn look<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        // Acquire pairs with the driver's release: entries are read after the index that covers them (2.7.13.3.1).
        let index = memory.load_u16(self.layout.address(Cell::AvailableIndex), Ordering::Acquire)?;
        let last_available = self.buffers.popped;
        let pending = index.wrapping_sub(last_available);
        // Every buffer whose use is not visible to the driver holds a descriptor, so a ring's worth is the most.
        let held = last_available.wrapping_sub(self.buffers.published);
        if pending > self.layout.queue_size - held
            || pending < self.available_seen.wrapping_sub(last_available)
        {
            return Err(wrong_index(index));
        }
        self.available_seen = index;
        Ok(pending)
    }

    /// A function of its own, so that what it keeps in registers is its own; and what it returns fits into one.
    #[inline(never)]
    fn take_or_break<M: Memory>(&mut self, memory: &M, chain: &mut Chain) -> Popped {
        match self.take(memory, chain) {
            Ok(true) => Popped::Buffer,
            Ok(false) => Popped::Nothing,
            Err(fault) => self.buffers.break_while_taking(fault),
        }
    }

    /// Takes the next available buffer, if there is one. The queue breaks if it fails.
    #[inline(always)]
    fn take<M: Memory>(&mut self, memory: &M, chain: &mut Chain) -> Result<bool, Fault> {
        self.buffers.check_broken()?;
        if self.available_seen == self.buffers.popped && self.look(memory)? == 0 {
            return Ok(false);
        }
        let cell = Cell::AvailableEntry(slot(&self.layout, self.buffers.popped));
        let head = memory.load_u16(self.layout.address(cell), Ordering::Relaxed)?;
        let (size, in_order) = (self.layout.queue_size, self.buffers.in_order);
        let Some(new) = self.buffers.new_id(head) else { return Err(wrong_head(cell, head)) };
        if in_order && self.next_head.is_some_and(|next| next != head) {
            return Err(out_of_sequence(Place::Ring(cell), head));
        }
        chain.head = head;
        let ring = memory.descriptors(self.layout.descriptor_area, size.into())?;
        let mut walk = Walk::new(chain, size);
        let mut slot = head;
        // Every descriptor is read once, and what is checked is what is used.
        let walked = loop {
            let place = || Place::Ring(Cell::Descriptor(slot));
            let Some(words) = ring.load(slot.into()) else { return Err(next_outside(place(), slot)) };
            let descriptor = Descriptor::from_words(words);
            let flags = descriptor.flags;
            // One test for the two that are rare.
            if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
                if flags & descriptor_flag::INDIRECT != 0 {
                    if !self.indirect {
                        return Err(not_negotiated(place(), flags));
                    }
                    if flags & descriptor_flag::NEXT != 0 {
                        return Err(indirect_and_next(slot, flags));
                    }
                    // WRITE here means nothing (2.7.5.3.2).
                    break walk_table(memory, walk, place, descriptor, size, in_order)?;
                }
                walk.turn(place, flags)?;
            }
            // A chain of more descriptors than there are comes back to one of them.
            if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
                return Err(looped(place(), slot));
            }
            if flags & descriptor_flag::NEXT == 0 {
                break walk.finish(place, None)?;
            }
            if descriptor.next >= size {
                return Err(next_outside(place(), descriptor.next));
            }
            if in_order && descriptor.next != behind(slot, size) {
                return Err(out_of_sequence(place(), descriptor.next));
            }
            slot = descriptor.next;
        };
        new.insert(walked);
        self.next_head = Some(behind(slot, size));
        Ok(true)
    }

    #[inline(always)]
    fn write_used<M: Memory>(&self, memory: &M, number: u16, head: u16, length: u32) -> Result<(), Fault> {
        let entry = self.layout.address(Cell::UsedEntry(slot(&self.layout, number)));
        Ok(memory.store_singles(entry, [head.into(), length])?)
    }

    /// The private counters.
    pub fn state(&self) -> SplitDeviceState {
        SplitDeviceState {
            last_available: self.buffers.popped,
            used_index: self.buffers.used,
            published_index: self.buffers.published,
            notified_index: self.notified,
            notify_wish: self.notify_wish,
        }
    }

    /// Buffers taken and not yet used, with the descriptor that starts each.
    pub fn taken(&self) -> impl Iterator<Item = (u16, Taken)> {
        self.buffers.iter()
    }
}

/// The elements of an indirect table, from its first entry along `next`.
#[inline(always)]
fn walk_table<M: Memory>(
    memory: &M,
    mut walk: Walk<'_>,
    place: impl Fn() -> Place,
    descriptor: Descriptor,
    queue_size: u16,
    in_order: bool,
) -> Result<Walked, Fault> {
    let address = descriptor.address;
    let before = walk.count();
    let entries = walk.enter_table(place, address, descriptor.length)?;
    let table = memory.descriptors(address, entries)?;
    let mut entry = 0_u16;
    loop {
        let place = || Place::Table { address, entry };
        let Some(words) = table.load(entry.into()) else { return Err(next_outside(place(), entry)) };
        let descriptor = Descriptor::from_words(words);
        let flags = descriptor.flags;
        if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
            if flags & descriptor_flag::INDIRECT != 0 {
                return Err(nested(address, entry, flags));
            }
            walk.turn(place, flags)?;
        }
        if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
            // More elements than the table has entries come back to one of them; otherwise the queue size ends the walk.
            return Err(if entries as usize > queue_size as usize - before {
                too_many_elements(place(), queue_size)
            } else {
                looped(place(), entry)
            });
        }
        if flags & descriptor_flag::NEXT == 0 {
            return walk.finish(place, Some(before as u16 + 1));
        }
        if descriptor.next as u32 >= entries {
            return Err(next_outside(place(), descriptor.next));
        }
        if in_order && descriptor.next != entry + 1 {
            return Err(out_of_sequence(place(), descriptor.next));
        }
        entry = descriptor.next;
    }
}

/// The next descriptor in ring order.
#[inline(always)]
fn behind(slot: u16, queue_size: u16) -> u16 {
    (slot + 1) & (queue_size - 1)
}

#[cold]
#[inline(never)]
fn wrong_index(index: u16) -> Fault {
    let expected = "an index that only grows, at most the queue size ahead of used.idx";
    Fault::rule(Rule::SplitAvailableIndex, Place::Ring(Cell::AvailableIndex), index, expected)
}

#[cold]
#[inline(never)]
fn wrong_head(cell: Cell, head: u16) -> Fault {
    let expected = "a descriptor below the queue size that is not in use";
    Fault::rule(Rule::SplitHead, Place::Ring(cell), head, expected)
}

#[cold]
#[inline(never)]
fn indirect_and_next(slot: u16, flags: u16) -> Fault {
    let place = Place::Ring(Cell::Descriptor(slot));
    Fault::rule(Rule::SplitIndirectNext, place, flags, "INDIRECT without NEXT")
}

#[cold]
#[inline(never)]
fn looped(place: Place, index: u16) -> Fault {
    Fault::rule(Rule::SplitNext, place, index, "a chain without a loop")
}

#[cold]
#[inline(never)]
fn next_outside(place: Place, next: u16) -> Fault {
    let expected = match place {
        Place::Table { .. } => "a next inside the table",
        _ => "a next below the queue size",
    };
    Fault::rule(Rule::SplitNext, place, next, expected)
}

#[cold]
#[inline(never)]
fn out_of_sequence(place: Place, next: u16) -> Fault {
    let expected = match place {
        Place::Table { .. } => "the next entry, since IN_ORDER was negotiated",
        _ => "the next descriptor in ring order, since IN_ORDER was negotiated",
    };
    Fault::rule(Rule::SplitInOrderSequence, place, next, expected)
}

impl Device for SplitDevice {
    #[inline(always)]
    fn pop<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        chain: &mut Chain,
    ) -> Result<bool, Fault> {
        match self.take_or_break(memory, chain) {
            Popped::Nothing => Ok(false),
            Popped::Buffer => {
                probe.event(Event::Popped { head: chain.head, elements: chain.elements() as u16 });
                Ok(true)
            }
            Popped::Broken => self.buffers.check_broken().map(|()| false),
        }
    }

    #[inline(always)]
    fn complete<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let number = self.buffers.used;
        self.buffers.remove(head, length)?;
        self.write_used(memory, number, head, length).map_err(|fault| self.buffers.break_for(fault))?;
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    fn complete_batch<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        // The element stands where the first of them would have its own (2.7.9).
        let number = self.buffers.used;
        self.buffers.remove_until(head, length)?;
        self.write_used(memory, number, head, length).map_err(|fault| self.buffers.break_for(fault))?;
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let (from, to) = (self.buffers.published, self.buffers.used);
        if from == to {
            return Ok(());
        }
        // 2.7.8.2: id and len, and the buffer's contents, are visible before the index that covers them.
        let stored = memory.store_u16(self.layout.address(Cell::UsedIndex), to, Ordering::Release);
        stored.map_err(|outside| self.buffers.break_for(outside.into()))?;
        self.buffers.publish();
        probe.event(Event::UsedPublished { from, to });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.buffers.check_broken()?;
        // The index is visible before the driver's wish is read, as on the other side.
        memory.fence(Ordering::SeqCst);
        let (from, to) = (self.notified, self.buffers.published);
        let wish = if self.event_index { Cell::UsedEvent } else { Cell::AvailableFlags };
        let loaded = memory.load_u16(self.layout.address(wish), Ordering::Relaxed);
        let seen = loaded.map_err(|outside| self.buffers.break_for(outside.into()))?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !available_flag::NO_INTERRUPT != 0 {
            let fault = Fault::rule(Rule::SplitAvailableFlags, Place::Ring(wish), seen, "0 or 1");
            return Err(self.buffers.break_for(fault));
        } else {
            seen == 0 && from != to
        };
        self.notified = to;
        let seen = seen.into();
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        // With an event index, flags stay 0 (2.7.10.2).
        let wish = if self.event_index { far_event(self.buffers.popped) } else { used_flag::NO_NOTIFY };
        self.wish(memory, wish.into())
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<bool, Fault> {
        let wish = if self.event_index { self.buffers.popped } else { 0 };
        self.wish(memory, wish.into())?;
        // The wish is visible before avail.idx is read again; the driver does the two in the other order.
        memory.fence(Ordering::SeqCst);
        Ok(self.pending_available(memory)? > 0)
    }

    fn wish<M: Memory>(&mut self, memory: &M, value: u32) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        self.notify_wish = value as u16;
        let cell = if self.event_index { Cell::AvailableEvent } else { Cell::UsedFlags };
        let stored = memory.store_u16(self.layout.address(cell), value as u16, Ordering::Relaxed);
        stored.map_err(|outside| self.buffers.break_for(outside.into()))
    }

    fn broken(&self) -> Option<Fault> {
        self.buffers.broken
    }

    fn reset(&mut self) {
        self.buffers.restart();
        (self.notified, self.notify_wish, self.available_seen) = (0, 0, 0);
        self.next_head = None;
    }
}
