//! A split ring in plain arrays, both sides of it: what the exhibits add buffers to. Nothing is shared and nothing is checked
//! beyond what the arrays check, so that what differs between two ways of adding is not lost in what they share.

use super::scatter_list::Element;

/// Descriptors of the ring.
pub const QUEUE_SIZE: u16 = 256;
/// Entries of an indirect table.
pub const TABLE_ENTRIES: usize = 16;

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const SIZE: usize = QUEUE_SIZE as usize;

/// A descriptor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor {
    /// Guest address; of an indirect table, its number.
    pub address: u64,
    /// Bytes; of an indirect table, its entries.
    pub length: u32,
    /// As on a split ring.
    pub flags: u16,
    /// The one behind.
    pub next: u16,
}

/// An indirect table.
pub type Table = [Descriptor; TABLE_ENTRIES];

/// The flags of an element of a chain.
#[inline(always)]
pub fn flags(writable: bool, last: bool) -> u16 {
    let write = if writable { WRITE } else { 0 };
    if last { write } else { write | NEXT }
}

/// The ring, its tables, and both sides' private state.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The descriptor table; the free ones are chained, as the proposal has it.
    pub descriptors: [Descriptor; SIZE],
    /// The first free one.
    pub free_head: u16,
    /// How many are free.
    pub free: u16,
    /// Indirect tables, by number.
    pub tables: Vec<Table>,
    /// Those that no buffer has.
    pub free_tables: Vec<u32>,
    available: [u16; SIZE],
    added: u16,
    taken: u16,
    reaped: u16,
}

/// What the device saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Buffers.
    pub buffers: u64,
    /// Elements.
    pub elements: u64,
    /// Every element's address, length, direction and place in the order, folded into one number.
    pub digest: u64,
}

impl Seen {
    #[inline(always)]
    fn element(&mut self, descriptor: Descriptor) {
        self.elements += 1;
        let value =
            descriptor.address ^ u64::from(descriptor.length) << 40 ^ u64::from(descriptor.flags & WRITE);
        self.digest = (self.digest ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
}

impl Ring {
    /// An empty ring, with a table for each descriptor. With `chained`, each table's chain is made.
    pub fn new(chained: bool) -> Self {
        let mut descriptors = [Descriptor::default(); SIZE];
        chain(&mut descriptors);
        let mut table = Table::default();
        if chained {
            chain(&mut table);
        }
        Ring {
            descriptors,
            free_head: 0,
            free: QUEUE_SIZE,
            tables: vec![table; SIZE],
            free_tables: (0..u32::from(QUEUE_SIZE)).collect(),
            available: [0; SIZE],
            added: 0,
            taken: 0,
            reaped: 0,
        }
    }

    /// A descriptor, by an index that the ring itself gave.
    #[inline(always)]
    pub fn at(&mut self, index: u16) -> &mut Descriptor {
        &mut self.descriptors[usize::from(index) % SIZE]
    }

    /// Makes a table the buffer of the first free descriptor, and gives it to the device.
    #[inline(always)]
    pub fn add_table(&mut self, number: u32, entries: usize) {
        let head = self.free_head;
        let descriptor = self.at(head);
        let next = descriptor.next;
        *descriptor = Descriptor { address: number.into(), length: entries as u32, flags: INDIRECT, next };
        self.add(head, next, 1);
    }

    /// Gives a chain to the device: it starts at `head`, takes so many descriptors, and `following` is free behind it.
    #[inline(always)]
    pub fn add(&mut self, head: u16, following: u16, descriptors: u16) {
        self.available[usize::from(self.added) % SIZE] = head;
        self.added = self.added.wrapping_add(1);
        self.free_head = following;
        self.free -= descriptors;
    }

    /// The device looks at everything there is.
    pub fn device(&mut self, seen: &mut Seen) {
        while self.taken != self.added {
            let head = self.available[usize::from(self.taken) % SIZE];
            self.taken = self.taken.wrapping_add(1);
            seen.buffers += 1;
            let first = *self.at(head);
            if first.flags & INDIRECT != 0 {
                let Some(table) = self.tables.get(first.address as usize) else { continue };
                let mut entry = 0;
                for _ in 0..first.length {
                    let descriptor = table[entry % TABLE_ENTRIES];
                    seen.element(descriptor);
                    if descriptor.flags & NEXT == 0 {
                        break;
                    }
                    entry = usize::from(descriptor.next);
                }
                continue;
            }
            let mut descriptor = first;
            seen.element(descriptor);
            while descriptor.flags & NEXT != 0 {
                descriptor = *self.at(descriptor.next);
                seen.element(descriptor);
            }
        }
    }

    /// The driver gets everything back, following each chain to its end, as Linux does.
    #[inline(always)]
    pub fn reap(&mut self) {
        while self.reaped != self.taken {
            let head = self.available[usize::from(self.reaped) % SIZE];
            self.reaped = self.reaped.wrapping_add(1);
            let mut last = head;
            let mut count = 1;
            if self.at(head).flags & INDIRECT != 0 {
                let number = self.at(head).address as u32;
                self.free_tables.push(number);
            } else {
                while self.at(last).flags & NEXT != 0 {
                    last = self.at(last).next;
                    count += 1;
                }
            }
            self.at(last).next = self.free_head;
            self.free_head = head;
            self.free += count;
        }
    }
}

/// Each descriptor is followed by the one behind it.
#[inline(always)]
pub fn chain(descriptors: &mut [Descriptor]) {
    for (next, descriptor) in (1..).zip(descriptors) {
        descriptor.next = next;
    }
}

/// Elements of buffer number `buffer`: the first half readable, the others writable.
pub fn elements(buffer: u64, count: usize) -> Vec<Element> {
    let element = |index| Element {
        address: 0x10_0000 + buffer * 0x1_0000 + index * 0x1000,
        length: 64 + index as u32,
    };
    (0..count as u64).map(element).collect()
}
