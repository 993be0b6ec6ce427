//! Instructions, counted by running this program again under valgrind's callgrind.
//!
//! Counts repeat exactly, where times on a busy machine do not. The program that is run calls [`counted`] around what is to
//! be counted and [`end_case`] after each case; callgrind counts inside the one and writes a file at the other.

use std::{
    ffi::OsStr,
    hint::black_box,
    io,
    path::Path,
    process::{Command, Stdio},
};

/// Runs `work`; callgrind counts it and nothing outside.
#[inline(never)]
pub fn counted(work: &mut dyn FnMut()) {
    work();
    // What follows keeps this a call of its own, not a jump.
    black_box(());
}

/// Ends a case: callgrind writes down what it counted since the last one.
#[inline(never)]
pub fn end_case() {
    black_box(());
}

/// How often nothing is counted, to know what counting costs.
const CALLS_OF_NOTHING: u32 = 1000;

/// The case before all others: nothing, counted many times.
pub fn count_nothing() {
    for _ in 0..CALLS_OF_NOTHING {
        counted(&mut || {});
    }
    end_case();
}

/// Instructions of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    total: u64,
    // Of one call of `counted` with nothing to do.
    call: f64,
}

impl Count {
    /// Without what so many calls of [`counted`] cost by themselves.
    pub fn without(self, calls: f64) -> f64 {
        (self.total as f64 - calls * self.call).max(0.0)
    }
}

/// Why there are no counts.
#[derive(Debug, thiserror::Error)]
pub enum InstructionsError {
    /// No valgrind.
    #[error(
        "valgrind could not be started: {0}; instructions are counted by it (Debian: apt install valgrind)"
    )]
    Start(io::Error),
    /// It or the program under it failed.
    #[error("the run under valgrind failed: {status}; its last words: {said}")]
    Failed {
        /// How it ended.
        status: String,
        /// The last lines of its standard error.
        said: String,
    },
    /// A place for its files, or one of them.
    #[error("valgrind's results cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A file without its total.
    #[error("valgrind's file for case {case} has no line `totals:`")]
    NoTotal {
        /// Which, counted from 1.
        case: usize,
    },
    /// Another number of cases than expected.
    #[error("valgrind wrote down {found} cases, expected {expected}")]
    Cases {
        /// How many it wrote.
        found: usize,
        /// How many there are.
        expected: usize,
    },
}

/// Instructions of each of `cases` cases, when this program is run with `arguments`: it calls [`count_nothing`], and then
/// [`end_case`] after each case.
pub fn count<A: AsRef<OsStr>>(
    arguments: impl IntoIterator<Item = A>,
    cases: usize,
) -> Result<Vec<Count>, InstructionsError> {
    let folder = tempfile::tempdir()?;
    let module = module_path!();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect={module}::counted"))
        .arg(format!("--dump-after={module}::end_case"))
        .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(InstructionsError::Start)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let mut last: Vec<&str> = said.lines().rev().take(5).collect();
        last.reverse();
        return Err(InstructionsError::Failed { status: output.status.to_string(), said: last.join("; ") });
    }
    let totals: Vec<u64> = (1..)
        .map(|case| (case, folder.path().join(format!("out.{case}"))))
        .take_while(|(_, path)| path.exists())
        .map(|(case, path)| total(&path, case))
        .collect::<Result<_, _>>()?;
    match totals.split_first() {
        Some((nothing, totals)) if totals.len() == cases => {
            let call = *nothing as f64 / f64::from(CALLS_OF_NOTHING);
            Ok(totals.iter().map(|total| Count { total: *total, call }).collect())
        }
        _ => Err(InstructionsError::Cases { found: totals.len().saturating_sub(1), expected: cases }),
    }
}

fn total(path: &Path, case: usize) -> Result<u64, InstructionsError> {
    let text = std::fs::read(path)?;
    let text = String::from_utf8_lossy(&text);
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or(InstructionsError::NoTotal { case })
}
