//! Guest memory of a virtual machine monitor, by rust-vmm's crate `vm-memory`.

use super::{EachChecked, Memory, Ordering, OutOfRange};
use core::{ops::Deref, sync::atomic::fence};
use vm_memory::{
    AtomicAccess, Bytes, GuestAddress, GuestMemory, Permissions, VolatileMemory, VolatileSlice, bitmap::BS,
};

/// A `GuestMemory` of the crate `vm-memory` as [`Memory`]: behind a reference, an `Rc`, an `Arc`, or the guard that a
/// `GuestAddressSpace` gives.
///
/// Every access is an atomic of its width with the ordering that the ring asked for, is entered into the dirty bitmap, if
/// there is one, and asks an IOMMU, if there is one, for no more than it needs. Holes between regions are not memory. The two halves of a descriptor may lie in two
/// adjacent regions, the bytes of one half may not.
///
/// Each access looks its region up. Where a queue lies in one region that is never unmapped, `SharedMemory` on its host
/// address is faster.
///
/// A device that answers on a VMM's memory:
///
/// ```
/// use ring_core::{QueueConfig, device::{Chain, Device, SplitDevice}, memory::VmMemory, probe::NoProbe};
/// use ring_core::spec::{Features, Layout};
/// use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};
/// # use ring_core::{Segment, driver::{Driver, SplitDriver}, indirect::Direct};
///
/// // Two regions, and a hole between them.
/// let guest: GuestMemoryMmap = GuestMemoryMmap::from_ranges(&[
///     (GuestAddress(0), 0x1_0000),
///     (GuestAddress(0x10_0000), 0x1_0000),
/// ])?;
/// let memory = VmMemory(&guest);
/// let config = QueueConfig::new(Layout::contiguous(16, 0x1000), Features(0));
/// let mut device = SplitDevice::new(&config)?;
/// # let mut driver = SplitDriver::new(&config, Direct)?;
/// # driver.add(&memory, &mut NoProbe, 1, &[], &[Segment { address: 0x10_0000, length: 64 }])?;
/// # driver.publish(&memory, &mut NoProbe)?;
///
/// let mut chain = Chain::default();
/// while device.pop(&memory, &mut NoProbe, &mut chain)? {
///     let Some(element) = chain.writable().first() else { continue };
///     // Elements are reached by vm-memory itself, which checks their addresses.
///     guest.write_slice(b"hello", GuestAddress(element.address))?;
///     device.complete(&memory, &mut NoProbe, chain.head, 5)?;
/// }
/// device.publish(&memory, &mut NoProbe)?;
/// if device.notify(&memory, &mut NoProbe)?.needed {
///     // Inject the queue's interrupt.
/// }
/// # let used = driver.reap(&memory, &mut NoProbe)?;
/// # assert_eq!(used.map(|used| (used.token, used.length)), Some((1, 5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VmMemory<D>(pub D);

/// A piece of memory in one region.
type Slice<'a, D> = VolatileSlice<'a, BS<'a, <<D as Deref>::Target as GuestMemory>::Bitmap>>;

impl<D: Deref<Target: GuestMemory>> VmMemory<D> {
    #[inline]
    fn load<T: AtomicAccess>(&self, address: u64, ordering: Ordering) -> Result<T, OutOfRange> {
        let outside = aligned::<T>(address, size_of::<T>())?;
        self.0.load(GuestAddress(address), ordering).map_err(|_| outside)
    }

    #[inline]
    fn store<T: AtomicAccess>(&self, address: u64, value: T, ordering: Ordering) -> Result<(), OutOfRange> {
        let outside = aligned::<T>(address, size_of::<T>())?;
        self.0.store(value, GuestAddress(address), ordering).map_err(|_| outside)
    }

    /// Two values one behind the other, each in one region: one look-up where it is the same, as it nearly always is.
    #[inline]
    fn pair<T: AtomicAccess>(
        &self,
        address: u64,
        access: Permissions,
    ) -> Result<[Slice<'_, D>; 2], OutOfRange> {
        let (half, whole) = (size_of::<T>(), 2 * size_of::<T>());
        let outside = aligned::<T>(address, whole)?;
        let pair = || {
            let mut slices = self.0.get_slices(GuestAddress(address), whole, access).ok()?;
            let first = slices.next()?.ok()?;
            if first.len() == whole {
                return Some([first.subslice(0, half).ok()?, first.subslice(half, half).ok()?]);
            }
            let second = slices.next()?.ok()?;
            (first.len() == half && second.len() == half).then_some([first, second])
        };
        pair().ok_or(outside)
    }

    #[inline]
    fn load_pair<T: AtomicAccess>(&self, address: u64) -> Result<[T; 2], OutOfRange> {
        let outside = OutOfRange { address, length: 2 * size_of::<T>() as u64 };
        let [first, second] = self.pair::<T>(address, Permissions::Read)?;
        let load = |slice: Slice<'_, D>| slice.load(0, Ordering::Relaxed).map_err(|_| outside);
        Ok([load(first)?, load(second)?])
    }

    #[inline]
    fn store_pair<T: AtomicAccess>(&self, address: u64, values: [T; 2]) -> Result<(), OutOfRange> {
        let outside = OutOfRange { address, length: 2 * size_of::<T>() as u64 };
        let [first, second] = self.pair::<T>(address, Permissions::Write)?;
        // Whether the second can be written is known before the first is: a refused store changes nothing.
        second.get_atomic_ref::<T::A>(0).map_err(|_| outside)?;
        first.store(values[0], 0, Ordering::Relaxed).map_err(|_| outside)?;
        second.store(values[1], 0, Ordering::Relaxed).map_err(|_| outside)
    }
}

/// The error for an access of `length` bytes, which is returned at once if it is not aligned to its values, or reaches past
/// the last address, which no peer's number may lead vm-memory to compute.
#[inline]
fn aligned<T>(address: u64, length: usize) -> Result<OutOfRange, OutOfRange> {
    let outside = OutOfRange { address, length: length as u64 };
    let possible =
        address.is_multiple_of(size_of::<T>() as u64) && address.checked_add(outside.length).is_some();
    if possible { Ok(outside) } else { Err(outside) }
}

impl<D: Deref<Target: GuestMemory>> Memory for VmMemory<D> {
    type Descriptors<'a>
        = EachChecked<'a, Self>
    where
        Self: 'a;
    fn descriptors(&self, address: u64, count: u32) -> Result<EachChecked<'_, Self>, OutOfRange> {
        EachChecked::new(self, address, count)
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        let outside = OutOfRange { address, length: count.saturating_mul(8) };
        let length = usize::try_from(outside.length).map_err(|_| outside)?;
        let outside = aligned::<u64>(address, length)?;
        // Behind an IOMMU a side may be allowed to read and no more; each access asks for what it needs.
        let inside = self.0.check_range(GuestAddress(address), length, Permissions::Read);
        if inside { Ok(()) } else { Err(outside) }
    }
    #[inline]
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        self.load(address, ordering).map(u16::from_le)
    }
    #[inline]
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        self.store(address, value.to_le(), ordering)
    }
    #[inline]
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        self.load(address, Ordering::Relaxed).map(u32::from_le)
    }
    #[inline]
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.store(address, value.to_le(), Ordering::Relaxed)
    }
    #[inline]
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        self.load(address, ordering).map(u64::from_le)
    }
    #[inline]
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        self.store(address, value.to_le(), ordering)
    }
    #[inline]
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        self.load_pair(address).map(|words| words.map(u64::from_le))
    }
    #[inline]
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        self.store_pair(address, words.map(u64::to_le))
    }
    #[inline]
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        self.load_pair(address).map(|values| values.map(u32::from_le))
    }
    #[inline]
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        self.store_pair(address, values.map(u32::to_le))
    }
    #[inline]
    fn fence(&self, ordering: Ordering) {
        fence(ordering);
    }
}
