//! A file on its way in: dragged, opening, or refused.

use super::{icon::icon, text::number};
use crate::state::{Action, Failure, Opening};
use yew::{Callback, Html, html};

/// What is shown while a file is held over the page.
pub(super) fn dragging() -> Html {
    html! {
        <div class="over" aria-hidden="true">
            <div class="drop">
                { icon("drop") }
                <b>{ "Drop to open the trace" }</b>
                <span class="dim">{ "It stays in this browser: nothing is sent." }</span>
            </div>
        </div>
    }
}

/// Progress, with a way out.
pub(super) fn opening(opening: &Opening, act: &Callback<Action>) -> Html {
    let share = opening.share.unwrap_or(0.0) * 100.0;
    let words = if opening.share.is_none() { "reading" } else { "replaying every call" };
    html! {
        <div class="notice" role="status" id="opening">
            <b>{ format!("Opening {}", opening.source.name()) }</b>
            <div class="progress" role="progressbar" aria-valuenow={format!("{share:.0}")} aria-valuemin="0" aria-valuemax="100" aria-label={words}>
                <i style={format!("width:{share:.1}%")}></i>
            </div>
            <span class="dim">{ format!("{words}, {share:.0} %") }</span>
            <button class="button" id="cancel" onclick={act.reform(|_| Action::Cancel)}>{ "Cancel " }<kbd>{ "Esc" }</kbd></button>
        </div>
    }
}

/// Which file, what is wrong where, what was expected, and what can be done.
pub fn failure(
    failure: &Failure,
    act: &Callback<Action>,
    open: &Callback<()>,
    salvage: &Callback<()>,
) -> Html {
    html! {
        <div class="notice error" role="alert" id="error">
            <b>{ icon("cross") }{ format!("{} cannot be opened", failure.name) }</b>
            <p id="error-text">{ &failure.message }</p>
            <span class="buttons">
                if failure.whole_calls > 0 {
                    <button class="button primary" id="salvage" onclick={salvage.reform(|_| ())}>
                        { format!("Open the {} whole calls", number(failure.whole_calls)) }
                    </button>
                }
                <button class="button" onclick={open.reform(|_| ())}>{ "Open another" }</button>
                <button class="button" id="dismiss" onclick={act.reform(|_| Action::Dismiss)}>{ "Close" }</button>
            </span>
        </div>
    }
}

/// Something to tell that is no failure of a file.
pub(super) fn notice(text: &str, act: &Callback<Action>) -> Html {
    html! {
        <div class="notice" role="status" id="notice">
            <p>{ text.to_owned() }</p>
            <button class="button" onclick={act.reform(|_| Action::Dismiss)}>{ "Close" }</button>
        </div>
    }
}
