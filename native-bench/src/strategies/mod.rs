//! The table strategies against each other: cycles, and memory held.
//!
//! Driver and device of ring-core move the same buffers under each strategy, on one thread and memory that only they know.
//! Time is that of both sides; instructions are the driver's alone, since the device's are the same for all.

mod case;
mod contenders;
mod held;
mod pair;

pub use case::{Case, Order, cases};
pub use contenders::contenders;
pub use held::{Held, Workload, held};

use crate::{
    Error,
    measure::{
        Turns, alternate,
        instructions::{self, Count},
    },
};
use pair::{Pair, pair};
use ring_core::indirect::TableStrategy;
use serde::Serialize;

/// Descriptors of every queue.
pub const QUEUE_SIZE: u16 = 256;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns of each strategy in each case.
    pub turns: usize,
    /// Buffers of a turn.
    pub buffers: usize,
}

impl Effort {
    /// What a good figure takes.
    pub const FULL: Effort = Effort { turns: 11, buffers: 4096 };
    /// A look.
    pub const QUICK: Effort = Effort { turns: 3, buffers: 512 };
    /// What is run under valgrind: counts do not vary, so one turn and few buffers are enough.
    pub const COUNTED: Effort = Effort { turns: 1, buffers: 512 };
}

/// Every strategy in one case. There are no figures where the ring does not hold the batch.
#[derive(Clone, Debug, Serialize)]
pub struct InCase {
    /// The case.
    pub case: Case,
    /// Of each strategy: time of both sides for a buffer, and against the first strategy.
    pub turns: Vec<Option<Turns>>,
    /// Of each strategy: the driver's instructions for a buffer, if they were counted.
    pub instructions: Vec<Option<f64>>,
}

/// Everything that is compared.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The strategies; the others are compared with the first.
    pub strategies: Vec<TableStrategy>,
    /// Their time.
    pub cases: Vec<InCase>,
    /// Of each strategy: the memory it held under each load.
    pub held: Vec<Vec<(Workload, Held)>>,
}

/// Measures everything. Instructions are counted if there are arguments with which this program runs [`run_counted`].
/// `progress` is told how many of how many cases are done.
pub fn compare<const N: usize>(
    effort: Effort,
    counted: Option<[&str; N]>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Comparison, Error> {
    let strategies = contenders();
    let of = cases().count() as u64 + 1;
    let mut in_cases = Vec::new();
    for (done, case) in (1..).zip(cases()) {
        let turns = times(&strategies, case, effort)?;
        in_cases.push(InCase { case, turns, instructions: vec![None; strategies.len()] });
        progress(done, of);
    }
    if let Some(arguments) = counted {
        for (in_case, counts) in in_cases.iter_mut().zip(instructions(arguments)?) {
            let held = in_case.turns.iter().map(Option::is_some);
            in_case.instructions = held.zip(counts).map(|(held, count)| held.then_some(count)).collect();
        }
    }
    let of_strategy = |strategy: &TableStrategy| {
        Workload::ALL.into_iter().map(|load| Ok((load, held(*strategy, load)?))).collect()
    };
    let held = strategies.iter().map(of_strategy).collect::<Result<_, Error>>()?;
    progress(of, of);
    Ok(Comparison { strategies, cases: in_cases, held })
}

/// Moves so many buffers, at least one batch. `None` if the ring does not hold it.
fn work(pair: &mut dyn Pair, case: Case, buffers: usize) -> Result<Option<u64>, Error> {
    let rounds = (buffers / case.batch).max(1);
    for _ in 0..rounds {
        if pair.round()?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some((rounds * case.batch) as u64))
}

/// Times of every strategy in one case.
fn times(strategies: &[TableStrategy], case: Case, effort: Effort) -> Result<Vec<Option<Turns>>, Error> {
    let mut pairs = Vec::new();
    for strategy in strategies {
        let mut pair = pair(*strategy, case)?;
        let holds = work(pair.as_mut(), case, case.batch)?.is_some();
        pairs.push((pair, holds));
    }
    let mut holding: Vec<&mut Box<dyn Pair>> =
        pairs.iter_mut().filter_map(|(pair, holds)| holds.then_some(pair)).collect();
    let turns = alternate(&mut holding, effort.turns, |pair| {
        Ok::<_, Error>(work(pair.as_mut(), case, effort.buffers)?.unwrap_or_default())
    })?;
    let mut turns = turns.into_iter();
    Ok(pairs.iter().map(|(_, holds)| holds.then(|| turns.next()).flatten()).collect())
}

/// Buffers that warm a queue up: every slot has been used, every list has grown.
const WARM_UP: usize = 2 * QUEUE_SIZE as usize;

/// What runs under valgrind to be counted: for every case and strategy a warm-up and what counts, and before all of
/// it nothing.
pub fn run_counted() -> Result<(), Error> {
    instructions::count_nothing();
    for case in cases() {
        for strategy in contenders() {
            let mut pair = pair(strategy, case)?;
            let holds = work(pair.as_mut(), case, WARM_UP)?.is_some();
            instructions::end_case();
            if holds {
                work(pair.as_mut(), case, Effort::COUNTED.buffers)?;
            }
            instructions::end_case();
        }
    }
    Ok(())
}

/// The driver's instructions for a buffer, of every strategy in every case, when this program runs [`run_counted`] with
/// `arguments`; 0 where the ring does not hold the batch.
fn instructions<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Vec<Vec<f64>>, Error> {
    let (strategies, cases) = (contenders().len(), cases().collect::<Vec<_>>());
    let counts = instructions::count(arguments, 2 * strategies * cases.len())?;
    let of_case = |(case, counts): (&Case, &[Count])| {
        let rounds = (Effort::COUNTED.buffers / case.batch).max(1) as f64;
        // Every other one is a warm-up's.
        let measured = counts.iter().skip(1).step_by(2);
        measured.map(|count| count.without(2.0 * rounds) / (rounds * case.batch as f64)).collect()
    };
    Ok(cases.iter().zip(counts.chunks(2 * strategies)).map(of_case).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring_core::indirect::Strategy;

    #[test]
    fn every_strategy_moves_every_batch_that_the_ring_holds() {
        for case in cases() {
            let direct = case.elements * case.batch <= usize::from(QUEUE_SIZE);
            let turns = times(&contenders(), case, Effort { turns: 1, buffers: 1 }).unwrap();
            for (strategy, turns) in contenders().iter().zip(&turns) {
                match strategy {
                    // These may run out of descriptors in the larger batches, the others never do.
                    Strategy::Direct => assert_eq!(turns.is_some(), direct, "{case:?}"),
                    Strategy::Threshold { .. } => assert!(turns.is_some() || !direct, "{strategy} {case:?}"),
                    _ => assert!(turns.is_some(), "{strategy} {case:?}"),
                }
            }
        }
    }

    #[test]
    fn loads_show_what_strategies_hold() {
        let of = |strategy, workload| held(strategy, workload).unwrap();
        for workload in Workload::ALL {
            assert_eq!(of(Strategy::Direct, workload).high_water, 0);
        }
        // 64 tables of 16 entries.
        assert_eq!(of(Strategy::SlabCache { entries: 16 }, Workload::Steady).end, 64 * 256);
        let slab = of(Strategy::SlabCache { entries: 4 }, Workload::Bursty);
        let stacks = of(Strategy::LineStack { direct: 0 }, Workload::Bursty);
        assert_eq!((slab.end, stacks.high_water), (slab.high_water, slab.high_water));
        assert!(stacks.end * 10 < slab.end, "a burst's tables are given back: {stacks:?}");
        assert!(of(Strategy::Direct, Workload::Bursty).turned_away > 0.0);
    }
}
