//! Memory of its own: for tests and for replay.

use super::{EachChecked, Memory, Ordering, OutOfRange};
use alloc::{boxed::Box, vec, vec::Vec};
use core::cell::Cell;

/// A range of guest memory that nobody else sees; zeroed when made.
///
/// Kept as 64-bit words, because descriptors, the most frequent accesses, are two of them. One thread
/// only, so orderings and fences have nothing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedMemory {
    base: u64,
    words: Box<[Cell<u64>]>,
}

impl OwnedMemory {
    /// `length` zeroed bytes at guest address `base`; both are widened to multiples of 8.
    pub fn new(base: u64, length: usize) -> Self {
        let aligned = base & !7;
        let length = length + (base - aligned) as usize;
        OwnedMemory { base: aligned, words: vec![Cell::new(0); length.div_ceil(8)].into_boxed_slice() }
    }

    /// First guest address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.words.len() * 8
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Copies bytes out, least significant byte of each word first, as a peer would see them.
    pub fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, OutOfRange> {
        let outside = OutOfRange { address, length: length as u64 };
        let start = address.checked_sub(self.base).ok_or(outside)?;
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len() as u64).ok_or(outside)?;
        Ok((start..end)
            .map(|offset| (self.words[(offset / 8) as usize].get() >> (offset % 8 * 8)) as u8)
            .collect())
    }

    #[inline]
    fn word(&self, address: u64, length: u64) -> Result<(&Cell<u64>, u32), OutOfRange> {
        let offset = address.wrapping_sub(self.base);
        match self.words.get((offset / 8) as usize) {
            // A wrapped offset is huge, so its word does not exist.
            Some(word) if offset.is_multiple_of(length) && offset / 8 <= u32::MAX as u64 => {
                Ok((word, (offset % 8 * 8) as u32))
            }
            _ => Err(OutOfRange { address, length }),
        }
    }

    #[inline]
    fn store(&self, address: u64, length: u64, value: u64, mask: u64) -> Result<(), OutOfRange> {
        let (word, shift) = self.word(address, length)?;
        word.set(word.get() & !(mask << shift) | value << shift);
        Ok(())
    }
}

impl Memory for OwnedMemory {
    type Descriptors<'a>
        = EachChecked<'a, Self>
    where
        Self: 'a;
    #[inline]
    fn descriptors(&self, address: u64, count: u32) -> Result<EachChecked<'_, Self>, OutOfRange> {
        EachChecked::new(self, address, count)
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        let outside = OutOfRange { address, length: count.saturating_mul(8) };
        let offset = address.checked_sub(self.base).filter(|offset| offset.is_multiple_of(8));
        let left = offset.and_then(|offset| (self.words.len() as u64).checked_sub(offset / 8));
        if left.is_some_and(|left| left >= count) { Ok(()) } else { Err(outside) }
    }
    #[inline]
    fn load_u16(&self, address: u64, _: Ordering) -> Result<u16, OutOfRange> {
        self.word(address, 2).map(|(word, shift)| (word.get() >> shift) as u16)
    }
    #[inline]
    fn store_u16(&self, address: u64, value: u16, _: Ordering) -> Result<(), OutOfRange> {
        self.store(address, 2, value as u64, u16::MAX as u64)
    }
    #[inline]
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        self.word(address, 4).map(|(word, shift)| (word.get() >> shift) as u32)
    }
    #[inline]
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.store(address, 4, value as u64, u32::MAX as u64)
    }
    #[inline]
    fn load_u64(&self, address: u64, _: Ordering) -> Result<u64, OutOfRange> {
        self.word(address, 8).map(|(word, _)| word.get())
    }
    #[inline]
    fn store_u64(&self, address: u64, value: u64, _: Ordering) -> Result<(), OutOfRange> {
        self.word(address, 8).map(|(word, _)| word.set(value))
    }
    #[inline]
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        let (first, _) = self.word(address, 8)?;
        let (second, _) = self.word(address.wrapping_add(8), 8)?;
        Ok([first.get(), second.get()])
    }
    #[inline]
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        let (second, _) = self.word(address.wrapping_add(8), 8)?;
        let (first, _) = self.word(address, 8)?;
        first.set(words[0]);
        second.set(words[1]);
        Ok(())
    }
    #[inline]
    fn fence(&self, _: Ordering) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_little_endian_bytes_of_every_width() {
        let memory = OwnedMemory::new(0x1000, 32);
        memory.store_u16(0x1002, 0xbeef, Ordering::Relaxed).unwrap();
        memory.store_u32(0x1004, 0x0102_0304).unwrap();
        memory.store_words(0x1010, [0x1122_3344_5566_7788, 1]).unwrap();
        assert_eq!(memory.bytes(0x1000, 8).unwrap(), [0, 0, 0xef, 0xbe, 4, 3, 2, 1]);
        assert_eq!(memory.bytes(0x1010, 3).unwrap(), [0x88, 0x77, 0x66]);
        assert_eq!(memory.load_u16(0x1006, Ordering::Relaxed), Ok(0x0102));
    }

    #[test]
    fn refuses_what_is_outside_or_not_aligned() {
        let memory = OwnedMemory::new(0x1000, 16);
        for address in [0, 0xffe, 0x1010, 0x1001, u64::MAX - 1] {
            assert_eq!(memory.load_u16(address, Ordering::Relaxed), Err(OutOfRange { address, length: 2 }));
        }
        assert!(memory.store_words(0x1008, [1, 1]).is_err());
        assert_eq!(memory.bytes(0x1000, 16).unwrap(), [0; 16], "a refused store changes nothing");
        assert!(memory.bytes(0x1008, 9).is_err());
        assert!(memory.bytes(u64::MAX, usize::MAX).is_err());
    }
}
