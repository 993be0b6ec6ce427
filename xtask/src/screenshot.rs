//! `cargo xtask screenshot`: pictures of the built page, to be looked at.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::check::cargo;
use crate::progress::Progress;
use crate::project::Project;
use crate::setup;

#[derive(Args)]
pub(crate) struct Options {
    /// What follows the page's address, such as `?step=12`.
    #[arg(long, default_value = "")]
    url_query: String,
    /// The folder for the pictures.
    #[arg(long)]
    out: PathBuf,
    /// Takes the page as it is in `dist/` instead of building it first.
    #[arg(long)]
    no_build: bool,
    /// Waits until this selector matches before taking the picture.
    #[arg(long)]
    wait_for: Option<String>,
    /// Keys to press first, by their names in the browser: `ArrowRight,ArrowRight,End`.
    #[arg(long, value_delimiter = ',')]
    keys: Vec<String>,
}

/// Builds the page unless told otherwise and takes the pictures.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    setup::for_pictures(project)?;
    if !options.no_build {
        build_page(project)?;
    }
    let mut camera = cargo(project)
        .arguments(["run", "--quiet", "--locked", "--package", "end-to-end", "--bin", "screenshot", "--"])
        .arguments([&format!("--url-query={}", options.url_query), "--out"])
        .arguments([&std::path::absolute(&options.out)?]);
    if let Some(selector) = &options.wait_for {
        camera = camera.arguments(["--wait-for", selector]);
    }
    if !options.keys.is_empty() {
        camera = camera.arguments(["--keys", &options.keys.join(",")]);
    }
    camera.advice("see the messages above").run_in_terminal()
}

fn build_page(project: &Project) -> Result<()> {
    println!("Building the page");
    project
        .command("trunk")
        .arguments(["build"])
        .advice("see the message; `trunk build` shows all of it")
        .run(&mut Progress::start())
}
