//! A buffer as the device sees it.

use crate::{
    Fault, Segment,
    fault::Place,
    indirect::Table,
    spec::{DESCRIPTOR_SIZE, MAXIMUM_CHAIN_BYTES, Rule, descriptor_flag},
};
use alloc::vec::Vec;
use core::{fmt, slice};

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

/// A chain being read: every check of its elements that does not depend on the format.
pub(super) struct Walk<'a> {
    // Where the next elements go. That it runs out bounds every walk.
    room: slice::IterMut<'a, Segment>,
    // Room beyond what the table may fill.
    kept_back: usize,
    bytes: u64,
    /// WRITE once a writable element was seen: what elements' flags are expected to have from there on.
    pub(super) write: u16,
    // What was left of the room, and the bytes, when the first writable element came.
    readable_end: (usize, u64),
    table: Option<Table>,
}

/// What a walk found.
pub(super) struct Walked {
    table: Option<Table>,
    readable: usize,
    pub(super) elements: usize,
    pub(super) writable_bytes: u64,
}

impl Walked {
    #[inline(always)]
    pub(super) fn keep(&self, chain: &mut Chain, head: u16) {
        chain.head = head;
        chain.table = self.table;
        chain.readable = self.readable;
        chain.elements = self.elements;
    }
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(chain: &'a mut Chain, queue_size: u16) -> Self {
        // Until the walk is done there is nothing in it.
        (chain.readable, chain.elements) = (0, 0);
        if chain.segments.len() != queue_size as usize {
            make_room(&mut chain.segments, queue_size);
        }
        let room = chain.segments.iter_mut();
        Walk { room, kept_back: 0, bytes: 0, write: 0, readable_end: (0, 0), table: None }
    }

    /// Elements there is room for.
    #[inline(always)]
    pub(super) fn left(&self) -> usize {
        self.room.len() + self.kept_back
    }

    /// Adds an element whose flags have WRITE as expected; `false` if there is no room for it.
    #[inline(always)]
    pub(super) fn element(&mut self, segment: Segment) -> bool {
        let Some(place) = self.room.next() else { return false };
        *place = segment;
        self.bytes += segment.length as u64;
        true
    }

    /// An element whose flags do not have WRITE as expected: the first writable one, or one out of order.
    #[inline(always)]
    pub(super) fn turn(&mut self, place: impl Fn() -> Place, flags: u16) -> Result<(), Fault> {
        if self.write != 0 {
            let expected = "WRITE, as in the descriptors before it";
            return Err(Fault::rule(Rule::ReadableFirst, place(), flags, expected));
        }
        self.write = descriptor_flag::WRITE;
        self.readable_end = (self.left(), self.bytes);
        Ok(())
    }

    /// The elements stand in a table of `length` bytes. Returns its entries.
    #[inline(always)]
    pub(super) fn enter_table(&mut self, place: Place, address: u64, length: u32) -> Result<u32, Fault> {
        if length == 0 || !length.is_multiple_of(DESCRIPTOR_SIZE) {
            let expected = "a table length that is a multiple of 16 and not 0";
            return Err(Fault::rule(Rule::IndirectLength, place, length, expected));
        }
        let entries = length / DESCRIPTOR_SIZE;
        self.table = Some(Table { address, entries: entries.min(u16::MAX as u32) as u16 });
        if let Some(more) = self.room.len().checked_sub(entries as usize) {
            let (room, _) = core::mem::take(&mut self.room).into_slice().split_at_mut(entries as usize);
            (self.room, self.kept_back) = (room.iter_mut(), more);
        }
        Ok(entries)
    }

    /// The error when there is no room although the table has more entries.
    #[cold]
    pub(super) fn too_many(place: Place, queue_size: u16) -> Fault {
        let expected = "no more elements than the queue size";
        Fault::rule(Rule::TooLong, place, queue_size as u64 + 1, expected)
    }

    /// The last element was added.
    #[inline(always)]
    pub(super) fn finish(self, place: impl Fn() -> Place, queue_size: u16) -> Result<Walked, Fault> {
        if self.bytes > MAXIMUM_CHAIN_BYTES {
            return Err(Fault::rule(Rule::TooLong, place(), self.bytes, "at most 2^32 bytes in total"));
        }
        let left = self.left();
        let (readable_left, readable_bytes) =
            if self.write != 0 { self.readable_end } else { (left, self.bytes) };
        Ok(Walked {
            table: self.table,
            readable: queue_size as usize - readable_left,
            elements: queue_size as usize - left,
            writable_bytes: self.bytes - readable_bytes,
        })
    }
}

#[cold]
fn make_room(segments: &mut Vec<Segment>, queue_size: u16) {
    segments.resize(queue_size.into(), Segment::default());
}

/// Guest address of a table's entry. Wraps where a peer's address is absurd; memory refuses it then.
#[inline(always)]
pub(super) fn entry_address(table: u64, entry: u16) -> u64 {
    table.wrapping_add(entry as u64 * DESCRIPTOR_SIZE as u64)
}
