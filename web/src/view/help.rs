//! What lies over the page: keys and symbols, and the field for a step's number.

use super::icon::{icon, state_icon};
use crate::{
    scene::SlotState,
    state::{Action, Panel},
};
use web_sys::{HtmlElement, HtmlInputElement, SubmitEvent};
use yew::{Callback, Html, Properties, TargetCast, function_component, html, use_effect_with, use_node_ref};

/// The keys and what they do.
const KEYS: [(&str, &str); 9] = [
    ("← →", "one step back, forward"),
    ("Shift ← →", "the notification before, the next one"),
    ("↑ ↓", "steps are calls, or single loads and stores"),
    ("Space", "play, pause"),
    ("Home End", "before the first call, after the last"),
    ("g", "go to a call by its number"),
    ("Tab, Enter", "reach a cell, select it: bytes, fields, last writer, rules"),
    ("?", "this help"),
    ("Esc", "close, unselect, cancel opening"),
];

#[derive(Clone, PartialEq, Properties)]
pub(super) struct PanelProperties {
    pub(super) panel: Panel,
    pub(super) calls: u64,
    pub(super) act: Callback<Action>,
}

/// The panel; the focus goes into it.
#[function_component]
pub(super) fn Over(properties: &PanelProperties) -> Html {
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with(properties.panel, move |_| {
            if let Some(element) = node.cast::<HtmlElement>() {
                // Without focus the panel still is read and closed.
                let _ = element.focus();
            }
        });
    }
    let close = properties.act.reform(|_| Action::Panel(None));
    match properties.panel {
        Panel::Help => html! {
            <div class="over" id="help-panel" role="dialog" aria-modal="true" aria-label="Help">
                <div class="sheet">
                    <h2>{ "A recorded queue, step by step" }<button class="button" ref={node} onclick={close}>{ "Close " }<kbd>{ "Esc" }</kbd></button></h2>
                    <p>
                        { "Every picture is memory as it was: the recorded calls run again through the same driver and device. \
                           Yellow is what this step wrote, in the order of the numbers; the list on the right has the same numbers." }
                    </p>
                    <div class="help-columns">
                        <dl class="keys">{ for KEYS.iter().map(|(key, does)| html! { <><dt><kbd>{ *key }</kbd></dt><dd>{ *does }</dd></> }) }</dl>
                        { symbols() }
                    </div>
                    <p class="dim">{ "Open a trace with the button at the top left, or drop it anywhere. Files stay in this browser: nothing is sent." }</p>
                </div>
            </div>
        },
        Panel::GoTo => {
            let (act, field) = (properties.act.clone(), node.clone());
            let go = Callback::from(move |event: SubmitEvent| {
                event.prevent_default();
                let value = field.cast::<HtmlInputElement>().map(|input| input.value()).unwrap_or_default();
                if let Ok(position) = value.trim().parse() {
                    act.emit(Action::Panel(None));
                    act.emit(Action::GoTo(position));
                }
            });
            let select = Callback::from(|event: web_sys::FocusEvent| {
                event.target_unchecked_into::<HtmlInputElement>().select()
            });
            html! {
                <div class="over low" role="dialog" aria-modal="true" aria-label="Go to a call">
                    <form class="sheet small" onsubmit={go}>
                        <label for="go-to-field">{ format!("Go to call, 0 to {}", properties.calls) }</label>
                        <input id="go-to-field" ref={node} type="number" min="0" max={properties.calls.to_string()} step="1" required=true onfocus={select} />
                        <button class="button primary" type="submit">{ "Go" }</button>
                        <button class="button" type="button" onclick={close}>{ "Close" }</button>
                    </form>
                </div>
            }
        }
    }
}

fn symbols() -> Html {
    let state = |state: SlotState, words: &'static str| html! { <><dt>{ state_icon(state) }</dt><dd>{ words }</dd></> };
    html! {
        <dl class="keys">
            { state(SlotState::Free, "free: its bytes are left over") }
            { state(SlotState::Written, "written by the driver, not published") }
            { state(SlotState::Available, "available: the device acts next") }
            { state(SlotState::Taken, "taken by the device") }
            { state(SlotState::Used, "used: the driver acts next") }
            <dt><span class="device-hue">{ icon("bell") }</span></dt><dd>{ "where the device wants a kick" }</dd>
            <dt><span class="driver-hue">{ icon("bell") }</span></dt><dd>{ "where the driver wants an interrupt" }</dd>
            <dt><span class="order">{ "1" }</span></dt><dd>{ "written in this step, in this order" }</dd>
            <dt><span class="order reading">{ "1" }</span></dt><dd>{ "only read" }</dd>
        </dl>
    }
}
