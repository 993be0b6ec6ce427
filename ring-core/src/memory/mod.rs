//! Guest memory as both sides of a queue see it.
//!
//! The rings reach memory only through [`Memory`], so the same code runs on memory shared with a real
//! device (`SharedMemory`, with `std`), on bytes of its own ([`OwnedMemory`]), and on either of them watched
//! ([`Observed`]).

mod descriptors;
mod observed;
mod owned;
#[cfg(feature = "std")]
#[allow(
    unsafe_code,
    reason = "memory that a peer shares is a pointer; only atomic accesses are made from it"
)]
mod shared;
#[cfg(feature = "vm-memory")]
mod vm_memory;

pub use descriptors::{Descriptors, EachChecked};
pub use observed::{Access, AccessKind, Observed, Observer};
pub use owned::OwnedMemory;
#[cfg(feature = "std")]
pub use shared::{SharedDescriptors, SharedMemory};
#[cfg(feature = "vm-memory")]
pub use vm_memory::VmMemory;

use core::fmt;
pub use core::sync::atomic::Ordering;

/// Loads and stores at guest addresses, in the little-endian order of virtio 1.x, and fences.
///
/// Every access is checked against the memory's range, so an address that a peer wrote can be used
/// without a check of its own. Addresses are naturally aligned; one that is not is [`OutOfRange`] too.
///
/// `store_*` take `&self` because both sides hold the same memory.
pub trait Memory {
    /// Descriptors one behind the other. [`EachChecked`] does for any memory.
    type Descriptors<'a>: Descriptors
    where
        Self: 'a;
    /// `count` descriptors from `address` on, if all of them lie in memory.
    fn descriptors(&self, address: u64, count: u32) -> Result<Self::Descriptors<'_>, OutOfRange>;
    /// Whether `count` aligned 64-bit words from `address` on lie in memory.
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange>;
    /// Loads 16 bits with the ordering the caller names.
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange>;
    /// Stores 16 bits with the ordering the caller names.
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange>;
    /// Loads 32 bits, relaxed.
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange>;
    /// Stores 32 bits, relaxed.
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange>;
    /// Loads 64 bits with the ordering the caller names.
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange>;
    /// Stores 64 bits with the ordering the caller names.
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange>;
    /// Loads the two 64-bit words of a 16-byte descriptor, relaxed.
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange>;
    /// Stores the two 64-bit words of a 16-byte descriptor, relaxed.
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange>;
    /// Loads two 32-bit values, one behind the other, relaxed.
    #[inline(always)]
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        Ok([self.load_u32(address)?, self.load_u32(address.wrapping_add(4))?])
    }
    /// Stores two 32-bit values, one behind the other, relaxed.
    #[inline(always)]
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        self.store_u32(address, values[0])?;
        self.store_u32(address.wrapping_add(4), values[1])
    }
    /// A fence between this side's accesses before and after it.
    fn fence(&self, ordering: Ordering);
}

impl<M: Memory + ?Sized> Memory for &M {
    type Descriptors<'a>
        = M::Descriptors<'a>
    where
        Self: 'a;
    #[inline(always)]
    fn descriptors(&self, address: u64, count: u32) -> Result<M::Descriptors<'_>, OutOfRange> {
        (**self).descriptors(address, count)
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        (**self).check_words(address, count)
    }
    #[inline(always)]
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        (**self).load_u16(address, ordering)
    }
    #[inline(always)]
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        (**self).store_u16(address, value, ordering)
    }
    #[inline(always)]
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        (**self).load_u32(address)
    }
    #[inline(always)]
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        (**self).store_u32(address, value)
    }
    #[inline(always)]
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        (**self).load_u64(address, ordering)
    }
    #[inline(always)]
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        (**self).store_u64(address, value, ordering)
    }
    #[inline(always)]
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        (**self).load_words(address)
    }
    #[inline(always)]
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        (**self).store_words(address, words)
    }
    #[inline(always)]
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        (**self).load_singles(address)
    }
    #[inline(always)]
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        (**self).store_singles(address, values)
    }
    #[inline(always)]
    fn fence(&self, ordering: Ordering) {
        (**self).fence(ordering)
    }
}

/// An access that does not lie in the memory, or is not aligned to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OutOfRange {
    /// Guest address of the access.
    pub address: u64,
    /// Bytes of the access.
    pub length: u64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes at guest address {:#x} are not in guest memory, or not aligned",
            self.length, self.address
        )
    }
}

impl core::error::Error for OutOfRange {}
