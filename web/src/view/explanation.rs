//! The words beside the picture.

use super::{
    Look,
    column::Column,
    details::details,
    text::{order_number, rich},
};
use crate::{
    scene::{Item, RuleKept},
    state::Action,
};
use yew::{Html, classes, html};

/// What just happened, why, by which rules, and what comes next.
pub fn explanation(look: &Look<'_>) -> Html {
    let scene = look.scene;
    let explanation = &scene.explanation;
    let call = match scene.call.as_str() {
        "" => "nothing yet".to_owned(),
        call => format!("call {}, {}", scene.cursor.position, call.replace('_', " ")),
    };
    html! {
        <Column class="explanation" title="What just happened" note={call} open=true>
                { details(look) }
                <ol class="deeds">{ for explanation.items.iter().map(item) }</ol>
                if explanation.items.is_empty() && !scene.call.is_empty() {
                    <p>{ "Neither side wrote or read shared memory." }</p>
                }
                if explanation.items.is_empty() && scene.call.is_empty() {
                    <p>{ "Step forward with → to make the first call." }</p>
                }
                if let Some((heading, text)) = &explanation.why {
                    <div><h4>{ heading }</h4><p>{ rich(text) }</p></div>
                }
                if !explanation.rules.is_empty() {
                    <div><h4>{ "Rules kept here" }</h4>{ rules(&explanation.rules) }</div>
                }
                <div class="next">
                    if let Some((question, answer)) = &explanation.next {
                        <h4>{ question }</h4>
                        <div class="arithmetic">{ answer }</div>
                    }
                    if let Some(written) = &explanation.written {
                        <span class="dim">
                            { format!("{} was last written by ", written.name) }
                            { call_link(look, written.position) }
                        </span>
                    }
                    <span class="dim legend-line">
                        { order_number(1, true) }{ " written " }{ order_number(1, false) }{ " only read" }
                    </span>
                </div>
        </Column>
    }
}

/// A link to a step.
pub(super) fn call_link(look: &Look<'_>, position: u64) -> Html {
    let act = look.act.reform(move |_| Action::GoTo(position));
    html! { <button class="link" onclick={act} data-link={position.to_string()}>{ format!("call {position}") }</button> }
}

/// Rules with their sections; the requirement as a tip and for screen readers.
pub(super) fn rules(rules: &[RuleKept]) -> Html {
    let rule = |rule: &RuleKept| {
        html! {
            <details class="rule" key={rule.id.clone()}>
                <summary title={rule.requirement.clone()}>
                    <span class="id">{ &rule.id }</span><span class="section">{ &rule.section }</span>
                </summary>
                <p>{ &rule.requirement }</p>
            </details>
        }
    };
    html! { <div class="rules">{ for rules.iter().map(rule) }</div> }
}

fn item(item: &Item) -> Html {
    match item {
        Item::Deed { order, writes, text, current, to_come } => html! {
            <li class={classes!(current.then_some("current"), to_come.then_some("to-come"))}>
                { order_number(*order, *writes) }<span>{ rich(text) }</span>
            </li>
        },
        Item::Barrier { text, current, to_come } => html! {
            <li class={classes!("barrier", current.then_some("current"), to_come.then_some("to-come"))}>{ text }</li>
        },
    }
}
