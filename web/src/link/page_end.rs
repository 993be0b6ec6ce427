//! The page's end: a worker that is started, asked, and ended.

use super::protocol::{Request, Response};
use js_sys::{Array, ArrayBuffer, Uint8Array};
use std::{cell::RefCell, rc::Rc};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{ErrorEvent, MessageEvent, Worker};
use yew::Callback;

/// Where the worker's script lies, relative to the page.
const SCRIPT: &str = "./worker_loader.js";

/// A running worker. Dropping it ends it.
pub struct RunWorker {
    worker: Worker,
    waiting: Rc<RefCell<Option<Vec<Array>>>>,
    _listen: Closure<dyn FnMut(MessageEvent)>,
    _fail: Closure<dyn FnMut(ErrorEvent)>,
}

impl RunWorker {
    /// Starts a worker. `told` hears everything it says, and of a worker that breaks.
    pub fn start(told: Callback<Response>) -> Result<Self, String> {
        let worker = Worker::new(SCRIPT).map_err(|error| format!("the worker does not start: {error:?}"))?;
        // What is asked before the worker listens would be lost.
        let waiting = Rc::new(RefCell::new(Some(Vec::new())));
        let listen = {
            let (worker, waiting, told) = (worker.clone(), waiting.clone(), told.clone());
            Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
                let bytes = Uint8Array::new(&event.data()).to_vec();
                match postcard::from_bytes(&bytes) {
                    Ok(Response::Ready) => {
                        for message in waiting.borrow_mut().take().unwrap_or_default() {
                            if let Err(error) = post(&worker, &message) {
                                told.emit(Response::Lost(error));
                            }
                        }
                    }
                    Ok(response) => told.emit(response),
                    Err(error) => told.emit(Response::Lost(format!("the worker's answer: {error}"))),
                }
            })
        };
        let fail = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
            let message =
                format!("the worker broke: {} ({}:{})", event.message(), event.filename(), event.lineno());
            told.emit(Response::Lost(message));
        });
        worker.set_onmessage(Some(listen.as_ref().unchecked_ref()));
        worker.set_onerror(Some(fail.as_ref().unchecked_ref()));
        Ok(RunWorker { worker, waiting, _listen: listen, _fail: fail })
    }

    /// Asks for something; `file` are the bytes to open.
    pub fn ask(&self, request: &Request, file: Option<ArrayBuffer>) -> Result<(), String> {
        let bytes = postcard::to_allocvec(request).map_err(|error| error.to_string())?;
        let message = Array::of1(&Uint8Array::from(bytes.as_slice()));
        if let Some(file) = file {
            message.push(&file);
        }
        if let Some(waiting) = self.waiting.borrow_mut().as_mut() {
            waiting.push(message);
            return Ok(());
        }
        post(&self.worker, &message)
    }
}

impl Drop for RunWorker {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

fn post(worker: &Worker, message: &Array) -> Result<(), String> {
    let moved = message.get(1);
    let transfer: JsValue =
        if moved.is_undefined() { Array::new().into() } else { Array::of1(&moved).into() };
    worker
        .post_message_with_transfer(message, &transfer)
        .map_err(|error| format!("the worker was not reached: {error:?}"))
}
