//! The platform under `virtio-drivers`: what it shares with the device is copied into guest memory and back, as where a
//! device does not reach all of memory. The only unsafe code of these tests, since the peer's traits and calls are.

use crate::guest::{self, PIECE, Pieces, RING, RING_LENGTH};
use std::{cell::RefCell, ptr::NonNull, rc::Rc, slice};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};
use vm_memory::{GuestAddress, GuestMemoryBackend, GuestMemoryMmap};

/// What a test's driver allocates from: its thread runs one queue at a time.
struct Platform {
    memory: Rc<GuestMemoryMmap>,
    next_page: u64,
    pieces: Pieces,
}

thread_local! {
    static PLATFORM: RefCell<Option<Platform>> = const { RefCell::new(None) };
}

/// Fresh guest memory, from which everything in this thread is taken from now on.
pub(crate) fn start() -> Rc<GuestMemoryMmap> {
    let memory = Rc::new(guest::memory());
    let platform = Platform { memory: Rc::clone(&memory), next_page: RING, pieces: Pieces::new() };
    PLATFORM.set(Some(platform));
    memory
}

/// Whether the driver has taken back all that it shared.
pub(crate) fn is_nothing_shared() -> bool {
    with(|platform| platform.pieces.is_whole())
}

fn with<T>(use_it: impl FnOnce(&mut Platform) -> T) -> T {
    PLATFORM.with_borrow_mut(|platform| use_it(platform.as_mut().unwrap()))
}

pub(crate) struct Bounce;

// SAFETY: pages are zeroed, page-aligned memory that is given out once and stays mapped with the thread's platform, which
// outlives every queue made on it; a shared buffer is only copied, within the call.
unsafe impl Hal for Bounce {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        with(|platform| {
            let address = platform.next_page;
            platform.next_page += (pages * PAGE_SIZE) as u64;
            assert!(platform.next_page <= RING + RING_LENGTH);
            let pointer = platform.memory.get_host_address(GuestAddress(address)).unwrap();
            (address, NonNull::new(pointer).unwrap())
        })
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // With the platform.
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unreachable!("there is no MMIO")
    }

    unsafe fn share(buffer: NonNull<[u8]>, direction: BufferDirection) -> PhysAddr {
        assert!(buffer.len() as u64 <= PIECE);
        with(|platform| {
            let address = platform.pieces.take();
            let bytes = if direction == BufferDirection::DriverToDevice {
                // SAFETY: the caller's buffer is valid, and nobody writes it during this call.
                unsafe { slice::from_raw_parts(buffer.cast::<u8>().as_ptr(), buffer.len()) }
            } else {
                &vec![0; buffer.len()]
            };
            guest::write(&platform.memory, address, bytes);
            address
        })
    }

    unsafe fn unshare(address: PhysAddr, buffer: NonNull<[u8]>, direction: BufferDirection) {
        with(|platform| {
            platform.pieces.put_back(address);
            if direction == BufferDirection::DeviceToDriver {
                let bytes = guest::read(&platform.memory, address, buffer.len() as u32);
                // SAFETY: the caller's buffer is valid, as long as the bytes, and nobody else touches it during this
                // call.
                unsafe {
                    buffer
                        .cast::<u8>()
                        .copy_from_nonoverlapping(NonNull::from(&bytes[..]).cast(), bytes.len())
                }
            }
        });
    }
}
