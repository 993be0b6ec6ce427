//! The device's side: takes available buffers, uses them.

mod chain;
mod split;

pub use chain::Chain;
pub use split::{SplitDevice, SplitDeviceState, Taken};
