//! What both devices keep of the buffers they took, and every check that does not depend on the format.

mod snapshot;

pub use snapshot::{TakenBufferSnapshot, TakenSnapshot};

use super::chain::Walked;
use crate::{
    Fault, QueueConfig,
    fault::Place,
    order::Order,
    spec::{Rule, feature},
};
use alloc::{vec, vec::Vec};

/// A buffer that was taken and is not yet used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes the device may write into it, as far as a used length can say: at most 2^32 - 1.
    pub writable_bytes: u32,
    /// Ring descriptors it holds.
    pub descriptors: u16,
    /// The buffer's number: buffers are counted as they are taken, from the start index on, modulo 2^16.
    pub number: u16,
}

/// What an id stands for, as little as makes one store.
#[derive(Clone, Copy, Debug)]
struct Entry {
    writable_bytes: u32,
    number: u16,
    // Ring descriptors; FREE if no buffer has the id, USED if its buffer was used and that is not published.
    descriptors: u16,
}

const FREE: u16 = 0;
/// No buffer has that many descriptors.
const USED: u16 = u16::MAX;
const FREE_ENTRY: Entry = Entry { writable_bytes: 0, number: 0, descriptors: FREE };

impl Entry {
    #[inline(always)]
    fn is_taken(&self) -> bool {
        // Wrapping, FREE becomes the largest of all, and USED the next.
        self.descriptors.wrapping_sub(1) < USED - 1
    }
}

/// Buffers by id, and where the device stands. The counters are numbers of buffers.
#[derive(Clone, Debug)]
pub(super) struct TakenBuffers {
    pub(super) in_order: bool,
    by_id: Vec<Entry>,
    order: Order,
    // Ids that were used, but not visibly for the driver: until then it must not give them to another buffer.
    unpublished: Vec<u16>,
    pub(super) popped: u16,
    pub(super) used: u16,
    pub(super) published: u16,
    pub(super) broken: Option<Fault>,
}

/// What taking the next available buffer gave.
pub(super) enum Popped {
    Nothing,
    Buffer,
    Broken,
}

/// Room for a buffer under an id that none has.
pub(super) struct NewId<'a> {
    place: &'a mut Entry,
    order: &'a mut Order,
    popped: &'a mut u16,
    in_order: bool,
    id: u16,
}

impl NewId<'_> {
    /// The buffer was taken.
    #[inline(always)]
    pub(super) fn insert(self, Walked { writable_bytes, descriptors }: Walked) {
        // Exactly 2^32 is one more than a length can say.
        let writable_bytes = (writable_bytes - (writable_bytes >> 32)) as u32;
        *self.place = Entry { writable_bytes, descriptors, number: *self.popped };
        if self.in_order {
            self.order.set(*self.popped, self.id);
        }
        *self.popped = self.popped.wrapping_add(1);
    }
}

impl TakenBuffers {
    pub(super) fn new(config: &QueueConfig) -> Self {
        let size = config.layout.queue_size;
        let in_order = config.features.contains(feature::IN_ORDER);
        TakenBuffers {
            in_order,
            by_id: vec![FREE_ENTRY; size.into()],
            order: Order::new(size, in_order),
            unpublished: Vec::with_capacity(size.into()),
            popped: config.start_index,
            used: config.start_index,
            published: config.start_index,
            broken: None,
        }
    }

    /// Room under this id, if a buffer may have it: it is below the queue size, and the driver has it back, if any had it.
    #[inline(always)]
    pub(super) fn new_id(&mut self, id: u16) -> Option<NewId<'_>> {
        let place = self.by_id.get_mut(id as usize).filter(|entry| entry.descriptors == FREE)?;
        let TakenBuffers { order, popped, in_order, .. } = self;
        Some(NewId { place, order, popped, in_order: *in_order, id })
    }

    /// Whether the caller may use this buffer now, with this length; then it is no longer taken. Returns its ring
    /// descriptors.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: u16, length: u32) -> Result<u16, Fault> {
        let in_order = self.in_order.then_some(self.used);
        let place = self.by_id.get_mut(id as usize).filter(|entry| entry.is_taken());
        let Some(place) = place else { return Err(not_taken(id)) };
        let Entry { writable_bytes, number, descriptors } = *place;
        if length > writable_bytes {
            return Err(too_long(length));
        }
        if in_order.is_some_and(|next| next != number) {
            return Err(refused(Rule::InOrder, id, "the buffer that was taken first"));
        }
        place.descriptors = USED;
        self.unpublished.push(id);
        self.used = self.used.wrapping_add(1);
        Ok(descriptors)
    }

    /// With `IN_ORDER`: every buffer from the one taken first up to this one is used. Returns their ring descriptors.
    pub(super) fn remove_until(&mut self, id: u16, length: u32) -> Result<u16, Fault> {
        if !self.in_order {
            let expected = "a single buffer, since IN_ORDER was not negotiated";
            return Err(refused(Rule::InOrder, id, expected));
        }
        let last = self.by_id.get(id as usize).filter(|entry| entry.is_taken());
        let Some(last) = last else { return Err(not_taken(id)) };
        if length > last.writable_bytes {
            return Err(too_long(length));
        }
        let mut descriptors = 0;
        loop {
            let first = self.order.get(self.used).unwrap_or(id);
            if let Some(place) = self.by_id.get_mut(first as usize).filter(|entry| entry.is_taken()) {
                descriptors += core::mem::replace(&mut place.descriptors, USED);
                self.unpublished.push(first);
            }
            self.used = self.used.wrapping_add(1);
            if first == id {
                return Ok(descriptors);
            }
        }
    }

    /// What was used is visible to the driver: it may give the ids to other buffers.
    #[inline(always)]
    pub(super) fn publish(&mut self) {
        for id in self.unpublished.drain(..) {
            if let Some(place) = self.by_id.get_mut(id as usize) {
                place.descriptors = FREE;
            }
        }
        self.published = self.used;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, Taken)> {
        self.by_id.iter().enumerate().filter(|(_, entry)| entry.is_taken()).map(|(id, entry)| {
            let Entry { writable_bytes, number, descriptors } = *entry;
            (id as u16, Taken { writable_bytes, descriptors, number })
        })
    }

    /// Back to the beginning.
    pub(super) fn restart(&mut self) {
        self.by_id.fill(FREE_ENTRY);
        self.unpublished.clear();
        (self.popped, self.used, self.published) = (0, 0, 0);
        self.broken = None;
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
    pub(super) fn break_while_taking(&mut self, fault: Fault) -> Popped {
        self.break_for(fault);
        Popped::Broken
    }

    #[cold]
    #[inline(never)]
    pub(super) fn break_for(&mut self, fault: Fault) -> Fault {
        *self.broken.get_or_insert(fault)
    }
}

#[cold]
#[inline(never)]
fn not_taken(id: u16) -> Fault {
    refused(Rule::UsedId, id, "a buffer that was taken and not yet used")
}

#[cold]
#[inline(never)]
fn too_long(length: u32) -> Fault {
    refused(Rule::UsedLength, length, "no more than the buffer's writable bytes")
}

#[cold]
#[inline(never)]
fn refused(rule: Rule, found: impl Into<u64>, expected: &'static str) -> Fault {
    Fault::rule(rule, Place::Call, found, expected)
}
