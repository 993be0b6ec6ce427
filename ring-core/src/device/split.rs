//! The device of a split ring (virtio 1.2, 2.7).

use super::Chain;
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    driver::Notify,
    fault::Place,
    indirect::Table,
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Layout, MAXIMUM_CHAIN_BYTES, Rule, descriptor_flag, event_crossed,
        feature,
        split::{Cell, available_flag, slot, used_flag},
    },
};
use alloc::vec::Vec;

/// A buffer that was taken and is not yet used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes the device may write into it, as far as a used length can say: at most 2^32 - 1.
    pub writable_bytes: u32,
    /// The available index it was taken from.
    pub available_at: u16,
}

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

/// Takes buffers from a split ring and uses them, in any order.
///
/// Its cursors are its own and never read back from memory. Plain data, like the driver.
#[derive(Clone, Debug)]
pub struct SplitDevice {
    layout: Layout,
    indirect: bool,
    event_index: bool,
    taken: Vec<Option<Taken>>,
    state: SplitDeviceState,
    // avail.idx as last read.
    available_seen: u16,
    broken: Option<Fault>,
}

impl SplitDevice {
    /// The device of a fresh queue.
    pub fn new(config: &QueueConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let start = config.start_index;
        Ok(SplitDevice {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            taken: (0..config.layout.queue_size).map(|_| None).collect(),
            state: SplitDeviceState {
                last_available: start,
                used_index: start,
                published_index: start,
                notified_index: start,
                notify_wish: 0,
            },
            available_seen: start,
            broken: None,
        })
    }

    /// Available buffers that were not taken yet.
    #[inline]
    pub fn pending_available<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.check_broken()?;
        // Acquire pairs with the driver's release: entries are read after the index that covers them (2.7.13.3.1).
        let index = memory.load_u16(self.layout.address(Cell::AvailableIndex), Ordering::Acquire)?;
        let state = &self.state;
        let pending = index.wrapping_sub(state.last_available);
        // Every buffer whose use is not visible to the driver holds a descriptor, so a ring's worth is the most.
        let held = state.last_available.wrapping_sub(state.published_index);
        if pending > self.layout.queue_size - held
            || pending < self.available_seen.wrapping_sub(state.last_available)
        {
            let expected = "an index that only grows, at most the queue size ahead of used.idx";
            return Err(self.break_with(Rule::SplitAvailableIndex, Cell::AvailableIndex, index, expected));
        }
        self.available_seen = index;
        Ok(pending)
    }

    /// Takes the next available buffer into `chain`; `false` if there is none.
    #[inline]
    pub fn pop<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        chain: &mut Chain,
    ) -> Result<bool, Fault> {
        if self.available_seen == self.state.last_available && self.pending_available(memory)? == 0 {
            return Ok(false);
        }
        self.check_broken()?;
        let available_at = self.state.last_available;
        let cell = Cell::AvailableEntry(slot(&self.layout, available_at));
        let head = memory.load_u16(self.layout.address(cell), Ordering::Relaxed)?;
        if !matches!(self.taken.get(head as usize), Some(None)) {
            let expected = "a descriptor below the queue size that is not in use";
            return Err(self.break_with(Rule::SplitHead, cell, head, expected));
        }
        chain.clear(head);
        self.walk(memory, chain).inspect_err(|fault| self.broken = Some(*fault))?;
        let writable_bytes = chain.writable_bytes().min(u32::MAX as u64) as u32;
        self.taken[head as usize] = Some(Taken { writable_bytes, available_at });
        self.state.last_available = available_at.wrapping_add(1);
        probe.event(Event::Popped { head, elements: chain.elements() as u16 });
        Ok(true)
    }

    /// Reads every descriptor of the chain once and checks it.
    #[inline]
    fn walk<M: Memory>(&self, memory: &M, chain: &mut Chain) -> Result<(), Fault> {
        let mut walk = Walk { chain, bytes: 0, queue_size: self.layout.queue_size };
        let mut slot = walk.chain.head;
        // A chain of more descriptors than there are comes back to one of them.
        for _ in 0..self.layout.queue_size {
            let place = Place::Ring(Cell::Descriptor(slot));
            let address = self.layout.address(Cell::Descriptor(slot));
            let descriptor = Descriptor::from_words(memory.load_words(address)?);
            if descriptor.has(descriptor_flag::INDIRECT) {
                if !self.indirect {
                    let expected = "no INDIRECT flag, since the feature was not negotiated";
                    return Err(Fault::rule(Rule::IndirectFeature, place, descriptor.flags, expected));
                }
                if descriptor.has(descriptor_flag::NEXT) {
                    let expected = "INDIRECT without NEXT";
                    return Err(Fault::rule(Rule::SplitIndirectNext, place, descriptor.flags, expected));
                }
                // WRITE here means nothing (2.7.5.3.2).
                return walk.table(memory, place, descriptor);
            }
            walk.element(place, descriptor)?;
            if !descriptor.has(descriptor_flag::NEXT) {
                return Ok(());
            }
            if descriptor.next >= self.layout.queue_size {
                let expected = "a next below the queue size";
                return Err(Fault::rule(Rule::SplitNext, place, descriptor.next, expected));
            }
            slot = descriptor.next;
        }
        let place = Place::Ring(Cell::Descriptor(slot));
        Err(Fault::rule(Rule::SplitNext, place, slot, "a chain without a loop"))
    }

    /// Writes a used element for a buffer that was taken, not yet visible: [`publish`](Self::publish) does that.
    ///
    /// `length` is how many bytes were written into the writable elements, from the first on.
    #[inline]
    pub fn complete<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault> {
        self.check_broken()?;
        let Some(Some(taken)) = self.taken.get(head as usize) else {
            return Err(Fault::rule(
                Rule::UsedId,
                Place::Call,
                head,
                "a buffer that was taken and not yet used",
            ));
        };
        if length > taken.writable_bytes {
            let expected = "no more than the buffer's writable bytes";
            return Err(Fault::rule(Rule::UsedLength, Place::Call, length, expected));
        }
        let entry = self.layout.address(Cell::UsedEntry(slot(&self.layout, self.state.used_index)));
        memory.store_u32(entry, head as u32)?;
        memory.store_u32(entry + 4, length)?;
        self.taken[head as usize] = None;
        self.state.used_index = self.state.used_index.wrapping_add(1);
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    /// Makes every used element visible to the driver.
    #[inline]
    pub fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.check_broken()?;
        let (from, to) = (self.state.published_index, self.state.used_index);
        if from == to {
            return Ok(());
        }
        // 2.7.8.2: id and len, and the buffer's contents, are visible before the index that covers them.
        memory.store_u16(self.layout.address(Cell::UsedIndex), to, Ordering::Release)?;
        self.state.published_index = to;
        probe.event(Event::UsedPublished { from, to });
        Ok(())
    }

    /// Whether the driver must be notified of what was published since the last call.
    #[inline]
    pub fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.check_broken()?;
        // The index is visible before the driver's wish is read, as on the other side.
        memory.fence(Ordering::SeqCst);
        let (from, to) = (self.state.notified_index, self.state.published_index);
        let wish = if self.event_index { Cell::UsedEvent } else { Cell::AvailableFlags };
        let seen = memory.load_u16(self.layout.address(wish), Ordering::Relaxed)?;
        let needed = if self.event_index {
            event_crossed(seen, from, to)
        } else if seen & !available_flag::NO_INTERRUPT != 0 {
            return Err(self.break_with(Rule::SplitAvailableFlags, Cell::AvailableFlags, seen, "0 or 1"));
        } else {
            seen == 0 && from != to
        };
        self.state.notified_index = to;
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    /// Asks the driver not to notify of available buffers. A wish only.
    pub fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        let wish =
            if self.event_index { self.state.last_available.wrapping_sub(1) } else { used_flag::NO_NOTIFY };
        self.wish(memory, wish)
    }

    /// Asks the driver to notify of the next available buffer. Returns how many became available meanwhile: those may
    /// have come without a notification, so the caller takes them now (2.7.10).
    pub fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        let wish = if self.event_index { self.state.last_available } else { 0 };
        self.wish(memory, wish)?;
        // The wish is visible before avail.idx is read again; the driver does the two in the other order.
        memory.fence(Ordering::SeqCst);
        self.pending_available(memory)
    }

    /// Writes what another device asked for, where it was observed: its avail_event, or its used.flags without
    /// `EVENT_IDX`.
    pub fn wish<M: Memory>(&mut self, memory: &M, value: u16) -> Result<(), Fault> {
        self.check_broken()?;
        self.state.notify_wish = value;
        let cell = if self.event_index { Cell::AvailableEvent } else { Cell::UsedFlags };
        Ok(memory.store_u16(self.layout.address(cell), value, Ordering::Relaxed)?)
    }

    /// The private counters.
    pub fn state(&self) -> SplitDeviceState {
        self.state
    }

    /// Buffers taken and not yet used, with the descriptor that starts each.
    pub fn taken(&self) -> impl Iterator<Item = (u16, &Taken)> {
        self.taken.iter().enumerate().filter_map(|(head, taken)| Some((head as u16, taken.as_ref()?)))
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
    fn break_with(&mut self, rule: Rule, cell: Cell, found: u16, expected: &'static str) -> Fault {
        let fault = Fault::rule(rule, Place::Ring(cell), found, expected);
        self.broken = Some(fault);
        fault
    }
}

/// The state of walking one chain.
struct Walk<'a> {
    chain: &'a mut Chain,
    bytes: u64,
    queue_size: u16,
}

impl Walk<'_> {
    #[inline]
    fn element(&mut self, place: Place, descriptor: Descriptor) -> Result<(), Fault> {
        let segment = Segment { address: descriptor.address, length: descriptor.length };
        if descriptor.has(descriptor_flag::WRITE) {
            self.chain.writable.push(segment);
        } else if self.chain.writable.is_empty() {
            self.chain.readable.push(segment);
        } else {
            let expected = "WRITE, as in the descriptors before it";
            return Err(Fault::rule(Rule::ReadableFirst, place, descriptor.flags, expected));
        }
        self.bytes += descriptor.length as u64;
        if self.bytes > MAXIMUM_CHAIN_BYTES {
            return Err(Fault::rule(Rule::TooLong, place, self.bytes, "at most 2^32 bytes in total"));
        }
        if self.chain.elements() > self.queue_size as usize {
            let expected = "no more elements than the queue size";
            return Err(Fault::rule(Rule::TooLong, place, self.chain.elements() as u64, expected));
        }
        Ok(())
    }

    /// The elements of an indirect table, from its first entry along `next`.
    #[inline]
    fn table<M: Memory>(&mut self, memory: &M, place: Place, descriptor: Descriptor) -> Result<(), Fault> {
        if descriptor.length == 0 || !descriptor.length.is_multiple_of(DESCRIPTOR_SIZE) {
            let expected = "a table length that is a multiple of 16 and not 0";
            return Err(Fault::rule(Rule::IndirectLength, place, descriptor.length, expected));
        }
        let entries = descriptor.length / DESCRIPTOR_SIZE;
        let address = descriptor.address;
        self.chain.table = Some(Table { address, entries: entries.min(u16::MAX as u32) as u16 });
        let mut entry = 0_u16;
        for _ in 0..entries {
            let place = Place::Table { address, entry };
            let offset = entry as u64 * DESCRIPTOR_SIZE as u64;
            let descriptor = Descriptor::from_words(memory.load_words(address.wrapping_add(offset))?);
            if descriptor.has(descriptor_flag::INDIRECT) {
                let expected = "no INDIRECT flag inside a table";
                return Err(Fault::rule(Rule::IndirectNested, place, descriptor.flags, expected));
            }
            // Bounds the walk too: a loop in a table soon has more elements than the queue size.
            self.element(place, descriptor)?;
            if !descriptor.has(descriptor_flag::NEXT) {
                return Ok(());
            }
            if descriptor.next as u32 >= entries {
                return Err(Fault::rule(Rule::SplitNext, place, descriptor.next, "a next inside the table"));
            }
            entry = descriptor.next;
        }
        let place = Place::Table { address, entry };
        Err(Fault::rule(Rule::SplitNext, place, entry, "a chain without a loop"))
    }
}
