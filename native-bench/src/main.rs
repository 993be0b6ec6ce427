//! The `native-bench` command.

mod cli;
mod progress;
mod report;
mod table_arguments;

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser, error::ErrorKind};
use cli::{Cli, Command, QemuArguments};
use native_bench::{
    Error,
    run::{Options, Report, run},
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};
use std::{
    io::Write,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

/// What shells give a program that an interrupt has ended.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let Cli { command: Command::Qemu(arguments) } = Cli::parse();
    let options = match arguments.options() {
        Ok(options) => options,
        Err(message) => Cli::command().error(ErrorKind::ValueValidation, message).exit(),
    };
    let mut display = progress::Display::new();
    let result = qemu(&arguments, &options, &mut display);
    display.clear();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            match &options.record {
                Some(file) if display.recorded => eprintln!("the recording is whole: {}", file.display()),
                Some(file) => eprintln!("nothing was recorded; {} is as it was before", file.display()),
                None => {}
            }
            let interrupted = matches!(error.downcast_ref(), Some(Error::Interrupted { .. }));
            if interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE }
        }
    }
}

fn qemu(arguments: &QemuArguments, options: &Options, display: &mut progress::Display) -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second one ends the program at once; QEMU goes with it.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), interrupted.clone())
            .and_then(|_| flag::register(signal, interrupted.clone()))
            .context("signals cannot be caught")?;
    }
    let report = run(options, &interrupted, &mut |progress| display.show(progress))?;
    display.clear();
    print(&report, arguments.json)
}

fn print(report: &Report, json: bool) -> Result<()> {
    let text = report::render(report);
    let mut output = std::io::stdout().lock();
    let written = if json {
        eprint!("{text}");
        let json = serde_json::to_string_pretty(report)?;
        writeln!(output, "{json}")
    } else {
        output.write_all(text.as_bytes())
    };
    written.and_then(|()| output.flush()).context("the results cannot be printed")
}
