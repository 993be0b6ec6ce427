//! Drives the built page in a real browser, as a person would: keys, clicks, dropped files, pictures.
//!
//! A test calls [`test_page`] with its name and how the page is to be opened. The page is served from a folder below
//! the server's root, since it has to work from any; a failure leaves a picture and says where it lies.

mod appearance;
mod chrome;
mod driver;
mod key;
mod page;
mod running;
mod static_server;

pub use appearance::{Appearance, Scheme};
pub use page::Page;
pub use running::{built_page, project_folder, test_folder, test_page};
pub use static_server::StaticServer;
