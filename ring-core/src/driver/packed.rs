//! The driver of a packed ring (virtio 1.2, 2.8).

mod snapshot;

pub use snapshot::{PackedDriverSnapshot, UnpublishedDescriptor};

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
        DESCRIPTOR_SIZE, Format, Layout, feature,
        packed::{self, Cell, Descriptor, Position, descriptor_flag},
    },
};
use alloc::vec::Vec;

/// What the driver knows that the device cannot see, for those who draw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedDriverState {
    /// Where the next buffer goes.
    pub next_available: Position,
    /// Where the first buffer goes that is not published; the same if all are.
    pub published: Position,
    /// What was `published` when a notification was last decided.
    pub notified: Position,
    /// Where the next used descriptor is expected.
    pub next_used: Position,
    /// Free ring descriptors.
    pub free: u16,
    /// Whether the driver asks to be notified.
    pub notifications: bool,
}

/// Places buffers into a packed ring and gets them back. Plain data, like
/// [`SplitDriver`](super::SplitDriver).
#[derive(Clone, Debug)]
pub struct PackedDriver<T> {
    layout: Layout,
    event_index: bool,
    buffers: Buffers<T>,
    // Ids that no buffer has, the next one last.
    free_ids: Vec<u16>,
    state: PackedDriverState,
    // The first descriptor of the first buffer that is not published: its slot and its second word, which makes it, and
    // all behind it, available.
    unpublished_head: Option<(u16, u64)>,
    // Descriptors published since a notification was last decided: two laps look like none by their positions.
    undecided: u32,
}

impl<T: TableSource> PackedDriver<T> {
    /// The driver of a fresh queue, whose memory is zeroed. The start index counts buffers; the ring starts at slot 0.
    pub fn new(config: &QueueConfig, tables: T) -> Result<Self, ConfigError> {
        config.check_format(Format::Packed)?;
        let size = config.layout.queue_size;
        Ok(PackedDriver {
            layout: config.layout,
            event_index: config.features.contains(feature::EVENT_IDX),
            buffers: Buffers::new(config, tables),
            free_ids: (0..size).rev().collect(),
            state: PackedDriverState::fresh(size),
            unpublished_head: None,
            undecided: 0,
        })
    }

    /// Writes the buffer's elements into a table. Returns the descriptor that refers to it.
    #[inline(always)]
    fn fill_table<M: Memory>(
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Descriptor, Bytes), Fault> {
        let entries = memory.descriptors(table.address, table.entries.into())?;
        let mut entry = 0;
        let bytes = for_each_element(readable, writable, |segment, flags| {
            // The order says what is next (2.8.7).
            let flags = flags & descriptor_flag::WRITE;
            let descriptor = Descriptor { address: segment.address, length: segment.length, id: 0, flags };
            let stored = entries.store(entry, descriptor.to_words());
            entry += 1;
            stored.ok_or_else(|| lost(table.address))
        })?;
        let length = entry * DESCRIPTOR_SIZE;
        let flags = descriptor_flag::INDIRECT;
        Ok((Descriptor { address: table.address, length, id: 0, flags }, bytes))
    }

    /// Writes the buffer's elements into the ring, all but the first. Returns that one.
    #[inline(always)]
    fn fill_ring<M: Memory>(
        &self,
        ring: &M::Descriptors<'_>,
        id: u16,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(Descriptor, Bytes), Fault> {
        let head = self.state.next_available.index;
        let size = self.layout.queue_size;
        let mut position = self.state.next_available;
        let mut first = Descriptor::default();
        let bytes = for_each_element(readable, writable, |segment, flags| {
            let flags = flags | position.available_bits();
            let descriptor = Descriptor { address: segment.address, length: segment.length, id, flags };
            let slot = position.index;
            position = position.next(size);
            if slot == head {
                first = descriptor;
                return Ok(());
            }
            let stored = ring.store(slot.into(), descriptor.to_words());
            stored.ok_or_else(|| lost(self.layout.address(Cell::Descriptor(slot))))
        })?;
        Ok((first, bytes))
    }

    /// A buffer that was refused after it was written: its descriptors do not look available, as if it had not been.
    #[cold]
    #[inline(never)]
    fn withdraw<M: Memory>(&self, ring: &M::Descriptors<'_>, elements: u16) {
        let size = self.layout.queue_size;
        for offset in 1..elements {
            let position = self.state.next_available.advance(offset, size);
            // As a used descriptor of the lap before.
            let flags = Position { wrap: !position.wrap, ..position }.used_bits();
            let [_, rest] = Descriptor { flags, ..Default::default() }.to_words();
            let _ = ring.store_second(position.index.into(), rest, Ordering::Relaxed);
        }
    }

    /// Writes the buffer, all but the word that makes its first descriptor available. Returns that word, and how many bytes
    /// the device may write.
    #[inline(always)]
    fn place<M: Memory>(
        &self,
        memory: &M,
        id: u16,
        plan: &Plan,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(u64, u32), AddError> {
        let head = self.state.next_available;
        let ring = self.ring(memory)?;
        let (first, bytes) = match plan.table {
            Some(table) => Self::fill_table(memory, table, readable, writable)?,
            None => self.fill_ring::<M>(&ring, id, readable, writable)?,
        };
        let writable_bytes = match bytes.check() {
            Ok(writable_bytes) => writable_bytes,
            Err(refused) => {
                if plan.table.is_none() {
                    self.withdraw::<M>(&ring, plan.elements);
                }
                return Err(refused);
            }
        };
        let flags = first.flags | head.available_bits();
        let [address, rest] = Descriptor { id, flags, ..first }.to_words();
        let stored = ring.store_first(head.index.into(), address);
        let stored = match self.unpublished_head {
            None => stored,
            // Behind a head that is not published nobody sees it yet, but it is last of its list all the same (2.8.6).
            Some(_) => stored.and_then(|()| ring.store_second(head.index.into(), rest, Ordering::Release)),
        };
        stored.ok_or_else(|| lost(self.layout.address(Cell::Descriptor(head.index))))?;
        Ok((rest, writable_bytes))
    }

    #[inline(always)]
    fn ring<'a, M: Memory>(&self, memory: &'a M) -> Result<M::Descriptors<'a>, OutOfRange> {
        memory.descriptors(self.layout.descriptor_area, self.layout.queue_size.into())
    }

    /// The used descriptor at a position, if there is one. One load: flags, id and length belong together.
    #[inline(always)]
    fn used_at<M: Memory>(&self, memory: &M, position: Position) -> Result<Option<Descriptor>, Fault> {
        // Acquire pairs with the device's release: the buffer's contents are read after the flags (2.8.21, 2.8.22).
        let loaded = self.ring(memory)?.load_second(position.index.into(), Ordering::Acquire);
        let rest = loaded.ok_or_else(|| lost(self.layout.address(Cell::Descriptor(position.index))))?;
        let descriptor = Descriptor::from_words([0, rest]);
        Ok(descriptor.is_used(position).then_some(descriptor))
    }

    /// The next buffer that comes back, if there is one.
    #[inline(always)]
    fn next_used<M: Memory>(&mut self, memory: &M) -> Result<Option<Named>, Fault> {
        let position = self.state.next_used;
        let Some(used) = self.used_at(memory, position)? else { return Ok(None) };
        // Without WRITE the length is reserved (2.8.4), yet QEMU (7.2 to 10.0 at least) never sets the flag and means the length
        // all the same: so it counts where it can be one, and is never a fault.
        let reserved = !used.has(descriptor_flag::WRITE);
        let place = || Place::PackedRing(Cell::Descriptor(position.index));
        self.buffers.named(place, used.id.into(), used.length, reserved).map(Some)
    }

    /// The same with `IN_ORDER`: of what one used descriptor stands for, one at a time.
    #[inline(never)]
    fn next_in_order<M: Memory>(&mut self, memory: &M) -> Result<Option<Named>, Fault> {
        if let Some(next) = self.buffers.next_of_batch() {
            return Ok(Some(next));
        }
        let Some(named) = self.next_used(memory)? else { return Ok(None) };
        let place = Place::PackedRing(Cell::Descriptor(self.state.next_used.index));
        let visible = self.buffers.published.wrapping_sub(self.buffers.reaped);
        self.buffers.first_of_batch(place, named, visible).map(Some)
    }

    /// What a buffer held is free again.
    #[inline(always)]
    fn give_back<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P, named: Named) -> Used {
        let descriptors = named.descriptors();
        self.free_ids.push(named.id);
        self.state.free += descriptors;
        self.state.next_used = self.state.next_used.advance(descriptors, self.layout.queue_size);
        self.buffers.remove(memory, probe, &named)
    }

    /// Writes what the driver wants of notifications.
    fn wish<M: Memory>(&mut self, memory: &M, event: packed::Event) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let stored = memory.store_u32(self.layout.address(Cell::DriverEvent), event.to_bits());
        stored.map_err(|outside| self.buffers.break_for(outside.into()))
    }

    /// The private state.
    pub fn state(&self) -> PackedDriverState {
        self.state
    }

    /// Buffers in flight, by id.
    pub fn in_flight(&self) -> impl Iterator<Item = (u16, InFlight)> {
        self.buffers.in_flight()
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

impl PackedDriverState {
    fn fresh(queue_size: u16) -> Self {
        PackedDriverState {
            next_available: Position::START,
            published: Position::START,
            notified: Position::START,
            next_used: Position::START,
            free: queue_size,
            notifications: true,
        }
    }
}

impl<T: TableSource> Driver for PackedDriver<T> {
    #[inline(always)]
    fn add<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError> {
        // Each buffer in flight holds a slot and an id: without a free id no slot is free, which the plan then tells.
        let id = self.free_ids.last().copied().unwrap_or_default();
        let elements = readable.len() + writable.len();
        let plan = self.buffers.plan(memory, probe, elements, self.state.free, id)?;
        let head = self.state.next_available;
        let (rest, writable_bytes) = match self.place(memory, id, &plan, readable, writable) {
            Ok(placed) => placed,
            Err(error) => return Err(self.buffers.unwind(memory, probe, id, plan, error)),
        };
        if self.unpublished_head.is_none() {
            self.unpublished_head = Some((head.index, rest));
        }
        self.free_ids.pop();
        let descriptors = plan.descriptors();
        self.state.free -= descriptors;
        self.state.next_available = head.advance(descriptors, self.layout.queue_size);
        self.buffers.insert(probe, id, token, writable_bytes, &plan);
        Ok(id)
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let Some((slot, rest)) = self.unpublished_head else { return Ok(()) };
        // 2.8.21.1.1: everything else is visible before the flags that make the first descriptor available.
        let stored = self.ring(memory).map(|ring| ring.store_second(slot.into(), rest, Ordering::Release));
        let stored = stored
            .map_err(Fault::from)
            .and_then(|stored| stored.ok_or_else(|| lost(self.layout.address(Cell::Descriptor(slot)))));
        stored.map_err(|fault| self.buffers.break_for(fault))?;
        self.unpublished_head = None;
        self.buffers.published = self.buffers.added;
        let from = core::mem::replace(&mut self.state.published, self.state.next_available);
        let gone = self.state.published.distance_from(from, self.layout.queue_size);
        self.undecided = self.undecided.saturating_add(gone);
        probe.event(Event::Published { from: from.to_bits(), to: self.state.published.to_bits() });
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        self.buffers.check_broken()?;
        // 2.8.21.3.1: the flags are visible before the device's wish is read; the device does the two in the other
        // order.
        memory.fence(Ordering::SeqCst);
        let loaded = memory.load_u32(self.layout.address(Cell::DeviceEvent));
        let seen = loaded.map_err(|outside| self.buffers.break_for(outside.into()))?;
        let (from, to) = (self.state.notified, self.state.published);
        let wish = packed::Event::from_bits(seen);
        let crossed = wish.crossed(from, to, self.layout.queue_size, self.event_index).map_err(
            |(rule, expected)| {
                let place = Place::PackedRing(Cell::DeviceEvent);
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

    fn pending_used<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        let (mut pending, _) = self.buffers.left_of_batch();
        self.peek_used(memory, |element| pending += element.buffers)?;
        Ok(pending)
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, mut each: impl FnMut(UsedElement)) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        // The position moves on with each buffer that comes back, not with each element.
        let (mut passed, descriptors) = self.buffers.left_of_batch();
        let mut position = self.state.next_used.advance(descriptors, self.layout.queue_size);
        while passed < self.buffers.published.wrapping_sub(self.buffers.reaped) {
            let used = self.used_at(memory, position).map_err(|fault| self.buffers.break_for(fault))?;
            let Some(used) = used else { break };
            let Descriptor { id, length, flags, .. } = used;
            let element = |buffers| UsedElement { id: id.into(), length, buffers, flags };
            // With a wrong id there is no telling where the next one would be; reaping finds the fault.
            let Some((buffers, descriptors)) = self.buffers.stands_for(id, passed) else {
                each(element(1));
                break;
            };
            each(element(buffers));
            passed += buffers;
            position = position.advance(descriptors, self.layout.queue_size);
        }
        Ok(())
    }

    #[inline(always)]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        self.buffers.check_broken()?;
        if self.buffers.in_order {
            let named = self.next_in_order(memory).map_err(|fault| self.buffers.break_for(fault))?;
            return Ok(named.map(|named| self.give_back(memory, probe, named)));
        }
        let named = self.next_used(memory).map_err(|fault| self.buffers.break_for(fault))?;
        Ok(named.map(|named| self.give_back(memory, probe, named)))
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.state.notifications = false;
        self.wish(memory, packed::Event::DISABLED)
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.state.notifications = true;
        let next = packed::Event::at(self.state.next_used);
        self.wish(memory, if self.event_index { next } else { packed::Event::ENABLED })?;
        // The wish is visible before the ring is looked at again; the device does the two in the other order.
        memory.fence(Ordering::SeqCst);
        self.pending_used(memory)
    }

    fn last_used(&self) -> u16 {
        self.buffers.reaped
    }

    fn next_available(&self) -> u16 {
        self.state.published.to_bits()
    }

    fn free(&self) -> u16 {
        self.state.free
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
        self.free_ids.clear();
        self.free_ids.extend((0..size).rev());
        self.state = PackedDriverState::fresh(size);
        self.unpublished_head = None;
        self.undecided = 0;
        self.buffers.restart(memory, probe, self.layout.areas(Format::Packed), returned)
    }
}
