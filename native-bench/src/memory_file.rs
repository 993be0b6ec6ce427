//! Files without a name: nothing to clean up, however the run ends.

use rustix::fs::ftruncate;
use std::{io, os::fd::OwnedFd};

/// A file of `length` zero bytes that no folder lists. `name` is for people who look into `/proc`.
#[cfg(target_os = "linux")]
pub(crate) fn create(name: &str, length: u64) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    ftruncate(&file, length)?;
    Ok(file)
}

/// A file of `length` zero bytes that no folder lists.
#[cfg(not(target_os = "linux"))]
pub(crate) fn create(_name: &str, length: u64) -> io::Result<OwnedFd> {
    let file = OwnedFd::from(tempfile::tempfile()?);
    ftruncate(&file, length)?;
    Ok(file)
}

/// The path under which a process that inherits descriptor `number` opens the file behind it.
pub(crate) fn inherited_path(number: i32) -> String {
    if cfg!(target_os = "linux") { format!("/proc/self/fd/{number}") } else { format!("/dev/fd/{number}") }
}
