//! Stepping by buttons.

use super::{icon::icon, text::number};
use crate::{
    scene::Scene,
    state::{Action, App, Granularity, Panel, Speed},
};
use yew::{Callback, Html, html};

/// First, back, play, forward, last; where we are; how far a step goes and how fast.
pub fn transport(app: &App, scene: &Scene, act: &Callback<Action>) -> Html {
    let button = |id: &'static str, label: &'static str, symbol: &'static str, action: Action| {
        html! {
            <button class="icon-button" {id} aria-label={label} title={label} onclick={act.reform(move |_| action.clone())}>
                { icon(symbol) }
            </button>
        }
    };
    let (play, play_icon) = if app.playing { ("Pause", "pause") } else { ("Play", "play") };
    let granularity = |granularity: Granularity, words: &'static str, id: &'static str| {
        html! {
            <button {id} aria-pressed={(app.granularity == granularity).to_string()}
                onclick={act.reform(move |_| Action::Granularity(granularity))}>{ words }</button>
        }
    };
    html! {
        <footer class="transport" aria-label="Stepping">
            <span class="group">
                { button("first", "First step", "first", Action::First) }
                { button("back", "Step back", "back", Action::Step(-1)) }
                <button class="icon-button play" id="play" aria-label={play} title={play} onclick={act.reform(|_| Action::Play)}>{ icon(play_icon) }</button>
                { button("forward", "Step forward", "forward", Action::Step(1)) }
                { button("last", "Last step", "last", Action::Last) }
            </span>
            <span class="where">
                <span class="dim">{ "call" }</span>{ " " }<b>{ number(scene.cursor.position) }</b>{ " " }
                <span class="dim">{ format!("of {}", number(scene.calls)) }</span>
                if let Some(access) = scene.cursor.access {
                    <span class="dim">{ format!(" · access {access} of {}", scene.accesses) }</span>
                }
            </span>
            <span class="choice" role="group" aria-label="What one step is">
                { granularity(Granularity::Call, "call", "by-call") }
                { granularity(Granularity::Access, "memory access", "by-access") }
            </span>
            <span class="choice speeds" role="group" aria-label="Speed of playing">
                { for Speed::ALL.into_iter().map(|speed| html! {
                    <button aria-pressed={(app.speed == speed).to_string()} onclick={act.reform(move |_| Action::Speed(speed))}>{ speed.label() }</button>
                }) }
            </span>
            <span class="space"></span>
            <span class="dim hints">
                <kbd>{ "←" }</kbd>{ " " }<kbd>{ "→" }</kbd>{ " step · " }<kbd>{ "Shift" }</kbd>{ " next notification" }
            </span>
            <button class="field" id="go-to" onclick={act.reform(|_| Action::Panel(Some(Panel::GoTo)))}>{ "go to… " }<kbd>{ "g" }</kbd></button>
        </footer>
    }
}
