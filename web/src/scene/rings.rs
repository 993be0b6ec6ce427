//! The available and the used ring on one counter line.

use super::{
    Mark, SlotState,
    buffers::InFlightBuffers,
    deeds::Marks,
    moment::{Moment, View},
};
use ring_core::{
    Side,
    spec::{
        feature,
        split::{Cell, slot},
    },
};
use serde::{Deserialize, Serialize};

/// One slot of both rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The slot.
    pub slot: u16,
    /// The index, running freely, under which the available entry stands there; `None` if none ever has.
    pub counter: Option<u16>,
    /// The available entry: a head.
    pub available: u16,
    /// Where the buffer of the available entry is; free once it came back.
    pub available_state: SlotState,
    /// Its buffer's token, while it is in flight.
    pub available_token: Option<u64>,
    /// What the step did to the available entry.
    pub available_mark: Mark,
    /// The call that wrote the available entry last.
    pub available_writer: Option<u64>,
    /// The used element: id and length.
    pub used: (u32, u32),
    /// Whether the used element waits for the driver.
    pub used_state: SlotState,
    /// Its buffer's token, until the driver gets it.
    pub used_token: Option<u64>,
    /// What the step did to the used element.
    pub used_mark: Mark,
    /// The call that wrote the used element last.
    pub used_writer: Option<u64>,
}

/// An index or event index of shared memory, as a flag on the boundary before the slot it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// The field.
    pub cell: Cell,
    /// Its value.
    pub value: u16,
    /// The column before which it stands; `None` if its slot is not drawn.
    pub boundary: Option<u16>,
    /// The side that wrote it.
    pub side: Side,
    /// What the step did.
    pub mark: Mark,
    /// The call that wrote it last.
    pub writer: Option<u64>,
}

/// Both rings, whole or a window of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingsScene {
    /// Slots of the ring.
    pub size: u16,
    /// Those that are drawn, left to right.
    pub columns: Vec<Column>,
    /// Flags above the counters: avail_event (or used flags) and avail idx.
    pub upper: [Flag; 2],
    /// Flags below the counters: used_event (or avail flags) and used idx.
    pub lower: [Flag; 2],
    /// Whether notifications are suppressed by event index.
    pub event_index: bool,
}

/// Both rings; a window of them lies around the index `around`.
pub(super) fn rings(
    moment: &Moment<'_>,
    buffers: &InFlightBuffers,
    marks: &Marks,
    view: &View,
    around: u16,
) -> RingsScene {
    let layout = moment.layout();
    let size = layout.queue_size;
    let count = view.columns.min(size).max(1);
    // Whole rings stay where they are; a window moves four slots at a time.
    let first = if count == size { 0 } else { slot(layout, around.wrapping_sub(count / 2) & !3) };
    let column = |offset: u16| {
        let here = slot(layout, first.wrapping_add(offset));
        // The last index below avail.idx that means this slot; more than one while a call is at work.
        let placed = moment.state().driver.state().available_index;
        let distance = slot(layout, placed.wrapping_sub(1).wrapping_sub(here));
        let counter = placed.wrapping_sub(1).wrapping_sub(distance);
        let ever = counter.wrapping_sub(moment.config().start_index) < 0x8000 || lapped(moment);
        column_at(moment, buffers, marks, here, ever.then_some(counter))
    };
    let flag = |cell: Cell, side: Side| {
        let value = moment.half(cell);
        let position = slot(layout, slot(layout, value).wrapping_sub(first));
        Flag {
            cell,
            value,
            boundary: (position < count).then_some(position),
            side,
            mark: marks.ring(cell),
            writer: moment.writer(layout.address(cell)),
        }
    };
    let event_index = moment.config().features.contains(feature::EVENT_IDX);
    let (kick_wish, interrupt_wish) = if event_index {
        (Cell::AvailableEvent, Cell::UsedEvent)
    } else {
        (Cell::UsedFlags, Cell::AvailableFlags)
    };
    let mut upper = [flag(kick_wish, Side::Device), flag(Cell::AvailableIndex, Side::Driver)];
    let mut lower = [flag(interrupt_wish, Side::Driver), flag(Cell::UsedIndex, Side::Device)];
    if !event_index {
        // Flags are no place in the ring: they stand with the index beside them.
        upper[0].boundary = upper[1].boundary;
        lower[0].boundary = lower[1].boundary;
    }
    RingsScene { size, columns: (0..count).map(column).collect(), upper, lower, event_index }
}

/// Whether the indices may have passed 2^15 since the start, so that "before the start" cannot be told any more.
fn lapped(moment: &Moment<'_>) -> bool {
    moment.cursor.position >= 0x8000
}

fn column_at(
    moment: &Moment<'_>,
    buffers: &InFlightBuffers,
    marks: &Marks,
    here: u16,
    counter: Option<u16>,
) -> Column {
    let layout = moment.layout();
    let available = moment.half(Cell::AvailableEntry(here));
    let holder =
        counter.and_then(|counter| buffers.at(available).filter(|known| known.buffer.number == counter));
    let used = moment.used_entry(here);
    let state = moment.state();
    let reaped = state.driver.state().last_used;
    let written = state.device.state().used_index;
    let ahead = slot(layout, here.wrapping_sub(slot(layout, reaped)));
    let waits = ahead < written.wrapping_sub(reaped);
    let user = waits.then(|| buffers.at(used.0 as u16)).flatten();
    Column {
        slot: here,
        counter,
        available,
        available_state: holder.map_or(SlotState::Free, |known| known.state),
        available_token: holder.map(|known| known.buffer.token),
        available_mark: marks.ring(Cell::AvailableEntry(here)),
        available_writer: moment.writer(layout.address(Cell::AvailableEntry(here))),
        used,
        used_state: if waits { SlotState::Used } else { SlotState::Free },
        used_token: user.map(|known| known.buffer.token),
        used_mark: marks.ring(Cell::UsedEntry(here)),
        used_writer: moment.writer(layout.address(Cell::UsedEntry(here))),
    }
}
