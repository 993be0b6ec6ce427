//! The `native-bench` command.

mod cli;
mod command;
mod progress;
mod report;
mod table_arguments;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Qemu(arguments) => command::qemu::execute(&arguments),
        Command::BrokenRings(arguments) => command::broken_rings::execute(&arguments),
        Command::Strategies(arguments) => command::strategies::execute(&arguments),
        Command::Exhibits(arguments) => command::exhibits::execute(&arguments),
    }
}
