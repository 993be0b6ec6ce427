//! The device of a split ring (virtio 1.2, 2.7).

use super::{
    Chain, Device, Taken,
    chain::{Walk, Walked, entry_address},
    taken::TakenBuffers,
};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    driver::Notify,
    fault::Place,
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::{
        Descriptor, Format, Layout, Rule, descriptor_flag, event_crossed, feature,
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
        })
    }

    /// Available buffers that were not taken yet.
    #[inline]
    pub fn pending_available<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.buffers.check_broken()?;
        // Acquire pairs with the driver's release: entries are read after the index that covers them (2.7.13.3.1).
        let index = memory.load_u16(self.layout.address(Cell::AvailableIndex), Ordering::Acquire)?;
        let last_available = self.buffers.popped;
        let pending = index.wrapping_sub(last_available);
        // Every buffer whose use is not visible to the driver holds a descriptor, so a ring's worth is the most.
        let held = last_available.wrapping_sub(self.buffers.published);
        if pending > self.layout.queue_size - held
            || pending < self.available_seen.wrapping_sub(last_available)
        {
            let place = Place::Ring(Cell::AvailableIndex);
            let expected = "an index that only grows, at most the queue size ahead of used.idx";
            return Err(self.buffers.break_with(Rule::SplitAvailableIndex, place, index, expected));
        }
        self.available_seen = index;
        Ok(pending)
    }

    /// Reads every descriptor of the chain once and checks it. Returns what it found, and the ring descriptors it holds.
    #[inline(always)]
    fn walk<M: Memory>(&self, memory: &M, head: u16, chain: &mut Chain) -> Result<(Walked, u16), Fault> {
        let size = self.layout.queue_size;
        let mut walk = Walk::new(chain, size);
        let mut slot = head;
        loop {
            let place = || Place::Ring(Cell::Descriptor(slot));
            let address = self.layout.address(Cell::Descriptor(slot));
            let descriptor = Descriptor::from_words(memory.load_words(address)?);
            let flags = descriptor.flags;
            // One test for the two that are rare.
            if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
                if flags & descriptor_flag::INDIRECT != 0 {
                    if !self.indirect {
                        let expected = "no INDIRECT flag, since the feature was not negotiated";
                        return Err(Fault::rule(Rule::IndirectFeature, place(), flags, expected));
                    }
                    if flags & descriptor_flag::NEXT != 0 {
                        let expected = "INDIRECT without NEXT";
                        return Err(Fault::rule(Rule::SplitIndirectNext, place(), flags, expected));
                    }
                    // WRITE here means nothing (2.7.5.3.2).
                    let before = size - walk.left() as u16;
                    let in_order = self.buffers.in_order;
                    let walked = walk_table(memory, walk, place(), descriptor, size, in_order)?;
                    return Ok((walked, before + 1));
                }
                walk.turn(place, flags)?;
            }
            // A chain of more descriptors than there are comes back to one of them.
            if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
                return Err(Fault::rule(Rule::SplitNext, place(), slot, "a chain without a loop"));
            }
            if flags & descriptor_flag::NEXT == 0 {
                let walked = walk.finish(place, size)?;
                let descriptors = walked.elements as u16;
                return Ok((walked, descriptors));
            }
            if descriptor.next >= size {
                let expected = "a next below the queue size";
                return Err(Fault::rule(Rule::SplitNext, place(), descriptor.next, expected));
            }
            if self.buffers.in_order && descriptor.next != (slot + 1) & (size - 1) {
                let expected = "the next descriptor in ring order, since IN_ORDER was negotiated";
                return Err(Fault::rule(Rule::SplitInOrderSequence, place(), descriptor.next, expected));
            }
            slot = descriptor.next;
        }
    }

    #[inline(always)]
    fn write_used<M: Memory>(&self, memory: &M, head: u16, length: u32) -> Result<(), Fault> {
        let entry = self.layout.address(Cell::UsedEntry(slot(&self.layout, self.buffers.used)));
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
    pub fn taken(&self) -> impl Iterator<Item = (u16, &Taken)> {
        self.buffers.iter()
    }
}

/// The elements of an indirect table, from its first entry along `next`.
#[inline(always)]
fn walk_table<M: Memory>(
    memory: &M,
    mut walk: Walk<'_>,
    place: Place,
    descriptor: Descriptor,
    queue_size: u16,
    in_order: bool,
) -> Result<Walked, Fault> {
    let table = descriptor.address;
    let before = walk.left();
    let entries = walk.enter_table(place, table, descriptor.length)?;
    let mut entry = 0_u16;
    loop {
        let place = || Place::Table { address: table, entry };
        let descriptor = Descriptor::from_words(memory.load_words(entry_address(table, entry))?);
        let flags = descriptor.flags;
        if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
            if flags & descriptor_flag::INDIRECT != 0 {
                let expected = "no INDIRECT flag inside a table";
                return Err(Fault::rule(Rule::IndirectNested, place(), flags, expected));
            }
            walk.turn(place, flags)?;
        }
        if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
            // More entries than the table has are one of them again; otherwise the queue size is what ends the walk.
            if entries as usize > before {
                return Err(Walk::too_many(place(), queue_size));
            }
            return Err(Fault::rule(Rule::SplitNext, place(), entry, "a chain without a loop"));
        }
        if flags & descriptor_flag::NEXT == 0 {
            return walk.finish(place, queue_size);
        }
        if descriptor.next as u32 >= entries {
            return Err(Fault::rule(Rule::SplitNext, place(), descriptor.next, "a next inside the table"));
        }
        if in_order && descriptor.next != entry + 1 {
            let expected = "the next entry, since IN_ORDER was negotiated";
            return Err(Fault::rule(Rule::SplitInOrderSequence, place(), descriptor.next, expected));
        }
        entry = descriptor.next;
    }
}

impl Device for SplitDevice {
    #[inline]
    fn pop<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        chain: &mut Chain,
    ) -> Result<bool, Fault> {
        if self.available_seen == self.buffers.popped && self.pending_available(memory)? == 0 {
            return Ok(false);
        }
        self.buffers.check_broken()?;
        let cell = Cell::AvailableEntry(slot(&self.layout, self.buffers.popped));
        let head = memory.load_u16(self.layout.address(cell), Ordering::Relaxed)?;
        if !self.buffers.is_new(head) {
            let expected = "a descriptor below the queue size that is not in use";
            return Err(self.buffers.break_with(Rule::SplitHead, Place::Ring(cell), head, expected));
        }
        let (walked, descriptors) = match self.walk(memory, head, chain) {
            Ok(walked) => walked,
            Err(fault) => return Err(self.buffers.break_for(fault)),
        };
        walked.keep(chain, head);
        self.buffers.insert(head, walked.writable_bytes, descriptors);
        probe.event(Event::Popped { head, elements: walked.elements as u16 });
        Ok(true)
    }

    #[inline]
    fn complete<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault> {
        self.buffers.check_use(head, length, false)?;
        self.write_used(memory, head, length)?;
        self.buffers.remove(head);
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
        self.buffers.check_use(head, length, true)?;
        self.write_used(memory, head, length)?;
        self.buffers.remove_until(head);
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
        memory.store_u16(self.layout.address(Cell::UsedIndex), to, Ordering::Release)?;
        self.buffers.published = to;
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
        let seen = memory.load_u16(self.layout.address(wish), Ordering::Relaxed)?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !available_flag::NO_INTERRUPT != 0 {
            return Err(self.buffers.break_with(
                Rule::SplitAvailableFlags,
                Place::Ring(wish),
                seen,
                "0 or 1",
            ));
        } else {
            seen == 0 && from != to
        };
        self.notified = to;
        let seen = seen.into();
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        // With an event index, flags stay 0 (2.7.10.2): an event just passed is as good as none.
        let wish = if self.event_index { self.buffers.popped.wrapping_sub(1) } else { used_flag::NO_NOTIFY };
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
        Ok(memory.store_u16(self.layout.address(cell), value as u16, Ordering::Relaxed)?)
    }

    fn broken(&self) -> Option<Fault> {
        self.buffers.broken
    }

    fn reset(&mut self) {
        self.buffers.restart();
        (self.notified, self.notify_wish, self.available_seen) = (0, 0, 0);
    }
}
