//! The scene of a moment.

use super::{
    Scene, Travel,
    buffers::InFlightBuffers,
    deeds::{Deed, Marks, deeds},
    descriptors::{groups, whole},
    device::device,
    driver::driver,
    explanation::{explanation, focus_cell},
    moment::{Moment, View},
    narrate::caption,
    rings::rings,
    tables::tables,
};
use ring_core::{
    probe::Event,
    replay::Outcome,
    spec::split::{Cell, slot},
    trace::Call,
};

/// Builds what the page draws. The same moment gives the same scene.
pub fn build(moment: &Moment<'_>, view: &View) -> Scene {
    let size = moment.layout().queue_size;
    // While a buffer is being added, its descriptors and table are drawn as its own from the first store on.
    let drawn = if matches!(moment.call, Some(Call::Add { .. })) { moment.after } else { moment.state() };
    let buffers = InFlightBuffers::of(drawn, size);
    let before = InFlightBuffers::of(moment.before, size);
    let deeds = deeds(moment);
    let marks = Marks::of(moment, &deeds);
    let heads = heads(moment, &before);
    let head = heads.last().copied();
    let focus = head.unwrap_or_else(|| newest(moment, &buffers));
    let groups = groups(moment, &buffers, &marks, view, focus);
    let (title, subtitle) = caption(moment, &before);
    Scene {
        queue: moment.queue,
        cursor: moment.cursor,
        calls: moment.calls,
        accesses: moment.accesses.len() as u32,
        call: moment.call.map(|call| call.name().to_owned()).unwrap_or_default(),
        title,
        subtitle,
        time: nanoseconds(moment.ticks, moment.ticks_per_second),
        driver: driver(moment, &buffers, &marks, &heads),
        whole_ring: whole(size, &buffers, &marks, view, &groups),
        tables: tables(moment, &buffers, &marks, view, &groups, focus),
        descriptors: groups,
        rings: rings(moment, &buffers, &marks, view, around(moment)),
        device: device(moment, &buffers, &heads),
        explanation: explanation(moment, &deeds, focus_cell(moment, head)),
        travel: travel(moment, &deeds),
    }
}

fn nanoseconds(ticks: u64, ticks_per_second: u64) -> u64 {
    let product = u128::from(ticks) * 1_000_000_000;
    (product / u128::from(ticks_per_second.max(1))) as u64
}

/// Heads of the buffers that the call is about.
fn heads(moment: &Moment<'_>, before: &InFlightBuffers) -> Vec<u16> {
    let numbered = |from: u16, to: u16| -> Vec<u16> {
        let count = to.wrapping_sub(from);
        let number = |ahead: u16| before.numbered(from.wrapping_add(ahead)).map(|known| known.head);
        (0..count).filter_map(number).collect()
    };
    match (moment.call, moment.outcome) {
        (Some(Call::Complete { head, .. } | Call::CompleteBatch { head, .. }), _) => vec![*head],
        (_, Outcome::Added { head }) => vec![*head],
        (_, Outcome::Popped(chain)) => vec![chain.head],
        (_, Outcome::Reaped(used)) => vec![used.head],
        (Some(Call::Publish), _) => moment
            .events
            .iter()
            .find_map(|event| match event {
                Event::Published { from, to } => Some(numbered(*from, *to)),
                _ => None,
            })
            .unwrap_or_default(),
        (Some(Call::PublishUsed), _) => {
            let state = moment.before.device.state();
            let used = state.published_index..state.used_index;
            let count = used.end.wrapping_sub(used.start);
            let layout = moment.layout();
            (0..count)
                .map(|ahead| moment.used_entry(slot(layout, used.start.wrapping_add(ahead))).0 as u16)
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The head of the buffer added last, or the descriptor that is taken next.
fn newest(moment: &Moment<'_>, buffers: &InFlightBuffers) -> u16 {
    let driver = moment.state().driver.state();
    match buffers.numbered(driver.available_index.wrapping_sub(1)) {
        Some(known) => known.head,
        None => driver.free_head,
    }
}

/// The index around which a window over the rings lies.
fn around(moment: &Moment<'_>) -> u16 {
    let (driver, device) = (moment.before.driver.state(), moment.before.device.state());
    match moment.call {
        Some(Call::Reap | Call::EnableNotifications | Call::DisableNotifications) => driver.last_used,
        Some(Call::Pop) => device.last_available,
        Some(
            Call::Complete { .. } | Call::CompleteBatch { .. } | Call::PublishUsed | Call::NotifyUsed { .. },
        ) => device.used_index,
        _ => driver.available_index,
    }
}

fn travel(moment: &Moment<'_>, deeds: &[Deed]) -> Option<Travel> {
    let table = deeds.iter().find_map(|deed| match deed {
        Deed::TableTaken { table, reused: true } => Some(Travel::TableFromCache(table.address)),
        Deed::TableReturned { table, cached: true } => Some(Travel::TableToCache(table.address)),
        _ => None,
    });
    let layout = moment.layout();
    let (driver, device) = (moment.before.driver.state(), moment.before.device.state());
    if moment.cursor.access.is_some() {
        return None;
    }
    match moment.call? {
        Call::Add { .. } => table,
        Call::Reap => Some(table.unwrap_or(Travel::BufferToDriver(slot(layout, driver.last_used)))),
        Call::Pop => Some(Travel::BufferToDevice(slot(layout, device.last_available))),
        Call::Complete { .. } => Some(Travel::BufferToUsed(slot(layout, device.used_index))),
        Call::Notify { sent: true } => Some(Travel::Kick),
        Call::NotifyUsed { .. } if moment.after.counts.interrupts > moment.before.counts.interrupts => {
            Some(Travel::Interrupt)
        }
        _ => None,
    }
}

/// The available entry's cell of a slot; here so that views need not know the ring's fields.
impl Travel {
    /// The cell that the travel starts or ends at, if it is one.
    pub fn cell(self) -> Option<Cell> {
        match self {
            Travel::BufferToDevice(slot) => Some(Cell::AvailableEntry(slot)),
            Travel::BufferToUsed(slot) | Travel::BufferToDriver(slot) => Some(Cell::UsedEntry(slot)),
            _ => None,
        }
    }
}
