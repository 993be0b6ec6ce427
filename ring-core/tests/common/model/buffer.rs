//! A buffer on its way.

use ring_core::Segment;

/// What the driver added, and what it takes in the ring.
pub(crate) struct Buffer {
    pub(crate) token: u64,
    pub(crate) readable: Vec<Segment>,
    pub(crate) writable: Vec<Segment>,
    /// Ring descriptors it holds.
    pub(crate) descriptors: u16,
}

impl Buffer {
    /// Every element of every buffer is at an address of its own, where there is no memory: neither side looks there.
    pub(crate) fn new(token: u64, readable: usize, writable: usize) -> Self {
        let segment = |index: usize| Segment {
            address: 1 << 40 | token << 16 | (index as u64) << 8,
            length: 1 + index as u32 * 3,
        };
        Buffer {
            token,
            readable: (0..readable).map(segment).collect(),
            writable: (readable..readable + writable).map(segment).collect(),
            descriptors: 0,
        }
    }

    pub(crate) fn elements(&self) -> usize {
        self.readable.len() + self.writable.len()
    }

    pub(crate) fn writable_bytes(&self) -> u32 {
        self.writable.iter().map(|segment| segment.length).sum()
    }
}

/// A buffer that the device is done with.
pub(crate) struct Done {
    pub(crate) token: u64,
    /// What must arrive.
    pub(crate) length: u32,
    pub(crate) descriptors: u16,
    /// Whether it is the last one, or the only one, that a used element stands for.
    pub(crate) ends_element: bool,
    /// Whether that element stands for several.
    pub(crate) in_batch: bool,
}
