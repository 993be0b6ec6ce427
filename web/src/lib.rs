//! The lab in the browser: a recorded run, replayed in a worker, walked step by step on the page.
//!
//! - [`scene`]: what is drawn for one step, made from replayed memory by pure functions.
//! - [`run`]: an opened trace and the questions that can be asked of it.
//! - [`link`]: messages between the page and the worker that holds a run.
//! - [`state`]: everything the page knows, and its one reducer.
//! - [`view`]: what the page looks like.

pub mod link;
pub mod run;
pub mod scene;
pub mod state;
pub mod view;

/// Shows the page in the document's element `#page`; what else is in the body stays.
pub fn page() {
    report_panics();
    let document = web_sys::window().and_then(|window| window.document());
    match document.and_then(|document| document.get_element_by_id("page")) {
        Some(element) => yew::Renderer::<view::Page>::with_root(element).render(),
        None => yew::Renderer::<view::Page>::new().render(),
    };
}

/// Serves one run to the page that started this worker.
pub fn worker() {
    report_panics();
    link::serve();
}

/// Panics reach the console with their place, in debug builds.
fn report_panics() {
    if cfg!(debug_assertions) {
        console_error_panic_hook::set_once();
    }
}
