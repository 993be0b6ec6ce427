//! The page's root: state and layout.

use super::{
    Look,
    bar::bar,
    caption::caption,
    device::device,
    driver::driver,
    effects::{inner_size, use_address, use_files, use_keys, use_play, use_questions, use_room},
    explanation::explanation,
    help::Over,
    memory::memory,
    motion::{Direction, Motion},
    opening,
    runs::{Origin, Runs},
    theme::Theme,
    timeline::timeline,
    transport::transport,
};
use crate::{
    scene::{Cursor, Scene},
    state::{Action, Address, App, Granularity, NARROW, Speed},
};
use std::rc::Rc;
use web_sys::HtmlInputElement;
use yew::{
    Callback, Html, TargetCast, classes, function_component, html, use_callback, use_effect_with,
    use_mut_ref, use_node_ref, use_reducer, use_state_eq,
};

/// The page.
///
/// For tests and scripts the root element `#lab` says what is shown, by attributes that stay as they are:
///
/// | attribute | value |
/// | --- | --- |
/// | `data-state` | `loading` while a file is opened or nothing is open, `error` while one is refused, else `ready` |
/// | `data-settled` | `true` once the picture is the wanted one, else `false` |
/// | `data-step` | the position: calls made so far |
/// | `data-access`, `data-accesses` | at single accesses, which; how many the call makes |
/// | `data-calls` | calls of the shown queue |
/// | `data-queue` | the shown queue's name |
/// | `data-granularity` | `call` or `access` |
/// | `data-playing` | `true` or `false` |
/// | `data-source` | the open run's file name |
/// | `data-digest` | `identical` or `different`, over all checkpoints of all queues |
/// | `data-replayed`, `data-checkpoints` | calls replayed, checkpoints identical, of all queues |
///
/// Elements with ids: `#open`, `#file` (the input), `#help`, `#theme`, `#first`, `#back`, `#play`, `#forward`, `#last`,
/// `#by-call`, `#by-access`, `#go-to`, `#go-to-field`, `#stage` (the picture), `#title`, `#subtitle`, `#details`,
/// `#digest`, `#overview`, `#lanes`, `#opening`, `#cancel`, `#error`, `#error-text`, `#salvage`, `#dismiss`, `#notice`,
/// `#help-panel`. Cells: `[data-slot]`, `[data-available]`, `[data-used]`, `[data-table]`; a queue's button
/// `[data-queue-button]`; links to calls `[data-link]`.
#[function_component]
pub fn Page() -> Html {
    let app = use_reducer(App::default);
    let runs = use_mut_ref(Runs::default);
    let theme = use_state_eq(Theme::remembered);
    let width = use_state_eq(|| inner_size().0);
    let input = use_node_ref();
    let act = {
        let dispatcher = app.dispatcher();
        use_callback((), move |action, ()| dispatcher.dispatch(action))
    };
    use_effect_with(*theme, |theme| theme.apply());
    use_room(&act, width.setter());
    use_keys(&app, &act);
    use_files(&runs, &act);
    use_address(&app, &runs, &act);
    use_questions(&app, &runs, &act, *width);
    use_play(&app, &act);

    let open = {
        let input = input.clone();
        Callback::from(move |()| {
            if let Some(input) = input.cast::<HtmlInputElement>() {
                input.click();
            }
        })
    };
    let choose = {
        let (runs, act) = (runs.clone(), act.clone());
        Callback::from(move |event: yew::Event| {
            let input: HtmlInputElement = event.target_unchecked_into();
            if let Some(file) = input.files().and_then(|files| files.get(0)) {
                Runs::open(&runs, Origin::Own(file), false, Address::default(), &act);
            }
            // The same file can be chosen again.
            input.set_value("");
        })
    };
    let salvage = {
        let (runs, act) = (runs.clone(), act.clone());
        Callback::from(move |()| Runs::salvage(&runs, &act))
    };
    let toggle = {
        let (setter, next) = (theme.setter(), theme.next());
        Callback::from(move |()| setter.set(next))
    };
    let summary = app.run.as_ref().map(|run| &run.summary);
    let scene = app.scene();
    let queue = summary.and_then(|summary| summary.queues.get(usize::from(app.queue)));
    let digest =
        summary.map(|summary| if summary.first_difference().is_some() { "different" } else { "identical" });
    html! {
        <main id="lab" class={classes!("lab", (app.playing && app.speed == Speed::Fastest).then_some("hasty"))}
            data-state={state_name(&app)}
            data-settled={app.settled().to_string()}
            data-step={scene.map(|scene| scene.cursor.position.to_string())}
            data-access={scene.and_then(|scene| scene.cursor.access).map(|access| access.to_string())}
            data-accesses={scene.map(|scene| scene.accesses.to_string())}
            data-calls={scene.map(|scene| scene.calls.to_string())}
            data-queue={queue.map(|queue| queue.name.clone())}
            data-granularity={match app.granularity { Granularity::Call => "call", Granularity::Access => "access" }}
            data-playing={app.playing.to_string()}
            data-source={app.run.as_ref().map(|run| run.source.name().to_owned())}
            data-digest={digest}
            data-replayed={summary.map(|summary| summary.calls().to_string())}
            data-checkpoints={summary.map(|summary| summary.identical().to_string())}>
            { bar(&app, *theme, &act, &open, &toggle) }
            <input type="file" id="file" class="unseen" ref={input} onchange={choose} tabindex="-1" aria-label="Open a trace" />
            if let Some(scene) = scene {
                { stage(&app, scene, *width, &act) }
                { timeline(&app, scene, *width - 26.0, &act) }
                { transport(&app, scene, &act) }
            } else {
                { nothing(&app, &open) }
            }
            <div class="notices">
                if let Some(opening) = &app.opening { { opening::opening(opening, &act) } }
                if let Some(failure) = &app.failure { { opening::failure(failure, &act, &open, &salvage) } }
                if let Some(notice) = &app.notice { { opening::notice(notice, &act) } }
            </div>
            if let Some(panel) = app.panel { <Over {panel} calls={app.calls()} act={act.clone()} /> }
            if app.dragging { { opening::dragging() } }
        </main>
    }
}

fn state_name(app: &App) -> &'static str {
    if app.failure.is_some() {
        "error"
    } else if app.opening.is_some() || app.shown.is_none() {
        "loading"
    } else {
        "ready"
    }
}

fn stage(app: &App, scene: &Rc<Scene>, width: f64, act: &Callback<Action>) -> Html {
    let look =
        Look { scene, selected: app.selected, token: app.selected_token(), narrow: width < NARROW, act };
    let direction = direction(app.came_from, scene);
    // Marks appear anew with every step: two equal animations by turns.
    let turn = (scene.cursor.position + u64::from(scene.cursor.access.unwrap_or(0))) % 2;
    html! {
        <div class={classes!("stage", if turn == 0 { "even" } else { "odd" })} id="stage">
            { caption(scene) }
            { driver(&look) }
            { memory(&look) }
            { device(&look) }
            { explanation(&look) }
            <Motion scene={scene.clone()} {direction} />
        </div>
    }
}

fn direction(came_from: Option<Cursor>, scene: &Scene) -> Direction {
    let Some(before) = came_from else { return Direction::Jump };
    if scene.cursor.position == before.position + 1 {
        Direction::Forward
    } else if before.position == scene.cursor.position + 1 {
        Direction::Back
    } else {
        Direction::Jump
    }
}

fn nothing(app: &App, open: &Callback<()>) -> Html {
    html! {
        <div class="nothing">
            if app.opening.is_none() && app.run.is_none() {
                <b>{ "Open a recorded queue" }</b>
                <button class="button primary" onclick={open.reform(|_| ())}>{ "Open a file…" }</button>
                <p class="dim">{ "or drop it anywhere. Files stay in this browser: nothing is sent." }</p>
            }
        </div>
    }
}
