//! Memory shared with a peer: another thread, another process, a device. The only unsafe code of the crate.

use super::{Descriptors, Memory, Ordering, OutOfRange};
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, fence};

/// A mapped range of guest memory that a peer reads and writes at any moment.
///
/// Every access is one relaxed or ordered atomic of its width, so that nothing the peer does is undefined
/// behaviour here. Integers are little-endian (virtio 1.2, 2.7 "Split Virtqueues").
#[derive(Clone, Debug)]
pub struct SharedMemory {
    pointer: NonNull<u8>,
    base: u64,
    length: u64,
    // How many places there are for an access of 2, 4 and 8 bytes, and of two words of 8: the data path compares
    // against one of these, and computes nothing.
    halves: u64,
    singles: u64,
    words: u64,
    pairs: u64,
    // The same for two of 4 bytes.
    single_pairs: u64,
}

// SAFETY: the pointer is only ever used for atomic accesses within the range that `new` was promised.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; all accesses through `&self` are atomic.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// The range `pointer..pointer + length` as guest addresses from `base` on.
    ///
    /// # Safety
    /// The range stays mapped, readable and writable for as long as the value or a clone of it lives;
    /// `pointer` and `base` are 16-byte aligned; this process has no reference to memory in the range,
    /// and accesses it by atomics or through this type only.
    pub unsafe fn new(pointer: NonNull<u8>, base: u64, length: usize) -> Self {
        debug_assert!((pointer.as_ptr() as usize).is_multiple_of(16) && base.is_multiple_of(16));
        let length = length as u64;
        let words = length / 8;
        SharedMemory {
            pointer,
            base,
            length,
            halves: length / 2,
            singles: length / 4,
            words,
            pairs: words.saturating_sub(1),
            single_pairs: (length / 4).saturating_sub(1),
        }
    }

    /// First guest address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies `target.len()` bytes out, from 8-byte aligned `address`, by words: what a peer writes meanwhile
    /// may be seen in part. The length must be a multiple of 8.
    pub fn copy_to(&self, address: u64, target: &mut [u8]) -> Result<(), OutOfRange> {
        let whole = target.len() as u64;
        if !whole.is_multiple_of(8) {
            return Err(OutOfRange { address, length: whole });
        }
        for (index, chunk) in target.chunks_exact_mut(8).enumerate() {
            let word = self.word(address.wrapping_add(index as u64 * 8))?.load(Ordering::Relaxed);
            chunk.copy_from_slice(&u64::from_le(word).to_le_bytes());
        }
        Ok(())
    }

    /// The pointer to an access at `address`, aligned to `1 << shift` bytes, of which there are `places`.
    #[inline(always)]
    fn at(&self, address: u64, length: u64, shift: u32, places: u64) -> Result<*mut u8, OutOfRange> {
        // Rotated, the bits that an aligned offset does not have are the highest: one comparison finds an offset that is
        // outside and one that is not aligned.
        let place = address.wrapping_sub(self.base).rotate_right(shift);
        if place < places {
            // SAFETY: the access at the last of `places` still lies within the length that `new` was promised to be
            // mapped.
            Ok(unsafe { self.pointer.as_ptr().add((place << shift) as usize) })
        } else {
            Err(OutOfRange { address, length })
        }
    }

    /// The pointer to `count` words from `address` on.
    #[inline(always)]
    fn run_of_words(&self, address: u64, count: u64) -> Result<*const u8, OutOfRange> {
        // As in `at`: a place beyond all words is outside or not aligned.
        let place = address.wrapping_sub(self.base).rotate_right(3);
        if place <= self.words && self.words - place >= count {
            // SAFETY: the words from `place` on are no more than `new` was promised to be mapped.
            Ok(unsafe { self.pointer.as_ptr().add((place << 3) as usize) })
        } else {
            Err(OutOfRange { address, length: count.saturating_mul(8) })
        }
    }

    #[inline(always)]
    fn half(&self, address: u64) -> Result<&AtomicU16, OutOfRange> {
        // SAFETY: `at` gives a mapped, aligned address of two bytes; only atomics are made from it.
        self.at(address, 2, 1, self.halves).map(|pointer| unsafe { AtomicU16::from_ptr(pointer.cast()) })
    }
    #[inline(always)]
    fn single(&self, address: u64) -> Result<&AtomicU32, OutOfRange> {
        // SAFETY: `at` gives a mapped, aligned address of four bytes; only atomics are made from it.
        self.at(address, 4, 2, self.singles).map(|pointer| unsafe { AtomicU32::from_ptr(pointer.cast()) })
    }
    #[inline(always)]
    fn word(&self, address: u64) -> Result<&AtomicU64, OutOfRange> {
        // SAFETY: `at` gives a mapped, aligned address of eight bytes; only atomics are made from it.
        self.at(address, 8, 3, self.words).map(|pointer| unsafe { AtomicU64::from_ptr(pointer.cast()) })
    }
    #[inline(always)]
    fn pair(&self, address: u64) -> Result<[&AtomicU64; 2], OutOfRange> {
        let pointer: *mut u64 = self.at(address, 16, 3, self.pairs)?.cast();
        // SAFETY: `at` gives a mapped address of two aligned words; only atomics are made from it.
        Ok(unsafe { [AtomicU64::from_ptr(pointer), AtomicU64::from_ptr(pointer.add(1))] })
    }
    #[inline(always)]
    fn single_pair(&self, address: u64) -> Result<[&AtomicU32; 2], OutOfRange> {
        let pointer: *mut u32 = self.at(address, 8, 2, self.single_pairs)?.cast();
        // SAFETY: `at` gives a mapped address of two aligned values of four bytes; only atomics are made from it.
        Ok(unsafe { [AtomicU32::from_ptr(pointer), AtomicU32::from_ptr(pointer.add(1))] })
    }
}

/// Descriptors in shared memory that were found to lie in it.
#[derive(Clone, Copy, Debug)]
pub struct SharedDescriptors<'a> {
    pointer: *const [AtomicU64; 2],
    count: u32,
    memory: PhantomData<&'a SharedMemory>,
}

impl<'a> SharedDescriptors<'a> {
    #[inline(always)]
    fn at(self, index: u32) -> Option<&'a [AtomicU64; 2]> {
        // SAFETY: `descriptors` found the `count` descriptors from `pointer` on to be mapped and aligned; what the range was
        // promised to be outlives the borrow of the memory; only atomics are made from it.
        (index < self.count).then(|| unsafe { &*self.pointer.add(index as usize) })
    }
}

impl Descriptors for SharedDescriptors<'_> {
    #[inline(always)]
    fn load(&self, index: u32) -> Option<[u64; 2]> {
        let [first, second] = self.at(index)?;
        let (first, second) = (first.load(Ordering::Relaxed), second.load(Ordering::Relaxed));
        Some([u64::from_le(first), u64::from_le(second)])
    }
    #[inline(always)]
    fn store(&self, index: u32, words: [u64; 2]) -> Option<()> {
        let [first, second] = self.at(index)?;
        first.store(words[0].to_le(), Ordering::Relaxed);
        second.store(words[1].to_le(), Ordering::Relaxed);
        Some(())
    }
    #[inline(always)]
    fn load_first(&self, index: u32) -> Option<u64> {
        Some(u64::from_le(self.at(index)?[0].load(Ordering::Relaxed)))
    }
    #[inline(always)]
    fn store_first(&self, index: u32, word: u64) -> Option<()> {
        self.at(index)?[0].store(word.to_le(), Ordering::Relaxed);
        Some(())
    }
    #[inline(always)]
    fn load_second(&self, index: u32, ordering: Ordering) -> Option<u64> {
        Some(u64::from_le(self.at(index)?[1].load(ordering)))
    }
    #[inline(always)]
    fn store_second(&self, index: u32, word: u64, ordering: Ordering) -> Option<()> {
        self.at(index)?[1].store(word.to_le(), ordering);
        Some(())
    }
}

impl Memory for SharedMemory {
    type Descriptors<'a> = SharedDescriptors<'a>;
    #[inline(always)]
    fn descriptors(&self, address: u64, count: u32) -> Result<SharedDescriptors<'_>, OutOfRange> {
        let pointer = self.run_of_words(address, count as u64 * 2)?.cast();
        Ok(SharedDescriptors { pointer, count, memory: PhantomData })
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        self.run_of_words(address, count).map(|_| ())
    }
    #[inline(always)]
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        self.half(address).map(|cell| u16::from_le(cell.load(ordering)))
    }
    #[inline(always)]
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        self.half(address).map(|cell| cell.store(value.to_le(), ordering))
    }
    #[inline(always)]
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        self.single(address).map(|cell| u32::from_le(cell.load(Ordering::Relaxed)))
    }
    #[inline(always)]
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.single(address).map(|cell| cell.store(value.to_le(), Ordering::Relaxed))
    }
    #[inline(always)]
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        self.word(address).map(|cell| u64::from_le(cell.load(ordering)))
    }
    #[inline(always)]
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        self.word(address).map(|cell| cell.store(value.to_le(), ordering))
    }
    #[inline(always)]
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        self.pair(address).map(|pair| pair.map(|cell| u64::from_le(cell.load(Ordering::Relaxed))))
    }
    #[inline(always)]
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        let [first, second] = self.pair(address)?;
        first.store(words[0].to_le(), Ordering::Relaxed);
        second.store(words[1].to_le(), Ordering::Relaxed);
        Ok(())
    }
    #[inline(always)]
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        self.single_pair(address).map(|pair| pair.map(|cell| u32::from_le(cell.load(Ordering::Relaxed))))
    }
    #[inline(always)]
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        let [first, second] = self.single_pair(address)?;
        first.store(values[0].to_le(), Ordering::Relaxed);
        second.store(values[1].to_le(), Ordering::Relaxed);
        Ok(())
    }
    #[inline(always)]
    fn fence(&self, ordering: Ordering) {
        fence(ordering);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::OwnedMemory;

    #[repr(align(16))]
    struct Page {
        _bytes: [u8; 64],
    }

    #[test]
    fn agrees_with_owned_memory_on_every_address() {
        let mut page = Page { _bytes: [0; 64] };
        let pointer = NonNull::from(&mut page).cast();
        // SAFETY: the page outlives the memory and is only reached through it meanwhile.
        let shared = unsafe { SharedMemory::new(pointer, 0x100, 64) };
        let owned = OwnedMemory::new(0x100, 64);
        for address in (0xf0..0x150).chain([0, u64::MAX - 7, u64::MAX]) {
            assert_eq!(
                shared.store_u16(address, 0x1234, Ordering::Release),
                owned.store_u16(address, 0x1234, Ordering::Release)
            );
            assert_eq!(shared.store_u32(address, address as u32), owned.store_u32(address, address as u32));
            assert_eq!(shared.load_u32(address), owned.load_u32(address));
            assert_eq!(
                shared.store_words(address, [address, 7]).is_ok(),
                owned.store_words(address, [address, 7]).is_ok()
            );
        }
        let mut bytes = [0; 64];
        shared.copy_to(0x100, &mut bytes).unwrap();
        assert_eq!(bytes.as_slice(), owned.bytes(0x100, 64).unwrap());
        assert!(shared.copy_to(0x108, &mut bytes).is_err());
        assert!(shared.copy_to(0x100, &mut bytes[..3]).is_err());
    }
}
