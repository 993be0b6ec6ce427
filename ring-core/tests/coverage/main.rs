//! Every format with every set of features, each side for itself and with every table strategy: what was really exercised,
//! counted by what happened. A combination of which one feature was not exercised fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod combination;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/either.rs"]
mod either;
#[path = "../common/model/mod.rs"]
mod model;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/strategies.rs"]
mod strategies;
mod table;

use combination::{Combination, all};
use libtest_mimic::{Arguments, Failed, Trial};
use std::{
    process::ExitCode,
    sync::{Arc, Mutex},
};
use table::Table;

fn main() -> ExitCode {
    let table = Arc::new(Mutex::new(Table::default()));
    let trial = |(index, combination): (usize, Combination)| {
        let table = Arc::clone(&table);
        Trial::test(combination.to_string(), move || {
            let covered = combination.exercise();
            let row = combination.row(&covered);
            table.lock().map_err(|error| Failed::from(error.to_string()))?.add(index, row);
            match combination.missing(&covered) {
                missing if missing.is_empty() => Ok(()),
                missing => Err(Failed::from(format!("not exercised: {}", missing.join(", ")))),
            }
        })
    };
    let trials = all().enumerate().map(trial).collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    if let Ok(table) = table.lock() {
        println!("{table}");
    }
    conclusion.exit_code()
}
