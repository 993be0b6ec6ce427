//! The command against a real QEMU.
//!
//! Where no QEMU can be had the tests say so and pass; with NATIVE_BENCH_REQUIRE_QEMU=1 they fail then.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by unwrapping, its helpers too"
)]

mod bench;
mod broken_rings;
mod ends;
mod random;
mod refusals;
mod traffic;
