//! Writing a ring by hand, as no driver of ours would.

use crate::system::GuestMemory;
use ring_core::{
    memory::{Memory, Ordering, OutOfRange},
    spec::{
        DESCRIPTOR_SIZE, Descriptor, Layout,
        packed::{self, Event},
        split::Cell,
    },
};

/// Descriptors of the ring.
pub(super) const QUEUE_SIZE: u16 = 16;
/// Where the ring is; the last MiB of memory has all there is.
pub(super) const RING: u64 = END - 0x10_0000;
/// Where indirect tables are.
pub(super) const TABLE: u64 = RING + 0x1_0000;
/// Where buffers are.
pub(super) const BUFFER: u64 = RING + 0x4_0000;
/// Bytes of the header in front of a packet.
pub(super) const HEADER: u32 = crate::net::HEADER_LENGTH;
/// Bytes of a packet.
pub(super) const PACKET: u32 = 64;
/// Bytes of a buffer with header and packet.
pub(super) const WHOLE: u32 = HEADER + PACKET;
/// Guest memory ends here.
pub(super) const END: u64 = 16 << 20;
/// An address where no memory is.
pub(super) const NOWHERE: u64 = 0xffff_ffff_0000;

/// What writing a case can fail of: a mistake in the case.
pub(super) type Written = Result<(), OutOfRange>;

/// A ring, and memory for tables and buffers, to be written without any rule.
pub(super) struct Raw<'a> {
    pub(super) memory: &'a GuestMemory,
    pub(super) layout: Layout,
}

/// The ring's addresses.
pub(super) fn layout() -> Layout {
    Layout::contiguous(QUEUE_SIZE, RING)
}

impl<'a> Raw<'a> {
    /// The ring in this memory.
    pub(super) fn new(memory: &'a GuestMemory) -> Self {
        Raw { memory, layout: layout() }
    }

    /// Zeroes everything, and fills the buffer's memory with bytes that can be told apart; headers ask for nothing.
    pub(super) fn clear(&self) -> Written {
        for address in (RING..BUFFER).step_by(16) {
            self.memory.store_words(address, [0; 2])?;
        }
        let packet = |address: u64| (address - BUFFER) / 16 % 0xff + 1;
        for address in (BUFFER..BUFFER + 0x1000).step_by(16) {
            self.memory.store_words(address, [packet(address).wrapping_mul(0x0101_0101_0101_0101); 2])?;
        }
        self.memory.store_words(BUFFER, [0; 2])
    }

    /// A descriptor of a split ring.
    pub(super) fn split(&self, slot: u16, address: u64, length: u32, flags: u16, next: u16) -> Written {
        let descriptor = Descriptor { address, length, flags, next };
        self.memory.store_words(self.layout.address(Cell::Descriptor(slot)), descriptor.to_words())
    }

    /// An entry of a split ring's table.
    pub(super) fn entry(&self, entry: u64, address: u64, length: u32, flags: u16, next: u16) -> Written {
        let descriptor = Descriptor { address, length, flags, next };
        self.memory.store_words(TABLE + entry * u64::from(DESCRIPTOR_SIZE), descriptor.to_words())
    }

    /// An entry of a table of either format anywhere, at an address that is a multiple of 4: a table need not be aligned.
    pub(super) fn entry_at(&self, address: u64, words: [u64; 2]) -> Written {
        let halves = words.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32]);
        for (half, value) in (0..).zip(halves) {
            self.memory.store_u32(address + half * 4, value)?;
        }
        Ok(())
    }

    /// Puts heads into the available ring, and sets its index.
    pub(super) fn available(&self, heads: &[u16], index: u16) -> Written {
        for (slot, head) in (0..).zip(heads) {
            self.memory.store_u16(
                self.layout.address(Cell::AvailableEntry(slot)),
                *head,
                Ordering::Relaxed,
            )?;
        }
        self.memory.store_u16(self.layout.address(Cell::AvailableIndex), index, Ordering::Release)
    }

    /// A field of 16 bits of a split ring.
    pub(super) fn field(&self, cell: Cell, value: u16) -> Written {
        self.memory.store_u16(self.layout.address(cell), value, Ordering::Release)
    }

    /// A descriptor of a packed ring.
    pub(super) fn packed(&self, slot: u16, address: u64, length: u32, id: u16, flags: u16) -> Written {
        let descriptor = packed::Descriptor { address, length, id, flags };
        self.memory.store_words(self.layout.address(packed::Cell::Descriptor(slot)), descriptor.to_words())
    }

    /// An entry of a packed ring's table.
    pub(super) fn packed_entry(&self, entry: u64, address: u64, length: u32, id: u16, flags: u16) -> Written {
        let descriptor = packed::Descriptor { address, length, id, flags };
        self.memory.store_words(TABLE + entry * u64::from(DESCRIPTOR_SIZE), descriptor.to_words())
    }

    /// What the driver of a packed ring asks of notifications.
    pub(super) fn driver_event(&self, offset: u16, flags: u16) -> Written {
        let event = Event { offset, flags };
        self.memory.store_u32(self.layout.address(packed::Cell::DriverEvent), event.to_bits())
    }
}
