//! The memory that both peers share: rings, tables and buffers in regions of their own, holes between them.

use std::collections::HashSet;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

pub(crate) const RING: u64 = 0x1_0000;
pub(crate) const RING_LENGTH: u64 = 0x1_0000;
pub(crate) const TABLES: u64 = 0x10_0000;
pub(crate) const TABLES_LENGTH: u64 = 0x4_0000;
const BUFFERS: u64 = 0x20_0000;
/// The most that one piece of a buffer takes.
pub(crate) const PIECE: u64 = 0x100;
const PIECES: u64 = 0x1000;

/// Guest memory, all zero.
pub(crate) fn memory() -> GuestMemoryMmap {
    let regions = [(RING, RING_LENGTH), (TABLES, TABLES_LENGTH), (BUFFERS, PIECES * PIECE)];
    GuestMemoryMmap::from_ranges(&regions.map(|(start, length)| (GuestAddress(start), length as usize)))
        .unwrap()
}

/// Pieces of memory for buffers, handed out and taken back.
pub(crate) struct Pieces {
    free: Vec<u64>,
    in_use: HashSet<u64>,
}

impl Pieces {
    pub(crate) fn new() -> Self {
        let free = (0..PIECES).map(|piece| BUFFERS + piece * PIECE).collect();
        Pieces { free, in_use: HashSet::new() }
    }

    pub(crate) fn take(&mut self) -> u64 {
        let address = self.free.pop().unwrap();
        self.in_use.insert(address);
        address
    }

    pub(crate) fn put_back(&mut self, address: u64) {
        assert!(self.in_use.remove(&address), "{address:#x} was not in use");
        self.free.push(address);
    }

    /// Whether every piece came back.
    pub(crate) fn is_whole(&self) -> bool {
        self.in_use.is_empty()
    }
}

pub(crate) fn read(memory: &GuestMemoryMmap, address: u64, length: u32) -> Vec<u8> {
    let mut bytes = vec![0; length as usize];
    memory.read_slice(&mut bytes, GuestAddress(address)).unwrap();
    bytes
}

pub(crate) fn write(memory: &GuestMemoryMmap, address: u64, bytes: &[u8]) {
    memory.write_slice(bytes, GuestAddress(address)).unwrap();
}
