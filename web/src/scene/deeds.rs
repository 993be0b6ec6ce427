//! What a call did, in order: its loads and stores grouped by what they mean.

use super::{CellId, Mark, buffers::is_idle, moment::Moment, moment::is_store};
use ring_core::{
    indirect::Table,
    memory::{Access, AccessKind, Ordering},
    probe::Event,
    spec::{DESCRIPTOR_SIZE, split::Cell},
    trace::Call,
};
use std::collections::HashMap;

/// One thing that a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// A table came from the cache, or from the allocator.
    TableTaken { table: Table, reused: bool },
    /// A table went back to the cache, or to the allocator.
    TableReturned { table: Table, cached: bool },
    /// Elements were written to a table, or read from it.
    Elements { table: u64, count: u16, written: bool },
    /// Descriptors of the ring were written, or read.
    Descriptors { first: u16, count: u16, written: bool },
    /// Another field of the ring was written.
    Stored { cell: Cell, before: u64, value: u64 },
    /// Another field of the ring was read.
    Loaded { cell: Cell, value: u64 },
    /// What was stored before is visible to the other side before what follows.
    Release,
    /// What follows is read after what was read before.
    Acquire,
    /// A full barrier.
    Fence,
}

impl Deed {
    /// Barriers stand between the numbered deeds.
    pub(super) fn is_barrier(&self) -> bool {
        matches!(self, Deed::Release | Deed::Acquire | Deed::Fence)
    }

    /// Whether it changed something.
    pub(super) fn writes(&self) -> bool {
        match self {
            Deed::TableTaken { .. } | Deed::TableReturned { .. } | Deed::Stored { .. } => true,
            Deed::Elements { written, .. } | Deed::Descriptors { written, .. } => *written,
            _ => false,
        }
    }
}

/// Where an access went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Ring(Cell),
    Entry {
        table: u64,
        entry: u16,
    },
    /// The links of the cache's list, inside idle tables.
    Link {
        table: u64,
    },
    Unknown,
}

/// Where an access of a call went.
pub(super) fn target(moment: &Moment<'_>, access: &Access) -> Target {
    if let Some(cell) = moment.layout().cell_at::<Cell>(access.address) {
        return Target::Ring(cell);
    }
    let tables = moment.before.tables.iter().chain(moment.after.tables.iter());
    let within =
        |table: &Table| (table.address..table.address + u64::from(table.bytes())).contains(&access.address);
    let Some(table) = tables.map(|info| info.table).find(within) else { return Target::Unknown };
    let placed = moment.events.iter().any(
        |event| matches!(event, Event::Placed { table: Some(placed), .. } if placed.address == table.address),
    );
    let links = match moment.call {
        // The table's first entry is read as a link before it is filled.
        Some(Call::Add { .. }) => !placed || !is_store(access),
        Some(Call::Reap) => true,
        _ => is_idle(moment.before, table.address),
    };
    if links {
        return Target::Link { table: table.address };
    }
    let entry = (access.address - table.address) / u64::from(DESCRIPTOR_SIZE);
    Target::Entry { table: table.address, entry: entry as u16 }
}

/// The deeds of a call, with those of the tables where their events belong: before the stores of an add, after the
/// loads of a reap.
pub(super) fn deeds(moment: &Moment<'_>) -> Vec<Deed> {
    let mut deeds = table_deeds(moment, true);
    for access in moment.accesses {
        if matches!(access.kind, AccessKind::Store { .. }) && access.ordering == Ordering::Release {
            deeds.push(Deed::Release);
        }
        push(&mut deeds, moment, access);
        if matches!(access.kind, AccessKind::Load { .. }) && access.ordering == Ordering::Acquire {
            deeds.push(Deed::Acquire);
        }
    }
    deeds.extend(table_deeds(moment, false));
    deeds
}

fn table_deeds(moment: &Moment<'_>, taken: bool) -> Vec<Deed> {
    let deed = |event: &Event| match *event {
        Event::TableAllocated(table) if taken => Some(Deed::TableTaken { table, reused: false }),
        Event::TableReused(table) if taken => Some(Deed::TableTaken { table, reused: true }),
        Event::TableCached(table) if !taken => Some(Deed::TableReturned { table, cached: true }),
        Event::TableFreed(table) if !taken => Some(Deed::TableReturned { table, cached: false }),
        _ => None,
    };
    moment.events.iter().filter_map(deed).collect()
}

fn push(deeds: &mut Vec<Deed>, moment: &Moment<'_>, access: &Access) {
    let is_written = is_store(access);
    let deed = match (target(moment, access), access.kind) {
        (_, AccessKind::Fence) => Deed::Fence,
        // Told by the table's own deed.
        (Target::Link { .. } | Target::Unknown, _) => return,
        (Target::Entry { table, .. }, _) => {
            if let Some(Deed::Elements { table: last, count, written }) = deeds.last_mut()
                && (*last, *written) == (table, is_written)
            {
                *count += 1;
                return;
            }
            Deed::Elements { table, count: 1, written: is_written }
        }
        (Target::Ring(Cell::Descriptor(slot)), _) => {
            if let Some(Deed::Descriptors { count, written, .. }) = deeds.last_mut()
                && *written == is_written
            {
                *count += 1;
                return;
            }
            Deed::Descriptors { first: slot, count: 1, written: is_written }
        }
        (Target::Ring(cell), AccessKind::Store { before, value }) => {
            // A used element is two stores: id and length.
            if let Some(Deed::Stored { cell: last, .. }) = deeds.last()
                && *last == cell
            {
                return;
            }
            Deed::Stored { cell, before: before[0], value: value[0] }
        }
        (Target::Ring(cell), AccessKind::Load { value }) => {
            if let Some(Deed::Loaded { cell: last, .. }) = deeds.last()
                && *last == cell
            {
                return;
            }
            Deed::Loaded { cell, value: value[0] }
        }
    };
    deeds.push(deed);
}

/// What the step did to each cell. At a single access there is one cell, without a number.
pub(super) struct Marks {
    cells: HashMap<CellId, Mark>,
    tables: HashMap<u64, Mark>,
}

impl Marks {
    pub(super) fn of(moment: &Moment<'_>, deeds: &[Deed]) -> Self {
        let mut marks = Marks { cells: HashMap::new(), tables: HashMap::new() };
        if moment.cursor.access.is_some() {
            if let Some((_, access)) = moment.current() {
                marks.touch(moment, access);
            }
            return marks;
        }
        for access in moment.accesses {
            marks.touch(moment, access);
        }
        let numbered = deeds.iter().filter(|deed| !deed.is_barrier());
        for (order, deed) in (1_u8..).zip(numbered) {
            let number = |mark: &mut Mark| {
                mark.order.get_or_insert(order);
            };
            match *deed {
                Deed::TableTaken { table, .. } | Deed::TableReturned { table, .. } => {
                    let mark = marks.tables.entry(table.address).or_default();
                    mark.written = true;
                    number(mark);
                }
                Deed::Elements { table, written, .. } => {
                    let mark = marks.cells.entry(CellId::Entry { table, entry: 0 }).or_default();
                    mark.written |= written;
                    number(mark);
                }
                Deed::Descriptors { first, .. } => {
                    number(marks.cells.entry(CellId::Ring(Cell::Descriptor(first))).or_default());
                }
                Deed::Stored { cell, .. } | Deed::Loaded { cell, .. } => {
                    number(marks.cells.entry(CellId::Ring(cell)).or_default());
                }
                Deed::Release | Deed::Acquire | Deed::Fence => {}
            }
        }
        marks
    }

    fn touch(&mut self, moment: &Moment<'_>, access: &Access) {
        let mark = match target(moment, access) {
            Target::Ring(cell) => self.cells.entry(CellId::Ring(cell)).or_default(),
            Target::Entry { table, entry } => self.cells.entry(CellId::Entry { table, entry }).or_default(),
            Target::Link { table } => self.tables.entry(table).or_default(),
            Target::Unknown => return,
        };
        match access.kind {
            AccessKind::Store { .. } => mark.written = true,
            AccessKind::Load { .. } => mark.read = true,
            AccessKind::Fence => {}
        }
    }

    pub(super) fn ring(&self, cell: Cell) -> Mark {
        self.cells.get(&CellId::Ring(cell)).copied().unwrap_or_default()
    }

    pub(super) fn entry(&self, table: u64, entry: u16) -> Mark {
        self.cells.get(&CellId::Entry { table, entry }).copied().unwrap_or_default()
    }

    /// What happened to a table as a whole: taken, returned, linked.
    pub(super) fn table(&self, table: u64) -> Mark {
        self.tables.get(&table).copied().unwrap_or_default()
    }
}
