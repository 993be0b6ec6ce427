//! The split ring's descriptor (virtio 1.2, 2.7.5 "The Virtqueue Descriptor Table").

/// Bytes of a descriptor, in the ring or in a table, in both formats.
pub const DESCRIPTOR_SIZE: u32 = 16;

/// Values of [`Descriptor::flags`].
pub mod descriptor_flag {
    /// The buffer goes on at `next`.
    pub const NEXT: u16 = 1;
    /// The element is device-writable; otherwise device-readable.
    pub const WRITE: u16 = 2;
    /// The element is a table of descriptors (2.7.5.3 "Indirect Descriptors").
    pub const INDIRECT: u16 = 4;
}

/// One descriptor of a split ring or of an indirect table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Guest address of the element or table.
    pub address: u64,
    /// Bytes of the element or table.
    pub length: u32,
    /// See [`descriptor_flag`].
    pub flags: u16,
    /// Index of the next descriptor, if `NEXT` is set.
    pub next: u16,
}

impl Descriptor {
    /// The descriptor as the two little-endian words in memory.
    #[inline]
    pub fn to_words(self) -> [u64; 2] {
        [self.address, self.length as u64 | (self.flags as u64) << 32 | (self.next as u64) << 48]
    }

    /// The descriptor that two words in memory hold. Any bits make one.
    #[inline]
    pub fn from_words([address, rest]: [u64; 2]) -> Self {
        Descriptor { address, length: rest as u32, flags: (rest >> 32) as u16, next: (rest >> 48) as u16 }
    }

    /// Whether every flag of `mask` is set.
    #[inline]
    pub fn has(self, mask: u16) -> bool {
        self.flags & mask == mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_in_memory_as_the_specification_draws_it() {
        let descriptor =
            Descriptor { address: 0x0102_0304_0506_0708, length: 0x090a_0b0c, flags: 5, next: 0x0e0f };
        let [first, second] = descriptor.to_words().map(u64::to_le_bytes);
        assert_eq!(first, [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(second, [0x0c, 0x0b, 0x0a, 9, 5, 0, 0x0f, 0x0e]);
        assert_eq!(Descriptor::from_words(descriptor.to_words()), descriptor);
    }
}
