//! Playing.

use crate::state::{Action, App};
use gloo_timers::callback::Interval;
use yew::{Callback, UseReducerHandle, hook, use_effect_with};

/// Steps on for as long as the run is played.
#[hook]
pub(in crate::view) fn use_play(app: &UseReducerHandle<App>, act: &Callback<Action>) {
    let act = act.clone();
    use_effect_with((app.playing, app.speed), move |(playing, speed)| {
        let interval = playing.then(|| Interval::new(speed.interval(), move || act.emit(Action::Tick)));
        move || drop(interval)
    });
}
