//! The page's workers, and how files reach them.

use crate::{
    link::{Request, Response, RunWorker},
    state::{Action, Address, Source},
};
use js_sys::ArrayBuffer;
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{File, Url};
use yew::Callback;

/// Where the bytes of a file come from.
#[derive(Clone)]
pub(super) enum Origin {
    /// A file that the reader chose or dropped.
    Own(File),
    /// A file on the page's server, relative to the page.
    Server(String),
}

impl Origin {
    fn source(&self) -> Source {
        match self {
            Origin::Own(file) => Source::Own(file.name()),
            Origin::Server(path) => Source::Server(path.clone()),
        }
    }

    async fn bytes(&self) -> Result<ArrayBuffer, String> {
        let bytes = match self {
            Origin::Own(file) => JsFuture::from(file.array_buffer()).await,
            Origin::Server(path) => JsFuture::from(fetch(path).await?.array_buffer().map_err(told)?).await,
        };
        bytes.map(JsCast::unchecked_into).map_err(told)
    }
}

async fn fetch(path: &str) -> Result<web_sys::Response, String> {
    let window = web_sys::window().ok_or("the page has no window")?;
    let page = window.location().href().map_err(told)?;
    let url = Url::new_with_base(path, &page).map_err(|_| format!("\"{path}\" is no address of a file"))?;
    let origin = window.location().origin().map_err(told)?;
    if url.origin() != origin {
        return Err(format!("it lies on {}; expected a file on this server, {origin}", url.origin()));
    }
    let response = JsFuture::from(window.fetch_with_str(&url.href())).await;
    let response: web_sys::Response =
        response.map_err(|_| "the server does not answer".to_owned())?.unchecked_into();
    if response.ok() {
        Ok(response)
    } else {
        Err(format!("the server answers {} for {}; expected a trace", response.status(), url.pathname()))
    }
}

fn told(error: JsValue) -> String {
    let error: Result<js_sys::Error, JsValue> = error.dyn_into();
    match error {
        Ok(error) => String::from(error.message()),
        Err(other) => format!("{other:?}"),
    }
}

/// The workers by generation, and the file opened last.
#[derive(Default)]
pub(super) struct Runs {
    generation: u32,
    workers: Vec<(u32, RunWorker)>,
    last: Option<(Origin, Address)>,
}

impl Runs {
    /// Opens a file in a worker of its own.
    pub(super) fn open(
        runs: &Rc<RefCell<Runs>>,
        origin: Origin,
        salvage: bool,
        wanted: Address,
        act: &Callback<Action>,
    ) {
        let generation = {
            let mut runs = runs.borrow_mut();
            runs.generation += 1;
            runs.last = Some((origin.clone(), wanted.clone()));
            runs.generation
        };
        act.emit(Action::Opening { generation, source: origin.source(), wanted });
        let hear = act.reform(move |response: Response| Action::Told { generation, response });
        match RunWorker::start(hear) {
            Ok(worker) => runs.borrow_mut().workers.push((generation, worker)),
            Err(message) => {
                act.emit(Action::NotRead { generation, message });
                return;
            }
        }
        let (runs, act) = (runs.clone(), act.clone());
        spawn_local(async move {
            let asked = match origin.bytes().await {
                Ok(bytes) => runs.borrow().ask(generation, &Request::Open { salvage }, Some(bytes)),
                Err(message) => Err(message),
            };
            if let Err(message) = asked {
                act.emit(Action::NotRead { generation, message });
            }
        });
    }

    /// Opens what stands before the fault of the file that was refused last.
    pub(super) fn salvage(runs: &Rc<RefCell<Runs>>, act: &Callback<Action>) {
        let last = runs.borrow().last.clone();
        if let Some((origin, wanted)) = last {
            Runs::open(runs, origin, true, wanted, act);
        }
    }

    /// Asks the worker of a generation. One that was ended in between needs no answer.
    pub(super) fn ask(
        &self,
        generation: u32,
        request: &Request,
        file: Option<ArrayBuffer>,
    ) -> Result<(), String> {
        match self.workers.iter().find(|(number, _)| *number == generation) {
            Some((_, worker)) => worker.ask(request, file),
            None => Ok(()),
        }
    }

    /// Ends every worker but those of these generations, and those newer than `newest`, which the state that asks does
    /// not know yet.
    pub(super) fn keep(&mut self, generations: [Option<u32>; 2], newest: u32) {
        self.workers.retain(|(number, _)| *number > newest || generations.contains(&Some(*number)));
    }
}
