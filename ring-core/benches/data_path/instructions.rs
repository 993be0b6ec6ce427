//! Instructions a buffer. Each variant of each case runs twice under callgrind, in a process of its own, the second time
//! for longer: the difference is of the added rounds alone, without start and warm-up, and repeats exactly.

use crate::{cases::Case, rounds};
use std::{error::Error, process::Command};

/// Runs one variant of one case: their places in the lists, and the number of rounds.
pub(crate) const ONE: &str = "--one";

/// Laps around the ring and the wrap of its counter are in both runs.
const SHORT: usize = 600;
const LONG: usize = 1200;

/// Prints every case.
pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!("format  elements batch  variant                   instructions/buffer  x floor");
    for (index, case) in Case::all().enumerate() {
        let mut floor = None;
        for (place, variant) in case.variants().into_iter().enumerate() {
            let difference = count(index, place, LONG)?
                .checked_sub(count(index, place, SHORT)?)
                .ok_or("the longer run took fewer instructions")?;
            let each = difference as f64 / ((LONG - SHORT) * case.batch) as f64;
            let ratio = each / *floor.get_or_insert(each);
            println!("{case}  {:<24} {each:>20.1}  {ratio:.2}", variant.name());
        }
    }
    Ok(())
}

/// What the child does.
pub(crate) fn run_one(case: usize, variant: usize, number: usize) -> Result<(), Box<dyn Error>> {
    let case = Case::all().nth(case).ok_or("no such case")?;
    let variant = case.variants().get(variant).copied().ok_or("no such variant")?;
    rounds(&mut *variant.pair(case)?, case.elements, case.batch, number)
}

/// Instructions of a child.
fn count(case: usize, variant: usize, number: usize) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([ONE, &case.to_string(), &variant.to_string(), &number.to_string()])
        .output()
        .map_err(|error| format!("valgrind (Debian: apt install valgrind) could not be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("the run under valgrind failed:\n{said}").into());
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.ok_or_else(|| format!("callgrind did not say what it collected:\n{said}").into())
}
