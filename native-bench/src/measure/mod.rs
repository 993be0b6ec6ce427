//! Time and statistics.

pub mod clock;
mod number;
mod summary;

pub use number::general;
pub use summary::{Quantiles, Spread};
