//! Who wrote what last.

use crate::trace::MemoryRange;
use alloc::{boxed::Box, vec};
use core::cell::Cell;

/// For every two bytes of a queue's memory, the position after the call that wrote them last.
#[derive(Clone, Debug)]
pub struct Writers {
    base: u64,
    positions: Box<[Cell<u32>]>,
}

impl Writers {
    pub(super) fn new(range: MemoryRange) -> Self {
        let base = range.base & !1;
        let halves = (range.base + range.length - base).div_ceil(2) as usize;
        Writers { base, positions: vec![Cell::new(0); halves].into_boxed_slice() }
    }

    pub(super) fn wrote(&self, address: u64, length: u8, position: u64) {
        let first = (address.wrapping_sub(self.base) / 2) as usize;
        for cell in self.positions.iter().skip(first).take(length.div_ceil(2) as usize) {
            cell.set(position as u32);
        }
    }

    /// The position after the call that last wrote the bytes at `address`; `None` if no call has.
    pub fn last(&self, address: u64) -> Option<u64> {
        let index = address.checked_sub(self.base)? / 2;
        match self.positions.get(index as usize)?.get() {
            0 => None,
            position => Some(position.into()),
        }
    }
}
