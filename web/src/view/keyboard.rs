//! Keys.

use crate::state::{Action, Granularity, Panel};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};
use yew::Callback;

/// Calls back when Enter is pressed on an element that is no button.
pub(super) fn on_enter(act: Callback<()>) -> Callback<KeyboardEvent> {
    Callback::from(move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            act.emit(());
        }
    })
}

/// What a key does, wherever the focus is; `None` if it does nothing, or belongs to the element that has the focus.
pub(super) fn action(event: &KeyboardEvent, panel: Option<Panel>, selected: bool) -> Option<Action> {
    if event.ctrl_key() || event.alt_key() || event.meta_key() {
        return None;
    }
    let focus = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let tag = focus.map(|element| element.tag_name()).unwrap_or_default();
    let key = event.key();
    if key == "Escape" {
        return Some(match panel {
            Some(_) => Action::Panel(None),
            None if selected => Action::Select(None),
            None => Action::Cancel,
        });
    }
    if matches!(tag.as_str(), "INPUT" | "SELECT" | "TEXTAREA") {
        return None;
    }
    match (key.as_str(), event.shift_key()) {
        ("ArrowRight", false) => Some(Action::Step(1)),
        ("ArrowLeft", false) => Some(Action::Step(-1)),
        ("ArrowRight", true) => Some(Action::Notification { forward: true }),
        ("ArrowLeft", true) => Some(Action::Notification { forward: false }),
        ("ArrowDown", false) => Some(Action::Granularity(Granularity::Access)),
        ("ArrowUp", false) => Some(Action::Granularity(Granularity::Call)),
        (" ", _) if !matches!(tag.as_str(), "BUTTON" | "SUMMARY" | "A") => Some(Action::Play),
        ("Home", _) => Some(Action::First),
        ("End", _) => Some(Action::Last),
        ("g", _) => Some(Action::Panel(Some(Panel::GoTo))),
        ("?", _) => Some(Action::Panel(if panel == Some(Panel::Help) { None } else { Some(Panel::Help) })),
        _ => None,
    }
}
