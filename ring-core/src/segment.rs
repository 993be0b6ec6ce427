//! One element of a buffer.

/// A physically contiguous piece of a buffer (2.7.4 "Message Framing"). Whether the device may write it is said
/// by which of a buffer's two lists it stands in, so that readable ones come first (`B-ORDER-RW`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Segment {
    /// Guest address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
}
