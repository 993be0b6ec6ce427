//! How a scene is looked at.

use crate::{
    scene::{CellId, Scene},
    state::Action,
};
use yew::Callback;

/// A scene with what the reader selected, and where clicks go.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The selected cell.
    pub selected: Option<CellId>,
    /// The token of its buffer.
    pub token: Option<u64>,
    /// Whether it is laid out for a phone.
    pub narrow: bool,
    /// Where clicks go.
    pub act: &'a Callback<Action>,
}

impl Look<'_> {
    /// `selected` if a cell is the selected one, or belongs to its buffer.
    pub(super) fn selection(&self, cell: CellId, token: Option<u64>) -> Option<&'static str> {
        let same = self.selected == Some(cell);
        (same || (token.is_some() && token == self.token)).then_some("selected")
    }

    /// `selected` if something belongs to the selected buffer.
    pub(super) fn buffer_selection(&self, token: u64) -> Option<&'static str> {
        (self.token == Some(token)).then_some("selected")
    }

    /// Selects a cell, or none if it is the selected one.
    pub(super) fn select<E>(&self, cell: CellId) -> Callback<E> {
        let next = (self.selected != Some(cell)).then_some(cell);
        self.act.reform(move |_| Action::Select(next))
    }
}
