//! Random calls on a driver and a device against a model of where each buffer is: both formats, every feature, every
//! strategy.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

#[path = "common/cases.rs"]
mod cases;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/either.rs"]
mod either;
#[path = "common/model/mod.rs"]
mod model;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;
#[path = "common/model/watch_test.rs"]
mod watch_test;

use model::{operation, queue, run};
use proptest::prelude::*;
use ring_core::spec::{Format, feature};

/// What changes how a ring works.
const FEATURES: [u64; 5] = [
    feature::INDIRECT_DESC,
    feature::EVENT_IDX,
    feature::IN_ORDER,
    feature::NOTIFICATION_DATA,
    feature::RING_RESET,
];

fn features() -> impl Strategy<Value = u64> {
    prop::sample::subsequence(FEATURES.to_vec(), 0..=FEATURES.len()).prop_map(|chosen| chosen.iter().sum())
}

proptest! {
    #![proptest_config(cases::cases(300))]

    #[test]
    fn split(
        size in 0..6_u32, features in features(), strategy in any::<prop::sample::Index>(),
        start in prop_oneof![Just(0), 65_500_u16..=65_535, any::<u16>()],
        operations in prop::collection::vec(operation(), 0..400),
    ) {
        let strategy = *strategy.get(&strategies::every(1 << size));
        run(queue(Format::Split, 1 << size, features, start), strategy, &operations);
    }

    #[test]
    fn packed(
        size in 1..40_u16, features in features(), strategy in any::<prop::sample::Index>(),
        start in prop_oneof![Just(0), 65_500_u16..=65_535, any::<u16>()],
        operations in prop::collection::vec(operation(), 0..400),
    ) {
        let strategy = *strategy.get(&strategies::every(size));
        run(queue(Format::Packed, size, features, start), strategy, &operations);
    }
}
