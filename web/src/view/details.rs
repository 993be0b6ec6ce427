//! The selected cell, looked at closely.

use super::{
    Look,
    explanation::{call_link, rules},
};
use crate::state::Action;
use yew::{Html, html};

/// Bytes, fields, last writer and rules of the selected cell.
pub fn details(look: &Look<'_>) -> Html {
    let Some(cell) = look.selected else { return html! {} };
    let close = look.act.reform(|_| Action::Select(None));
    let Some(facts) = look.scene.facts(cell) else {
        return html! {
            <div class="details" id="details">
                <h4>{ "Selected" }<button class="link" onclick={close}>{ "close" }</button></h4>
                <p>{ "The selected cell is not drawn in this step." }</p>
            </div>
        };
    };
    let bytes = facts.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
    let lines: Vec<String> = bytes.chunks(8).map(|line| line.join(" ")).collect();
    html! {
        <div class="details" id="details">
            <h4>
                { format!("Selected: {}", facts.name) }
                if let Some(token) = facts.token { <span class="dim">{ format!("buffer #{token}") }</span> }
                <button class="link" onclick={close} aria-label="Close the selected cell">{ "close" }</button>
            </h4>
            <pre aria-label="Bytes in memory">{ lines.join("\n") }</pre>
            <dl class="pairs">
                { for facts.fields.iter().map(|(name, value)| html! { <div><dt>{ *name }</dt><dd>{ value }</dd></div> }) }
            </dl>
            <p>
                if let Some(writer) = facts.writer {
                    { "last written by " }{ call_link(look, writer) }
                } else {
                    { "never written so far" }
                }
            </p>
            { rules(&facts.rules) }
        </div>
    }
}
