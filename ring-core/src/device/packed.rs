//! The device of a packed ring (virtio 1.2, 2.8).

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
        Format, Layout, Rule, feature,
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
    /// Ring descriptors of the buffers taken and not yet used.
    pub held: u16,
    /// The event structure that the device last wrote.
    pub notify_wish: packed::Event,
}

/// The two flags that a wrap toggles in what makes a descriptor available.
const BOTH: u16 = descriptor_flag::AVAIL | descriptor_flag::USED;

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
    fn second_word(&self, slot: u16) -> u64 {
        self.layout.address(Cell::Descriptor(slot)) + 8
    }

    /// The head of the next available buffer, without its address.
    #[inline(always)]
    fn available_head<M: Memory>(&self, memory: &M) -> Result<Option<Descriptor>, Fault> {
        self.buffers.check_broken()?;
        let position = self.state.next_available;
        // Acquire pairs with the driver's release: everything else is read after the flags (2.8.21.1.1). One load: flags,
        // id and length belong together.
        let rest = memory.load_u64(self.second_word(position.index), Ordering::Acquire)?;
        let head = Descriptor::from_words([0, rest]);
        Ok(head.is_available(position).then_some(head))
    }

    /// Reads every descriptor of the list once and checks it. Returns what it found, its id, and the ring descriptors it
    /// holds.
    #[inline(always)]
    fn walk<M: Memory>(
        &self,
        memory: &M,
        head: Descriptor,
        chain: &mut Chain,
    ) -> Result<(Walked, u16, u16), Fault> {
        let size = self.layout.queue_size;
        let mut walk = Walk::new(chain, size);
        let mut slot = self.state.next_available.index;
        let mut available = self.state.next_available.available_bits();
        let address = memory.load_u64(self.layout.address(Cell::Descriptor(slot)), Ordering::Relaxed)?;
        let mut descriptor = Descriptor { address, ..head };
        let free = size - self.state.held;
        let mut held = 0;
        let walked = loop {
            let place = || Place::PackedRing(Cell::Descriptor(slot));
            let flags = descriptor.flags;
            if held >= free {
                let expected = "no more descriptors than are free: the driver rewrote a slot not yet used";
                return Err(Fault::rule(Rule::PackedNoTouch, place(), held + 1, expected));
            }
            held += 1;
            // One test for the two that are rare.
            if flags & (descriptor_flag::INDIRECT | descriptor_flag::WRITE) != walk.write {
                if flags & descriptor_flag::INDIRECT != 0 {
                    if !self.indirect {
                        let expected = "no INDIRECT flag, since the feature was not negotiated";
                        return Err(Fault::rule(Rule::IndirectFeature, place(), flags, expected));
                    }
                    if held > 1 || flags & descriptor_flag::NEXT != 0 {
                        let expected = "INDIRECT on a descriptor alone, or not at all";
                        return Err(Fault::rule(Rule::PackedTableMix, place(), flags, expected));
                    }
                    break walk_table(memory, walk, place(), descriptor, size)?;
                }
                walk.turn(place, flags)?;
            }
            if !walk.element(Segment { address: descriptor.address, length: descriptor.length }) {
                return Err(Walk::too_many(place(), size));
            }
            if flags & descriptor_flag::NEXT == 0 {
                break walk.finish(place, size)?;
            }
            slot += 1;
            if slot == size {
                slot = 0;
                available ^= BOTH;
            }
            let cell = Cell::Descriptor(slot);
            descriptor = Descriptor::from_words(memory.load_words(self.layout.address(cell))?);
            if descriptor.flags & BOTH != available {
                let expected = "AVAIL and USED as in an available descriptor, since the one before has NEXT";
                let place = Place::PackedRing(cell);
                return Err(Fault::rule(Rule::PackedAvailableBits, place, descriptor.flags, expected));
            }
        };
        // The id stands in the last descriptor of the list (2.8.6).
        if !self.buffers.is_new(descriptor.id) {
            let place = Place::PackedRing(Cell::Descriptor(slot));
            let expected = "an id below the queue size that is not in use";
            return Err(Fault::rule(Rule::PackedIdLast, place, descriptor.id, expected));
        }
        Ok((walked, descriptor.id, held))
    }

    /// Writes a used descriptor and skips the descriptors it stands for.
    #[inline(always)]
    fn write_used<M: Memory>(
        &mut self,
        memory: &M,
        id: u16,
        length: u32,
        descriptors: u16,
    ) -> Result<(), Fault> {
        let position = self.state.next_used;
        let write = if length > 0 { descriptor_flag::WRITE } else { 0 };
        let [_, rest] = Descriptor { address: 0, length, id, flags: position.used_bits() | write }.to_words();
        if self.unpublished.is_some() {
            // The driver cannot look here before it has seen the first one.
            memory.store_u64(self.second_word(position.index), rest, Ordering::Relaxed)?;
        } else {
            self.unpublished = Some((position.index, rest));
        }
        self.state.next_used = position.advance(descriptors, self.layout.queue_size);
        self.state.held -= descriptors;
        Ok(())
    }

    /// The private state.
    pub fn state(&self) -> PackedDeviceState {
        self.state
    }

    /// Buffers taken and not yet used, by id.
    pub fn taken(&self) -> impl Iterator<Item = (u16, &Taken)> {
        self.buffers.iter()
    }
}

/// The elements of an indirect table: every entry of it, in order. Flags other than WRITE are reserved there and ignored
/// (2.8.7), but one that says INDIRECT is no element.
#[inline(always)]
fn walk_table<M: Memory>(
    memory: &M,
    mut walk: Walk<'_>,
    place: Place,
    descriptor: Descriptor,
    queue_size: u16,
) -> Result<Walked, Fault> {
    let table = descriptor.address;
    let entries = walk.enter_table(place, table, descriptor.length)?;
    let mut entry = 0;
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
            return Err(Walk::too_many(place(), queue_size));
        }
        // Ended by the queue size at the latest, so `entry` does not run over.
        if entry as u32 + 1 == entries {
            return walk.finish(place, queue_size);
        }
        entry += 1;
    }
}

impl Device for PackedDevice {
    #[inline]
    fn pop<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        chain: &mut Chain,
    ) -> Result<bool, Fault> {
        let Some(head) = self.available_head(memory)? else { return Ok(false) };
        let (walked, id, descriptors) = match self.walk(memory, head, chain) {
            Ok(walked) => walked,
            Err(fault) => return Err(self.buffers.break_for(fault)),
        };
        walked.keep(chain, id);
        self.state.held += descriptors;
        self.state.next_available = self.state.next_available.advance(descriptors, self.layout.queue_size);
        self.buffers.insert(id, walked.writable_bytes, descriptors);
        probe.event(Event::Popped { head: id, elements: walked.elements as u16 });
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
        let taken = self.buffers.check_use(head, length, false)?;
        self.write_used(memory, head, length, taken.descriptors)?;
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
        let descriptors = self.buffers.remove_until(head);
        self.write_used(memory, head, length, descriptors)?;
        probe.event(Event::Completed { head, length });
        Ok(())
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let Some((slot, rest)) = self.unpublished else { return Ok(()) };
        // 2.8.2: the buffer's contents and every used descriptor behind are visible before the flags of the first.
        memory.store_u64(self.second_word(slot), rest, Ordering::Release)?;
        self.unpublished = None;
        self.buffers.published = self.buffers.used;
        let from = core::mem::replace(&mut self.state.published, self.state.next_used);
        let gone = self.state.published.distance_from(from, self.layout.queue_size);
        self.undecided = self.undecided.saturating_add(gone);
        probe.event(Event::UsedPublished { from: from.to_bits(), to: self.state.published.to_bits() });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.buffers.check_broken()?;
        // The flags are visible before the driver's wish is read, as on the other side.
        memory.fence(Ordering::SeqCst);
        let seen = memory.load_u32(self.layout.address(Cell::DriverEvent))?;
        let (from, to) = (self.state.notified, self.state.published);
        let wish = packed::Event::from_bits(seen);
        let crossed = wish.crossed(from, to, self.layout.queue_size, self.event_index).map_err(
            |(rule, expected)| {
                self.buffers.break_with(rule, Place::PackedRing(Cell::DriverEvent), seen, expected)
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
        Ok(self.available_head(memory)?.is_some())
    }

    fn wish<M: Memory>(&mut self, memory: &M, value: u32) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        self.state.notify_wish = packed::Event::from_bits(value);
        Ok(memory.store_u32(self.layout.address(Cell::DeviceEvent), value)?)
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
