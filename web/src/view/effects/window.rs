//! The browser's window.

use gloo_events::{EventListener, EventListenerOptions};
use web_sys::Window;
use yew::{hook, use_effect_with};

/// The window, which a page always has.
pub(super) fn window() -> Option<Window> {
    web_sys::window()
}

/// Width and height in CSS pixels.
pub(in crate::view) fn inner_size() -> (f64, f64) {
    let size = |value: Result<wasm_bindgen::JsValue, _>| value.ok().and_then(|value| value.as_f64());
    let Some(window) = window() else { return (1280.0, 720.0) };
    (size(window.inner_width()).unwrap_or(1280.0), size(window.inner_height()).unwrap_or(720.0))
}

/// Listens to the window for as long as the page is there.
#[hook]
pub(super) fn use_window_event<F>(name: &'static str, listen: F)
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
