//! What stands in a buffer: bytes that tell of which buffer they are, and where in it.

/// Lengths and bytes of one buffer, as both ends know them by its number.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) number: u64,
    /// Elements of each kind.
    pub(crate) readable: usize,
    pub(crate) writable: usize,
}

impl Content {
    /// Lengths of the readable elements.
    pub(crate) fn readable_lengths(self) -> impl Iterator<Item = u32> {
        (0..self.readable).map(move |index| self.length(index))
    }

    /// Lengths of the writable elements.
    pub(crate) fn writable_lengths(self) -> impl Iterator<Item = u32> {
        (self.readable..self.readable + self.writable).map(move |index| self.length(index))
    }

    /// All readable bytes, one element behind the other.
    pub(crate) fn question(self) -> Vec<u8> {
        self.bytes(self.readable_lengths().sum(), 0)
    }

    /// The first bytes of all that may be written.
    pub(crate) fn answer(self, length: u32) -> Vec<u8> {
        self.bytes(length, 0x80)
    }

    pub(crate) fn writable_bytes(self) -> u32 {
        self.writable_lengths().sum()
    }

    fn length(self, index: usize) -> u32 {
        1 + ((self.number * 37 + index as u64 * 101) % 61) as u32
    }

    /// A different row for each buffer, none of them repeated by an element's length.
    fn bytes(self, length: u32, salt: u64) -> Vec<u8> {
        let byte = |place: u64| (self.number * 131 + place * 7 + (place >> 8) * 13 + salt) as u8;
        (0..u64::from(length)).map(byte).collect()
    }
}

/// The same bytes cut into elements.
pub(crate) fn cut(bytes: &[u8], lengths: impl Iterator<Item = u32>) -> Vec<Vec<u8>> {
    let mut left = bytes;
    let pieces = lengths.map(|length| {
        let (piece, rest) = left.split_at(left.len().min(length as usize));
        left = rest;
        piece.to_vec()
    });
    pieces.collect()
}
