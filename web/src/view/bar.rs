//! The bar at the top: which run, its facts, the check, the queue.

use super::{icon::icon, text::number, theme::Theme};
use crate::state::{Action, App, OpenRun, Panel};
use yew::{Callback, Html, html};

/// The bar. `open` asks for a file.
pub(super) fn bar(
    app: &App,
    theme: Theme,
    act: &Callback<Action>,
    open: &Callback<()>,
    toggle: &Callback<()>,
) -> Html {
    let help = act.reform(|_| Action::Panel(Some(Panel::Help)));
    html! {
        <header class="bar">
            <button class="source" id="open" onclick={open.reform(|_| ())} title="Open a trace from your disk (or drop it anywhere). Files stay in this browser.">
                <span class="source-name">
                    { app.run.as_ref().map_or("no run open", |run| run.source.name()).to_owned() }
                </span>
                <span class="open-word">{ "Open…" }</span>
            </button>
            if let Some(run) = &app.run {
                { queues(app, run, act) }
                { facts(app, run) }
                { digest(run) }
            }
            <span class="space"></span>
            <button class="icon-button" id="help" onclick={help} aria-label="Help and keys">{ icon("help") }</button>
            <button class="icon-button" id="theme" onclick={toggle.reform(|_| ())}
                aria-label={format!("Colours: {}", theme.name())} title={format!("Colours: {}", theme.name())}>
                { icon("theme") }
            </button>
        </header>
    }
}

fn queues(app: &App, run: &OpenRun, act: &Callback<Action>) -> Html {
    if run.summary.queues.len() < 2 {
        return html! {};
    }
    let button = |(index, queue): (usize, &crate::run::QueueSummary)| {
        let index = index as u16;
        let pressed = (app.queue == index).to_string();
        html! {
            <button aria-pressed={pressed} data-queue-button={queue.name.clone()}
                onclick={act.reform(move |_| Action::Queue(index))}>{ &queue.name }</button>
        }
    };
    html! {
        <span class="choice" role="group" aria-label="Queue">
            { for run.summary.queues.iter().enumerate().map(button) }
        </span>
    }
}

fn facts(app: &App, run: &OpenRun) -> Html {
    let Some(queue) = run.summary.queues.get(usize::from(app.queue)) else { return html! {} };
    let has = |name: &str| queue.features.iter().any(|feature| feature == name);
    let mut facts = vec![format!("{}, {} slots", queue.format, queue.size)];
    if has("INDIRECT_DESC") {
        facts.push("indirect".to_owned());
    }
    if has("EVENT_IDX") {
        facts.push("event idx".to_owned());
    }
    facts.push(queue.strategy.replace(", threshold ", " ≤ "));
    facts.push(run.summary.implementation.clone());
    let all: Vec<String> = run.summary.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let title = format!("{}, recorded by {}\n{}", run.summary.device, run.summary.made_by, all.join("\n"));
    html! {
        <span class="facts" {title}>{ for facts.into_iter().filter(|fact| !fact.is_empty()).map(|fact| html! { <span>{ fact }</span> }) }</span>
    }
}

/// What the comparison with the recorded digests gave.
fn digest(run: &OpenRun) -> Html {
    let summary = &run.summary;
    match summary.first_difference() {
        Some((queue, call, identical)) => html! {
            <span class="digest different" id="digest" role="status">
                { icon("cross") }
                { format!("{queue}: memory differs from the recording at call {} (identical until call {})", number(call), number(identical)) }
            </span>
        },
        None => html! {
            <span class="digest" id="digest" title="At each checkpoint the replayed memory has the digest that was recorded.">
                { icon("tick") }
                <span class="words">{ format!("replayed {} calls, {} checkpoints ", number(summary.calls()), number(summary.identical())) }</span>
                { "identical" }
            </span>
        },
    }
}
