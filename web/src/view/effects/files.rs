//! Files that are dropped on the page.

use super::window::use_window_event;
use crate::{
    state::{Action, Address},
    view::runs::{Origin, Runs},
};
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::JsCast;
use web_sys::DragEvent;
use yew::{Callback, hook};

/// Opens a file that is dropped anywhere.
#[hook]
pub(in crate::view) fn use_files(runs: &Rc<RefCell<Runs>>, act: &Callback<Action>) {
    let hold = |act: &Callback<Action>| {
        let act = act.clone();
        move |event: &web_sys::Event| {
            event.prevent_default();
            act.emit(Action::Dragging(true));
        }
    };
    use_window_event("dragenter", hold(act));
    use_window_event("dragover", hold(act));
    {
        let act = act.clone();
        use_window_event("dragleave", move |event| {
            // It is left for good when it enters nothing else.
            let event = event.dyn_ref::<DragEvent>();
            if event.is_some_and(|event| event.related_target().is_none()) {
                act.emit(Action::Dragging(false));
            }
        });
    }
    let (runs, act) = (runs.clone(), act.clone());
    use_window_event("drop", move |event| {
        event.prevent_default();
        act.emit(Action::Dragging(false));
        let data = event.dyn_ref::<DragEvent>().and_then(DragEvent::data_transfer);
        if let Some(file) = data.and_then(|data| data.files()).and_then(|files| files.get(0)) {
            Runs::open(&runs, Origin::Own(file), false, Address::default(), &act);
        }
    });
}
