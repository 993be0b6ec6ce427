//! Symbols. Their shapes stand in the page's document, by id.

use crate::scene::SlotState;
use yew::{Html, html};

/// A symbol by its name.
pub(super) fn icon(name: &'static str) -> Html {
    html! { <svg class="icon" aria-hidden="true"><use href={format!("#{name}-shape")} /></svg> }
}

/// The shape of a slot's state.
pub(super) fn state_icon(state: SlotState) -> Html {
    icon(match state {
        SlotState::Free => "free",
        SlotState::Written => "written",
        SlotState::Available => "available",
        SlotState::Taken => "taken",
        SlotState::Used => "used",
    })
}

/// A slot's state in words.
pub(super) fn state_name(state: SlotState) -> &'static str {
    match state {
        SlotState::Free => "free",
        SlotState::Written => "written, not yet published",
        SlotState::Available => "available",
        SlotState::Taken => "taken by the device",
        SlotState::Used => "used, not yet seen",
    }
}

/// A slot's state as a class.
pub(super) fn state_class(state: SlotState) -> &'static str {
    match state {
        SlotState::Free => "free",
        SlotState::Written => "written",
        SlotState::Available => "available",
        SlotState::Taken => "taken",
        SlotState::Used => "used",
    }
}
