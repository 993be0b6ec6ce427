//! The wire format: sizes, offsets and constants of the virtio specification, and nothing that acts.
//!
//! Section numbers are those of virtio 1.2, as in the rest of the crate.

mod descriptor;
pub mod feature;
mod layout;
pub mod packed;
mod rule;
pub mod split;

pub use descriptor::{DESCRIPTOR_SIZE, Descriptor, descriptor_flag};
pub use feature::Features;
pub use layout::{Area, Format, Layout, LayoutError, RingCell};
pub use rule::{Obliged, Rule};

/// The largest queue size (2.7 "Split Virtqueues", 2.8 "Packed Virtqueues").
pub const MAXIMUM_QUEUE_SIZE: u16 = 32768;

/// The most bytes that a buffer's elements may have together (2.7.5.2).
pub const MAXIMUM_CHAIN_BYTES: u64 = 1 << 32;

/// Whether a peer that asked to be notified when the index `event` is passed must be, now that the index
/// moved from `old` to `new` (2.7.7.1, 2.7.10.2: event index suppression). All three run freely modulo 2^16.
#[inline]
pub fn event_crossed(event: u16, old: u16, new: u16) -> bool {
    new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old)
}

#[cfg(test)]
mod tests {
    use super::event_crossed;

    #[test]
    fn event_is_crossed_exactly_when_it_is_among_the_new_entries() {
        for old in [0_u16, 1, 65_000, 65_535] {
            for added in 0..5_u16 {
                let new = old.wrapping_add(added);
                for distance in 0..10_u16 {
                    let event = old.wrapping_add(distance).wrapping_sub(3);
                    let among = (0..added).any(|i| old.wrapping_add(i) == event);
                    assert_eq!(event_crossed(event, old, new), among, "{event} {old} {new}");
                }
            }
        }
    }
}
