//! The binary encoding.
//!
//! All integers are little-endian.
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | [`MAGIC`] |
//! | 2, 2 | version, zero |
//! | 4, 8 | length of the header, XXH64 of the sixteen bytes before and the header behind |
//! | | the header as JSON |
//! | 4 | `VQBK`: a block |
//! | 2, 2 | queue (position in the header), zero |
//! | 4, 4, 4 | records, bytes unpacked, bytes packed |
//! | 8 | XXH64 of the twenty bytes before and the packed bytes behind |
//! | | the records, as an LZ4 block |
//! | … | more blocks |
//! | 4, 4, 8 | `VQIX`: the index; its length, XXH64 of it |
//! | | for each block its offset, queue and records, as 8, 4 and 4 bytes |
//! | 8, 8 | offset of the index, [`END_MAGIC`] |
//!
//! Blocks do not depend on each other. In a block, each record is its [`Record`](super::Record) in postcard's format
//! after delta coding (see `delta.rs`).

mod block;
mod delta;
mod file;
mod packer;

pub use block::Block;
pub(super) use file::{Kind, check_header, open, pack_header, recognise, salvage};
pub(super) use packer::{Index, Packer};

/// How a binary trace begins: a byte that is not ASCII, its name, and line ends that text transfers would change.
pub const MAGIC: [u8; 8] = *b"\x8aVQT\r\n\x1a\n";

/// How a whole binary trace ends.
pub const END_MAGIC: [u8; 8] = *b"\x8aVQTEND\n";
