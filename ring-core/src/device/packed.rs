//! The device of a packed ring (virtio 1.2, 2.8).

mod snapshot;

pub use snapshot::{PackedDeviceSnapshot, UnpublishedUsed};

use super::{
    Chain, Device, Taken,
    chain::{Walk, Walked, nested, not_negotiated, too_many_elements},
    taken::{Popped, TakenBuffers},
};
use crate::{
    ConfigError, Fault, QueueConfig, Segment,
    driver::Notify,
    fault::Place,
    memory::{Descriptors, Memory, Ordering, OutOfRange},
    probe::{Event, Probe},
    spec::{
        DESCRIPTOR_SIZE, Format, Layout, Rule, feature,
        packed::{self, Cell, Descriptor, Position, descriptor_flag},
    },
};

/// What the device knows that the driver cannot see, for those who draw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedDeviceState {
    /// Where the next available descriptor is expected.
    pub next_available: Position,
    /// Where the next used descriptor goes.
    pub next_used: Position,
    /// Where the first used descriptor goes that is not published; the same if all are.
    pub published: Position,
    /// What was `published` when a notification was last decided.
    pub notified: Position,
    /// Ring descriptors of the buffers taken whose use is not published.
    pub held: u16,
    /// The event structure that the device last wrote.
    pub notify_wish: packed::Event,
}

const FRESH: PackedDeviceState = PackedDeviceState {
    next_available: Position::START,
    next_used: Position::START,
    published: Position::START,
    notified: Position::START,
    held: 0,
    notify_wish: packed::Event::ENABLED,
};

/// Takes buffers from a packed ring and uses them, in any order unless `IN_ORDER` was negotiated.
///
/// Its positions are its own and never read back from memory. Plain data, like the driver.
#[derive(Clone, Debug)]
pub struct PackedDevice {
    layout: Layout,
    indirect: bool,
    event_index: bool,
    buffers: TakenBuffers,
    state: PackedDeviceState,
    // The first used descriptor that is not published: its slot and its second word, which makes it used.
    unpublished: Option<(u16, u64)>,
    // Descriptors published since a notification was last decided: two laps look like none by their positions.
    undecided: u32,
}

impl PackedDevice {
    /// The device of a fresh queue.
    pub fn new(config: &QueueConfig) -> Result<Self, ConfigError> {
        config.check_format(Format::Packed)?;
        Ok(PackedDevice {
            layout: config.layout,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: TakenBuffers::new(config),
            state: FRESH,
            unpublished: None,
            undecided: 0,
        })
    }

    #[inline(always)]
    fn ring<'a, M: Memory>(&self, memory: &'a M) -> Result<M::Descriptors<'a>, OutOfRange> {
        memory.descriptors(self.layout.descriptor_area, self.layout.queue_size.into())
    }

    /// The head of the next available buffer, without its address.
    #[inline(always)]
    fn available_head(&self, ring: &impl Descriptors) -> Result<Option<Descriptor>, Fault> {
        let position = self.state.next_available;
        // Acquire pairs with the driver's release: everything else is read after the flags (2.8.21.1.1). One load: flags,
        // id and length belong together.
        let Some(rest) = ring.load_second(position.index.into(), Ordering::Acquire) else {
            return Err(lost(&self.layout, position.index));
        };
        let head = Descriptor::from_words([0, rest]);
        Ok(head.is_available(position).then_some(head))
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
        let ring = self.ring(memory)?;
        let Some(head) = self.available_head(&ring)? else { return Ok(false) };
        let size = self.layout.queue_size;
        let mut position = self.state.next_available;
        let Some(address) = ring.load_first(position.index.into()) else {
            return Err(lost(&self.layout, position.index));
        };
        let mut descriptor = Descriptor { address, ..head };
        let mut walk = Walk::new(chain, size);
        // More than are free would be some of a list that is not used yet, again.
        let free = size - self.state.held;
        let mut left = free;
        // Every descriptor is read once, and what is checked is what is used.
        let walked = loop {
            let place = || Place::PackedRing(Cell::Descriptor(position.index));
            let flags = descriptor.flags;
            if left == 0 {
                return Err(not_free(place(), free + 1));
            }
            left -= 1;
            // One test for the two that are rare.
            if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
                if flags & descriptor_flag::INDIRECT != 0 {
                    if !self.indirect {
                        return Err(not_negotiated(place(), flags));
                    }
                    if free - left > 1 || flags & descriptor_flag::NEXT != 0 {
                        return Err(table_not_alone(place(), flags));
                    }
                    break walk_table(memory, walk, place, descriptor, size)?;
                }
                walk.turn(place, flags)?;
            }
            if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
                return Err(too_many_elements(place(), size));
            }
            if flags & descriptor_flag::NEXT == 0 {
                break walk.finish(place, None)?;
            }
            position = position.next(size);
            let Some(words) = ring.load(position.index.into()) else {
                return Err(lost(&self.layout, position.index));
            };
            descriptor = Descriptor::from_words(words);
            if !descriptor.is_available(position) {
                return Err(not_available(position.index, descriptor.flags));
            }
        };
        // The id stands in the last descriptor of the list (2.8.6).
        let Some(new) = self.buffers.new_id(descriptor.id) else {
            return Err(wrong_id(position.index, descriptor.id));
        };
        new.insert(walked);
        chain.head = descriptor.id;
        self.state.held += free - left;
        self.state.next_available = position.next(size);
        Ok(true)
    }

    #[inline(always)]
    fn store_second<M: Memory>(
        &self,
        memory: &M,
        slot: u16,
        word: u64,
        ordering: Ordering,
    ) -> Result<(), Fault> {
        self.ring(memory)?.store_second(slot.into(), word, ordering).ok_or_else(|| lost(&self.layout, slot))
    }

    /// Writes a used descriptor and skips the descriptors it stands for.
    #[inline(always)]
    fn write_used<M: Memory>(
        &mut self,
        memory: &M,
        id: u16,
        length: u32,
        flags: u16,
        descriptors: u16,
    ) -> Result<(), Fault> {
        let position = self.state.next_used;
        let [_, rest] = Descriptor { address: 0, length, id, flags: position.used_bits() | flags }.to_words();
        if self.unpublished.is_some() {
            // The driver cannot look here before it has seen the first one.
            self.store_second(memory, position.index, rest, Ordering::Relaxed)?;
        } else {
            self.unpublished = Some((position.index, rest));
        }
        self.state.next_used = position.advance(descriptors, self.layout.queue_size);
        Ok(())
    }

    /// Uses a buffer, or with `batch` every one up to it, as another device did, whose used descriptor was observed: with this
    /// length and, beside AVAIL and USED, these flags. Without `WRITE` among them the length may be any (2.8.4).
    pub fn complete_as_observed<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
        flags: u16,
        batch: bool,
    ) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let written = if flags & descriptor_flag::WRITE != 0 { length } else { 0 };
        let descriptors = if batch {
            self.buffers.remove_until(head, written)?
        } else {
            self.buffers.remove(head, written)?
        };
        let flags = flags & !(descriptor_flag::AVAIL | descriptor_flag::USED);
        let written = self.write_used(memory, head, length, flags, descriptors);
        written.map_err(|fault| self.buffers.break_for(fault))?;
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    /// The private state.
    pub fn state(&self) -> PackedDeviceState {
        self.state
    }

    /// Buffers taken and not yet used, by id.
    pub fn taken(&self) -> impl Iterator<Item = (u16, Taken)> {
        self.buffers.iter()
    }
}

/// `WRITE` of a used descriptor, which says whether the buffer was written (2.8.4).
#[inline(always)]
fn written_flag(length: u32) -> u16 {
    if length > 0 { descriptor_flag::WRITE } else { 0 }
}

/// The elements of an indirect table: every entry of it, in order. Flags other than WRITE are reserved there and ignored
/// (2.8.7), but one that says INDIRECT is no element.
#[inline(always)]
fn walk_table<M: Memory>(
    memory: &M,
    mut walk: Walk<'_>,
    place: impl Fn() -> Place,
    descriptor: Descriptor,
    queue_size: u16,
) -> Result<Walked, Fault> {
    let address = descriptor.address;
    let entries = walk.enter_table(place, address, descriptor.length)?;
    let table = memory.descriptors(address, entries)?;
    let mut entry = 0;
    while let Some(words) = table.load(entry.into()) {
        let place = || Place::Table { address, entry };
        let descriptor = Descriptor::from_words(words);
        let flags = descriptor.flags;
        if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
            if flags & descriptor_flag::INDIRECT != 0 {
                return Err(nested(address, entry, flags));
            }
            walk.turn(place, flags)?;
        }
        // Ended by the queue size at the latest, so `entry` does not run over.
        if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
            return Err(too_many_elements(place(), queue_size));
        }
        entry += 1;
    }
    walk.finish(|| Place::Table { address, entry: entry - 1 }, Some(1))
}

/// A descriptor that cannot be reached, though the ring was found to lie in memory.
#[cold]
#[inline(never)]
fn lost(layout: &Layout, slot: u16) -> Fault {
    OutOfRange { address: layout.address(Cell::Descriptor(slot)), length: DESCRIPTOR_SIZE.into() }.into()
}

#[cold]
#[inline(never)]
fn not_free(place: Place, descriptors: u16) -> Fault {
    let expected = "no more descriptors than are free: the driver rewrote a slot not yet used";
    Fault::rule(Rule::PackedNoTouch, place, descriptors, expected)
}

#[cold]
#[inline(never)]
fn table_not_alone(place: Place, flags: u16) -> Fault {
    Fault::rule(Rule::PackedTableMix, place, flags, "INDIRECT on a descriptor alone, or not at all")
}

#[cold]
#[inline(never)]
fn not_available(slot: u16, flags: u16) -> Fault {
    let expected = "AVAIL and USED as in an available descriptor, since the one before has NEXT";
    Fault::rule(Rule::PackedAvailableBits, Place::PackedRing(Cell::Descriptor(slot)), flags, expected)
}

#[cold]
#[inline(never)]
fn wrong_id(slot: u16, id: u16) -> Fault {
    let expected = "an id below the queue size that is not in use";
    Fault::rule(Rule::PackedIdLast, Place::PackedRing(Cell::Descriptor(slot)), id, expected)
}

impl Device for PackedDevice {
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
        let descriptors = self.buffers.remove(head, length)?;
        let written = self.write_used(memory, head, length, written_flag(length), descriptors);
        written.map_err(|fault| self.buffers.break_for(fault))?;
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
        let descriptors = self.buffers.remove_until(head, length)?;
        let written = self.write_used(memory, head, length, written_flag(length), descriptors);
        written.map_err(|fault| self.buffers.break_for(fault))?;
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let Some((slot, rest)) = self.unpublished else { return Ok(()) };
        // 2.8.2: the buffer's contents and every used descriptor behind are visible before the flags of the first.
        let stored = self.store_second(memory, slot, rest, Ordering::Release);
        stored.map_err(|fault| self.buffers.break_for(fault))?;
        self.unpublished = None;
        self.buffers.publish();
        let from = core::mem::replace(&mut self.state.published, self.state.next_used);
        let gone = self.state.published.distance_from(from, self.layout.queue_size);
        self.state.held = self.state.held.saturating_sub(gone as u16);
        self.undecided = self.undecided.saturating_add(gone);
        probe.event(Event::UsedPublished { from: from.to_bits(), to: self.state.published.to_bits() });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.buffers.check_broken()?;
        // The flags are visible before the driver's wish is read, as on the other side.
        memory.fence(Ordering::SeqCst);
        let loaded = memory.load_u32(self.layout.address(Cell::DriverEvent));
        let seen = loaded.map_err(|outside| self.buffers.break_for(outside.into()))?;
        let (from, to) = (self.state.notified, self.state.published);
        let wish = packed::Event::from_bits(seen);
        let crossed = wish.crossed(from, to, self.layout.queue_size, self.event_index).map_err(
            |(rule, expected)| {
                let place = Place::PackedRing(Cell::DriverEvent);
                self.buffers.break_for(Fault::rule(rule, place, seen, expected))
            },
        )?;
        // Two laps have passed every event there can be.
        let lapped = self.undecided >= 2 * self.layout.queue_size as u32;
        let needed = crossed || (lapped && wish.flags != packed::event_flag::DISABLE);
        self.undecided = 0;
        self.state.notified = to;
        let (from, to) = (from.to_bits(), to.to_bits());
        probe.event(Event::NotificationDecided { seen, from, to, needed });
        Ok(Notify { needed, seen })
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.wish(memory, packed::Event::DISABLED.to_bits())
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<bool, Fault> {
        let event = if self.event_index {
            packed::Event::at(self.state.next_available)
        } else {
            packed::Event::ENABLED
        };
        self.wish(memory, event.to_bits())?;
        // The wish is visible before the ring is looked at again; the driver does the two in the other order.
        memory.fence(Ordering::SeqCst);
        let head = self.ring(memory).map_err(Fault::from).and_then(|ring| self.available_head(&ring));
        Ok(head.map_err(|fault| self.buffers.break_for(fault))?.is_some())
    }

    fn wish<M: Memory>(&mut self, memory: &M, value: u32) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        self.state.notify_wish = packed::Event::from_bits(value);
        let stored = memory.store_u32(self.layout.address(Cell::DeviceEvent), value);
        stored.map_err(|outside| self.buffers.break_for(outside.into()))
    }

    fn broken(&self) -> Option<Fault> {
        self.buffers.broken
    }

    fn reset(&mut self) {
        self.buffers.restart();
        self.state = FRESH;
        self.unpublished = None;
        self.undecided = 0;
    }
}
