//! Between the page and the worker: messages, and both ends of the line.
//!
//! A worker holds one run. Opening another file starts another worker, so the former run stays as it is until the new
//! one is there, and cancelling is ending the worker.

mod page_end;
mod protocol;
mod worker_end;

pub use page_end::RunWorker;
pub use protocol::{Request, Response};
pub use worker_end::serve;
