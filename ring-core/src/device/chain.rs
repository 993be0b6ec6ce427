//! A buffer as the device sees it.

use crate::{
    Fault, Segment,
    fault::Place,
    indirect::Table,
    spec::{DESCRIPTOR_SIZE, MAXIMUM_CHAIN_BYTES, Rule, descriptor_flag},
};
use alloc::vec::Vec;

/// One buffer taken from the ring, its elements checked. Reused from call to call, so that taking a buffer
/// allocates only while the lists grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The buffer's id in used elements: on a split ring the descriptor that starts it.
    pub head: u16,
    /// Device-readable elements, in order.
    pub readable: Vec<Segment>,
    /// Device-writable elements, in order.
    pub writable: Vec<Segment>,
    /// The indirect table its elements (or the last of them) stand in.
    pub table: Option<Table>,
}

impl Chain {
    /// Elements of both kinds.
    pub fn elements(&self) -> usize {
        self.readable.len() + self.writable.len()
    }

    /// Bytes of the writable elements.
    pub fn writable_bytes(&self) -> u64 {
        self.writable.iter().map(|segment| segment.length as u64).sum()
    }
}

/// A chain being read: every check of its elements that does not depend on the format.
pub(super) struct Walk<'a> {
    pub(super) chain: &'a mut Chain,
    bytes: u64,
    queue_size: u16,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(chain: &'a mut Chain, queue_size: u16) -> Self {
        chain.readable.clear();
        chain.writable.clear();
        chain.table = None;
        Walk { chain, bytes: 0, queue_size }
    }

    /// Adds an element. Bounds every walk: none goes on past the queue size.
    #[inline(always)]
    pub(super) fn element(
        &mut self,
        place: impl Fn() -> Place,
        segment: Segment,
        flags: u16,
    ) -> Result<(), Fault> {
        if flags & descriptor_flag::WRITE != 0 {
            self.chain.writable.push(segment);
        } else if self.chain.writable.is_empty() {
            self.chain.readable.push(segment);
        } else {
            let expected = "WRITE, as in the descriptors before it";
            return Err(Fault::rule(Rule::ReadableFirst, place(), flags, expected));
        }
        self.bytes += segment.length as u64;
        if self.bytes > MAXIMUM_CHAIN_BYTES {
            return Err(Fault::rule(Rule::TooLong, place(), self.bytes, "at most 2^32 bytes in total"));
        }
        if self.chain.elements() > self.queue_size as usize {
            let expected = "no more elements than the queue size";
            return Err(Fault::rule(Rule::TooLong, place(), self.chain.elements() as u64, expected));
        }
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
        self.chain.table = Some(Table { address, entries: entries.min(u16::MAX as u32) as u16 });
        Ok(entries)
    }
}

/// Guest address of a table's entry. Wraps where a peer's address is absurd; memory refuses it then.
#[inline(always)]
pub(super) fn entry_address(table: u64, entry: u16) -> u64 {
    table.wrapping_add(entry as u64 * DESCRIPTOR_SIZE as u64)
}
