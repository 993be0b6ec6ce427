//! The driver's private state.

use super::{
    Change, Mark, SlotState,
    buffers::{InFlightBuffers, Known, shape, table_name},
    deeds::Marks,
    moment::Moment,
};
use ring_core::{indirect::TableSource, indirect::TableStrategy, probe::Event, replay::State};
use serde::{Deserialize, Serialize};

/// A buffer on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// The caller's token.
    pub token: u64,
    /// The descriptor that starts it.
    pub head: u16,
    /// Where it is.
    pub state: SlotState,
    /// Its elements.
    pub elements: u16,
    /// Bytes of its elements.
    pub bytes: u64,
    /// Its table's name.
    pub table: Option<String>,
    /// Whether the step is about it.
    pub touched: bool,
}

/// The first of some buffers, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// Those that are drawn.
    pub first: Vec<Buffer>,
    /// All of them.
    pub count: u16,
}

/// A table that waits in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleTable {
    /// Its name: `T10`.
    pub name: String,
    /// Guest address.
    pub table: u64,
    /// How often it was given to a buffer.
    pub uses: u32,
    /// What the step did to it as a whole, or to its link in the cache's list.
    pub mark: Mark,
}

/// Where the driver's tables come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSourceScene {
    /// The strategy.
    pub strategy: TableStrategy,
    /// The table that this step took from the cache, or from the allocator, with the descriptor that refers to it.
    pub taken: Option<(IdleTable, u16)>,
    /// The table that this step put into the cache.
    pub returned: Option<u64>,
    /// The first idle tables, in the order in which they will be taken.
    pub idle: Vec<IdleTable>,
    /// All idle tables.
    pub idle_count: u16,
    /// Tables taken from the cache.
    pub hits: Change<u64>,
    /// Tables taken from the allocator.
    pub allocations: Change<u64>,
    /// Bytes taken from the allocator and not given back.
    pub bytes_held: Change<u64>,
}

/// What the driver knows that the device cannot see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverScene {
    /// Where the next buffer goes.
    pub available_index: Change<u16>,
    /// avail.idx as last published.
    pub published_index: Change<u16>,
    /// Descriptors of the ring.
    pub size: u16,
    /// The next used element to see.
    pub last_used: Change<u16>,
    /// Free descriptors.
    pub free: Change<u16>,
    /// Buffers published since the last look whether to notify.
    pub since_notify: Change<u16>,
    /// Whether it asks to be notified.
    pub notifications: Change<bool>,
    /// Notifications sent.
    pub kicks: Change<u64>,
    /// Looks after which none was needed.
    pub kicks_saved: Change<u64>,
    /// Where its tables come from.
    pub tables: TableSourceScene,
    /// Buffers in flight, the newest first.
    pub in_flight: Buffers,
    /// The first free descriptors, in the order in which they will be taken.
    pub free_list: Vec<u16>,
}

/// Buffers that are drawn of a list.
const BUFFERS: usize = 4;
/// Idle tables that are drawn.
const IDLE_TABLES: usize = 3;
/// Free descriptors that are drawn.
const FREE: usize = 12;

pub(super) fn driver(
    moment: &Moment<'_>,
    buffers: &InFlightBuffers,
    marks: &Marks,
    touched: &[u16],
) -> DriverScene {
    let (before, after) = (moment.before.driver.state(), moment.state().driver.state());
    let counts = (moment.before.counts, moment.state().counts);
    let all = buffers.newest_first(after.available_index);
    DriverScene {
        available_index: Change::new(before.available_index, after.available_index),
        published_index: Change::new(before.published_index, after.published_index),
        size: moment.layout().queue_size,
        last_used: Change::new(before.last_used, after.last_used),
        free: Change::new(before.free, after.free),
        since_notify: Change::new(
            before.published_index.wrapping_sub(before.notified_index),
            after.published_index.wrapping_sub(after.notified_index),
        ),
        notifications: Change::new(before.notifications, after.notifications),
        kicks: Change::new(counts.0.kicks, counts.1.kicks),
        kicks_saved: Change::new(counts.0.kicks_saved, counts.1.kicks_saved),
        tables: table_source(moment, marks),
        in_flight: first_of(moment, &all, touched),
        free_list: moment.state().driver.free_list().take(FREE).collect(),
    }
}

/// The first of some buffers, those the step is about among them.
pub(super) fn first_of(moment: &Moment<'_>, all: &[Known], touched: &[u16]) -> Buffers {
    let mut drawn: Vec<&Known> = all.iter().take(BUFFERS).collect();
    let missing = all.iter().skip(BUFFERS).find(|known| touched.contains(&known.head));
    if let (Some(missing), Some(last)) = (missing, drawn.last_mut()) {
        *last = missing;
    }
    let first = drawn.into_iter().map(|known| buffer(moment, known, touched.contains(&known.head)));
    Buffers { first: first.collect(), count: all.len() as u16 }
}

fn buffer(moment: &Moment<'_>, known: &Known, touched: bool) -> Buffer {
    let shape = shape(moment, moment.state(), known);
    Buffer {
        token: known.buffer.token,
        head: known.head,
        state: known.state,
        elements: shape.elements,
        bytes: shape.bytes,
        table: known.buffer.table.map(|table| table_name(moment, table.address)),
        touched,
    }
}

/// What the step did to a table. Links in idle tables that a call had to change are drawn at single accesses only: the
/// call is about another table.
fn table_mark(moment: &Moment<'_>, marks: &Marks, address: u64) -> Mark {
    let mark = marks.table(address);
    if moment.cursor.access.is_some() || mark.order.is_some() { mark } else { Mark::default() }
}

fn table_source(moment: &Moment<'_>, marks: &Marks) -> TableSourceScene {
    let state = moment.state();
    let statistics = |state: &State| state.driver.tables().statistics();
    let (before, after) = (statistics(moment.before), statistics(state));
    let entry = |address: u64| IdleTable {
        name: table_name(moment, address),
        table: address,
        uses: [moment.after, moment.before]
            .iter()
            .find_map(|state| state.tables.at(address))
            .map_or(0, |info| info.uses),
        mark: table_mark(moment, marks, address),
    };
    let mut taken = None;
    let mut returned = None;
    if moment.finished() {
        for event in moment.events {
            match *event {
                Event::Placed { head, table: Some(table), .. } => taken = Some((entry(table.address), head)),
                Event::TableCached(table) => returned = Some(table.address),
                _ => {}
            }
        }
    }
    TableSourceScene {
        strategy: moment.header.strategy,
        taken,
        returned,
        idle: state.driver.tables().idle().take(IDLE_TABLES).map(|table| entry(table.address)).collect(),
        idle_count: state.driver.tables().idle().count() as u16,
        hits: Change::new(before.hits, after.hits),
        allocations: Change::new(before.allocations, after.allocations),
        bytes_held: Change::new(before.bytes_held, after.bytes_held),
    }
}
