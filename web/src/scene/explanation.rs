//! What happened, why, which rules were kept, and what comes next.

use super::{
    CellId, accesses::accesses, deeds::Deed, moment::Moment, narrate::why, next::next, rules::kept,
    told::told, words::spoken,
};
use ring_core::{
    spec::split::{Cell, slot},
    trace::Call,
};
use serde::{Deserialize, Serialize};

/// One line of what happened. Text between asterisks is emphasised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// Something was written or read.
    Deed {
        /// Its number.
        order: u32,
        /// Whether it changed something; otherwise it was only read.
        writes: bool,
        /// What.
        text: String,
        /// Whether the cursor stands at it.
        current: bool,
        /// Whether the cursor has not reached it.
        to_come: bool,
    },
    /// A barrier between deeds.
    Barrier {
        /// Which, and what it is for.
        text: String,
        /// Whether the cursor stands at it.
        current: bool,
        /// Whether the cursor has not reached it.
        to_come: bool,
    },
}

/// A rule that the call kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleKept {
    /// Its id.
    pub id: String,
    /// Its section in the specification.
    pub section: String,
    /// What it asks for.
    pub requirement: String,
}

/// Who wrote a cell before this step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What the cell is called.
    pub name: String,
    /// The cell.
    pub cell: CellId,
    /// The call.
    pub position: u64,
}

/// The words beside the picture. Text between asterisks is emphasised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What happened, in order.
    pub items: Vec<Item>,
    /// A heading and a reason.
    pub why: Option<(String, String)>,
    /// The rules that the call kept.
    pub rules: Vec<RuleKept>,
    /// A question that comes next, and the arithmetic that answers it.
    pub next: Option<(String, String)>,
    /// Who wrote the step's cell before.
    pub written: Option<Written>,
}

pub(super) fn explanation(moment: &Moment<'_>, deeds: &[Deed], focus: Option<Cell>) -> Explanation {
    let items = match moment.cursor.access {
        Some(_) => accesses(moment),
        None => told(moment, deeds),
    };
    Explanation {
        items,
        why: why(moment),
        rules: moment.call.map(|call| kept(moment, call)).unwrap_or_default(),
        next: if moment.finished() { next(moment) } else { None },
        written: focus.and_then(|cell| written_before(moment, cell)),
    }
}

fn written_before(moment: &Moment<'_>, cell: Cell) -> Option<Written> {
    let position = moment.before.writers.last(moment.layout().address(cell))?;
    let name = match cell {
        Cell::Descriptor(index) => format!("Slot {index}"),
        other => spoken(other),
    };
    Some(Written { name, cell: CellId::Ring(cell), position })
}

/// The cell that a call is mostly about.
pub(super) fn focus_cell(moment: &Moment<'_>, head: Option<u16>) -> Option<Cell> {
    let layout = moment.layout();
    let driver = moment.before.driver.state();
    match moment.call? {
        Call::Add { .. } => head.map(Cell::Descriptor),
        Call::Publish => Some(Cell::AvailableIndex),
        Call::Notify { .. } | Call::Wish { .. } => Some(Cell::AvailableEvent),
        Call::Reap => Some(Cell::UsedEntry(slot(layout, driver.last_used))),
        Call::DisableNotifications | Call::EnableNotifications => Some(Cell::UsedEvent),
        Call::Pop => Some(Cell::AvailableEntry(slot(layout, moment.before.device.state().last_available))),
        Call::Complete { .. } | Call::CompleteBatch { .. } | Call::CompletePacked { .. } => {
            Some(Cell::UsedEntry(slot(layout, moment.before.device.state().used_index)))
        }
        Call::PublishUsed => Some(Cell::UsedIndex),
        Call::NotifyUsed { .. } => Some(Cell::UsedEvent),
        Call::Checkpoint { .. } | Call::Reset => None,
    }
}
