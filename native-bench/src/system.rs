//! What only unsafe code can ask of the system: mapping guest memory, tying a child's life to ours, reading the
//! cycle counter. The only unsafe code of the crate.

use ring_core::memory::{Memory, Ordering, OutOfRange, SharedDescriptors, SharedMemory};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::Command,
    ptr::NonNull,
    sync::Arc,
};

/// Guest memory from guest address 0 on, mapped into this process and shared with the device.
///
/// It is unmapped when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct GuestMemory {
    shared: SharedMemory,
    _mapping: Arc<Mapping>,
}

#[derive(Debug)]
struct Mapping {
    pointer: NonNull<u8>,
    length: usize,
}

// SAFETY: the pointer is used to unmap only, once, when nobody holds the mapping any more.
unsafe impl Send for Mapping {}
// SAFETY: as above; there is no method on a shared reference.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this range was mapped by `GuestMemory::map`, and no clone of its memory is left.
        let unmapped = unsafe { munmap(self.pointer.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok());
    }
}

impl GuestMemory {
    /// Maps the first `length` bytes of `file`, which must be at least that long and never shrink.
    pub fn map(file: impl AsFd, length: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice touches no memory of this process.
        let pointer = unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) }?;
        let pointer = NonNull::new(pointer.cast::<u8>())
            .ok_or_else(|| io::Error::other("memory was mapped at address 0"))?;
        let mapping = Mapping { pointer, length };
        // SAFETY: the mapping lives as long as any clone of this value, and `shared` never leaves it; mappings
        // are aligned to pages; nothing else in this process knows the address.
        let shared = unsafe { SharedMemory::new(pointer, 0, length) };
        Ok(GuestMemory { shared, _mapping: Arc::new(mapping) })
    }

    /// Copies bytes out, see [`SharedMemory::copy_to`].
    pub fn copy_to(&self, address: u64, target: &mut [u8]) -> Result<(), OutOfRange> {
        self.shared.copy_to(address, target)
    }
}

impl Memory for GuestMemory {
    type Descriptors<'a> = SharedDescriptors<'a>;
    #[inline]
    fn descriptors(&self, address: u64, count: u32) -> Result<SharedDescriptors<'_>, OutOfRange> {
        self.shared.descriptors(address, count)
    }
    fn check_words(&self, address: u64, count: u64) -> Result<(), OutOfRange> {
        self.shared.check_words(address, count)
    }
    #[inline]
    fn load_u16(&self, address: u64, ordering: Ordering) -> Result<u16, OutOfRange> {
        self.shared.load_u16(address, ordering)
    }
    #[inline]
    fn store_u16(&self, address: u64, value: u16, ordering: Ordering) -> Result<(), OutOfRange> {
        self.shared.store_u16(address, value, ordering)
    }
    #[inline]
    fn load_u32(&self, address: u64) -> Result<u32, OutOfRange> {
        self.shared.load_u32(address)
    }
    #[inline]
    fn store_u32(&self, address: u64, value: u32) -> Result<(), OutOfRange> {
        self.shared.store_u32(address, value)
    }
    #[inline]
    fn load_u64(&self, address: u64, ordering: Ordering) -> Result<u64, OutOfRange> {
        self.shared.load_u64(address, ordering)
    }
    #[inline]
    fn store_u64(&self, address: u64, value: u64, ordering: Ordering) -> Result<(), OutOfRange> {
        self.shared.store_u64(address, value, ordering)
    }
    #[inline]
    fn load_words(&self, address: u64) -> Result<[u64; 2], OutOfRange> {
        self.shared.load_words(address)
    }
    #[inline]
    fn store_words(&self, address: u64, words: [u64; 2]) -> Result<(), OutOfRange> {
        self.shared.store_words(address, words)
    }
    #[inline]
    fn load_singles(&self, address: u64) -> Result<[u32; 2], OutOfRange> {
        self.shared.load_singles(address)
    }
    #[inline]
    fn store_singles(&self, address: u64, values: [u32; 2]) -> Result<(), OutOfRange> {
        self.shared.store_singles(address, values)
    }
    #[inline]
    fn fence(&self, ordering: Ordering) {
        self.shared.fence(ordering);
    }
}

/// Lets the program that `command` starts inherit `descriptors` under their numbers, and has the kernel kill
/// it when the thread that starts it ends in whatever way (Linux).
pub fn bind_child(command: &mut Command, descriptors: Vec<OwnedFd>) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        for descriptor in &descriptors {
            rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::empty())?;
        }
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have ended before the request above.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// The CPU's time stamp counter, after all earlier instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn time_stamp_counter() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: both instructions are part of every x86-64 CPU and touch no memory.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_the_file() {
        let file = crate::memory_file::create("test", 4096).unwrap();
        let memory = GuestMemory::map(&file, 4096).unwrap();
        let clone = memory.clone();
        drop(memory);
        clone.store_u32(0x10, 0x0403_0201).unwrap();
        assert!(clone.store_u32(4096, 1).is_err());
        let mut bytes = [0; 8];
        rustix::io::pread(&file, &mut bytes, 0x10).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 0, 0, 0, 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_inherits_what_it_is_given_and_dies_with_its_thread() {
        let file = crate::memory_file::create("test", 16).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let child = std::thread::spawn(move || {
            let mut command = Command::new("sh");
            command.arg("-c").arg(format!("test -e /proc/self/fd/{number} && exec sleep 1000"));
            bind_child(&mut command, vec![file]);
            command.spawn().unwrap()
        });
        let mut child = child.join().unwrap();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
}
