//! `cargo xtask record`: makes the run that ships with the page again, from QEMU.

use anyhow::Result;
use clap::Args;

use crate::project::Project;
use crate::setup;
use crate::setup::qemu;

#[derive(Args)]
pub(crate) struct Options {
    /// More arguments for `native-bench qemu`, such as `--seed 7`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// The run that the page opens with.
const SHIPPED_RUN: &str = "web/runs/transmit-and-receive.vqt";

/// Records the shipped run.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    setup::for_recording(project)?;
    let mut bench = project.command("cargo").arguments([
        "run",
        "--release",
        "--locked",
        "--package",
        "native-bench",
        "--",
    ]);
    if let Some(program) = qemu::program(project) {
        bench = bench.environment(qemu::VARIABLE, program);
    }
    bench
        .arguments(["qemu", "--scenario", "mixed", "--record", SHIPPED_RUN])
        .arguments(&options.arguments)
        .advice("see the messages above; the old recording is untouched")
        .run_in_terminal()
}
