//! The reader of traces, and the replay of what it read, against arbitrary files.

#![no_main]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a target tells of a fault by panicking")]
#![allow(dead_code, reason = "the harness is that of all targets")]

#[path = "../../tests/fuzz/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| harness::trace::run(bytes));
