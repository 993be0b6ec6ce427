//! The device's private state.

use super::{
    Change, SlotState,
    buffers::{InFlightBuffers, Known},
    driver::{Buffers, first_of},
    moment::Moment,
};
use ring_core::spec::{feature, split::Cell};
use serde::{Deserialize, Serialize};

/// What the device knows that the driver cannot see, and what it is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceScene {
    /// The next available entry to take.
    pub last_available: Change<u16>,
    /// Where the next used element goes.
    pub used_index: Change<u16>,
    /// used.idx as last published.
    pub published_index: Change<u16>,
    /// Published by the driver, not yet taken; the next to be taken first.
    pub offered: Buffers,
    /// Taken and not yet used, the oldest first.
    pub taken: Buffers,
    /// Notifications sent.
    pub interrupts: Change<u64>,
    /// Looks after which none was needed.
    pub interrupts_saved: Change<u64>,
    /// Whether notifications are suppressed by event index.
    pub event_index: bool,
    /// What it asks of the driver: avail_event, or used.flags.
    pub kick_wish: Change<u16>,
    /// Whether the driver has published what the device asked to be notified of, and has not looked yet.
    pub kick_owed: bool,
    /// What the driver asks of it: used_event, or avail.flags.
    pub interrupt_wish: Change<u16>,
    /// Whether it has published what the driver asked to be notified of, and has not looked yet.
    pub interrupt_owed: bool,
}

pub(super) fn device(moment: &Moment<'_>, buffers: &InFlightBuffers, touched: &[u16]) -> DeviceScene {
    let (before, after) = (moment.before.device.state(), moment.state().device.state());
    let counts = (moment.before.counts, moment.state().counts);
    let driver = moment.state().driver.state();
    let mut oldest_first = buffers.newest_first(driver.available_index);
    oldest_first.reverse();
    let in_state = |state: SlotState| -> Vec<Known> {
        oldest_first.iter().filter(|known| known.state == state).copied().collect()
    };
    let event_index = moment.config().features.contains(feature::EVENT_IDX);
    let (kick_wish, interrupt_wish) = if event_index {
        (Cell::AvailableEvent, Cell::UsedEvent)
    } else {
        (Cell::UsedFlags, Cell::AvailableFlags)
    };
    let owed = |wish: u16, from: u16, to: u16| {
        if event_index { ring_core::spec::event_crossed(wish, from, to) } else { wish == 0 && from != to }
    };
    let wishes = |cell: Cell| {
        let address = moment.layout().address(cell);
        let before = ring_core::memory::Memory::load_u16(
            &moment.before.memory,
            address,
            ring_core::memory::Ordering::Relaxed,
        );
        Change::new(before.unwrap_or_default(), moment.half(cell))
    };
    let (kick_wish, interrupt_wish) = (wishes(kick_wish), wishes(interrupt_wish));
    DeviceScene {
        last_available: Change::new(before.last_available, after.last_available),
        used_index: Change::new(before.used_index, after.used_index),
        published_index: Change::new(before.published_index, after.published_index),
        offered: first_of(moment, &in_state(SlotState::Available), touched),
        taken: first_of(moment, &in_state(SlotState::Taken), touched),
        interrupts: Change::new(counts.0.interrupts, counts.1.interrupts),
        interrupts_saved: Change::new(counts.0.interrupts_saved, counts.1.interrupts_saved),
        event_index,
        kick_owed: owed(kick_wish.after, driver.notified_index, driver.published_index),
        kick_wish,
        interrupt_owed: owed(interrupt_wish.after, after.notified_index, after.published_index),
        interrupt_wish,
    }
}
