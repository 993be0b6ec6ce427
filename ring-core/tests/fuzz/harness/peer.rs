//! What a bad peer stores, whichever side it is.

use super::{
    contested::{BASE, Change, Contested, LENGTH, TABLES, TABLES_LENGTH},
    input::Operation,
};
use ring_core::{
    Segment,
    memory::{Memory, Ordering},
};

/// Anything, anywhere in memory.
pub(crate) fn anything(operation: Operation) -> Change {
    let Operation { small, half, word, .. } = operation;
    let length = [2, 4, 8][small as usize % 3];
    let address = (BASE + half as u64 % LENGTH) & !(length - 1);
    Change { address, length, value: (word as u64) << [0, 16, 32, 48][small as usize / 3 % 4] }
}

/// The same, within the next sixteen accesses.
pub(crate) fn anything_soon(contested: &Contested, operation: Operation) {
    contested.change_after(operation.small as u32 / 16, anything(operation));
}

/// Where a bad table lies.
pub(crate) fn strange_address(choice: u8) -> u64 {
    [0, BASE, TABLES + 8, TABLES + 4, TABLES + TABLES_LENGTH - 16, u64::MAX - 15, u64::MAX, TABLES - 32]
        [choice as usize % 8]
}

/// The elements of a buffer: how many by three bits each, their lengths by the word.
pub(crate) struct Elements {
    all: [Segment; 14],
    readable: usize,
    writable: usize,
}

impl Elements {
    pub(crate) fn new(operation: Operation) -> Self {
        let Operation { small, half, word, .. } = operation;
        let mut length = word;
        let all = std::array::from_fn(|index| {
            // Small ones mostly, and lengths that add up to more than there is.
            length = length.rotate_left(5);
            let length = if half & 1 == 0 { length % 256 } else { length };
            Segment { address: 0x10_0000 + index as u64 * 0x1000, length }
        });
        Elements { all, readable: small as usize & 7, writable: small as usize >> 3 & 7 }
    }

    pub(crate) fn readable(&self) -> &[Segment] {
        &self.all[..self.readable]
    }

    pub(crate) fn writable(&self) -> &[Segment] {
        &self.all[self.readable..self.readable + self.writable]
    }

    pub(crate) fn writable_bytes(&self) -> u64 {
        self.writable().iter().map(|segment| segment.length as u64).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.writable_bytes() + self.readable().iter().map(|segment| segment.length as u64).sum::<u64>()
    }

    pub(crate) fn count(&self) -> usize {
        self.readable + self.writable
    }
}

/// What the peer reads there, or 0 outside memory.
pub(crate) fn look(contested: &Contested, address: u64) -> u16 {
    contested.peer().load_u16(address, Ordering::Relaxed).unwrap_or(0)
}
