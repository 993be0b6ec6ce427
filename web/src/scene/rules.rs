//! Which rules a call keeps.

use super::{RuleKept, moment::Moment};
use ring_core::{
    probe::Event,
    spec::{Rule, feature},
    trace::Call,
};

/// The rules that a call is about.
pub(super) fn kept(moment: &Moment<'_>, call: &Call<'_>) -> Vec<RuleKept> {
    let indirect = moment.events.iter().any(|event| matches!(event, Event::Placed { table: Some(_), .. }));
    let event_index = moment.config().features.contains(feature::EVENT_IDX);
    let rules: &[Rule] = match call {
        Call::Add { .. } if indirect => {
            &[Rule::IndirectLength, Rule::SplitIndirectNext, Rule::IndirectNested, Rule::SplitHead]
        }
        Call::Add { .. } => &[Rule::ReadableFirst, Rule::SplitNext, Rule::SplitHead],
        Call::Publish => &[Rule::BarrierPublish, Rule::SplitAvailableIndex],
        Call::Notify { .. } if event_index => &[Rule::BarrierNotify, Rule::NotifyNeeded],
        Call::Notify { .. } => &[Rule::BarrierNotify, Rule::NotifyNeeded, Rule::SplitUsedFlags],
        Call::Reap => &[Rule::UsedId, Rule::UsedLength, Rule::SplitUsedIndex],
        Call::DisableNotifications => &[Rule::SplitAvailableFlags],
        Call::EnableNotifications => &[Rule::RaceRecheck, Rule::SplitAvailableFlags],
        Call::Pop => &[Rule::SplitHead, Rule::SplitNext, Rule::ReadableFirst, Rule::SplitAvailableIndex],
        Call::Complete { .. } => &[Rule::UsedId, Rule::UsedLength],
        Call::CompleteBatch { .. } => &[Rule::InOrder, Rule::UsedLength],
        Call::CompletePacked { .. } => &[Rule::UsedId, Rule::PackedUsedWrite],
        Call::PublishUsed => &[Rule::BarrierPublish, Rule::SplitUsedIndex],
        Call::NotifyUsed { .. } => &[Rule::BarrierNotify, Rule::NotifyNeeded],
        Call::Wish { .. } => &[Rule::SplitUsedFlags],
        Call::Checkpoint { .. } => &[],
        Call::Reset => &[Rule::Reset],
    };
    rules.iter().map(|rule| rule_kept(*rule)).collect()
}

/// A rule as the page shows it.
pub(super) fn rule_kept(rule: Rule) -> RuleKept {
    RuleKept {
        id: rule.id().to_owned(),
        section: rule.section().to_owned(),
        requirement: rule.requirement().to_owned(),
    }
}
