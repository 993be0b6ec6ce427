//! The device status byte (virtio 1.2, 2.1 "Device Status Field").

use std::fmt;

/// The driver has seen the device.
pub const ACKNOWLEDGE: u8 = 1;
/// The driver knows how to drive it.
pub const DRIVER: u8 = 2;
/// The driver is ready: the device may use its queues.
pub const DRIVER_OK: u8 = 4;
/// The features are agreed on.
pub const FEATURES_OK: u8 = 8;
/// The device met an error that only a reset ends.
pub const DEVICE_NEEDS_RESET: u8 = 64;
/// The driver gave up.
pub const FAILED: u8 = 128;

const NAMES: [(u8, &str); 6] = [
    (ACKNOWLEDGE, "ACKNOWLEDGE"),
    (DRIVER, "DRIVER"),
    (DRIVER_OK, "DRIVER_OK"),
    (FEATURES_OK, "FEATURES_OK"),
    (DEVICE_NEEDS_RESET, "DEVICE_NEEDS_RESET"),
    (FAILED, "FAILED"),
];

/// A status byte as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// Whether all bits of `mask` are set.
    pub fn contains(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            NAMES.iter().filter(|(bit, _)| self.contains(*bit)).map(|(_, name)| *name).collect();
        match names.is_empty() {
            true => write!(f, "{:#04x}", self.0),
            false => write!(f, "{:#04x} ({})", self.0, names.join(" | ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_its_bits() {
        assert_eq!(Status(0).to_string(), "0x00");
        assert_eq!(
            Status(0x4f).to_string(),
            "0x4f (ACKNOWLEDGE | DRIVER | DRIVER_OK | FEATURES_OK | DEVICE_NEEDS_RESET)"
        );
    }
}
