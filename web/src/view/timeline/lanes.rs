//! The lanes: driver, device, notifications, tables.

use super::window::{NAMES_WIDTH, Stretch};
use crate::{
    run::{CallMark, LaneMark, TableMark},
    scene::Scene,
    state::{Action, App, MARKS_AT_ONCE},
};
use std::fmt::Write;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};
use yew::{Callback, Html, html};

/// Where the four lanes are, and how high the picture is, in CSS pixels.
const LANES: [f64; 4] = [8.0, 24.0, 40.0, 56.0];
const HEIGHT: f64 = 80.0;

/// Shapes of one class, before and after the cursor.
#[derive(Default)]
struct Shapes {
    past: String,
    future: String,
}

/// Every shape by its class.
#[derive(Default)]
struct Drawing {
    driver_full: Shapes,
    driver_hollow: Shapes,
    device_full: Shapes,
    device_hollow: Shapes,
    saved: Shapes,
    table_full: Shapes,
    table_hollow: Shapes,
}

pub(super) fn lanes(app: &App, scene: &Scene, window: &Stretch, width: f64, act: &Callback<Action>) -> Html {
    let here = scene.cursor.position;
    let mut drawing = Drawing::default();
    for position in window.first..=window.last {
        if let Some(mark) = mark(app, position) {
            draw(&mut drawing, mark, window.x(position), position > here);
        }
    }
    let stretch = *window;
    let go = act.reform(move |event: MouseEvent| {
        let x = event
            .current_target()
            .and_then(|target| target.dyn_into::<Element>().ok())
            .map(|element| f64::from(event.client_x()) - element.get_bounding_client_rect().left());
        Action::GoTo(stretch.position(x.unwrap_or(0.0)))
    });
    let cursor = window.x(here.max(window.first));
    let label = here.to_string();
    let label_width = label.len() as f64 * 7.0 + 10.0;
    let label_x = cursor.clamp(label_width / 2.0, width - label_width / 2.0 - 4.0);
    html! {
        <svg viewBox={format!("0 0 {width} {HEIGHT}")} width={width.to_string()} height={HEIGHT.to_string()} onclick={go} id="lanes">
            <rect class="hit" x={NAMES_WIDTH.to_string()} y="0" width={(width - NAMES_WIDTH).max(1.0).to_string()} height={HEIGHT.to_string()} />
            { for LANES.iter().map(|lane| html! { <line class="lane-line" x1={NAMES_WIDTH.to_string()} x2={width.to_string()} y1={(lane + 8.0).to_string()} y2={(lane + 8.0).to_string()} /> }) }
            { names() }
            { shapes("driver-full", &drawing.driver_full) }{ shapes("driver-hollow", &drawing.driver_hollow) }
            { shapes("device-full", &drawing.device_full) }{ shapes("device-hollow", &drawing.device_hollow) }
            { shapes("saved", &drawing.saved) }
            { shapes("table-full", &drawing.table_full) }{ shapes("table-hollow", &drawing.table_hollow) }
            { for ticks(window).filter(|tick| (window.x(*tick) - label_x).abs() > label_width / 2.0 + 14.0).map(|tick| html! { <text class="tick" x={format!("{:.1}", window.x(tick))} y="77" text-anchor="middle">{ tick }</text> }) }
            <line class="cursor-line" x1={format!("{cursor:.1}")} x2={format!("{cursor:.1}")} y1="0" y2="66" />
            <rect class="cursor-label" x={format!("{:.1}", label_x - label_width / 2.0)} y="66" width={label_width.to_string()} height="13" rx="2" />
            <text class="cursor-text" x={format!("{label_x:.1}")} y="76.500" text-anchor="middle">{ label }</text>
        </svg>
    }
}

fn mark(app: &App, position: u64) -> Option<CallMark> {
    let index = position.checked_sub(1)?;
    let stretch = app.marks.get(&(index / MARKS_AT_ONCE))?;
    stretch.get((index % MARKS_AT_ONCE) as usize).copied()
}

/// Round numbers along the axis.
fn ticks(window: &Stretch) -> impl Iterator<Item = u64> {
    let every =
        [1, 2, 5, 10, 20, 50].into_iter().find(|every| *every as f64 * window.each >= 90.0).unwrap_or(50);
    let first = window.first.next_multiple_of(every);
    (first..=window.last).step_by(every as usize)
}

fn shapes(class: &'static str, shapes: &Shapes) -> Html {
    html! {
        <>
            <path {class} d={shapes.past.clone()} />
            <path class={format!("{class} future")} d={shapes.future.clone()} />
        </>
    }
}

fn names() -> Html {
    let lane = |index: usize, name: &'static str, legend: Html| {
        let y = (LANES.get(index).copied().unwrap_or_default() + 4.0).to_string();
        html! { <><text class="lane-title" x="10" y={y.clone()}>{ name }</text><text class="lane-legend" x="92" {y}>{ legend }</text></> }
    };
    html! {
        <>
            { lane(0, "Driver", html! { "▮ add ▯ get back" }) }
            { lane(1, "Device", html! { "▮ use ▯ take" }) }
            { lane(2, "Notifications", html! { "▲ kick ▼ irq △ saved" }) }
            { lane(3, "Tables", html! { "● reuse ◆ new ○ back" }) }
        </>
    }
}

fn draw(drawing: &mut Drawing, mark: CallMark, x: f64, future: bool) {
    let [driver, device, notifications, tables] = LANES;
    let bar = |y: f64| format!("M{:.1} {:.1}h4v10h-4z", x - 2.0, y - 5.0);
    let dot = |y: f64| format!("M{:.1} {:.1}h2v2h-2z", x - 1.0, y - 1.0);
    let up = |y: f64| format!("M{x:.1} {:.1}l4 8h-8z", y - 4.0);
    let down = |y: f64| format!("M{x:.1} {:.1}l4-8h-8z", y + 4.0);
    let (shapes, path) = match mark.lane {
        LaneMark::Add => (&mut drawing.driver_full, bar(driver)),
        LaneMark::Reap => (&mut drawing.driver_hollow, bar(driver)),
        LaneMark::Publish | LaneMark::DriverWish | LaneMark::Checkpoint => {
            (&mut drawing.driver_full, dot(driver))
        }
        LaneMark::Complete => (&mut drawing.device_full, bar(device)),
        LaneMark::Pop => (&mut drawing.device_hollow, bar(device)),
        LaneMark::PublishUsed | LaneMark::DeviceWish => (&mut drawing.device_full, dot(device)),
        LaneMark::Kick => (&mut drawing.driver_full, up(notifications)),
        LaneMark::Interrupt => (&mut drawing.device_full, down(notifications)),
        LaneMark::KickSaved => (&mut drawing.saved, up(notifications)),
        LaneMark::InterruptSaved => (&mut drawing.saved, down(notifications)),
    };
    push(shapes, &path, future);
    let circle = format!("M{:.1} {tables}a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", x - 3.0);
    let diamond = format!("M{x:.1} {:.1}l4 4-4 4-4-4z", tables - 4.0);
    match mark.table {
        Some(TableMark::Reused) => push(&mut drawing.table_full, &circle, future),
        Some(TableMark::Allocated) => push(&mut drawing.table_full, &diamond, future),
        Some(TableMark::Cached) => push(&mut drawing.table_hollow, &circle, future),
        Some(TableMark::Freed) => push(&mut drawing.table_hollow, &diamond, future),
        None => {}
    }
}

fn push(shapes: &mut Shapes, path: &str, future: bool) {
    // Writing to a string does not fail.
    let _ = shapes.at(future).write_str(path);
}

impl Shapes {
    fn at(&mut self, future: bool) -> &mut String {
        if future { &mut self.future } else { &mut self.past }
    }
}
