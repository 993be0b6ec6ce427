//! Ticks of the driver's work.

use crate::measure::{Quantiles, Spread};
use serde::Serialize;

/// Ticks per buffer of one part of the driver's work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ticks {
    /// Over the rounds, of the median of each round's batches.
    pub rounds: Spread,
    /// Over all batches.
    pub batches: Quantiles,
}

/// The parts of the driver's work; none where nothing was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriverTicks {
    /// `add` of every buffer and `publish`.
    pub add: Option<Ticks>,
    /// `notify` and the doorbell.
    pub notify: Option<Ticks>,
    /// `reap`.
    pub reap: Option<Ticks>,
}

/// Figures of the driver's work while they are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct DriverFigures {
    pub(super) add: Figures,
    pub(super) notify: Figures,
    pub(super) reap: Figures,
}

impl DriverFigures {
    pub(super) fn end_round(&mut self) {
        for part in [&mut self.add, &mut self.notify, &mut self.reap] {
            part.end_round();
        }
    }

    pub(super) fn ticks(self) -> DriverTicks {
        DriverTicks { add: self.add.ticks(), notify: self.notify.ticks(), reap: self.reap.ticks() }
    }
}

/// Figures of one part of the work.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    round: Vec<f64>,
    rounds: Vec<f64>,
    batches: Vec<f64>,
}

impl Figures {
    /// `ticks` for a batch of `buffers`.
    #[inline]
    pub(super) fn add(&mut self, ticks: u64, buffers: usize) {
        self.round.push(ticks as f64 / buffers.max(1) as f64);
    }

    fn end_round(&mut self) {
        self.rounds.extend(Quantiles::of(&mut self.round).map(|quantiles| quantiles.median));
        self.batches.append(&mut self.round);
    }

    fn ticks(mut self) -> Option<Ticks> {
        self.end_round();
        Some(Ticks { rounds: Spread::of(&self.rounds)?, batches: Quantiles::of(&mut self.batches)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_summed_up_by_their_medians() {
        let mut figures = Figures::default();
        for round in [[640, 1280, 64_000], [320, 320, 320]] {
            for ticks in round {
                figures.add(ticks, 64);
            }
            figures.end_round();
        }
        let ticks = figures.ticks().unwrap();
        assert_eq!((ticks.rounds.minimum, ticks.rounds.maximum, ticks.rounds.count), (5.0, 20.0, 2));
        assert_eq!(ticks.batches.median, 7.5);
        assert_eq!(Figures::default().ticks(), None);
    }
}
