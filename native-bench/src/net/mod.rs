//! The network device: its features, its packets, and what is done with them at the other end.

mod buffers;
pub mod feature;
mod header;
mod packets;
mod sink;

pub use buffers::{BufferPool, receive_segments, transmit_segments};
pub use header::HEADER_LENGTH;
pub use packets::{Direction, LONGEST_PACKET, PacketError, PacketPattern, SHORTEST_PACKET, Sizes};
pub use sink::{Sink, SinkError};

/// Number of the first receive queue (virtio 1.2, 5.1.2 "Virtqueues").
pub const RECEIVE_QUEUE: u16 = 0;
/// Number of the first transmit queue.
pub const TRANSMIT_QUEUE: u16 = 1;
