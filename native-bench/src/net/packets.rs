//! What is in each packet: recomputed from its number at both ends, so nothing but numbers is ever passed along.

use std::fmt;

/// Bytes of the shortest packet: an Ethernet frame without its checksum, rounded up.
pub const SHORTEST_PACKET: usize = 64;
/// Bytes of the longest packet: an Ethernet frame of 1500 bytes of payload, without its checksum.
pub const LONGEST_PACKET: usize = 1514;

/// To all, from a locally administered address, of the type for local experiments (0x88b5).
const ETHERNET_HEADER: [u8; 14] =
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xb5];
/// Where the packet's number stands, as 8 bytes, little-endian.
const NUMBER: std::ops::Range<usize> = 14..22;

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the driver through the device to the socket.
    Transmit,
    /// From the socket through the device to the driver.
    Receive,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Transmit => "transmitted",
            Direction::Receive => "received",
        })
    }
}

/// A packet arrived otherwise than it was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// A packet was lost, doubled, or overtook another.
    #[error(
        "{direction} packet {got} arrived where packet {expected} was due: packets were lost or reordered"
    )]
    Order {
        /// Which way.
        direction: Direction,
        /// Number that was due.
        expected: u64,
        /// Number in the packet.
        got: u64,
    },
    /// It is longer or shorter.
    #[error("{direction} packet {packet} has {got} bytes; expected {expected}")]
    Length {
        /// Which way.
        direction: Direction,
        /// Its number.
        packet: u64,
        /// Bytes sent.
        expected: usize,
        /// Bytes that arrived.
        got: usize,
    },
    /// A byte differs.
    #[error("{direction} packet {packet} differs at byte {offset}: expected {expected:#04x}, got {got:#04x}")]
    Content {
        /// Which way.
        direction: Direction,
        /// Its number.
        packet: u64,
        /// The first byte that differs.
        offset: usize,
        /// What was sent.
        expected: u8,
        /// What arrived.
        got: u8,
    },
    /// The device says it wrote more or less than the packet and its header.
    #[error(
        "{direction} packet {packet}: the device says it wrote {got} bytes into its buffers; expected {expected}"
    )]
    UsedLength {
        /// Which way.
        direction: Direction,
        /// Its number.
        packet: u64,
        /// Header and packet.
        expected: u64,
        /// Sum of the used lengths.
        got: u64,
    },
    /// The header's count of buffers cannot be.
    #[error("{direction} packet {packet}: num_buffers is {got}; expected {expected}")]
    NumBuffers {
        /// Which way.
        direction: Direction,
        /// Its number.
        packet: u64,
        /// How many buffers a packet of its size takes.
        expected: u16,
        /// What the header says.
        got: u16,
    },
}

/// The lengths that packets may have, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Shortest.
    pub shortest: usize,
    /// Longest.
    pub longest: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { shortest: SHORTEST_PACKET, longest: LONGEST_PACKET }
    }
}

/// The packets of one direction of a run.
#[derive(Clone, Copy, Debug)]
pub struct PacketPattern {
    seed: u64,
    sizes: Sizes,
    direction: Direction,
}

impl PacketPattern {
    /// Of a run with `seed`. The two directions carry different bytes.
    pub fn new(seed: u64, sizes: Sizes, direction: Direction) -> Self {
        PacketPattern { seed: mix(seed ^ direction as u64), sizes, direction }
    }

    /// Bytes of packet `number`.
    pub fn length(&self, number: u64) -> usize {
        let Sizes { shortest, longest } = self.sizes;
        let choices = (longest.saturating_sub(shortest) + 1) as u64;
        shortest + (mix(self.seed ^ mix(number)) % choices) as usize
    }

    /// The bytes of packet `number`, in place of what `packet` held.
    pub fn write(&self, number: u64, packet: &mut Vec<u8>) {
        let length = self.length(number);
        packet.clear();
        packet.extend(ETHERNET_HEADER);
        packet.extend(number.to_le_bytes());
        let mut word = mix(self.seed.wrapping_add(number));
        while packet.len() < length {
            word = word.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(0x9e37_79b9_7f4a_7c15);
            packet.extend((word ^ word >> 29).to_le_bytes());
        }
        packet.truncate(length);
    }

    /// Compares what arrived with packet `number`; `scratch` is overwritten.
    pub fn check(&self, number: u64, arrived: &[u8], scratch: &mut Vec<u8>) -> Result<(), PacketError> {
        let direction = self.direction;
        if let Some(got) = number_in(arrived).filter(|got| *got != number) {
            return Err(PacketError::Order { direction, expected: number, got });
        }
        self.write(number, scratch);
        if scratch == arrived {
            return Ok(());
        }
        let (expected, got) = (scratch.len(), arrived.len());
        let mut pairs = scratch.iter().zip(arrived).enumerate();
        match pairs.find(|(_, (expected, got))| expected != got) {
            Some((offset, (&expected, &got))) if scratch.len() == arrived.len() => {
                Err(PacketError::Content { direction, packet: number, offset, expected, got })
            }
            _ => Err(PacketError::Length { direction, packet: number, expected, got }),
        }
    }
}

/// The number in a packet of ours, if it is one.
fn number_in(packet: &[u8]) -> Option<u64> {
    let rest = packet.strip_prefix(&ETHERNET_HEADER)?;
    rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).filter(|_| packet.len() >= NUMBER.end)
}

/// Spreads any difference in the input over the whole output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZES: Sizes = Sizes { shortest: 64, longest: 200 };

    fn pattern(direction: Direction) -> PacketPattern {
        PacketPattern::new(7, SIZES, direction)
    }

    #[test]
    fn directions_and_numbers_differ() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        pattern(Direction::Transmit).write(3, &mut a);
        pattern(Direction::Receive).write(3, &mut b);
        assert_ne!(a, b);
        let lengths: std::collections::BTreeSet<_> =
            (0..5000).map(|number| pattern(Direction::Transmit).length(number)).collect();
        assert_eq!(lengths.len(), 200 - 64 + 1, "every length occurs");
        assert_eq!((lengths.first(), lengths.last()), (Some(&64), Some(&200)));
    }

    #[test]
    fn names_loss_and_length() {
        let pattern = pattern(Direction::Receive);
        let (mut packet, mut scratch) = (Vec::new(), Vec::new());
        pattern.write(9, &mut packet);
        let lost = pattern.check(8, &packet, &mut scratch).unwrap_err();
        assert_eq!(lost, PacketError::Order { direction: Direction::Receive, expected: 8, got: 9 });
        packet.push(0);
        let expected = packet.len() - 1;
        let longer = pattern.check(9, &packet, &mut scratch).unwrap_err();
        let got = expected + 1;
        assert_eq!(longer, PacketError::Length { direction: Direction::Receive, packet: 9, expected, got });
        assert!(matches!(pattern.check(9, &[], &mut scratch), Err(PacketError::Length { got: 0, .. })));
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_found(number: u64, at: prop::sample::Index, change in 1_u8..) {
            let pattern = pattern(Direction::Transmit);
            let (mut packet, mut scratch) = (Vec::new(), Vec::new());
            pattern.write(number, &mut packet);
            prop_assert_eq!(pattern.check(number, &packet, &mut scratch), Ok(()));
            let offset = at.index(packet.len());
            packet[offset] ^= change;
            let error = pattern.check(number, &packet, &mut scratch).unwrap_err();
            if NUMBER.contains(&offset) {
                let is_order = matches!(error, PacketError::Order { .. });
                prop_assert!(is_order);
            } else {
                let (got, expected) = (packet[offset], packet[offset] ^ change);
                let direction = Direction::Transmit;
                prop_assert_eq!(error, PacketError::Content { direction, packet: number, offset, expected, got });
            }
        }
    }
}
