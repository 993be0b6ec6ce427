//! What the fuzz targets run: each takes a fuzzer's bytes and panics where the library breaks a promise.
//!
//! The targets in `ring-core/fuzz` and the test that replays the corpus include this same module.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../common/either.rs"]
mod either;
#[path = "../../common/pages.rs"]
mod pages;
#[path = "../../common/strategies.rs"]
mod strategies;

mod checks;
mod contested;
pub(crate) mod device;
pub(crate) mod driver;
pub(crate) mod input;
mod peer;
pub(crate) mod trace;
