//! Decisions that a seed makes, the same in every run.

/// A source of numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// `salt` tells the sources of a run apart.
    pub(super) fn new(seed: u64, salt: u64) -> Self {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd1b5_4a32_d192_ed03) | 1)
    }

    /// A number below `limit`; 0 if that is 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }

    /// True once in `times`, on average.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
