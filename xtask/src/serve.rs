//! `cargo xtask serve`: the page on this machine, built anew after every change.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};
use clap::Args;

use crate::project::Project;
use crate::setup;

#[derive(Args)]
pub(crate) struct Options {
    /// The port to serve on.
    #[arg(long, default_value_t = 8080)]
    port: u16,
}

/// Sets up what serving needs and serves until interrupted.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    setup::for_serving(project)?;
    // Asked before the build, which takes much longer than the question.
    TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).with_context(|| {
        format!(
            "port {0} of this machine is taken\n  what to do: cargo xtask serve --port {1}",
            options.port,
            options.port.wrapping_add(1)
        )
    })?;
    println!(
        "Building the page (the first time about 2 min), then serving it at http://127.0.0.1:{}",
        options.port
    );
    println!("Ctrl-C ends it.");
    project
        .command("trunk")
        .arguments(["serve", "--port", &options.port.to_string()])
        .advice("see the messages above")
        .run_in_terminal()
}
