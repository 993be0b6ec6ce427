//! Default parameters, from the size of a cache line.

use crate::spec::DESCRIPTOR_SIZE;

/// What a cache line is taken to hold where the system does not say: bytes.
pub const CACHE_LINE_BYTES: u32 = 64;

/// The most elements that a network driver gives to one buffer: two for its headers, and the 17 fragments of the largest
/// packet that Linux' network stack hands over.
pub const LARGEST_NETWORK_BUFFER: u16 = 2 + 17;

/// Bytes of a line of the first CPU's data cache, asked of the system once. [`CACHE_LINE_BYTES`] where it does not say:
/// without `std`, on systems other than Linux, or if the answer is no power of two from 16 to 1024.
pub fn cache_line_bytes() -> u32 {
    asked().unwrap_or(CACHE_LINE_BYTES)
}

#[cfg(all(feature = "std", target_os = "linux"))]
fn asked() -> Option<u32> {
    static ANSWER: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *ANSWER.get_or_init(|| {
        let path = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size";
        plausible(&std::fs::read_to_string(path).ok()?)
    })
}

#[cfg(not(all(feature = "std", target_os = "linux")))]
fn asked() -> Option<u32> {
    None
}

/// A line's bytes as the system writes them.
#[cfg(any(test, all(feature = "std", target_os = "linux")))]
fn plausible(text: &str) -> Option<u32> {
    let bytes = text.trim().parse().ok()?;
    (u32::is_power_of_two(bytes) && (16..=1024).contains(&bytes)).then_some(bytes)
}

/// Descriptors that fill one [cache line](cache_line_bytes): 4 of 16 bytes in a line of 64. A table of so many costs one
/// line, and holds the buffers that most drivers send.
pub fn default_threshold() -> u16 {
    (cache_line_bytes() / DESCRIPTOR_SIZE) as u16
}

/// [`default_threshold`] for a network queue: no more than its largest buffer, which is [`LARGEST_NETWORK_BUFFER`] and
/// never more than the queue's size.
pub fn default_network_threshold(queue_size: u16) -> u16 {
    default_threshold().min(LARGEST_NETWORK_BUFFER).min(queue_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plausible_sizes_are_taken() {
        assert_eq!(plausible("64\n"), Some(64));
        assert_eq!(plausible("128"), Some(128));
        for text in ["", "0", "48", "8", "2048", "-64", "sixty-four"] {
            assert_eq!(plausible(text), None, "{text}");
        }
    }

    #[test]
    fn the_default_fills_a_line_and_is_capped() {
        assert_eq!(u32::from(default_threshold()) * DESCRIPTOR_SIZE, cache_line_bytes());
        assert_eq!(default_network_threshold(2), 2);
        assert_eq!(default_network_threshold(256), default_threshold().min(19));
    }
}
