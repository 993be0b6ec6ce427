//! A point of a run, as the scene is built from it.

use ring_core::{
    QueueConfig, Side,
    memory::{Access, Memory, Ordering, OwnedMemory},
    probe::Event,
    replay::{Outcome, State},
    spec::{Descriptor, Layout, split::Cell},
    trace::{Call, QueueHeader},
};
use serde::{Deserialize, Serialize};

/// Where in a queue's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// After this many calls.
    pub position: u64,
    /// Within the last of them, after this many of its loads, stores and fences; `None` after all of them.
    pub access: Option<u32>,
}

/// How much room there is, and what may not be folded away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Entries of the rings that are drawn at once.
    pub columns: u16,
    /// Groups of four descriptors (one cache line) that are drawn in full.
    pub lines: u16,
    /// Lines of text for indirect tables.
    pub table_lines: u16,
    /// Bars for the whole ring.
    pub bars: u16,
    /// A selected descriptor of the ring.
    pub selected: Option<u16>,
}

impl View {
    /// A window 1280 wide and 720 high.
    pub const LAPTOP: View = View { columns: 16, lines: 4, table_lines: 16, bars: 256, selected: None };
}

/// Everything known about a point of a run.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The queue, by its position in the trace's header.
    pub queue: u16,
    /// The queue.
    pub header: &'a QueueHeader,
    /// Ticks in a second.
    pub ticks_per_second: u64,
    /// Where.
    pub cursor: Cursor,
    /// Calls of the queue.
    pub calls: u64,
    /// Before the call.
    pub before: &'a State,
    /// After it.
    pub after: &'a State,
    /// The memory at the cursor, which may stand within the call.
    pub memory: &'a OwnedMemory,
    /// The call; `None` before the first.
    pub call: Option<&'a Call<'static>>,
    /// When, in ticks.
    pub ticks: u64,
    /// What the call did to memory.
    pub accesses: &'a [Access],
    /// What it reported.
    pub events: &'a [Event],
    /// What it gave.
    pub outcome: &'a Outcome,
}

impl<'a> Moment<'a> {
    /// Size and addresses of the ring.
    pub fn layout(&self) -> &'a Layout {
        &self.header.config.layout
    }

    /// Everything both sides agreed on.
    pub fn config(&self) -> &'a QueueConfig {
        &self.header.config
    }

    /// The accesses that have happened at the cursor.
    pub fn done(&self) -> &'a [Access] {
        let count = self.cursor.access.map_or(usize::MAX, |access| access as usize);
        self.accesses.get(..count).unwrap_or(self.accesses)
    }

    /// The access at the cursor, where it stands within a call.
    pub fn current(&self) -> Option<(usize, &'a Access)> {
        let index = (self.cursor.access? as usize).checked_sub(1)?;
        self.accesses.get(index).map(|access| (index, access))
    }

    /// Whether everything the call does has happened.
    pub fn finished(&self) -> bool {
        self.done().len() == self.accesses.len()
    }

    /// Private state at the cursor: it changes with the call's last access.
    pub fn state(&self) -> &'a State {
        if self.finished() { self.after } else { self.before }
    }

    /// Who makes the call.
    pub fn side(&self) -> Option<Side> {
        self.call.and_then(Call::side)
    }

    /// 16 bits of the ring at the cursor; 0 where there is no memory, which a replay cannot reach.
    pub fn half(&self, cell: Cell) -> u16 {
        self.memory.load_u16(self.layout().address(cell), Ordering::Relaxed).unwrap_or_default()
    }

    /// A used element at the cursor.
    pub fn used_entry(&self, slot: u16) -> (u32, u32) {
        let address = self.layout().address(Cell::UsedEntry(slot));
        let load = |address| self.memory.load_u32(address).unwrap_or_default();
        (load(address), load(address + 4))
    }

    /// The descriptor at a guest address, at the cursor.
    pub fn descriptor_at(&self, address: u64) -> Descriptor {
        descriptor_at(self.memory, address)
    }

    /// A descriptor of the ring, at the cursor.
    pub fn descriptor(&self, slot: u16) -> Descriptor {
        self.descriptor_at(self.layout().address(Cell::Descriptor(slot)))
    }

    /// The position after the call that wrote an address last, as of the cursor.
    pub fn writer(&self, address: u64) -> Option<u64> {
        let written = |access: &&Access| {
            access.address <= address && address < access.address + u64::from(access.length)
        };
        match self.done().iter().filter(|access| is_store(access)).find(written) {
            Some(_) => Some(self.cursor.position),
            None => self.before.writers.last(address),
        }
    }
}

/// The descriptor at a guest address; zeros where there is no memory.
pub(super) fn descriptor_at(memory: &OwnedMemory, address: u64) -> Descriptor {
    Descriptor::from_words(memory.load_words(address).unwrap_or_default())
}

/// Whether an access writes.
pub(super) fn is_store(access: &Access) -> bool {
    matches!(access.kind, ring_core::memory::AccessKind::Store { .. })
}
