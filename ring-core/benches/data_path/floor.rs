//! The floor: rings in plain arrays, by safe code that checks nothing the arrays do not.
//!
//! Split and packed, always direct, one thread. What a real ring cannot do without is kept: a free list, a token per
//! buffer, one publication per batch and the full fence before the other side's wish is read.

use crate::{ELEMENT_BYTES, Pair, QUEUE_SIZE};
use std::{
    error::Error,
    hint::black_box,
    sync::atomic::{AtomicU16, Ordering, fence},
};

const SIZE: usize = QUEUE_SIZE as usize;
const NEXT: u16 = 1;
const AVAIL: u16 = 1 << 7;
const USED: u16 = 1 << 15;

#[derive(Clone, Copy, Default)]
struct Descriptor {
    address: u64,
    length: u32,
    // Split: flags and next. Packed: id and flags.
    halves: [u16; 2],
}

/// Addresses and lengths of a buffer's elements.
fn buffer(elements: usize) -> Vec<(u64, u32)> {
    (0..elements as u64).map(|index| (0x100_0000 + index * 64, ELEMENT_BYTES)).collect()
}

/// A split ring with both its sides.
pub(crate) struct Split {
    elements: Vec<(u64, u32)>,
    descriptors: [Descriptor; SIZE],
    available: [u16; SIZE],
    available_index: AtomicU16,
    available_event: AtomicU16,
    used: [(u32, u32); SIZE],
    used_index: AtomicU16,
    // The driver's own.
    links: [u16; SIZE],
    last: [u16; SIZE],
    tokens: [u64; SIZE],
    free_head: u16,
    free: usize,
    added: u16,
    reaped: u16,
    notified: u16,
    // The device's own.
    taken: u16,
}

impl Split {
    pub(crate) fn new(elements: usize) -> Self {
        Split {
            elements: buffer(elements),
            descriptors: [Descriptor::default(); SIZE],
            available: [0; SIZE],
            available_index: AtomicU16::new(0),
            available_event: AtomicU16::new(0),
            used: [(0, 0); SIZE],
            used_index: AtomicU16::new(0),
            links: std::array::from_fn(|slot| (slot + 1) as u16),
            last: [0; SIZE],
            tokens: [0; SIZE],
            free_head: 0,
            free: SIZE,
            added: 0,
            reaped: 0,
            notified: 0,
            taken: 0,
        }
    }

    #[inline(always)]
    fn add(&mut self, token: u64) -> bool {
        if self.elements.len() > self.free {
            return false;
        }
        let head = self.free_head;
        let (mut slot, mut last) = (head, head);
        let mut left = self.elements.len();
        for (address, length) in &self.elements {
            left -= 1;
            let next = self.links[slot as usize % SIZE];
            let flags = if left == 0 { 0 } else { NEXT };
            self.descriptors[slot as usize % SIZE] =
                Descriptor { address: *address, length: *length, halves: [flags, next] };
            (last, slot) = (slot, next);
        }
        self.free_head = slot;
        self.free -= self.elements.len();
        self.last[head as usize % SIZE] = last;
        self.tokens[head as usize % SIZE] = token;
        self.available[self.added as usize % SIZE] = head;
        self.added = self.added.wrapping_add(1);
        true
    }

    #[inline(always)]
    fn reap(&mut self) -> Option<u64> {
        if self.used_index.load(Ordering::Acquire) == self.reaped {
            return None;
        }
        let (head, _) = self.used[self.reaped as usize % SIZE];
        let last = self.last[head as usize % SIZE];
        self.links[last as usize % SIZE] = self.free_head;
        self.free_head = head as u16;
        self.free += self.elements.len();
        self.reaped = self.reaped.wrapping_add(1);
        Some(self.tokens[head as usize % SIZE])
    }

    #[inline(always)]
    fn device(&mut self) -> u64 {
        let mut bytes = 0;
        let end = self.available_index.load(Ordering::Acquire);
        while self.taken != end {
            let head = self.available[self.taken as usize % SIZE];
            let mut slot = head;
            loop {
                let Descriptor { address, length, halves: [flags, next] } =
                    self.descriptors[slot as usize % SIZE];
                black_box(address);
                bytes += length as u64;
                if flags & NEXT == 0 {
                    break;
                }
                slot = next;
            }
            self.used[self.taken as usize % SIZE] = (head.into(), 0);
            self.taken = self.taken.wrapping_add(1);
        }
        self.used_index.store(end, Ordering::Release);
        bytes
    }
}

impl Pair for Split {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        for token in 0..batch as u64 {
            if !self.add(token) {
                return Err("the ring is full".into());
            }
        }
        self.available_index.store(self.added, Ordering::Release);
        fence(Ordering::SeqCst);
        let event = self.available_event.load(Ordering::Relaxed);
        let gone = self.added.wrapping_sub(self.notified);
        black_box(self.added.wrapping_sub(event).wrapping_sub(1) < gone);
        self.notified = self.added;
        let bytes = self.device();
        for token in 0..batch as u64 {
            if self.reap() != Some(token) {
                return Err(format!("buffer {token} did not come back in its turn").into());
            }
        }
        Ok(bytes)
    }
}

/// A slot, and the two flags of a descriptor that is available there.
#[derive(Clone, Copy)]
struct Position {
    slot: usize,
    available: u16,
}

impl Position {
    #[inline(always)]
    fn advance(&mut self, slots: usize) {
        self.slot += slots;
        if self.slot >= SIZE {
            self.slot -= SIZE;
            self.available ^= AVAIL | USED;
        }
    }

    /// The two flags of a used descriptor there.
    #[inline(always)]
    fn used(self) -> u16 {
        if self.available == AVAIL { AVAIL | USED } else { 0 }
    }
}

/// A packed ring with both its sides.
pub(crate) struct Packed {
    elements: Vec<(u64, u32)>,
    descriptors: [Descriptor; SIZE],
    tokens: [u64; SIZE],
    free_ids: Vec<u16>,
    free: usize,
    next_available: Position,
    next_used: Position,
    device: Position,
}

impl Packed {
    pub(crate) fn new(elements: usize) -> Self {
        let start = Position { slot: 0, available: AVAIL };
        Packed {
            elements: buffer(elements),
            descriptors: [Descriptor::default(); SIZE],
            tokens: [0; SIZE],
            free_ids: (0..QUEUE_SIZE).collect(),
            free: SIZE,
            next_available: start,
            next_used: start,
            device: start,
        }
    }

    #[inline(always)]
    fn add(&mut self, token: u64) -> bool {
        if self.elements.len() > self.free {
            return false;
        }
        let Some(id) = self.free_ids.pop() else { return false };
        let mut left = self.elements.len();
        for (address, length) in &self.elements {
            left -= 1;
            let flags = self.next_available.available | if left == 0 { 0 } else { NEXT };
            self.descriptors[self.next_available.slot % SIZE] =
                Descriptor { address: *address, length: *length, halves: [id, flags] };
            self.next_available.advance(1);
        }
        self.free -= self.elements.len();
        self.tokens[id as usize % SIZE] = token;
        true
    }

    #[inline(always)]
    fn reap(&mut self) -> Option<u64> {
        let [id, flags] = self.descriptors[self.next_used.slot % SIZE].halves;
        if flags & (AVAIL | USED) != self.next_used.used() {
            return None;
        }
        self.next_used.advance(self.elements.len());
        self.free += self.elements.len();
        self.free_ids.push(id);
        Some(self.tokens[id as usize % SIZE])
    }

    #[inline(always)]
    fn device(&mut self) -> u64 {
        let mut bytes = 0;
        loop {
            let mut position = self.device;
            let mut descriptor = self.descriptors[position.slot % SIZE];
            if descriptor.halves[1] & (AVAIL | USED) != position.available {
                return bytes;
            }
            let mut slots = 1;
            loop {
                black_box(descriptor.address);
                bytes += descriptor.length as u64;
                if descriptor.halves[1] & NEXT == 0 {
                    break;
                }
                slots += 1;
                position.advance(1);
                descriptor = self.descriptors[position.slot % SIZE];
            }
            let used = &mut self.descriptors[self.device.slot % SIZE];
            (used.length, used.halves) = (0, [descriptor.halves[0], self.device.used()]);
            self.device.advance(slots);
        }
    }
}

impl Pair for Packed {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        for token in 0..batch as u64 {
            if !self.add(token) {
                return Err("the ring is full".into());
            }
        }
        fence(Ordering::SeqCst);
        let bytes = self.device();
        for token in 0..batch as u64 {
            if self.reap() != Some(token) {
                return Err(format!("buffer {token} did not come back in its turn").into());
            }
        }
        Ok(bytes)
    }
}
