//! Every table strategy there is, for tests that must hold for each.

use ring_core::indirect::{Limit, Never, PreChained, Strategy, TableStrategy, Threshold, Unconditional};
use std::iter::successors;

/// The one after this in the list of all. Being a match, it does not compile while a strategy is missing.
fn after(strategy: Unconditional) -> Option<Unconditional> {
    Some(match strategy {
        Strategy::Direct => Strategy::PlainAllocation,
        Strategy::PlainAllocation => Strategy::ListCache { threshold: 4 },
        Strategy::ListCache { .. } => Strategy::SingleList { threshold: 3, limit: Limit::None },
        Strategy::SingleList { threshold, limit: Limit::None } => {
            Strategy::SingleList { threshold: threshold + 1, limit: Limit::Tables(2) }
        }
        Strategy::SingleList { threshold, limit: Limit::Tables(_) } => {
            Strategy::SingleList { threshold, limit: Limit::Bytes(200) }
        }
        Strategy::SingleList { limit: Limit::Bytes(_), .. } => Strategy::SlabCache { entries: 3 },
        Strategy::SlabCache { .. } => Strategy::PerSlot { entries: 4 },
        Strategy::PerSlot { .. } => Strategy::TwoDescriptorCache,
        Strategy::TwoDescriptorCache => Strategy::PreChained { entries: PreChained::SMALL },
        Strategy::PreChained { entries: PreChained::SMALL } => {
            Strategy::PreChained { entries: PreChained::LARGE }
        }
        Strategy::PreChained { .. } => Strategy::PerNodeList { threshold: 4 },
        Strategy::PerNodeList { .. } => Strategy::LineStack { direct: 0 },
        Strategy::LineStack { direct: 0 } => Strategy::LineStack { direct: 3 },
        Strategy::LineStack { .. } => return None,
    })
}

/// Every strategy without a threshold.
pub(crate) fn unconditional() -> impl Iterator<Item = Unconditional> {
    successors(Some(Strategy::Direct), |strategy| after(*strategy))
}

/// Every strategy without a threshold, with parameters that a queue of this size can use.
pub(crate) fn alone(queue_size: u16) -> impl Iterator<Item = TableStrategy> {
    unconditional().map(move |strategy| fitting(strategy, queue_size)).map(TableStrategy::from)
}

/// Every strategy alone and behind two thresholds, with parameters that a queue of this size can use.
pub(crate) fn every(queue_size: u16) -> Vec<TableStrategy> {
    let behind =
        |free| unconditional().map(move |over| Strategy::Threshold { free, over: fitting(over, queue_size) });
    let default = behind(Threshold::default_free(queue_size));
    alone(queue_size).chain(behind(queue_size / 2)).chain(default).collect()
}

/// The same strategy with its parameters no larger than the queue.
fn fitting(strategy: Unconditional, queue_size: u16) -> Unconditional {
    let least = |parameter: u16| parameter.min(queue_size);
    match strategy {
        Strategy::ListCache { threshold } => Strategy::ListCache { threshold: least(threshold) },
        Strategy::SingleList { threshold, limit } => {
            Strategy::SingleList { threshold: least(threshold), limit }
        }
        Strategy::SlabCache { entries } => Strategy::SlabCache { entries: least(entries) },
        Strategy::PerSlot { entries } => Strategy::PerSlot { entries: least(entries) },
        Strategy::PreChained { entries } => Strategy::PreChained { entries: least(entries) },
        Strategy::PerNodeList { threshold } => Strategy::PerNodeList { threshold: least(threshold) },
        Strategy::LineStack { direct } => Strategy::LineStack { direct: least(direct) },
        Strategy::Direct | Strategy::PlainAllocation | Strategy::TwoDescriptorCache => strategy,
    }
}

/// Whether a buffer takes a table, by what each strategy says of itself.
pub(crate) fn goes_indirect(strategy: TableStrategy, elements: u16, free: u16, size: u16) -> bool {
    match strategy {
        Strategy::LineStack { direct } if elements <= direct => elements > 1 && free < size / 2 + elements,
        Strategy::Direct => false,
        Strategy::Threshold { free: threshold, over } => {
            (free < threshold || elements > free) && goes_indirect(over.into(), elements, free, size)
        }
        _ => elements > 1,
    }
}

/// [`Never`] is what its name says: no trace and no caller can make one.
#[allow(dead_code, reason = "that it compiles is the proof")]
fn nothing_is_left_below(never: Never) -> TableStrategy {
    match never {}
}
