//! What the command line's commands do.

pub(crate) mod broken_rings;
mod columns;
pub(crate) mod exhibits;
pub(crate) mod qemu;
pub(crate) mod strategies;

use anyhow::{Context, Result};
use serde::Serialize;
use std::{io::Write, process::ExitCode};

/// Prints results: the text, or with `json` the value on standard output and the text on standard error.
fn print(text: &str, value: &impl Serialize, json: bool) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let written = if json {
        eprint!("{text}");
        let json = serde_json::to_string_pretty(value)?;
        writeln!(output, "{json}")
    } else {
        output.write_all(text.as_bytes())
    };
    written.and_then(|()| output.flush()).context("the results cannot be printed")
}

/// The exit code of a command that failed without more to say than the error.
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
