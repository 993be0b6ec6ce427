//! Buffers in flight over the whole run.

use super::window::Stretch;
use crate::{
    scene::Scene,
    state::{Action, App},
};
use std::fmt::Write;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};
use yew::{Callback, Html, html};

/// Height of the bars, in their own units.
const HEIGHT: f64 = 16.0;

pub(super) fn overview(
    app: &App,
    scene: &Scene,
    window: &Stretch,
    width: f64,
    act: &Callback<Action>,
) -> Html {
    let calls = scene.calls.max(1);
    let bars = app.overview.as_deref().map(Vec::as_slice).unwrap_or_default();
    let most = f64::from(bars.iter().copied().max().unwrap_or(1).max(1));
    let count = bars.len().max(1) as f64;
    let mut path = String::new();
    for (index, bar) in bars.iter().enumerate() {
        let height = (f64::from(*bar) / most * (HEIGHT - 1.0)).max(if *bar > 0 { 1.0 } else { 0.3 });
        // Writing to a string does not fail.
        let _ = write!(path, "M{index} {HEIGHT}h.75v-{height:.1}h-.75z");
    }
    let at = |position: u64| position as f64 / calls as f64 * count;
    let go = act.reform(move |event: MouseEvent| {
        let share =
            event.current_target().and_then(|target| target.dyn_into::<Element>().ok()).map(|element| {
                let rect = element.get_bounding_client_rect();
                (f64::from(event.client_x()) - rect.left()) / rect.width().max(1.0)
            });
        Action::GoTo((share.unwrap_or(0.0).clamp(0.0, 1.0) * calls as f64).round() as u64)
    });
    let from = at(window.first.saturating_sub(1));
    let to = at(window.last).max(from + count / width * 4.0);
    let here = at(scene.cursor.position);
    html! {
        <div class="overview">
            <span class="lane-name">{ "Whole run " }<span class="dim">{ format!("buffers in flight, up to {most}") }</span></span>
            <svg viewBox={format!("0 0 {count} {HEIGHT}")} preserveAspectRatio="none" onclick={go} id="overview" role="img"
                aria-label={format!("Buffers in flight over all {calls} calls; click to go there")}>
                <rect class="hit" x="0" y="0" width={count.to_string()} height={HEIGHT.to_string()} />
                <path class="density" d={path} />
                <rect class="window" x={format!("{from:.3}")} y="0" width={format!("{:.3}", to - from)} height={HEIGHT.to_string()} />
                <path class="cursor-line" d={format!("M{here:.3} 0V{HEIGHT}")} />
            </svg>
        </div>
    }
}
