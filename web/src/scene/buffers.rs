//! Buffers in flight: where each stands on its way, and what it is made of.

use super::{SlotState, moment::Moment};
use ring_core::{
    driver::InFlight,
    indirect::TableSource,
    replay::State,
    spec::{DESCRIPTOR_SIZE, descriptor_flag, split::Cell},
    trace::Call,
};

/// A buffer in flight, with what the driver and the ring say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) head: u16,
    pub(super) buffer: InFlight,
    pub(super) state: SlotState,
}

/// Every buffer in flight, by the descriptor that starts it.
pub(super) struct InFlightBuffers {
    by_head: Vec<Option<Known>>,
    owner: Vec<Option<u16>>,
}

impl InFlightBuffers {
    pub(super) fn of(state: &State, queue_size: u16) -> Self {
        let mut by_head = vec![None; queue_size.into()];
        let mut owner = vec![None; queue_size.into()];
        let driver = state.driver.state();
        let device = state.device.state();
        let mut taken = vec![false; queue_size.into()];
        for (head, _) in state.device.taken() {
            if let Some(entry) = taken.get_mut(usize::from(head)) {
                *entry = true;
            }
        }
        for (head, buffer) in state.driver.in_flight() {
            let since = |index: u16| buffer.number.wrapping_sub(index) < 0x8000;
            let state_of = if since(driver.published_index) {
                SlotState::Written
            } else if since(device.last_available) {
                SlotState::Available
            } else if taken.get(usize::from(head)).copied().unwrap_or_default() {
                SlotState::Taken
            } else {
                SlotState::Used
            };
            for slot in state.driver.descriptors_of(head) {
                if let Some(entry) = owner.get_mut(usize::from(slot)) {
                    *entry = Some(head);
                }
            }
            if let Some(entry) = by_head.get_mut(usize::from(head)) {
                *entry = Some(Known { head, buffer, state: state_of });
            }
        }
        InFlightBuffers { by_head, owner }
    }

    /// The buffer that a descriptor starts.
    pub(super) fn at(&self, head: u16) -> Option<&Known> {
        self.by_head.get(usize::from(head))?.as_ref()
    }

    /// The buffer that holds a descriptor.
    pub(super) fn holder(&self, slot: u16) -> Option<&Known> {
        self.at((*self.owner.get(usize::from(slot))?)?)
    }

    /// All of them, the one added last first.
    pub(super) fn newest_first(&self, next: u16) -> Vec<Known> {
        let mut all: Vec<Known> = self.by_head.iter().flatten().copied().collect();
        all.sort_by_key(|known| next.wrapping_sub(known.buffer.number));
        all
    }

    /// The buffer with a number.
    pub(super) fn numbered(&self, number: u16) -> Option<&Known> {
        self.by_head.iter().flatten().find(|known| known.buffer.number == number)
    }
}

/// Elements and bytes of a buffer, as its descriptors in memory say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) elements: u16,
    pub(super) bytes: u64,
    pub(super) writable: bool,
}

/// Walks a buffer's descriptors in memory. Bounded by what the driver says it has placed.
pub(super) fn shape(moment: &Moment<'_>, state: &State, known: &Known) -> Shape {
    if let Some(Call::Add { token, readable, writable }) = moment.call
        && *token == known.buffer.token
    {
        // Memory says so only once the call is over.
        let segments = readable.iter().chain(writable.iter());
        return Shape {
            elements: (readable.len() + writable.len()) as u16,
            bytes: segments.map(|segment| u64::from(segment.length)).sum(),
            writable: !writable.is_empty(),
        };
    }
    let mut shape = Shape::default();
    let mut add = |address: u64| {
        let descriptor = moment.descriptor_at(address);
        shape.elements += 1;
        shape.bytes += u64::from(descriptor.length);
        shape.writable |= descriptor.has(descriptor_flag::WRITE);
    };
    let layout = moment.layout();
    match known.buffer.table {
        Some(table) => {
            let length = moment.descriptor(known.head).length;
            let entries = (length / DESCRIPTOR_SIZE).min(table.entries.into());
            for entry in 0..entries {
                add(table.address + u64::from(entry * DESCRIPTOR_SIZE));
            }
        }
        None => {
            for slot in state.driver.descriptors_of(known.head) {
                add(layout.address(Cell::Descriptor(slot)));
            }
        }
    }
    shape
}

/// A table's name on the page: `T10`.
pub(super) fn table_name(moment: &Moment<'_>, address: u64) -> String {
    let known = |state: &State| state.tables.at(address).map(|info| info.number);
    match known(moment.after).or_else(|| known(moment.before)) {
        Some(number) => format!("T{number}"),
        None => format!("the table at {address:x}"),
    }
}

/// Whether a table lies idle in the cache.
pub(super) fn is_idle(state: &State, address: u64) -> bool {
    state.driver.tables().idle().any(|table| table.address == address)
}

/// Whether the table of a buffer that came back is in the cache again.
pub(super) fn returned_to_cache(moment: &Moment<'_>, table: u64) -> bool {
    is_idle(moment.after, table)
}
