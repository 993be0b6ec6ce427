//! How many elements each buffer has and how many buffers each batch, from the seed alone.

use super::{
    numbers::Numbers,
    options::{Options, Scenario},
};

/// The most elements of a mixed run's buffers.
pub(super) const MIXED_ELEMENTS: u16 = 6;
/// The most elements of a random run's buffers.
pub(super) const RANDOM_ELEMENTS: u16 = 40;
/// Up to so many they mostly have.
const RANDOM_USUAL: u64 = 19;
/// How often a mixed run's transmit buffers have 1, 2... elements, of 16.
const MIXED_SHARES: [u8; MIXED_ELEMENTS as usize] = [3, 4, 3, 3, 2, 1];

/// A source of decisions.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    scenario: Scenario,
    elements: u16,
    batch: usize,
    numbers: Numbers,
}

impl Workload {
    /// `elements` are those of a uniform run's buffers; `salt` tells the queues of a run apart.
    pub(super) fn new(options: &Options, elements: u16, salt: u64) -> Self {
        let numbers = Numbers::new(options.seed, salt);
        Workload { scenario: options.scenario, elements, batch: options.batch, numbers }
    }

    /// Elements of the next transmit buffer, at most `most`.
    pub(super) fn elements(&mut self, most: u16) -> u16 {
        let elements = match self.scenario {
            Scenario::Uniform => self.elements,
            Scenario::Mixed => {
                let mut draw = self.numbers.below(MIXED_SHARES.iter().map(|share| u64::from(*share)).sum());
                let larger = MIXED_SHARES.iter().take_while(|share| {
                    let more = draw >= u64::from(**share);
                    draw = draw.saturating_sub(u64::from(**share));
                    more
                });
                larger.count() as u16 + 1
            }
            Scenario::Random if self.numbers.once_in(8) => 1 + self.numbers.below(most.into()) as u16,
            Scenario::Random => 1 + self.numbers.below(RANDOM_USUAL) as u16,
        };
        elements.min(most)
    }

    /// Elements of the next receive buffer, at most `most`.
    pub(super) fn receive_elements(&mut self, most: u16) -> u16 {
        match self.scenario {
            Scenario::Uniform => most,
            Scenario::Mixed | Scenario::Random => 1 + self.numbers.below(u64::from(most)) as u16,
        }
    }

    /// Buffers of the next batch.
    pub(super) fn batch(&mut self) -> usize {
        match self.scenario {
            Scenario::Uniform => self.batch,
            Scenario::Mixed | Scenario::Random => 1 + self.numbers.below(self.batch as u64) as usize,
        }
    }

    /// How many of `in_flight` buffers to wait for before the next batch.
    pub(super) fn wait_for(&mut self, in_flight: u16) -> u16 {
        match (self.scenario, self.numbers.below(4)) {
            (Scenario::Uniform, _) | (_, 3) => in_flight,
            (_, 2) => in_flight / 2,
            _ => 0,
        }
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
