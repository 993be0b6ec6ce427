//! What both drivers keep of their buffers, and every check that does not depend on the format.

use super::{AddError, Used};
use crate::{
    Fault, QueueConfig, Segment,
    fault::Place,
    indirect::{RingState, Table, TableSource},
    memory::{Memory, Ordering, OutOfRange},
    probe::{Event, Probe},
    spec::{Area, MAXIMUM_CHAIN_BYTES, Rule, feature},
};
use alloc::{collections::VecDeque, vec::Vec};

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
    tables: T,
    in_flight: Vec<Option<InFlight>>,
    // With IN_ORDER: ids in the order in which they were added. The capacity is never exceeded.
    order: VecDeque<u16>,
    batch: Option<Batch>,
    pub(super) added: u16,
    pub(super) published: u16,
    pub(super) reaped: u16,
    pub(super) broken: Option<Fault>,
}

/// A buffer that may be added.
pub(super) struct Plan {
    pub(super) elements: u16,
    pub(super) writable_bytes: u32,
    pub(super) table: Option<Table>,
}

impl Plan {
    /// Ring descriptors it takes.
    #[inline(always)]
    pub(super) fn descriptors(&self) -> u16 {
        if self.table.is_some() { 1 } else { self.elements }
    }
}

impl<T: TableSource> Buffers<T> {
    pub(super) fn new(config: &QueueConfig, tables: T) -> Self {
        let size = config.layout.queue_size;
        let in_order = config.features.contains(feature::IN_ORDER);
        Buffers {
            queue_size: size,
            in_order,
            indirect: config.features.contains(feature::INDIRECT_DESC),
            tables,
            in_flight: (0..size).map(|_| None).collect(),
            order: VecDeque::with_capacity(if in_order { size.into() } else { 0 }),
            batch: None,
            added: config.start_index,
            published: config.start_index,
            reaped: config.start_index,
            broken: None,
        }
    }

    /// Checks the buffer and finds room for it: a table, or enough of the `free` ring descriptors. `id` is the one it
    /// gets.
    #[inline(always)]
    pub(super) fn plan<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        readable: &[Segment],
        writable: &[Segment],
        free: u16,
        id: u16,
    ) -> Result<Plan, AddError> {
        self.check_broken()?;
        let (elements, writable_bytes) = self.measure(readable, writable)?;
        if free == 0 {
            return Err(AddError::Full { needed: 1, free });
        }
        let mut table = None;
        if self.indirect && elements > 1 {
            let ring = RingState { size: self.queue_size, free, id };
            let taken = self.tables.take(memory, probe, elements, ring);
            table = taken.inspect_err(|fault| self.broken = Some(*fault))?;
        }
        if table.is_none() && elements > free {
            return Err(AddError::Full { needed: elements, free });
        }
        Ok(Plan { elements, writable_bytes, table })
    }

    /// Number of elements and writable bytes, or why the buffer is refused.
    #[inline(always)]
    fn measure(&self, readable: &[Segment], writable: &[Segment]) -> Result<(u16, u32), AddError> {
        let elements = readable.len() + writable.len();
        if elements == 0 {
            return Err(refused(Rule::NonEmpty, 0, "at least one element"));
        }
        if elements > self.queue_size as usize {
            return Err(refused(Rule::TooLong, elements as u64, "no more elements than the queue size"));
        }
        let bytes = |list: &[Segment]| list.iter().map(|segment| segment.length as u64).sum::<u64>();
        let writable_bytes = bytes(writable);
        let total = writable_bytes + bytes(readable);
        if total > MAXIMUM_CHAIN_BYTES {
            return Err(refused(Rule::TooLong, total, "at most 2^32 bytes in total"));
        }
        Ok((elements as u16, writable_bytes.min(u32::MAX as u64) as u32))
    }

    /// Writing the buffer failed on the way: the table goes back.
    #[cold]
    pub(super) fn unwind<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        id: u16,
        plan: &Plan,
        fault: Fault,
    ) -> AddError {
        if let Some(table) = plan.table {
            // The first fault is the one to tell.
            let _ = self.put_back(memory, probe, table, id);
        }
        AddError::Fault(fault)
    }

    /// The buffer stands in the ring under this id.
    #[inline(always)]
    pub(super) fn insert<P: Probe>(&mut self, probe: &mut P, id: u16, token: u64, plan: &Plan) {
        let descriptors = plan.descriptors();
        let Plan { table, writable_bytes, .. } = *plan;
        self.in_flight[id as usize] =
            Some(InFlight { token, descriptors, table, writable_bytes, number: self.added });
        if self.in_order {
            self.order.push_back(id);
        }
        self.added = self.added.wrapping_add(1);
        probe.event(Event::Placed { head: id, descriptors, table });
    }

    /// Checks a used element that the device wrote at `place`, and says which buffer is the next to come back with
    /// what length. `visible` is how many buffers the element can stand for at most.
    #[inline(always)]
    pub(super) fn next_used(
        &mut self,
        place: impl Fn() -> Place,
        id: u32,
        length: u32,
        visible: u16,
    ) -> Result<(u16, InFlight, u32), Fault> {
        let buffer = match self.in_flight.get(id as usize) {
            // A buffer that was placed but not published is not the device's to use.
            Some(Some(buffer)) if self.is_published(buffer.number) => *buffer,
            _ => return Err(self.break_with(Rule::UsedId, place(), id, "the id of a buffer in flight")),
        };
        if length > buffer.writable_bytes {
            let expected = "no more than the buffer's writable bytes";
            return Err(self.break_with(Rule::UsedLength, place(), length, expected));
        }
        if !self.in_order {
            return Ok((id as u16, buffer, length));
        }
        let size = buffer.number.wrapping_sub(self.reaped).wrapping_add(1);
        if size > visible {
            let expected = "the buffer that is next in order, or the last of a batch that is whole";
            return Err(self.break_with(Rule::InOrder, place(), id, expected));
        }
        self.batch = Some(Batch { last: id as u16, length });
        self.next_of_batch().ok_or_else(|| self.break_with(Rule::InOrder, place(), id, "a buffer in flight"))
    }

    /// The next buffer of a batch that one used element stood for. All but the last were written whole, as far as can be
    /// known: the element has the length of the last one only.
    #[inline(always)]
    pub(super) fn next_of_batch(&mut self) -> Option<(u16, InFlight, u32)> {
        let batch = self.batch?;
        let id = *self.order.front()?;
        let buffer = (*self.in_flight.get(id as usize)?)?;
        if id == batch.last {
            self.batch = None;
            return Some((id, buffer, batch.length));
        }
        Some((id, buffer, buffer.writable_bytes))
    }

    #[inline(always)]
    fn is_published(&self, number: u16) -> bool {
        let unpublished = self.added.wrapping_sub(self.published);
        self.added.wrapping_sub(number) > unpublished
    }

    /// The buffer comes back to the caller.
    #[inline(always)]
    pub(super) fn remove<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        id: u16,
        buffer: &InFlight,
        length: u32,
    ) -> Result<Used, Fault> {
        self.in_flight[id as usize] = None;
        if self.in_order {
            self.order.pop_front();
        }
        self.reaped = self.reaped.wrapping_add(1);
        if let Some(table) = buffer.table {
            self.put_back(memory, probe, table, id)?;
        }
        probe.event(Event::Reaped { head: id, descriptors: buffer.descriptors, length });
        Ok(Used { token: buffer.token, head: id, length })
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        self.tables.put_back(memory, probe, table, id).inspect_err(|fault| self.broken = Some(*fault))
    }

    /// Back to the beginning, the tables kept: hands over every buffer that is still in flight, and zeroes the ring.
    pub(super) fn restart<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        areas: [Area; 3],
        mut returned: impl FnMut(u64),
    ) -> Result<(), Fault> {
        for id in 0..self.in_flight.len() {
            let Some(buffer) = self.in_flight[id].take() else { continue };
            if let Some(table) = buffer.table {
                // A table that cannot be put back is lost with the queue, the buffer is not.
                let _ = self.put_back(memory, probe, table, id as u16);
            }
            returned(buffer.token);
        }
        self.order.clear();
        self.batch = None;
        (self.added, self.published, self.reaped) = (0, 0, 0);
        self.broken = zero(memory, areas).err().map(Fault::from);
        self.check_broken()
    }

    pub(super) fn in_flight(&self) -> impl Iterator<Item = (u16, &InFlight)> {
        self.in_flight.iter().enumerate().filter_map(|(id, buffer)| Some((id as u16, buffer.as_ref()?)))
    }

    pub(super) fn get(&self, id: u16) -> Option<&InFlight> {
        self.in_flight.get(id as usize)?.as_ref()
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
        for (count, next) in (1..).zip(self.order.iter().skip(passed.into())) {
            descriptors += self.get(*next)?.descriptors;
            if *next == id {
                return Some((count, descriptors));
            }
        }
        None
    }

    pub(super) fn tables(&self) -> &T {
        &self.tables
    }

    #[inline(always)]
    pub(super) fn check_broken(&self) -> Result<(), Fault> {
        match self.broken {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    #[cold]
    pub(super) fn break_with(
        &mut self,
        rule: Rule,
        place: Place,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Fault {
        let fault = Fault::rule(rule, place, found, expected);
        self.broken = Some(fault);
        fault
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
fn refused(rule: Rule, found: u64, expected: &'static str) -> AddError {
    AddError::Refused(Fault::rule(rule, Place::Call, found, expected))
}
