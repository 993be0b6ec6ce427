//! How much room there is.

use super::window::{inner_size, use_window_event};
use crate::state::{Action, room};
use yew::{Callback, UseStateSetter, hook, use_effect_with};

/// Measures the window at first and whenever its size changes.
#[hook]
pub(in crate::view) fn use_room(act: &Callback<Action>, width: UseStateSetter<f64>) {
    let act = act.clone();
    let measure = move || {
        let (inner_width, inner_height) = inner_size();
        width.set(inner_width);
        act.emit(Action::Room(room(inner_width, inner_height)));
    };
    {
        let measure = measure.clone();
        use_effect_with((), move |()| measure());
    }
    use_window_event("resize", move |_| measure());
}
