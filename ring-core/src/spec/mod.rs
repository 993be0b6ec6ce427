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

/// The event of a side that wants no notifications, where `next` is the next index that it waits for: half of all
/// indices away. Neither what came before and the peer has not decided on yet, nor what comes next, passes it before it is
/// that many.
#[inline]
pub fn far_event(next: u16) -> u16 {
    next.wrapping_sub(1 << 15)
}

#[cfg(test)]
mod tests {
    use super::{MAXIMUM_QUEUE_SIZE, event_crossed, far_event};

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

    #[test]
    fn no_queue_passes_a_far_event_before_it_was_filled_twice() {
        for queue_size in (0..=15).map(|power| 1_u16 << power) {
            for next in [0, 1, 32_767, 32_768, 65_535_u16] {
                let event = far_event(next);
                // A queue's worth was used and not decided on, and another one follows.
                let indices = -i32::from(queue_size)..i32::from(queue_size);
                let crossed = indices.filter(|offset| {
                    let old = next.wrapping_add(*offset as u16);
                    event_crossed(event, old, old.wrapping_add(1))
                });
                // Two of the largest queue are all indices that there are, and the oldest is the one.
                let expected = (queue_size == MAXIMUM_QUEUE_SIZE).then_some(-32_768);
                assert!(crossed.eq(expected), "{queue_size} {next}");
                let old = next.wrapping_sub(queue_size);
                assert_eq!(event_crossed(event, old, next), expected.is_some());
                assert!(!event_crossed(event, next, next.wrapping_add(queue_size)));
            }
        }
    }
}
