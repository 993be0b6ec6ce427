//! What the page looks like: pure functions of its state, and the few components that measure or listen.

mod bar;
mod caption;
mod column;
mod details;
mod device;
mod driver;
mod effects;
mod explanation;
mod help;
mod icon;
mod keyboard;
mod look;
mod memory;
mod motion;
mod opening;
mod page;
mod runs;
mod text;
mod theme;
mod timeline;
mod transport;

pub use look::Look;
pub use page::Page;

/// Parts that tests render by themselves.
pub mod parts {
    pub use super::{
        caption::caption, details::details, device::device, driver::driver, explanation::explanation,
        memory::memory, opening::failure, transport::transport,
    };
}
