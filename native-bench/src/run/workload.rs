//! How many elements each buffer has and how many buffers each batch, from the seed alone.

use super::options::{Options, Scenario};

/// The most elements of a mixed run's buffers.
pub(super) const MIXED_ELEMENTS: u16 = 6;
/// How often a mixed run's transmit buffers have 1, 2... elements, of 16.
const MIXED_SHARES: [u8; MIXED_ELEMENTS as usize] = [3, 4, 3, 3, 2, 1];

/// A source of decisions.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    scenario: Scenario,
    elements: u16,
    batch: usize,
    state: u64,
}

impl Workload {
    /// `elements` are those of a uniform run's buffers; `salt` tells the queues of a run apart.
    pub(super) fn new(options: &Options, elements: u16, salt: u64) -> Self {
        let state =
            options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd1b5_4a32_d192_ed03) | 1;
        Workload { scenario: options.scenario, elements, batch: options.batch, state }
    }

    /// Elements of the next transmit buffer, at most `most`.
    pub(super) fn elements(&mut self, most: u16) -> u16 {
        let elements = match self.scenario {
            Scenario::Uniform => self.elements,
            Scenario::Mixed => {
                let mut draw = self.below(MIXED_SHARES.iter().map(|share| u64::from(*share)).sum());
                let larger = MIXED_SHARES.iter().take_while(|share| {
                    let more = draw >= u64::from(**share);
                    draw = draw.saturating_sub(u64::from(**share));
                    more
                });
                larger.count() as u16 + 1
            }
        };
        elements.min(most)
    }

    /// Elements of the next receive buffer, at most `most`.
    pub(super) fn receive_elements(&mut self, most: u16) -> u16 {
        match self.scenario {
            Scenario::Uniform => most,
            Scenario::Mixed => 1 + self.below(u64::from(most)) as u16,
        }
    }

    /// Buffers of the next batch.
    pub(super) fn batch(&mut self) -> usize {
        match self.scenario {
            Scenario::Uniform => self.batch,
            Scenario::Mixed => 1 + self.below(self.batch as u64) as usize,
        }
    }

    /// How many of `in_flight` buffers to wait for before the next batch.
    pub(super) fn wait_for(&mut self, in_flight: u16) -> u16 {
        match (self.scenario, self.below(4)) {
            (Scenario::Uniform, _) | (Scenario::Mixed, 3) => in_flight,
            (Scenario::Mixed, 2) => in_flight / 2,
            (Scenario::Mixed, _) => 0,
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::options;

    #[test]
    fn a_mixed_run_has_every_size_in_its_share() {
        let mut workload = Workload::new(&Options { scenario: Scenario::Mixed, batch: 8, ..options() }, 3, 1);
        let mut counts = [0_u32; MIXED_ELEMENTS as usize];
        for _ in 0..16_000 {
            counts[usize::from(workload.elements(16)) - 1] += 1;
            assert!((1..=8).contains(&workload.batch()));
            assert!(workload.elements(2) <= 2);
        }
        for (count, share) in counts.iter().zip(MIXED_SHARES) {
            let expected = f64::from(share) * 1000.0;
            assert!((f64::from(*count) - expected).abs() < expected * 0.15, "{counts:?}");
        }
    }

    #[test]
    fn a_uniform_run_is_what_was_asked_for() {
        let mut workload = Workload::new(&Options { batch: 64, ..options() }, 3, 1);
        assert_eq!((workload.elements(256), workload.batch()), (3, 64));
    }
}
