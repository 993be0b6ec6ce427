//! The page's root: state, effects, layout.

use super::{
    Look,
    bar::bar,
    caption::caption,
    device::device,
    driver::driver,
    explanation::explanation,
    help::Over,
    keyboard,
    memory::memory,
    motion::{Direction, Motion},
    opening,
    runs::{Origin, Runs},
    theme::Theme,
    timeline::{stretch, timeline},
    transport::transport,
};
use crate::{
    link::{Request, Response},
    scene::{Cursor, Scene},
    state::{Action, Address, App, Granularity, MARKS_AT_ONCE, NARROW, Source, Speed, room},
};
use gloo_events::{EventListener, EventListenerOptions};
use gloo_timers::callback::{Interval, Timeout};
use std::{cell::RefCell, collections::HashSet, rc::Rc};
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, HtmlInputElement, KeyboardEvent, Window};
use yew::{
    Callback, Html, TargetCast, UseReducerHandle, classes, function_component, hook, html, use_callback,
    use_effect_with, use_mut_ref, use_node_ref, use_reducer, use_state_eq,
};

/// The run that the page opens with, relative to the page.
const SHIPPED: &str = "runs/transmit-and-receive.vqt";
/// Bars of the overview.
const OVERVIEW_BARS: u16 = 256;
/// Milliseconds after which a step that stays is written into the address.
const ADDRESS_DELAY: u32 = 150;

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

fn window() -> Option<Window> {
    web_sys::window()
}

fn inner_size() -> (f64, f64) {
    let size = |value: Result<wasm_bindgen::JsValue, _>| value.ok().and_then(|value| value.as_f64());
    let Some(window) = window() else { return (1280.0, 720.0) };
    (size(window.inner_width()).unwrap_or(1280.0), size(window.inner_height()).unwrap_or(720.0))
}

/// Listens to the window for as long as the page is there.
#[hook]
fn use_window_event<F>(name: &'static str, listen: F)
where
    F: Fn(&web_sys::Event) + 'static,
{
    use_effect_with((), move |()| {
        let listener = window().map(|window| {
            let options = EventListenerOptions::enable_prevent_default();
            EventListener::new_with_options(&window, name, options, listen)
        });
        move || drop(listener)
    });
}

#[hook]
fn use_room(act: &Callback<Action>, width: yew::UseStateSetter<f64>) {
    let act = act.clone();
    let measure = move || {
        let (inner_width, inner_height) = inner_size();
        width.set(inner_width);
        act.emit(Action::Room(room(inner_width, inner_height)));
    };
    {
        let measure = measure.clone();
        use_effect_with((), move |()| measure());
    }
    use_window_event("resize", move |_| measure());
}

#[hook]
fn use_keys(app: &UseReducerHandle<App>, act: &Callback<Action>) {
    let act = act.clone();
    let (panel, selected) = (app.panel, app.selected.is_some());
    use_effect_with((panel, selected), move |(panel, selected)| {
        let (panel, selected) = (*panel, *selected);
        let listener = window().map(|window| {
            let options = EventListenerOptions::enable_prevent_default();
            EventListener::new_with_options(&window, "keydown", options, move |event| {
                let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
                if let Some(action) = keyboard::action(event, panel, selected) {
                    // Arrows and space would scroll.
                    event.prevent_default();
                    act.emit(action);
                }
            })
        });
        move || drop(listener)
    });
}

#[hook]
fn use_files(runs: &Rc<RefCell<Runs>>, act: &Callback<Action>) {
    let hold = |act: &Callback<Action>| {
        let act = act.clone();
        move |event: &web_sys::Event| {
            event.prevent_default();
            act.emit(Action::Dragging(true));
        }
    };
    use_window_event("dragenter", hold(act));
    use_window_event("dragover", hold(act));
    {
        let act = act.clone();
        use_window_event("dragleave", move |event| {
            // It is left for good when it enters nothing else.
            let event = event.dyn_ref::<DragEvent>();
            if event.is_some_and(|event| event.related_target().is_none()) {
                act.emit(Action::Dragging(false));
            }
        });
    }
    let (runs, act) = (runs.clone(), act.clone());
    use_window_event("drop", move |event| {
        event.prevent_default();
        act.emit(Action::Dragging(false));
        let data = event.dyn_ref::<DragEvent>().and_then(DragEvent::data_transfer);
        if let Some(file) = data.and_then(|data| data.files()).and_then(|files| files.get(0)) {
            Runs::open(&runs, Origin::Own(file), false, Address::default(), &act);
        }
    });
}

/// Opens what the address names, and keeps the address where the reader is.
#[hook]
fn use_address(app: &UseReducerHandle<App>, runs: &Rc<RefCell<Runs>>, act: &Callback<Action>) {
    {
        let (runs, act) = (runs.clone(), act.clone());
        use_effect_with((), move |()| follow(&runs, None, &act));
    }
    {
        let (runs, act) = (runs.clone(), act.clone());
        let source = app.run.as_ref().map(|run| run.source.clone());
        use_effect_with(source, move |source| {
            let source = source.clone();
            let listener = window().map(|window| {
                EventListener::new(&window, "hashchange", move |_| follow(&runs, source.as_ref(), &act))
            });
            move || drop(listener)
        });
    }
    let written = use_mut_ref(|| None::<u32>);
    let here = app.run.as_ref().filter(|_| app.settled()).and_then(|run| {
        let cursor = app.scene()?.cursor;
        let queue = run.summary.queues.get(usize::from(app.queue))?.name.clone();
        let address = Address {
            source: Some(run.source.clone()),
            queue: Some(queue),
            call: Some(cursor.position),
            access: cursor.access,
        };
        Some((run.generation, address.hash()))
    });
    use_effect_with(here, move |here| {
        let later = here.clone().map(|(generation, hash)| {
            Timeout::new(ADDRESS_DELAY, move || {
                let Some(history) = window().and_then(|window| window.history().ok()) else { return };
                let other_run = written.borrow().is_some_and(|written| written != generation);
                *written.borrow_mut() = Some(generation);
                let none = wasm_bindgen::JsValue::NULL;
                // A page whose address cannot be written still works.
                let _ = if other_run {
                    history.push_state_with_url(&none, "", Some(&hash))
                } else {
                    history.replace_state_with_url(&none, "", Some(&hash))
                };
            })
        });
        move || drop(later)
    });
}

/// Goes where the address says: within the open run if it names that one, else by opening another.
fn follow(runs: &Rc<RefCell<Runs>>, source: Option<&Source>, act: &Callback<Action>) {
    let Some(location) = window().map(|window| window.location()) else { return };
    let (hash, query) = (location.hash().unwrap_or_default(), location.search().unwrap_or_default());
    let shipped = || Origin::Server(SHIPPED.to_owned());
    let address = match Address::parse(&hash, &query) {
        Ok(address) => address,
        Err(message) => {
            if source.is_none() {
                Runs::open(runs, shipped(), false, Address::default(), act);
            }
            act.emit(Action::Notice(message));
            return;
        }
    };
    match (&address.source, source) {
        (Some(named), Some(open)) if named == open => act.emit(Action::Visit(address)),
        (None, Some(_)) => act.emit(Action::Visit(address)),
        (Some(Source::Server(path)), _) => {
            Runs::open(runs, Origin::Server(path.clone()), false, address.clone(), act);
        }
        (None, None) => Runs::open(runs, shipped(), false, address.clone(), act),
        (Some(Source::Own(name)), _) => {
            if source.is_none() {
                Runs::open(runs, shipped(), false, Address::default(), act);
            }
            let message =
                format!("{name} is a file of your own, which no address can open: open it or drop it here.");
            act.emit(Action::Notice(message));
        }
    }
}

/// Asks the workers what the state wants to know, and ends those that are not needed any more.
#[hook]
fn use_questions(app: &UseReducerHandle<App>, runs: &Rc<RefCell<Runs>>, act: &Callback<Action>, width: f64) {
    let generation = app.run.as_ref().map(|run| run.generation);
    let ask = {
        let (runs, act) = (runs.clone(), act.clone());
        move |generation: u32, request: Request| {
            if let Err(message) = runs.borrow().ask(generation, &request, None) {
                act.emit(Action::Told { generation, response: Response::Lost(message) });
            }
        }
    };
    {
        let runs = runs.clone();
        let needed = [generation, app.opening.as_ref().map(|opening| opening.generation)];
        use_effect_with((needed, app.newest), move |(needed, newest)| {
            runs.borrow_mut().keep(*needed, *newest)
        });
    }
    {
        let ask = ask.clone();
        use_effect_with((generation, app.pending), move |(generation, pending)| {
            if let (Some(generation), Some(question)) = (*generation, *pending) {
                ask(
                    generation,
                    Request::Scene {
                        number: question.number,
                        queue: question.queue,
                        from: question.goal.from,
                        by: question.goal.by,
                        view: question.view,
                    },
                );
            }
        });
    }
    let visible = app.scene().map(|scene| {
        let stretch = stretch(scene.cursor.position, scene.calls, width);
        (
            scene.queue,
            stretch.first.saturating_sub(1) / MARKS_AT_ONCE,
            stretch.last.saturating_sub(1) / MARKS_AT_ONCE,
        )
    });
    // What was asked for of which queue: another queue's marks are forgotten.
    let asked = use_mut_ref(|| (None, HashSet::new()));
    use_effect_with((generation, visible), move |(generation, visible)| {
        let (Some(generation), Some((queue, first, last))) = (*generation, *visible) else { return };
        let mut asked = asked.borrow_mut();
        if asked.0 != Some((generation, queue)) {
            *asked = (Some((generation, queue)), HashSet::new());
            ask(generation, Request::Overview { queue, bars: OVERVIEW_BARS });
        }
        for part in first..=last {
            if asked.1.insert(part) {
                ask(
                    generation,
                    Request::Marks { queue, first: part * MARKS_AT_ONCE + 1, count: MARKS_AT_ONCE },
                );
            }
        }
    });
}

#[hook]
fn use_play(app: &UseReducerHandle<App>, act: &Callback<Action>) {
    let act = act.clone();
    use_effect_with((app.playing, app.speed), move |(playing, speed)| {
        let interval = playing.then(|| Interval::new(speed.interval(), move || act.emit(Action::Tick)));
        move || drop(interval)
    });
}
