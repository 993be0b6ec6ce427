//! Descriptors that lie one behind the other: a ring's own, or an indirect table's.

use super::{Memory, Ordering, OutOfRange};
use crate::spec::DESCRIPTOR_SIZE;

/// A run of descriptors in guest memory, 16 bytes each, reached by index. That the run lies in memory was found out when it
/// was made, so that an access looks at its index only: `None` is an index past the end.
pub trait Descriptors {
    /// Loads both words, relaxed.
    fn load(&self, index: u32) -> Option<[u64; 2]>;
    /// Stores both words, relaxed.
    fn store(&self, index: u32, words: [u64; 2]) -> Option<()>;
    /// Loads the first word, relaxed.
    fn load_first(&self, index: u32) -> Option<u64>;
    /// Stores the first word, relaxed.
    fn store_first(&self, index: u32, word: u64) -> Option<()>;
    /// Loads the second word with the ordering the caller names.
    fn load_second(&self, index: u32, ordering: Ordering) -> Option<u64>;
    /// Stores the second word with the ordering the caller names.
    fn store_second(&self, index: u32, word: u64, ordering: Ordering) -> Option<()>;
}

/// The plain way, for any memory: each access is one of the memory's own.
#[derive(Debug)]
pub struct EachChecked<'a, M: ?Sized> {
    memory: &'a M,
    address: u64,
    count: u32,
}

impl<'a, M: Memory + ?Sized> EachChecked<'a, M> {
    /// `count` descriptors from guest address `address` on, if all of them lie in memory.
    pub fn new(memory: &'a M, address: u64, count: u32) -> Result<Self, OutOfRange> {
        memory.check_words(address, count as u64 * 2)?;
        Ok(EachChecked { memory, address, count })
    }

    #[inline]
    fn at(&self, index: u32) -> Option<u64> {
        (index < self.count).then(|| self.address.wrapping_add(index as u64 * DESCRIPTOR_SIZE as u64))
    }
}

impl<M: Memory + ?Sized> Descriptors for EachChecked<'_, M> {
    #[inline]
    fn load(&self, index: u32) -> Option<[u64; 2]> {
        self.memory.load_words(self.at(index)?).ok()
    }
    #[inline]
    fn store(&self, index: u32, words: [u64; 2]) -> Option<()> {
        self.memory.store_words(self.at(index)?, words).ok()
    }
    #[inline]
    fn load_first(&self, index: u32) -> Option<u64> {
        self.memory.load_u64(self.at(index)?, Ordering::Relaxed).ok()
    }
    #[inline]
    fn store_first(&self, index: u32, word: u64) -> Option<()> {
        self.memory.store_u64(self.at(index)?, word, Ordering::Relaxed).ok()
    }
    #[inline]
    fn load_second(&self, index: u32, ordering: Ordering) -> Option<u64> {
        self.memory.load_u64(self.at(index)?.wrapping_add(8), ordering).ok()
    }
    #[inline]
    fn store_second(&self, index: u32, word: u64, ordering: Ordering) -> Option<()> {
        self.memory.store_u64(self.at(index)?.wrapping_add(8), word, ordering).ok()
    }
}
