//! The step's title.

use super::{text::number, text::plain};
use crate::scene::Scene;
use yew::{Html, html};

/// Number, title and meaning of the step; read aloud when it changes.
pub fn caption(scene: &Scene) -> Html {
    let access = scene.cursor.access.map(|access| format!(", access {access} of {}", scene.accesses));
    let spoken = format!(
        "Call {}{}: {}. {}",
        scene.cursor.position,
        access.clone().unwrap_or_default(),
        scene.title,
        plain(&scene.subtitle)
    );
    html! {
        <div class="caption">
            <span class="step-number">{ number(scene.cursor.position) }</span>
            if let Some(access) = scene.cursor.access {
                <span class="access-number">{ format!("access {access} of {}", scene.accesses) }</span>
            }
            <b id="title">{ &scene.title }</b>
            <span class="subtitle" id="subtitle" title={scene.subtitle.clone()}>{ &scene.subtitle }</span>
            <span class="unseen" role="status" aria-live="polite">{ spoken }</span>
        </div>
    }
}
