//! Our sides against those of others, on split rings: our driver against the device of rust-vmm's `virtio-queue`, our
//! device against the driver of rcore's `virtio-drivers`. What is sent arrives, byte by byte; each buffer comes back once,
//! with its length; whoever sleeps is woken.
//!
//! Neither has packed rings, nor has any other crate: for those the peer is QEMU, which native-bench drives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod against_virtio_drivers;
mod against_virtio_queue;
#[path = "../common/cases.rs"]
mod cases;
mod content;
mod guest;
mod hal;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/model/operation.rs"]
mod operation;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/strategies.rs"]
mod strategies;
mod transport;

/// Whether the event lies among those that a side's index passed on its way (2.7.7.2, 2.7.10.1), counted one by one.
fn is_passed(event: u16, from: u16, to: u16) -> bool {
    std::iter::successors(Some(from), |index| Some(index.wrapping_add(1)))
        .take_while(|index| *index != to)
        .any(|index| index == event)
}

/// Whether a side may sleep on with the other's index here: it is awake, or nothing happened since.
fn may_sleep(since: Option<u16>, index: u16) -> bool {
    since.is_none_or(|since| since == index)
}
