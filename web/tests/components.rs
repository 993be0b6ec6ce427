//! Parts of the page in a real document.

#![cfg(target_arch = "wasm32")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{find, opened, recorded, scene};
use ring_core::spec::split::Cell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web::{
    scene::{CellId, Scene},
    state::{Action, Failure},
    view::{Look, parts},
};
use web_sys::{Element, HtmlElement};
use yew::{Callback, Html, Properties, function_component};

wasm_bindgen_test_configure!(run_in_browser);

#[derive(Clone, PartialEq, Properties)]
struct Part {
    draw: Callback<(), Html>,
}

#[function_component]
fn Drawn(part: &Part) -> Html {
    part.draw.emit(())
}

/// Renders into an element of its own, and waits until the browser has had its turn.
async fn draw(draw: impl Fn() -> Html + 'static) -> Element {
    let document = web_sys::window().unwrap().document().unwrap();
    let element = document.create_element("div").unwrap();
    document.body().unwrap().append_child(&element).unwrap();
    let properties = Part { draw: Callback::from(move |()| draw()) };
    yew::Renderer::<Drawn>::with_root_and_props(element.clone(), properties).render();
    for _ in 0..100 {
        if element.first_element_child().is_some() {
            break;
        }
        yew::platform::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    element
}

fn published() -> Scene {
    let mut run = opened(recorded(16, 1));
    let position = find(&mut run, "publish", 1);
    scene(&mut run, position)
}

fn count(element: &Element, selector: &str) -> u32 {
    element.query_selector_all(selector).unwrap().length()
}

#[wasm_bindgen_test]
async fn memory_draws_every_cell_and_marks_what_was_written() {
    let scene = published();
    let act = Callback::noop();
    let element = draw(move || {
        parts::memory(&Look { scene: &scene, selected: None, token: None, narrow: false, act: &act })
    })
    .await;
    assert_eq!(count(&element, "tr[data-slot]"), 16);
    assert_eq!(count(&element, "[data-available]"), 16);
    assert_eq!(count(&element, "[data-used]"), 16);
    assert_eq!(count(&element, "[data-table]"), 2);
    assert_eq!(count(&element, ".changed"), 1, "publishing writes one cell");
    let changed = element.query_selector(".changed").unwrap().unwrap().text_content().unwrap();
    assert!(changed.contains("avail idx 3"), "{changed}");
    assert_eq!(count(&element, "tr.available"), 3);
}

#[wasm_bindgen_test]
async fn a_click_selects_a_cell_and_its_buffer_is_marked_everywhere() {
    let heard = Rc::new(std::cell::RefCell::new(Vec::new()));
    let act = {
        let heard = heard.clone();
        Callback::from(move |action: Action| heard.borrow_mut().push(action))
    };
    let scene = published();
    let cell = CellId::Ring(Cell::Descriptor(1));
    let token = scene.token_of(cell);
    let element = draw(move || {
        let look = Look { scene: &scene, selected: Some(cell), token, narrow: false, act: &act };
        yew::html! { <>{ parts::memory(&look) }{ parts::driver(&look) }{ parts::details(&look) }</> }
    })
    .await;
    assert_eq!(count(&element, "tr[data-slot].selected"), 1);
    assert_eq!(count(&element, "[data-available].selected"), 1);
    assert_eq!(count(&element, "[data-buffer].selected"), 1);
    assert_eq!(count(&element, "[data-table].selected"), 1);
    let details = element.query_selector("#details").unwrap().unwrap().text_content().unwrap();
    assert!(details.contains("Selected: slot 1") && details.contains("00 10 01 00"), "{details}");
    let slot: HtmlElement = element.query_selector("tr[data-slot='2']").unwrap().unwrap().dyn_into().unwrap();
    slot.click();
    let heard = heard.borrow();
    assert!(
        matches!(heard.as_slice(), [Action::Select(Some(CellId::Ring(Cell::Descriptor(2))))]),
        "{heard:?}"
    );
}

#[wasm_bindgen_test]
async fn the_step_is_told_in_order() {
    let scene = published();
    let act = Callback::noop();
    let element = draw(move || {
        let look = Look { scene: &scene, selected: None, token: None, narrow: false, act: &act };
        yew::html! { <>{ parts::caption(look.scene) }{ parts::explanation(&look) }{ parts::device(&look) }</> }
    })
    .await;
    assert_eq!(
        element.query_selector("#title").unwrap().unwrap().text_content().unwrap(),
        "Driver publishes 3 buffers"
    );
    let spoken = element.query_selector("[aria-live]").unwrap().unwrap().text_content().unwrap();
    assert!(spoken.contains("Driver publishes 3 buffers"), "{spoken}");
    let first = element.query_selector(".deeds li").unwrap().unwrap();
    assert!(first.class_name().contains("barrier"), "the release comes before the store");
    assert_eq!(count(&element, ".device [data-buffer]"), 3, "three buffers are offered");
}

#[wasm_bindgen_test]
async fn a_refused_file_is_named_with_what_was_expected() {
    let failure = Failure {
        name: "run.vqt".into(),
        message: "the file ends inside a block that begins at byte 4096".into(),
        whole_calls: 1234,
    };
    let element =
        draw(move || parts::failure(&failure, &Callback::noop(), &Callback::noop(), &Callback::noop())).await;
    let text = element.text_content().unwrap();
    assert!(text.contains("run.vqt") && text.contains("byte 4096"), "{text}");
    assert_eq!(count(&element, "[role=alert]"), 1);
    assert_eq!(count(&element, "#salvage"), 1);
}
