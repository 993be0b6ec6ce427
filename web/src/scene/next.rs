//! The question that comes after a call, and its answer.

use super::{moment::Moment, words::spoken};
use ring_core::{
    spec::{event_crossed, feature, split::Cell},
    trace::Call,
};

/// The question and the arithmetic that answers it.
pub(super) fn next(moment: &Moment<'_>) -> Option<(String, String)> {
    let state = moment.state();
    let (driver, device) = (state.driver.state(), state.device.state());
    match moment.call? {
        Call::Add { .. } => Some((
            "Next: made visible".to_owned(),
            format!("avail idx {} → {}, not yet written", driver.published_index, driver.available_index),
        )),
        Call::Publish => Some((
            "Next: is a kick needed?".to_owned(),
            decision(
                moment,
                Cell::AvailableEvent,
                Cell::UsedFlags,
                driver.notified_index,
                driver.published_index,
            ),
        )),
        Call::Notify { .. } => {
            let before = moment.before.driver.state();
            Some((
                "Was a kick needed?".to_owned(),
                decision(
                    moment,
                    Cell::AvailableEvent,
                    Cell::UsedFlags,
                    before.notified_index,
                    before.published_index,
                ),
            ))
        }
        Call::Complete { .. } | Call::CompleteBatch { .. } => Some((
            "Next: made visible".to_owned(),
            format!("used idx {} → {}, not yet written", device.published_index, device.used_index),
        )),
        Call::PublishUsed => Some((
            "Next: is an interrupt needed?".to_owned(),
            decision(
                moment,
                Cell::UsedEvent,
                Cell::AvailableFlags,
                device.notified_index,
                device.published_index,
            ),
        )),
        Call::NotifyUsed { .. } => {
            let before = moment.before.device.state();
            Some((
                "Was an interrupt needed?".to_owned(),
                decision(
                    moment,
                    Cell::UsedEvent,
                    Cell::AvailableFlags,
                    before.notified_index,
                    before.published_index,
                ),
            ))
        }
        _ => None,
    }
}

/// The arithmetic of 2.7.7 and 2.7.10, with the numbers of this moment.
fn decision(moment: &Moment<'_>, event: Cell, flags: Cell, from: u16, to: u16) -> String {
    let answer = |needed: bool| if needed { "yes" } else { "no" };
    if !moment.config().features.contains(feature::EVENT_IDX) {
        let value = moment.half(flags);
        return format!("{} = {value} → {}", spoken(flags), answer(value == 0 && from != to));
    }
    let event = moment.half(event);
    let distance = to.wrapping_sub(event).wrapping_sub(1);
    let added = to.wrapping_sub(from);
    let needed = event_crossed(event, from, to);
    let compare = if needed { "<" } else { "≥" };
    format!("{to} − {event} − 1 = {distance} {compare} {added} new → {}", answer(needed))
}
