//! Time, instructions and statistics.

pub mod clock;
pub mod instructions;
mod number;
mod summary;
mod turns;

pub use number::general;
pub use summary::{Quantiles, Spread};
pub use turns::{Turns, alternate};
