//! Everything a developer or a machine does with this tree: `cargo xtask --help`.

mod assure;
mod check;
mod command;
mod debian;
mod page_size;
mod progress;
mod project;
mod record;
mod replace;
mod screenshot;
mod serve;
mod setup;
mod test;
mod versions;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::project::Project;

/// Sets up, serves, tests and records Virtqueue Lab.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Provides every tool that the project needs; does nothing where they are there.
    Setup,
    /// Builds the page and serves it on this machine, anew after every change.
    Serve(serve::Options),
    /// Checks formatting and lints, and documentation and package of ring-core.
    Check,
    /// Runs all checks and tests, in the browser too, and counts them.
    Test,
    /// Runs the evidence that takes long, and says what held.
    Assure(assure::Options),
    /// Records the run that ships with the page anew, from QEMU.
    Record(record::Options),
    /// Takes pictures of the built page in both sizes and both colour schemes.
    Screenshot(screenshot::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let project = Project::locate()?;
    match task {
        Task::Setup => setup::all(&project),
        Task::Serve(options) => serve::run(&project, &options),
        Task::Check => check::run(&project),
        Task::Test => test::run(&project),
        Task::Assure(options) => assure::run(&project, &options),
        Task::Record(options) => record::run(&project, &options),
        Task::Screenshot(options) => screenshot::run(&project, &options),
    }
}
