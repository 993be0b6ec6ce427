//! Indirect tables beside the descriptors that refer to them.

use super::{
    DescriptorGroup, Mark, SlotState,
    buffers::{InFlightBuffers, table_name},
    deeds::Marks,
    moment::{Moment, View},
};
use ring_core::{
    spec::{DESCRIPTOR_SIZE, descriptor_flag},
    trace::Call,
};
use serde::{Deserialize, Serialize};

/// A descriptor of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its index in the table.
    pub entry: u16,
    /// Guest address in it.
    pub address: u64,
    /// Length in it.
    pub length: u32,
    /// Flags in it.
    pub flags: u16,
    /// Its next.
    pub next: u16,
    /// What the step did.
    pub mark: Mark,
    /// The call that wrote it last.
    pub writer: Option<u64>,
}

/// A table that a drawn descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableCard {
    /// Its name: `T10`.
    pub name: String,
    /// Guest address.
    pub table: u64,
    /// How often it was given to a buffer.
    pub uses: u32,
    /// Descriptors it has room for.
    pub room: u16,
    /// Descriptors that this buffer uses.
    pub entries: u16,
    /// The descriptor that refers to it.
    pub slot: u16,
    /// Whether it does so in memory: while a buffer is being added, the table is written first.
    pub refers: bool,
    /// Token of its buffer.
    pub token: u64,
    /// Where its buffer is.
    pub state: SlotState,
    /// Entries that are drawn, from the first; none if the card is folded to its header.
    pub rows: Vec<TableRow>,
    /// What the step did to the table as a whole.
    pub mark: Mark,
}

/// The tables that are drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablesScene {
    /// In the order of the descriptors that refer to them.
    pub cards: Vec<TableCard>,
    /// Tables in use that no drawn descriptor refers to, or for which there is no room.
    pub more: u16,
}

/// Half lines that a folded table takes, and a row of an unfolded one.
const HEADER: u16 = 3;
const ROW: u16 = 2;
/// Half lines that the strip of the whole ring takes.
const WHOLE_RING: u16 = 5;
/// Rows of a table that are drawn at most.
const MOST_ROWS: u16 = 8;

/// Tables in use, those that fit. The table of the step comes first, then that of the selection.
pub(super) fn tables(
    moment: &Moment<'_>,
    buffers: &InFlightBuffers,
    marks: &Marks,
    view: &View,
    groups: &[DescriptorGroup],
    focus: u16,
) -> TablesScene {
    let mut cards: Vec<TableCard> = Vec::new();
    for group in groups {
        let DescriptorGroup::Line { rows, .. } = group else { continue };
        for row in rows {
            let Some(known) = buffers.at(row.slot) else { continue };
            let Some(table) = known.buffer.table else { continue };
            let refers = row.flags & descriptor_flag::INDIRECT != 0 && row.address == table.address;
            let elements = match moment.call {
                // Not yet in memory.
                Some(Call::Add { readable, writable, .. }) if !refers => readable.len() + writable.len(),
                _ => (row.length / DESCRIPTOR_SIZE) as usize,
            };
            let uses = moment.after.tables.at(table.address).map_or(0, |info| info.uses);
            cards.push(TableCard {
                name: table_name(moment, table.address),
                table: table.address,
                uses,
                room: table.entries,
                entries: elements.min(table.entries.into()) as u16,
                refers,
                slot: row.slot,
                token: known.buffer.token,
                state: known.state,
                rows: Vec::new(),
                mark: marks.table(table.address),
            });
        }
    }
    let in_use = moment.state().driver.in_flight().filter(|(_, buffer)| buffer.table.is_some()).count();
    let rank = |card: &TableCard| match card.slot {
        slot if slot == focus => 0,
        slot if view.selected == Some(slot) => 1,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..cards.len()).collect();
    order.sort_by_key(|index| cards.get(*index).map(rank));
    // In half lines: a header with the space around it takes three, a row two.
    let folded = groups.iter().any(|group| matches!(group, DescriptorGroup::Folded { .. }));
    let mut room = (view.table_lines * 2).saturating_sub(if folded { WHOLE_RING } else { 0 });
    let mut kept = Vec::new();
    let unfold = |card: &mut TableCard, room: &mut u16, cut: bool| {
        let all = card.room.max(card.entries).min(MOST_ROWS);
        let rows = if cut { all.min((*room / ROW).max(2)) } else { all };
        if cut || rows * ROW <= *room {
            card.rows = (0..rows).map(|entry| row(moment, marks, card.table, entry)).collect();
            *room = room.saturating_sub(rows * ROW);
        }
    };
    // A line is left for how many more there are.
    if usize::from(room / HEADER) < cards.len() || in_use > cards.len() {
        room = room.saturating_sub(ROW);
    }
    for index in order {
        let Some(card) = cards.get_mut(index) else { continue };
        let important = rank(card) < 2;
        if room < HEADER {
            break;
        }
        room -= HEADER;
        kept.push(index);
        if important {
            unfold(card, &mut room, true);
        }
    }
    for index in &kept {
        if let Some(card) = cards.get_mut(*index).filter(|card| card.rows.is_empty()) {
            unfold(card, &mut room, false);
        }
    }
    let indexed = cards.into_iter().enumerate();
    let cards: Vec<TableCard> =
        indexed.filter(|(index, _)| kept.contains(index)).map(|(_, card)| card).collect();
    TablesScene { more: in_use.saturating_sub(cards.len()) as u16, cards }
}

fn row(moment: &Moment<'_>, marks: &Marks, table: u64, entry: u16) -> TableRow {
    let address = table + u64::from(entry) * u64::from(DESCRIPTOR_SIZE);
    let descriptor = moment.descriptor_at(address);
    TableRow {
        entry,
        address: descriptor.address,
        length: descriptor.length,
        flags: descriptor.flags,
        next: descriptor.next,
        mark: marks.entry(table, entry),
        writer: moment.writer(address),
    }
}
