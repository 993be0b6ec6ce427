//! What both drivers keep of their buffers, and every check that does not depend on the format.

mod snapshot;

pub use snapshot::{BatchSnapshot, BufferSnapshot, BuffersSnapshot, Elements};

use super::{AddError, Used};
use crate::{
    Fault, QueueConfig,
    fault::Place,
    indirect::{RingState, Table, TableSource},
    memory::{Memory, Ordering, OutOfRange},
    order::Order,
    probe::{Event, Probe},
    spec::{Area, MAXIMUM_CHAIN_BYTES, Rule, feature},
};
use alloc::{vec, vec::Vec};
use core::num::NonZeroU16;

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
    /// The buffer's number: buffers are counted as they are added, from the start index on, modulo 2^16.
    pub number: u16,
}

/// What is kept of a buffer under its id: as little as makes two stores.
#[derive(Clone, Copy, Debug)]
struct Held {
    token: u64,
    writable_bytes: u32,
    number: u16,
    // Ring descriptors, or IN_TABLE; none if no buffer has the id.
    descriptors: Option<NonZeroU16>,
}

/// One ring descriptor, and a table. No buffer has that many ring descriptors.
const IN_TABLE: NonZeroU16 = NonZeroU16::MAX;

const NONE: Held = Held { token: 0, writable_bytes: 0, number: 0, descriptors: None };

/// A used element that stands for every buffer up to one (2.7.9, 2.8.8).
#[derive(Clone, Copy, Debug)]
struct Batch {
    last: u16,
    length: u32,
}

/// Buffers by id, and where the driver stands. The counters are numbers of buffers.
#[derive(Clone, Debug)]
pub(super) struct Buffers<T> {
    pub(super) queue_size: u16,
    pub(super) in_order: bool,
    indirect: bool,
    strategy: T,
    held: Vec<Held>,
    // By id, of buffers in a table.
    tables: Vec<Table>,
    order: Order,
    batch: Option<Batch>,
    pub(super) added: u16,
    pub(super) published: u16,
    pub(super) reaped: u16,
    pub(super) broken: Option<Fault>,
}

/// A buffer that may be added.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) elements: u16,
    pub(super) table: Option<Table>,
}

impl Plan {
    /// Ring descriptors it takes.
    #[inline(always)]
    pub(super) fn descriptors(&self) -> u16 {
        if self.table.is_some() { 1 } else { self.elements }
    }
}

/// How much is in a buffer, told while its descriptors are written.
#[derive(Clone, Copy, Default)]
pub(super) struct Bytes {
    pub(super) readable: u64,
    pub(super) writable: u64,
}

impl Bytes {
    /// `B-LONG`, and what a used length may say at most.
    #[inline(always)]
    pub(super) fn check(self) -> Result<u32, AddError> {
        let total = self.readable + self.writable;
        if total > MAXIMUM_CHAIN_BYTES {
            return Err(refused(Rule::TooLong, total, "at most 2^32 bytes in total"));
        }
        // Exactly 2^32 is one more than a length can say.
        Ok((self.writable - (self.writable >> 32)) as u32)
    }
}

/// A buffer that a used element names.
#[derive(Clone, Copy)]
pub(super) struct Named {
    pub(super) id: u16,
    pub(super) length: u32,
    held: Held,
}

impl Named {
    /// Ring descriptors it gives back.
    #[inline(always)]
    pub(super) fn descriptors(&self) -> u16 {
        match self.held.descriptors {
            Some(IN_TABLE) => 1,
            Some(descriptors) => descriptors.get(),
            None => 0,
        }
    }
}

impl<T: TableSource> Buffers<T> {
    pub(super) fn new(config: &QueueConfig, strategy: T) -> Self {
        let size = config.layout.queue_size;
        let in_order = config.features.contains(feature::IN_ORDER);
        let indirect = config.features.contains(feature::INDIRECT_DESC);
        Buffers {
            queue_size: size,
            in_order,
            indirect,
            strategy,
            held: vec![NONE; size.into()],
            tables: if indirect { vec![Table { address: 0, entries: 0 }; size.into()] } else { Vec::new() },
            order: Order::new(size, in_order),
            batch: None,
            added: config.start_index,
            published: config.start_index,
            reaped: config.start_index,
            broken: None,
        }
    }

    /// Finds room for a buffer: a table, or enough of the `free` ring descriptors. `id` is the one it gets.
    #[inline(always)]
    pub(super) fn plan<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: usize,
        free: u16,
        id: u16,
    ) -> Result<Plan, AddError> {
        self.check_broken()?;
        // A buffer of no elements wraps to more than any queue has.
        if elements.wrapping_sub(1) >= self.queue_size as usize {
            return Err(wrong_size(elements));
        }
        let elements = elements as u16;
        if free == 0 {
            return Err(AddError::Full { needed: 1, free });
        }
        let mut table = None;
        if self.indirect && elements > 1 {
            let ring = RingState { size: self.queue_size, free, id };
            let taken = self.strategy.take(memory, probe, elements, ring);
            table = taken.map_err(|fault| self.break_for(fault))?;
        }
        if table.is_none() && elements > free {
            return Err(AddError::Full { needed: elements, free });
        }
        Ok(Plan { elements, table })
    }

    /// The buffer was not written, or not wholly: the table goes back. Memory that cannot be written breaks the queue.
    #[cold]
    #[inline(never)]
    pub(super) fn unwind<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        id: u16,
        plan: Plan,
        error: AddError,
    ) -> AddError {
        if let AddError::Fault(fault) = error {
            // The first fault is the one to tell.
            self.break_for(fault);
        }
        if let Some(table) = plan.table {
            let _ = self.put_back(memory, probe, table, id);
        }
        error
    }

    /// The buffer stands in the ring under this id.
    #[inline(always)]
    pub(super) fn insert<P: Probe>(
        &mut self,
        probe: &mut P,
        id: u16,
        token: u64,
        writable_bytes: u32,
        plan: &Plan,
    ) {
        let number = self.added;
        let descriptors = match plan.table {
            None => NonZeroU16::new(plan.elements),
            Some(table) => {
                if let Some(place) = self.tables.get_mut(id as usize) {
                    *place = table;
                }
                Some(IN_TABLE)
            }
        };
        if let Some(place) = self.held.get_mut(id as usize) {
            *place = Held { token, writable_bytes, number, descriptors };
        }
        if self.in_order {
            self.order.set(number, id);
        }
        self.added = number.wrapping_add(1);
        probe.event(Event::Placed { head: id, descriptors: plan.descriptors(), table: plan.table });
    }

    /// Checks a used element that the device wrote at `place`, and says which buffer comes back. A length that is `reserved` is
    /// no fault: one that cannot be, is none.
    #[inline(always)]
    pub(super) fn named(
        &self,
        place: impl Fn() -> Place,
        id: u32,
        mut length: u32,
        reserved: bool,
    ) -> Result<Named, Fault> {
        let held = match self.held.get(id as usize) {
            // A buffer that was placed but not published is not the device's to use.
            Some(held) if held.descriptors.is_some() && self.is_published(held.number) => *held,
            _ => return Err(wrong_id(place(), id)),
        };
        if length > held.writable_bytes {
            if !reserved {
                return Err(wrong_length(place(), length));
            }
            length = 0;
        }
        Ok(Named { id: id as u16, length, held })
    }

    /// With `IN_ORDER`: the element stands for every buffer up to the one it names, of which there are `visible` at most. Says
    /// which of them comes back first.
    #[inline]
    pub(super) fn first_of_batch(
        &mut self,
        place: Place,
        named: Named,
        visible: u16,
    ) -> Result<Named, Fault> {
        let size = named.held.number.wrapping_sub(self.reaped).wrapping_add(1);
        if size > visible {
            return Err(out_of_order(place, named.id));
        }
        self.batch = Some(Batch { last: named.id, length: named.length });
        self.next_of_batch().ok_or_else(|| out_of_order(place, named.id))
    }

    /// The next buffer of a batch that one used element stood for. All but the last were written whole, as far as can be
    /// known: the element has the length of the last one only.
    #[inline]
    pub(super) fn next_of_batch(&mut self) -> Option<Named> {
        let batch = self.batch?;
        let id = self.order.get(self.reaped)?;
        let held = *self.held.get(id as usize)?;
        held.descriptors?;
        if id == batch.last {
            self.batch = None;
            return Some(Named { id, length: batch.length, held });
        }
        Some(Named { id, length: held.writable_bytes, held })
    }

    /// Whether the number is not among those added and not yet published. How far behind it lies says nothing: a buffer may
    /// stay while any number of others come and go.
    #[inline(always)]
    fn is_published(&self, number: u16) -> bool {
        number.wrapping_sub(self.published) >= self.added.wrapping_sub(self.published)
    }

    /// The buffer comes back to the caller.
    #[inline(always)]
    pub(super) fn remove<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P, named: &Named) -> Used {
        let Named { id, length, held } = *named;
        if let Some(place) = self.held.get_mut(id as usize) {
            place.descriptors = None;
        }
        self.reaped = self.reaped.wrapping_add(1);
        if held.descriptors == Some(IN_TABLE)
            && let Some(table) = self.tables.get(id as usize).copied()
        {
            // The buffer has come back all the same; that the queue is broken shows in the next call.
            let _ = self.put_back(memory, probe, table, id);
        }
        probe.event(Event::Reaped { head: id, descriptors: named.descriptors(), length });
        Used { token: held.token, head: id, length }
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        let put = self.strategy.put_back(memory, probe, table, id);
        put.map_err(|fault| self.break_for(fault))
    }

    /// Back to the beginning, the idle tables kept: hands over every buffer that is still in flight, and zeroes the ring.
    pub(super) fn restart<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        areas: [Area; 3],
        mut returned: impl FnMut(u64),
    ) -> Result<(), Fault> {
        for id in 0..self.queue_size {
            let Some(buffer) = self.get(id) else { continue };
            if let Some(place) = self.held.get_mut(id as usize) {
                place.descriptors = None;
            }
            if let Some(table) = buffer.table {
                // A table that cannot be put back is lost with the queue, the buffer is not.
                let _ = self.put_back(memory, probe, table, id);
            }
            returned(buffer.token);
        }
        self.batch = None;
        (self.added, self.published, self.reaped) = (0, 0, 0);
        self.broken = zero(memory, areas).err().map(Fault::from);
        self.check_broken()
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = (u16, InFlight)> {
        (0..self.queue_size).filter_map(|id| Some((id, self.get(id)?)))
    }

    pub(super) fn get(&self, id: u16) -> Option<InFlight> {
        let Held { token, writable_bytes, number, descriptors } = *self.held.get(id as usize)?;
        let (descriptors, table) = match descriptors? {
            IN_TABLE => (1, self.tables.get(id as usize).copied()),
            descriptors => (descriptors.get(), None),
        };
        Some(InFlight { token, descriptors, table, writable_bytes, number })
    }

    /// How many buffers, and how many ring descriptors of them, did not come back yet of a batch whose element was taken.
    pub(super) fn left_of_batch(&self) -> (u16, u16) {
        self.batch.and_then(|batch| self.stands_for(batch.last, 0)).unwrap_or_default()
    }

    /// How many buffers, and how many ring descriptors of them, a used element that names `id` stands for, when `passed`
    /// buffers were used before it that did not come back yet.
    pub(super) fn stands_for(&self, id: u16, passed: u16) -> Option<(u16, u16)> {
        if !self.in_order {
            return Some((1, self.get(id)?.descriptors));
        }
        let mut descriptors = 0;
        let waiting = self.published.wrapping_sub(self.reaped);
        for count in passed..waiting {
            let next = self.order.get(self.reaped.wrapping_add(count))?;
            descriptors += self.get(next)?.descriptors;
            if next == id {
                return Some((count - passed + 1, descriptors));
            }
        }
        None
    }

    pub(super) fn run_on(&mut self, node: u16) {
        self.strategy.run_on(node);
    }

    #[inline(always)]
    pub(super) fn strategy(&self) -> &T {
        &self.strategy
    }

    #[inline(always)]
    pub(super) fn check_broken(&self) -> Result<(), Fault> {
        match self.broken {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn break_for(&mut self, fault: Fault) -> Fault {
        *self.broken.get_or_insert(fault)
    }
}

/// Zeroes a ring. Its areas are made of 16-bit fields, and whole numbers of them.
fn zero<M: Memory>(memory: &M, areas: [Area; 3]) -> Result<(), OutOfRange> {
    for Area { address, length, .. } in areas {
        for offset in (0..length).step_by(2) {
            memory.store_u16(address + offset, 0, Ordering::Relaxed)?;
        }
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn refused(rule: Rule, found: u64, expected: &'static str) -> AddError {
    AddError::Refused(Fault::rule(rule, Place::Call, found, expected))
}

#[cold]
#[inline(never)]
fn wrong_size(elements: usize) -> AddError {
    match elements {
        0 => refused(Rule::NonEmpty, 0, "at least one element"),
        _ => refused(Rule::TooLong, elements as u64, "no more elements than the queue size"),
    }
}

#[cold]
#[inline(never)]
fn wrong_id(place: Place, id: u32) -> Fault {
    Fault::rule(Rule::UsedId, place, id, "the id of a buffer in flight")
}

#[cold]
#[inline(never)]
fn wrong_length(place: Place, length: u32) -> Fault {
    Fault::rule(Rule::UsedLength, place, length, "no more than the buffer's writable bytes")
}

#[cold]
#[inline(never)]
fn out_of_order(place: Place, id: u16) -> Fault {
    let expected = "the buffer that is next in order, or the last of a batch that is whole";
    Fault::rule(Rule::InOrder, place, id, expected)
}
