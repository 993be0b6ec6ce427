//! One format, one side, one set of features.

use crate::{
    model::{self, Covered, Operation},
    strategies,
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use ring_core::{
    Side,
    indirect::TableStrategy,
    spec::{Features, Format, feature},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

/// What changes how a ring works, in the order of the table's columns.
const FEATURES: [u64; 5] = [
    feature::INDIRECT_DESC,
    feature::EVENT_IDX,
    feature::IN_ORDER,
    feature::NOTIFICATION_DATA,
    feature::RING_RESET,
];

/// Of every queue.
const SIZE: u16 = 16;

/// What driver and device did, once it is known.
type Run = Arc<OnceLock<[Covered; 2]>>;

/// The calls for each strategy: the same ones for every combination and at any time.
fn drawn() -> &'static [(TableStrategy, Vec<Operation>)] {
    static DRAWN: OnceLock<Vec<(TableStrategy, Vec<Operation>)>> = OnceLock::new();
    DRAWN.get_or_init(|| {
        let mut runner = TestRunner::deterministic();
        let mut draw = || prop::collection::vec(model::operation(), 400).new_tree(&mut runner).unwrap();
        strategies::every(SIZE).into_iter().map(|strategy| (strategy, draw().current())).collect()
    })
}

/// Shown as the name of its test.
#[derive(Clone, Copy)]
pub(crate) struct Combination {
    format: Format,
    side: Side,
    features: u64,
}

/// Every one there is.
pub(crate) fn all() -> impl Iterator<Item = Combination> {
    let sets = |(format, side)| {
        (0..1_u32 << FEATURES.len()).map(move |set| {
            let chosen = FEATURES.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
            Combination { format, side, features: chosen.map(|(_, feature)| feature).sum() }
        })
    };
    let sides = |format| [Side::Driver, Side::Device].map(|side| (format, side));
    [Format::Split, Format::Packed].into_iter().flat_map(sides).flat_map(sets)
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Features(self.features).names();
        let names = if names.is_empty() { "no feature".to_owned() } else { names.join("+") };
        write!(f, "{} {} {names}", self.format, self.side)
    }
}

impl Combination {
    /// What this side did in random calls with every strategy. Both sides of a ring are in the same run.
    pub(crate) fn exercise(&self) -> Covered {
        static RUNS: Mutex<BTreeMap<(bool, u64), Run>> = Mutex::new(BTreeMap::new());
        let key = (self.format == Format::Packed, self.features);
        let run = RUNS.lock().map(|mut runs| Arc::clone(runs.entry(key).or_default()));
        let [driver, device] = *run.unwrap().get_or_init(|| self.exercise_both());
        match self.side {
            Side::Driver => driver,
            Side::Device => device,
        }
    }

    fn exercise_both(&self) -> [Covered; 2] {
        let mut covered = [Covered::default(); 2];
        for (strategy, operations) in drawn() {
            // The indices wrap on the way.
            let config = model::queue(self.format, SIZE, self.features, 65_520);
            for (sum, side) in covered.iter_mut().zip(model::run(config, *strategy, operations)) {
                *sum += side;
            }
        }
        covered
    }

    /// What stands in the table: one cell for the buffers, one for notifications by flag, one for each feature. `None`
    /// is what cannot happen without the feature.
    fn cells(&self, covered: &Covered) -> [Option<Vec<u64>>; 8] {
        let has = |feature| self.features & feature != 0;
        let notifications = vec![covered.sent, covered.suppressed];
        let (events, flags) =
            if has(feature::EVENT_IDX) { (Some(notifications), None) } else { (None, Some(notifications)) };
        let of = |feature, count: u64| has(feature).then(|| vec![count]);
        [
            Some(vec![covered.buffers]),
            Some(vec![covered.restored]),
            flags,
            of(feature::INDIRECT_DESC, covered.tables),
            events,
            of(feature::IN_ORDER, covered.in_batches),
            of(feature::NOTIFICATION_DATA, covered.positions),
            of(feature::RING_RESET, covered.reset),
        ]
    }

    /// The row of the table.
    pub(crate) fn row(&self, covered: &Covered) -> Vec<String> {
        let numbers = |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" / ");
        let cells = self.cells(covered).map(|cell| cell.map_or_else(|| "-".to_owned(), numbers));
        [self.format.to_string(), self.side.to_string()].into_iter().chain(cells).collect()
    }

    /// The columns in which nothing happened, and those where something did that the features do not allow.
    pub(crate) fn missing(&self, covered: &Covered) -> Vec<&'static str> {
        let names = ["buffers", "restores", "flags", "tables", "events", "batches", "positions", "resets"];
        let zero = self.cells(covered).into_iter().zip(names);
        let zero = zero.filter(|(cell, _)| cell.as_ref().is_some_and(|cell| cell.contains(&0)));
        let counts = [
            (feature::INDIRECT_DESC, covered.tables, "no tables"),
            (feature::IN_ORDER, covered.in_batches, "no batches"),
            (feature::NOTIFICATION_DATA, covered.positions, "no positions"),
            (feature::RING_RESET, covered.reset, "no resets"),
        ];
        let stray =
            counts.into_iter().filter(|(feature, count, _)| self.features & feature == 0 && *count > 0);
        zero.map(|(_, name)| name).chain(stray.map(|(.., name)| name)).collect()
    }
}
