//! The header in front of every packet (virtio 1.2, 5.1.6).

/// Bytes of `struct virtio_net_hdr`, with `num_buffers` as VERSION_1 has it always.
pub const HEADER_LENGTH: u32 = 12;
/// Offset of `num_buffers` in it: how many receive buffers the packet takes.
pub(super) const NUM_BUFFERS: u64 = 10;
