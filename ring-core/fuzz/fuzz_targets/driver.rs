//! A driver against arbitrary device memory, which changes between its accesses too.

#![no_main]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a target tells of a fault by panicking")]
#![allow(dead_code, reason = "the harness is that of all targets")]

#[path = "../../tests/fuzz/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| harness::driver::run(bytes));
