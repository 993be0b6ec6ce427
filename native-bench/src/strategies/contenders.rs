//! The strategies that are compared.

use super::QUEUE_SIZE;
use ring_core::{
    indirect::{
        Limit, LineStack, PreChained, Strategy, TableStrategy, Threshold, Unconditional, default_threshold,
    },
    spec::Format,
};

/// Every strategy, sized for buffers of up to 16 elements where it has a size, and some at their defaults or behind the
/// threshold. The first is what the others are compared with.
pub fn contenders() -> Vec<TableStrategy> {
    const LARGE: u16 = PreChained::LARGE;
    let behind =
        |over: Unconditional| Strategy::Threshold { free: Threshold::default_free(QUEUE_SIZE), over };
    vec![
        Strategy::PlainAllocation,
        Strategy::Direct,
        Strategy::ListCache { threshold: default_threshold() },
        Strategy::ListCache { threshold: LARGE },
        Strategy::SingleList { threshold: LARGE, limit: Limit::None },
        Strategy::SingleList { threshold: LARGE, limit: Limit::Tables(16) },
        Strategy::SlabCache { entries: default_threshold() },
        Strategy::SlabCache { entries: LARGE },
        Strategy::TwoDescriptorCache,
        Strategy::PreChained { entries: LARGE },
        Strategy::PerSlot { entries: LARGE },
        Strategy::PerNodeList { threshold: LARGE },
        Strategy::LineStack { direct: 0 },
        Strategy::LineStack { direct: LineStack::direct_most(Format::Packed) },
        Strategy::LineStack { direct: LineStack::direct_most(Format::Split) },
        behind(Strategy::PlainAllocation),
        behind(Strategy::ListCache { threshold: LARGE }),
        behind(Strategy::SlabCache { entries: LARGE }),
    ]
}
