//! The address: followed when it changes, written when the reader moves.

use super::window::window;
use crate::{
    state::{Action, Address, App, Source},
    view::runs::{Origin, Runs},
};
use gloo_events::EventListener;
use gloo_timers::callback::Timeout;
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::JsValue;
use yew::{Callback, UseReducerHandle, hook, use_effect_with, use_mut_ref};

/// The run that the page opens with, relative to the page.
const SHIPPED: &str = "runs/transmit-and-receive.vqt";
/// Milliseconds after which a step that stays is written into the address.
const ADDRESS_DELAY: u32 = 150;

/// Opens what the address names, and keeps the address where the reader is.
#[hook]
pub(in crate::view) fn use_address(
    app: &UseReducerHandle<App>,
    runs: &Rc<RefCell<Runs>>,
    act: &Callback<Action>,
) {
    {
        let (runs, act) = (runs.clone(), act.clone());
        use_effect_with((), move |()| follow(&runs, None, &act));
    }
    {
        let (runs, act) = (runs.clone(), act.clone());
        let source = app.run.as_ref().map(|run| run.source.clone());
        use_effect_with(source, move |source| {
            let source = source.clone();
            let listener = window().map(|window| {
                EventListener::new(&window, "hashchange", move |_| follow(&runs, source.as_ref(), &act))
            });
            move || drop(listener)
        });
    }
    let written = use_mut_ref(|| None::<u32>);
    let here = app.run.as_ref().filter(|_| app.settled()).and_then(|run| {
        let cursor = app.scene()?.cursor;
        let queue = run.summary.queues.get(usize::from(app.queue))?.name.clone();
        let address = Address {
            source: Some(run.source.clone()),
            queue: Some(queue),
            call: Some(cursor.position),
            access: cursor.access,
        };
        Some((run.generation, address.hash()))
    });
    use_effect_with(here, move |here| {
        let later = here.clone().map(|(generation, hash)| {
            Timeout::new(ADDRESS_DELAY, move || {
                let Some(history) = window().and_then(|window| window.history().ok()) else { return };
                let other_run = written.borrow().is_some_and(|written| written != generation);
                *written.borrow_mut() = Some(generation);
                let none = JsValue::NULL;
                // A page whose address cannot be written still works.
                let _ = if other_run {
                    history.push_state_with_url(&none, "", Some(&hash))
                } else {
                    history.replace_state_with_url(&none, "", Some(&hash))
                };
            })
        });
        move || drop(later)
    });
}

/// Goes where the address says: within the open run if it names that one, else by opening another.
fn follow(runs: &Rc<RefCell<Runs>>, source: Option<&Source>, act: &Callback<Action>) {
    let Some(location) = window().map(|window| window.location()) else { return };
    let (hash, query) = (location.hash().unwrap_or_default(), location.search().unwrap_or_default());
    let shipped = || Origin::Server(SHIPPED.to_owned());
    let address = match Address::parse(&hash, &query) {
        Ok(address) => address,
        Err(message) => {
            if source.is_none() {
                Runs::open(runs, shipped(), false, Address::default(), act);
            }
            act.emit(Action::Notice(message));
            return;
        }
    };
    match (&address.source, source) {
        (Some(named), Some(open)) if named == open => act.emit(Action::Visit(address)),
        (None, Some(_)) => act.emit(Action::Visit(address)),
        (Some(Source::Server(path)), _) => {
            Runs::open(runs, Origin::Server(path.clone()), false, address.clone(), act);
        }
        (None, None) => Runs::open(runs, shipped(), false, address.clone(), act),
        (Some(Source::Own(name)), _) => {
            if source.is_none() {
                Runs::open(runs, shipped(), false, Address::default(), act);
            }
            let message =
                format!("{name} is a file of your own, which no address can open: open it or drop it here.");
            act.emit(Action::Notice(message));
        }
    }
}
