//! What the page listens to, asks for and writes down: everything about it that is no picture.

mod address;
mod files;
mod keys;
mod play;
mod questions;
mod room;
mod window;

pub(super) use address::use_address;
pub(super) use files::use_files;
pub(super) use keys::use_keys;
pub(super) use play::use_play;
pub(super) use questions::use_questions;
pub(super) use room::use_room;
pub(super) use window::inner_size;
