//! Keys, wherever the focus is.

use super::window::window;
use crate::{
    state::{Action, App},
    view::keyboard,
};
use gloo_events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::KeyboardEvent;
use yew::{Callback, UseReducerHandle, hook, use_effect_with};

/// Does what the pressed keys say.
#[hook]
pub(in crate::view) fn use_keys(app: &UseReducerHandle<App>, act: &Callback<Action>) {
    let act = act.clone();
    let (panel, selected) = (app.panel, app.selected.is_some());
    use_effect_with((panel, selected), move |(panel, selected)| {
        let (panel, selected) = (*panel, *selected);
        let listener = window().map(|window| {
            let options = EventListenerOptions::enable_prevent_default();
            EventListener::new_with_options(&window, "keydown", options, move |event| {
                let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
                if let Some(action) = keyboard::action(event, panel, selected) {
                    // Arrows and space would scroll.
                    event.prevent_default();
                    act.emit(action);
                }
            })
        });
        move || drop(listener)
    });
}
