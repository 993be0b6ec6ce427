//! A buffer as the device sees it.

use crate::{Segment, indirect::Table};
use alloc::vec::Vec;

/// One buffer taken from the ring, its elements checked. Reused from call to call, so that taking a buffer
/// allocates only while the lists grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The descriptor that starts it: its id in the used ring.
    pub head: u16,
    /// Device-readable elements, in order.
    pub readable: Vec<Segment>,
    /// Device-writable elements, in order.
    pub writable: Vec<Segment>,
    /// The indirect table its elements (or the last of them) stand in.
    pub table: Option<Table>,
}

impl Chain {
    pub(super) fn clear(&mut self, head: u16) {
        self.head = head;
        self.readable.clear();
        self.writable.clear();
        self.table = None;
    }

    /// Elements of both kinds.
    pub fn elements(&self) -> usize {
        self.readable.len() + self.writable.len()
    }

    /// Bytes of the writable elements.
    pub fn writable_bytes(&self) -> u64 {
        self.writable.iter().map(|segment| segment.length as u64).sum()
    }
}
