//! Feature bits of the network device (virtio 1.2, 5.1.3), and the names of all its features.

use ring_core::spec::Features;

/// The driver can take a packet in several receive buffers.
pub const MRG_RXBUF: u64 = 1 << 15;

/// The device's own, by bit.
const NAMES: [(u32, &str); 28] = [
    (0, "CSUM"),
    (1, "GUEST_CSUM"),
    (2, "CTRL_GUEST_OFFLOADS"),
    (3, "MTU"),
    (5, "MAC"),
    (7, "GUEST_TSO4"),
    (8, "GUEST_TSO6"),
    (9, "GUEST_ECN"),
    (10, "GUEST_UFO"),
    (11, "HOST_TSO4"),
    (12, "HOST_TSO6"),
    (13, "HOST_ECN"),
    (14, "HOST_UFO"),
    (15, "MRG_RXBUF"),
    (16, "STATUS"),
    (17, "CTRL_VQ"),
    (18, "CTRL_RX"),
    (19, "CTRL_VLAN"),
    (21, "GUEST_ANNOUNCE"),
    (22, "MQ"),
    (23, "CTRL_MAC_ADDR"),
    (54, "GUEST_USO4"),
    (55, "GUEST_USO6"),
    (56, "HOST_USO"),
    (57, "HASH_REPORT"),
    (59, "GUEST_HDRLEN"),
    (60, "RSS"),
    (63, "SPEED_DUPLEX"),
];

/// Names of the device's own features in the set.
fn own_names(features: Features) -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter(move |(bit, _)| features.contains(1 << bit)).map(|(_, name)| *name)
}

/// Names of all features in the set, the ring's first.
pub fn names(features: Features) -> Vec<&'static str> {
    features.names().into_iter().chain(own_names(features)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring_core::spec::feature::{EVENT_IDX, VERSION_1};

    #[test]
    fn names_both_kinds() {
        assert_eq!(
            names(Features(VERSION_1 | EVENT_IDX | MRG_RXBUF)),
            ["EVENT_IDX", "VERSION_1", "MRG_RXBUF"]
        );
    }
}
