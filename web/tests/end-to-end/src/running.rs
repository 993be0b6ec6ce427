//! Runs a test with a page and leaves what is needed to understand a failure.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::appearance::Appearance;
use crate::page::Page;
use crate::static_server::StaticServer;

/// The folder that the page is served from: not the server's root, since the page has to work from any folder.
const FOLDER: &str = "/some/folder/";

/// The project's top folder.
#[must_use]
pub fn project_folder() -> PathBuf {
    // This crate lies three folders below it.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap_or(Path::new(".")).to_owned()
}

/// The folder of the built page.
///
/// # Errors
/// If the page was not built.
pub fn built_page() -> Result<PathBuf> {
    let dist = project_folder().join("dist");
    if !dist.join("index.html").exists() {
        bail!("{} holds no page; `trunk build` or `cargo xtask test` builds it", dist.display());
    }
    Ok(dist)
}

/// Opens the built page with `query` after its address and runs `test` with it.
///
/// # Panics
/// If the test fails, the page wrote an error to the console, or it asked for a file that is not there. A picture
/// of the page is left then, and the message says where.
pub fn test_page(name: &str, query: &str, appearance: Appearance, test: impl FnOnce(&Page) -> Result<()>) {
    if let Err(error) = built_page().and_then(|page| test_folder(&page, name, query, appearance, test)) {
        fail(&format!("{error:#}"));
    }
}

/// Does what [`test_page`] does with any folder of files, and returns the failure.
///
/// # Errors
/// If the test fails or panics, the page wrote an error to the console, or it asked for a missing file.
pub fn test_folder(
    folder: &Path,
    name: &str,
    query: &str,
    appearance: Appearance,
    test: impl FnOnce(&Page) -> Result<()>,
) -> Result<()> {
    let server = StaticServer::start(folder, FOLDER)?;
    let page = Page::open(&format!("{}{query}", server.address()), appearance)?;
    // An assertion in a test panics; the picture is taken all the same.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| test(&page)));
    let mut problems = match outcome {
        Ok(Ok(())) => Vec::new(),
        Ok(Err(error)) => vec![format!("{error:#}")],
        Err(payload) => vec![panic_message(payload.as_ref())],
    };
    match page.console_errors() {
        Ok(errors) => problems.extend(errors.iter().map(|error| format!("the page's console: {error}"))),
        Err(error) => problems.push(format!("{error:#}")),
    }
    problems
        .extend(server.missing().iter().map(|address| format!("the page asked for {address}: not there")));
    if problems.is_empty() {
        return Ok(());
    }
    let picture = project_folder().join("target/end-to-end").join(format!("{name}.png"));
    problems.push(match page.save_picture(&picture) {
        Ok(()) => format!("a picture of the page: {}", picture.display()),
        Err(error) => format!("no picture: {error:#}"),
    });
    bail!("{name}:\n  {}", problems.join("\n  "))
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("the test panicked").to_owned()
}

#[expect(clippy::panic, reason = "a test fails by a panic")]
fn fail(message: &str) -> ! {
    panic!("{message}")
}
