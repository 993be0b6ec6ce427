//! A buffer as the device sees it.

use crate::{
    Fault, Segment,
    fault::Place,
    indirect::Table,
    spec::{DESCRIPTOR_SIZE, MAXIMUM_CHAIN_BYTES, Rule, descriptor_flag},
};
use alloc::vec::Vec;
use core::fmt;

/// One buffer taken from the ring, its elements checked. Reused from call to call: it allocates once, with room for as
/// many elements as the queue has descriptors, which no buffer exceeds.
#[derive(Default)]
pub struct Chain {
    /// The buffer's id in used elements: on a split ring the descriptor that starts it.
    pub head: u16,
    /// The indirect table its elements (or the last of them) stand in.
    pub table: Option<Table>,
    // Readable elements, writable ones, and room.
    segments: Vec<Segment>,
    readable: usize,
    elements: usize,
}

impl Chain {
    /// Device-readable elements, in order.
    #[inline]
    pub fn readable(&self) -> &[Segment] {
        self.segments.get(..self.readable).unwrap_or_default()
    }

    /// Device-writable elements, in order.
    #[inline]
    pub fn writable(&self) -> &[Segment] {
        self.segments.get(self.readable..self.elements).unwrap_or_default()
    }

    /// Elements of both kinds.
    #[inline]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Bytes of the writable elements.
    pub fn writable_bytes(&self) -> u64 {
        self.writable().iter().map(|segment| segment.length as u64).sum()
    }
}

impl Clone for Chain {
    /// A copy without room for more: whoever keeps many buffers keeps only their elements.
    fn clone(&self) -> Self {
        let segments = self.segments.get(..self.elements).unwrap_or_default().to_vec();
        Chain { segments, ..*self }
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        (self.head, self.table, self.readable(), self.writable())
            == (other.head, other.table, other.readable(), other.writable())
    }
}

impl Eq for Chain {}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Chain");
        shown.field("head", &self.head).field("table", &self.table);
        shown.field("readable", &self.readable()).field("writable", &self.writable()).finish()
    }
}

/// What a walk found beside the elements.
pub(super) struct Walked {
    /// Bytes of the writable elements.
    pub(super) writable_bytes: u64,
    /// Ring descriptors.
    pub(super) descriptors: u16,
}

/// A chain being read: every check of its elements that does not depend on the format.
pub(super) struct Walk<'a> {
    // Where the elements go. That it runs out bounds every walk.
    room: &'a mut [Segment],
    count: usize,
    // Bytes of the elements of one kind: readable ones, then writable ones.
    bytes: u64,
    /// WRITE once a writable element was seen: what elements' flags are expected to have from there on.
    pub(super) write: u16,
    readable_bytes: u64,
    // Of the chain.
    table: &'a mut Option<Table>,
    readable: &'a mut usize,
    elements: &'a mut usize,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(chain: &'a mut Chain, queue_size: u16) -> Self {
        let Chain { segments, table, readable, elements, .. } = chain;
        // Until the walk is done there is nothing in it.
        (*table, *readable, *elements) = (None, 0, 0);
        if segments.len() != queue_size as usize {
            make_room(segments, queue_size);
        }
        Walk { room: segments, count: 0, bytes: 0, write: 0, readable_bytes: 0, table, readable, elements }
    }

    /// Elements so far.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds an element whose flags have WRITE as expected; `false` if there is no room for it.
    #[inline(always)]
    pub(super) fn element(&mut self, segment: Segment) -> bool {
        let Some(place) = self.room.get_mut(self.count) else { return false };
        *place = segment;
        self.count += 1;
        self.bytes += segment.length as u64;
        true
    }

    /// An element whose flags do not have WRITE as expected: the first writable one, or one out of order.
    #[inline(always)]
    pub(super) fn turn(&mut self, place: impl Fn() -> Place, flags: u16) -> Result<(), Fault> {
        if self.write != 0 {
            return Err(not_writable(place(), flags));
        }
        self.write = descriptor_flag::WRITE;
        *self.readable = self.count;
        self.readable_bytes = core::mem::take(&mut self.bytes);
        Ok(())
    }

    /// The elements stand in a table of `length` bytes. Returns its entries.
    #[inline(always)]
    pub(super) fn enter_table(
        &mut self,
        place: impl Fn() -> Place,
        address: u64,
        length: u32,
    ) -> Result<u32, Fault> {
        if length == 0 || !length.is_multiple_of(DESCRIPTOR_SIZE) {
            return Err(no_table(place(), length));
        }
        let entries = length / DESCRIPTOR_SIZE;
        *self.table = Some(Table { address, entries: entries.min(u16::MAX as u32) as u16 });
        Ok(entries)
    }

    /// The last element was added. `descriptors` of the ring were walked if they are not as many as the elements.
    #[inline(always)]
    pub(super) fn finish(self, place: impl Fn() -> Place, descriptors: Option<u16>) -> Result<Walked, Fault> {
        let bytes = self.bytes + self.readable_bytes;
        if bytes > MAXIMUM_CHAIN_BYTES {
            return Err(too_many_bytes(place(), bytes));
        }
        *self.elements = self.count;
        let descriptors = descriptors.unwrap_or(self.count as u16);
        if self.write == 0 {
            *self.readable = self.count;
            return Ok(Walked { writable_bytes: 0, descriptors });
        }
        Ok(Walked { writable_bytes: self.bytes, descriptors })
    }
}

#[cold]
#[inline(never)]
fn make_room(segments: &mut Vec<Segment>, queue_size: u16) {
    segments.resize(queue_size.into(), Segment::default());
}

#[cold]
#[inline(never)]
fn not_writable(place: Place, flags: u16) -> Fault {
    Fault::rule(Rule::ReadableFirst, place, flags, "WRITE, as in the descriptors before it")
}

#[cold]
#[inline(never)]
fn no_table(place: Place, length: u32) -> Fault {
    let expected = "a table length that is a multiple of 16 and not 0";
    Fault::rule(Rule::IndirectLength, place, length, expected)
}

#[cold]
#[inline(never)]
fn too_many_bytes(place: Place, bytes: u64) -> Fault {
    Fault::rule(Rule::TooLong, place, bytes, "at most 2^32 bytes in total")
}

/// There is no room although the table has more entries.
#[cold]
#[inline(never)]
pub(super) fn too_many_elements(place: Place, queue_size: u16) -> Fault {
    let expected = "no more elements than the queue size";
    Fault::rule(Rule::TooLong, place, queue_size as u64 + 1, expected)
}

/// What both formats refuse of an INDIRECT descriptor in a table.
#[cold]
#[inline(never)]
pub(super) fn nested(table: u64, entry: u16, flags: u16) -> Fault {
    let expected = "no INDIRECT flag inside a table";
    Fault::rule(Rule::IndirectNested, Place::Table { address: table, entry }, flags, expected)
}

/// INDIRECT in a ring whose features do not have it.
#[cold]
#[inline(never)]
pub(super) fn not_negotiated(place: Place, flags: u16) -> Fault {
    let expected = "no INDIRECT flag, since the feature was not negotiated";
    Fault::rule(Rule::IndirectFeature, place, flags, expected)
}
