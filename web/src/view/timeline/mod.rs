//! The run from afar: the whole of it, and the calls around the cursor in lanes.

mod lanes;
mod overview;
mod window;

pub(super) use window::stretch;

use crate::{
    scene::Scene,
    state::{Action, App},
};
use yew::{Callback, Html, html};

/// The timeline, `width` CSS pixels wide.
pub(super) fn timeline(app: &App, scene: &Scene, width: f64, act: &Callback<Action>) -> Html {
    let window = stretch(scene.cursor.position, scene.calls, width);
    let label = format!(
        "Timeline, calls {} to {} of {}; cursor at {}",
        window.first, window.last, scene.calls, scene.cursor.position
    );
    html! {
        <section class="timeline" aria-label="Timeline">
            { overview::overview(app, scene, &window, width, act) }
            <div class="lanes" role="img" aria-label={label}>{ lanes::lanes(app, scene, &window, width, act) }</div>
        </section>
    }
}
