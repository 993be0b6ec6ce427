//! Where packets lie in guest memory, and the elements that describe them to the device.

use super::header::{HEADER_LENGTH, NUM_BUFFERS};
use crate::system::GuestMemory;
use ring_core::{
    Segment,
    memory::{Memory, Ordering, OutOfRange},
};

/// Where the header begins in a slot: the packet behind it is then 16-byte aligned.
const HEADER_AT: u64 = 4;
/// Where the packet begins.
const PACKET_AT: u64 = HEADER_AT + HEADER_LENGTH as u64;
/// Copies work on words of this many bytes.
const WORD: u64 = 16;

/// Slots of equal size, each for one buffer in flight.
#[derive(Clone, Debug)]
pub struct BufferPool {
    base: u64,
    slot_bytes: u64,
    free: Vec<u16>,
}

impl BufferPool {
    /// `slots` of them, each with room for `capacity` bytes including the header, from guest address `base` on.
    pub fn new(base: u64, slots: u16, capacity: u32) -> Self {
        let slot_bytes = (HEADER_AT + u64::from(capacity)).next_multiple_of(64);
        BufferPool { base: base.next_multiple_of(64), slot_bytes, free: (0..slots).rev().collect() }
    }

    /// The first guest address behind the slots.
    pub fn end(&self) -> u64 {
        self.base + self.slot_bytes * self.free.len() as u64
    }

    /// A free slot, if there is one.
    pub fn take(&mut self) -> Option<u16> {
        self.free.pop()
    }

    /// Gives a slot back.
    pub fn put_back(&mut self, slot: u16) {
        self.free.push(slot);
    }

    /// Guest address of a slot's buffer: that of the header.
    pub fn buffer(&self, slot: u16) -> u64 {
        self.base + self.slot_bytes * u64::from(slot) + HEADER_AT
    }

    /// Puts a packet, with a header that asks for nothing, into a slot.
    pub fn write_packet(&self, memory: &GuestMemory, slot: u16, packet: &[u8]) -> Result<(), OutOfRange> {
        let buffer = self.buffer(slot);
        for word in 0..HEADER_LENGTH / 4 {
            memory.store_u32(buffer + u64::from(word) * 4, 0)?;
        }
        // Slots are whole cache lines: the last word may reach past the packet, not past the slot.
        let mut address = buffer - HEADER_AT + PACKET_AT;
        for chunk in packet.chunks(WORD as usize) {
            let mut word = [0; WORD as usize];
            word.iter_mut().zip(chunk).for_each(|(target, byte)| *target = *byte);
            let word = u128::from_le_bytes(word);
            memory.store_words(address, [word as u64, (word >> 64) as u64])?;
            address += WORD;
        }
        Ok(())
    }

    /// `num_buffers` of the header in a slot.
    pub fn num_buffers(&self, memory: &GuestMemory, slot: u16) -> Result<u16, OutOfRange> {
        memory.load_u16(self.buffer(slot) + NUM_BUFFERS, Ordering::Relaxed)
    }

    /// Appends bytes `range` of a slot's buffer to `target`.
    pub fn read(
        &self,
        memory: &GuestMemory,
        slot: u16,
        range: std::ops::Range<u64>,
        target: &mut Vec<u8>,
    ) -> Result<(), OutOfRange> {
        let (from, to) = (self.buffer(slot) + range.start, self.buffer(slot) + range.end);
        let (first, last) = (from / 8 * 8, to.next_multiple_of(8));
        let old = target.len();
        target.resize(old + (last - first) as usize, 0);
        memory.copy_to(first, target.get_mut(old..).unwrap_or_default())?;
        target.truncate(old + (to - first) as usize);
        target.drain(old..old + (from - first) as usize);
        Ok(())
    }
}

/// Elements of a transmit buffer: the header and `packet_bytes` in `elements - 1` parts, or both in one.
pub fn transmit_segments(buffer: u64, packet_bytes: u32, elements: u16, segments: &mut Vec<Segment>) {
    split(buffer, packet_bytes, elements, segments);
}

/// Elements of a receive buffer with room for `capacity` bytes, the header's among them, divided in the same way.
pub fn receive_segments(buffer: u64, capacity: u32, elements: u16, segments: &mut Vec<Segment>) {
    split(buffer, capacity - HEADER_LENGTH, elements, segments);
}

fn split(buffer: u64, bytes: u32, elements: u16, segments: &mut Vec<Segment>) {
    segments.clear();
    let parts = u32::from(elements.saturating_sub(1));
    if parts == 0 {
        segments.push(Segment { address: buffer, length: HEADER_LENGTH + bytes });
        return;
    }
    segments.push(Segment { address: buffer, length: HEADER_LENGTH });
    let start = buffer + u64::from(HEADER_LENGTH);
    let border = |part: u32| (u64::from(bytes) * u64::from(part) / u64::from(parts)) as u32;
    segments.extend((0..parts).map(|part| Segment {
        address: start + u64::from(border(part)),
        length: border(part + 1) - border(part),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_cover_header_and_packet_without_gaps(bytes in 64_u32..2000, elements in 1_u16..=65) {
            let mut segments = Vec::new();
            transmit_segments(0x1004, bytes, elements, &mut segments);
            prop_assert_eq!(segments.len(), usize::from(elements));
            let mut next = 0x1004;
            for segment in &segments {
                prop_assert_eq!(segment.address, next);
                prop_assert!(segment.length > 0);
                next += u64::from(segment.length);
            }
            prop_assert_eq!(next, 0x1004 + 12 + u64::from(bytes));
            if elements > 1 {
                prop_assert_eq!(segments[0].length, HEADER_LENGTH);
            }
        }

        #[test]
        fn what_is_written_is_read_back(packet in prop::collection::vec(any::<u8>(), 64..1500), slot in 0_u16..4) {
            let file = crate::memory_file::create("test", 0x4000).unwrap();
            let memory = GuestMemory::map(&file, 0x4000).unwrap();
            let pool = BufferPool::new(0x100, 4, 1526);
            pool.write_packet(&memory, slot, &packet).unwrap();
            let mut back = vec![1, 2, 3];
            pool.read(&memory, slot, 12..12 + packet.len() as u64, &mut back).unwrap();
            prop_assert_eq!(&back[3..], &packet[..]);
            prop_assert_eq!(pool.num_buffers(&memory, slot).unwrap(), 0);
            prop_assert!(pool.end() <= 0x4000);
        }
    }
}
