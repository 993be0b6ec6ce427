//! The worker's end: answers requests about the run it holds.

use super::protocol::{Request, Response};
use crate::run::{OpenFailure, OverviewJob, Run};
use gloo_timers::callback::Timeout;
use js_sys::{Array, Uint8Array};
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Listens for requests for as long as the worker lives.
pub fn serve() {
    let Ok(scope) = js_sys::global().dyn_into::<DedicatedWorkerGlobalScope>() else {
        // Not started as a worker: there is nobody to answer.
        return;
    };
    let holder = Rc::new(Holder { scope: scope.clone(), run: RefCell::new(None) });
    let listen = {
        let holder = holder.clone();
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            let message = Array::from(&event.data());
            let bytes = Uint8Array::new(&message.get(0)).to_vec();
            match postcard::from_bytes(&bytes) {
                Ok(request) => holder.answer(request, &message),
                Err(error) => holder.say(&Response::Lost(format!("the page's request: {error}"))),
            }
        })
    };
    scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    // It listens as long as the worker lives.
    listen.forget();
    holder.say(&Response::Ready);
}

struct Holder {
    scope: DedicatedWorkerGlobalScope,
    run: RefCell<Option<Run>>,
}

impl Holder {
    fn say(&self, response: &Response) {
        let Ok(bytes) = postcard::to_allocvec(response) else { return };
        // A page that is gone cannot be told.
        let _ = self.scope.post_message(&Uint8Array::from(bytes.as_slice()));
    }

    fn answer(self: &Rc<Self>, request: Request, message: &Array) {
        let response = match request {
            Request::Open { salvage } => self.open(Uint8Array::new(&message.get(1)).to_vec(), salvage),
            Request::Scene { number, queue, from, by, view } => self.with_run(|run| {
                let scene = Box::new(run.scene(queue, from, by, &view)?);
                Ok(Response::Scene { number, scene })
            }),
            Request::Marks { queue, first, count } => self
                .with_run(|run| Ok(Response::Marks { queue, first, marks: run.marks(queue, first, count)? })),
            Request::Overview { queue, bars } => {
                if let Some(run) = self.run.borrow().as_ref() {
                    self.go_on(OverviewJob::new(run.trace().clone(), queue, bars));
                }
                return;
            }
        };
        self.say(&response);
    }

    fn open(&self, bytes: Vec<u8>, salvage: bool) -> Response {
        match Run::open(bytes, salvage, |share| self.say(&Response::Progress(share))) {
            Ok((run, summary)) => {
                *self.run.borrow_mut() = Some(run);
                Response::Opened(summary)
            }
            Err(failure) => Response::Failed(failure),
        }
    }

    fn with_run(&self, ask: impl FnOnce(&mut Run) -> Result<Response, String>) -> Response {
        match self.run.borrow_mut().as_mut() {
            Some(run) => ask(run).unwrap_or_else(Response::Lost),
            None => Response::Failed(OpenFailure {
                message: "no run is open in this worker".to_owned(),
                whole_calls: 0,
            }),
        }
    }

    /// Goes on with an overview, and lets requests be answered in between.
    fn go_on(self: &Rc<Self>, mut job: OverviewJob) {
        match job.go_on() {
            Ok(Some(bars)) => self.say(&Response::Overview { queue: job.queue(), bars }),
            Ok(None) => {
                let holder = self.clone();
                Timeout::new(0, move || holder.go_on(job)).forget();
            }
            Err(error) => self.say(&Response::Lost(error.to_string())),
        }
    }
}
