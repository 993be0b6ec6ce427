//! `native-bench qemu`.

use super::{failed, print};
use crate::{
    cli::{Cli, QemuArguments},
    progress, report,
};
use anyhow::{Context, Result};
use clap::{CommandFactory, error::ErrorKind};
use native_bench::{
    Error,
    run::{Options, Scenario, run},
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};
use std::{
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

/// What shells give a program that an interrupt has ended.
const INTERRUPTED: u8 = 130;

/// Runs it, prints the results, and says what became of the recording.
pub(crate) fn execute(arguments: &QemuArguments) -> ExitCode {
    let options = match arguments.options() {
        Ok(options) => options,
        Err(message) => refuse(&message),
    };
    let mut display = progress::Display::new();
    let result = bench(arguments, &options, &mut display);
    display.clear();
    let Err(error) = result else { return ExitCode::SUCCESS };
    let code = failed(&error);
    match &options.record {
        Some(file) if display.recorded => eprintln!("the recording is whole: {}", file.display()),
        Some(file) => eprintln!("nothing was recorded; {} is as it was before", file.display()),
        None => {}
    }
    if options.scenario == Scenario::Random {
        eprintln!("the run was random: `--seed {}` makes the same decisions again", options.seed);
    }
    let interrupted = matches!(error.downcast_ref(), Some(Error::Interrupted { .. }));
    if interrupted { ExitCode::from(INTERRUPTED) } else { code }
}

/// Ends the program as a wrong command line does, with the usage of this command.
fn refuse(message: &str) -> ! {
    let mut all = Cli::command();
    all.build();
    match all.find_subcommand_mut("qemu") {
        Some(command) => command.error(ErrorKind::ValueValidation, message).exit(),
        None => all.error(ErrorKind::ValueValidation, message).exit(),
    }
}

fn bench(arguments: &QemuArguments, options: &Options, display: &mut progress::Display) -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one ends the program at once; QEMU goes with it.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), interrupted.clone())
            .and_then(|_| flag::register(signal, interrupted.clone()))
            .context("signals cannot be caught")?;
    }
    let report = run(options, &interrupted, &mut |progress| display.show(progress))?;
    display.clear();
    print(&report::render(&report), &report, arguments.json)
}
