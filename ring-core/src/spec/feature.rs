//! Feature bits of the ring itself (virtio 1.2, 6 "Reserved Feature Bits").

use alloc::vec::Vec;

/// Indirect descriptors may be used (2.7.5.3).
pub const INDIRECT_DESC: u64 = 1 << 28;
/// Notifications are suppressed by event index (2.7.7, 2.7.10).
pub const EVENT_IDX: u64 = 1 << 29;
/// The device follows virtio 1.0 or later.
pub const VERSION_1: u64 = 1 << 32;
/// Addresses may be translated by an IOMMU.
pub const ACCESS_PLATFORM: u64 = 1 << 33;
/// Packed virtqueues (2.8).
pub const RING_PACKED: u64 = 1 << 34;
/// Buffers are used in the order they were made available (2.7.9, 2.8.8).
pub const IN_ORDER: u64 = 1 << 35;
/// Memory is ordered as the platform needs, not as CPUs among themselves do.
pub const ORDER_PLATFORM: u64 = 1 << 36;
/// Driver notifications carry the next position (2.9 "Driver Notifications").
pub const NOTIFICATION_DATA: u64 = 1 << 38;
/// A single queue can be reset (2.6.1 "Virtqueue Reset").
pub const RING_RESET: u64 = 1 << 40;

const NAMES: [(u64, &str); 9] = [
    (INDIRECT_DESC, "INDIRECT_DESC"),
    (EVENT_IDX, "EVENT_IDX"),
    (VERSION_1, "VERSION_1"),
    (ACCESS_PLATFORM, "ACCESS_PLATFORM"),
    (RING_PACKED, "RING_PACKED"),
    (IN_ORDER, "IN_ORDER"),
    (ORDER_PLATFORM, "ORDER_PLATFORM"),
    (NOTIFICATION_DATA, "NOTIFICATION_DATA"),
    (RING_RESET, "RING_RESET"),
];

/// The set of features that driver and device agreed on; bits of the device type are carried along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Features(pub u64);

impl Features {
    /// Whether every bit of `mask` is set.
    #[inline]
    pub fn contains(self, mask: u64) -> bool {
        self.0 & mask == mask
    }

    /// Names of the ring's own features in the set, in the order of their bits.
    pub fn names(self) -> Vec<&'static str> {
        NAMES.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| *name).collect()
    }
}
