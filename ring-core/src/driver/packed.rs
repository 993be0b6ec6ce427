//! The driver of a packed ring (virtio 1.2, 2.8).

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

    #[inline(always)]
    fn fill_table<M: Memory>(
        memory: &M,
        table: Table,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<(), Fault> {
        let mut address = table.address;
        for_each_element(readable, writable, |segment, flags| {
            // The order says what is next (2.8.7).
            let flags = flags & descriptor_flag::WRITE;
            let descriptor = Descriptor { address: segment.address, length: segment.length, id: 0, flags };
            memory.store_words(address, descriptor.to_words())?;
            address += DESCRIPTOR_SIZE as u64;
            Ok(())
        })
    }

    /// Writes the buffer, all but the word that makes its first descriptor available, which is returned.
    #[inline(always)]
    fn place<M: Memory>(
        &self,
        memory: &M,
        id: u16,
        plan: &Plan,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u64, Fault> {
        let head = self.state.next_available;
        if let Some(table) = plan.table {
            Self::fill_table(memory, table, readable, writable)?;
            let length = plan.elements as u32 * DESCRIPTOR_SIZE;
            let flags = descriptor_flag::INDIRECT | head.available_bits();
            return self.place_head(memory, Descriptor { address: table.address, length, id, flags });
        }
        let mut slot = head.index;
        let mut available = head.available_bits();
        let mut first = Descriptor::default();
        for_each_element(readable, writable, |segment, flags| {
            let flags = flags | available;
            let descriptor = Descriptor { address: segment.address, length: segment.length, id, flags };
            if slot == head.index {
                first = descriptor;
            } else {
                memory.store_words(self.layout.address(Cell::Descriptor(slot)), descriptor.to_words())?;
            }
            slot += 1;
            if slot == self.layout.queue_size {
                slot = 0;
                available ^= descriptor_flag::AVAIL | descriptor_flag::USED;
            }
            Ok(())
        })?;
        self.place_head(memory, first)
    }

    #[inline(always)]
    fn place_head<M: Memory>(&self, memory: &M, descriptor: Descriptor) -> Result<u64, Fault> {
        let [address, rest] = descriptor.to_words();
        let slot = self.layout.address(Cell::Descriptor(self.state.next_available.index));
        memory.store_u64(slot, address, Ordering::Relaxed)?;
        Ok(rest)
    }

    #[inline(always)]
    fn second_word(&self, slot: u16) -> u64 {
        self.layout.address(Cell::Descriptor(slot)) + 8
    }

    /// The used descriptor at a position, if there is one. One load: flags, id and length belong together.
    #[inline(always)]
    fn used_at<M: Memory>(&self, memory: &M, position: Position) -> Result<Option<Descriptor>, Fault> {
        // Acquire pairs with the device's release: the buffer's contents are read after the flags (2.8.21, 2.8.22).
        let rest = memory.load_u64(self.second_word(position.index), Ordering::Acquire)?;
        let descriptor = Descriptor::from_words([0, rest]);
        Ok(descriptor.is_used(position).then_some(descriptor))
    }

    /// The length of a used descriptor without WRITE. It is reserved then (2.8.4), yet QEMU (7.2 to 10.0 at least) never sets
    /// the flag and means the length all the same: so it counts where it can be one, and is never a fault.
    #[inline(always)]
    fn unmarked_length(&self, used: Descriptor) -> u32 {
        match self.buffers.get(used.id) {
            Some(buffer) if used.length <= buffer.writable_bytes => used.length,
            _ => 0,
        }
    }

    /// The private state.
    pub fn state(&self) -> PackedDriverState {
        self.state
    }

    /// Buffers in flight, by id.
    pub fn in_flight(&self) -> impl Iterator<Item = (u16, &InFlight)> {
        self.buffers.in_flight()
    }

    /// The table strategy.
    pub fn tables(&self) -> &T {
        self.buffers.tables()
    }
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
    #[inline]
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
        let plan = self.buffers.plan(memory, probe, readable, writable, self.state.free, id)?;
        let head = self.state.next_available;
        let mut written = self.place(memory, id, &plan, readable, writable);
        if let (Ok(rest), true) = (&written, self.unpublished_head.is_some()) {
            // Behind a head that is not published nobody sees it yet, but it is last of its list all the same (2.8.6).
            let stored = memory.store_u64(self.second_word(head.index), *rest, Ordering::Release);
            written = stored.map(|()| 0).map_err(Fault::from);
        }
        match written {
            Ok(_) if self.unpublished_head.is_some() => {}
            Ok(rest) => self.unpublished_head = Some((head.index, rest)),
            Err(fault) => return Err(self.buffers.unwind(memory, probe, id, &plan, fault)),
        }
        self.free_ids.pop();
        let descriptors = plan.descriptors();
        self.state.free -= descriptors;
        self.state.next_available = head.advance(descriptors, self.layout.queue_size);
        self.buffers.insert(probe, id, token, &plan);
        Ok(id)
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        let Some((slot, rest)) = self.unpublished_head else { return Ok(()) };
        // 2.8.21.1.1: everything else is visible before the flags that make the first descriptor available.
        memory.store_u64(self.second_word(slot), rest, Ordering::Release)?;
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
        let seen = memory.load_u32(self.layout.address(Cell::DeviceEvent))?;
        let (from, to) = (self.state.notified, self.state.published);
        let wish = packed::Event::from_bits(seen);
        let crossed = wish.crossed(from, to, self.layout.queue_size, self.event_index).map_err(
            |(rule, expected)| {
                self.buffers.break_with(rule, Place::PackedRing(Cell::DeviceEvent), seen, expected)
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
        self.peek_used(memory, |_, _, buffers| pending += buffers)?;
        Ok(pending)
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, mut each: impl FnMut(u16, u32, u16)) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        // The position moves on with each buffer that comes back, not with each element.
        let (mut passed, descriptors) = self.buffers.left_of_batch();
        let mut position = self.state.next_used.advance(descriptors, self.layout.queue_size);
        while passed < self.buffers.published.wrapping_sub(self.buffers.reaped) {
            let Some(used) = self.used_at(memory, position)? else { break };
            // With a wrong id there is no telling where the next one would be; reaping finds the fault.
            let Some((buffers, descriptors)) = self.buffers.stands_for(used.id, passed) else {
                each(used.id, used.length, 1);
                break;
            };
            each(used.id, used.length, buffers);
            passed += buffers;
            position = position.advance(descriptors, self.layout.queue_size);
        }
        Ok(())
    }

    #[inline]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        self.buffers.check_broken()?;
        let (id, buffer, length) = match self.buffers.next_of_batch() {
            Some(next) => next,
            None => {
                let position = self.state.next_used;
                let Some(used) = self.used_at(memory, position)? else { return Ok(None) };
                let length =
                    if used.has(descriptor_flag::WRITE) { used.length } else { self.unmarked_length(used) };
                let visible = self.buffers.published.wrapping_sub(self.buffers.reaped);
                let place = || Place::PackedRing(Cell::Descriptor(position.index));
                self.buffers.next_used(place, used.id.into(), length, visible)?
            }
        };
        self.free_ids.push(id);
        self.state.free += buffer.descriptors;
        self.state.next_used = self.state.next_used.advance(buffer.descriptors, self.layout.queue_size);
        self.buffers.remove(memory, probe, id, &buffer, length).map(Some)
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.buffers.check_broken()?;
        self.state.notifications = false;
        Ok(memory.store_u32(self.layout.address(Cell::DriverEvent), packed::Event::DISABLED.to_bits())?)
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.buffers.check_broken()?;
        self.state.notifications = true;
        let event =
            if self.event_index { packed::Event::at(self.state.next_used) } else { packed::Event::ENABLED };
        memory.store_u32(self.layout.address(Cell::DriverEvent), event.to_bits())?;
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
