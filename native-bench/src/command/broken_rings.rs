//! `native-bench broken-rings`.

use super::{failed, print};
use crate::cli::BrokenRingsArguments;
use anyhow::{Result, bail};
use native_bench::broken_rings::{Comparison, Comparisons, Verdict, run};
use std::{fmt::Write, process::ExitCode};

/// Gives every broken ring to both devices and prints what they did.
pub(crate) fn execute(arguments: &BrokenRingsArguments) -> ExitCode {
    match compare(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn compare(arguments: &BrokenRingsArguments) -> Result<()> {
    let comparisons = run(arguments.qemu.as_deref(), arguments.timeout())?;
    print(&render(&comparisons), &comparisons, arguments.json)?;
    let wrong = comparisons.surprises();
    if !wrong.is_empty() {
        bail!("not as recorded: {}", wrong.join("; "));
    }
    Ok(())
}

/// The table, aligned.
fn render(comparisons: &Comparisons) -> String {
    let mut rows = vec![["format", "ring", "QEMU", "ring-core", ""].map(String::from)];
    rows.extend(comparisons.rings.iter().map(row));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let same = comparisons.rings.iter().filter(|ring| ring.same).count();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "QEMU {}; {} rings, {same} with the same verdict from both devices\n",
        comparisons.qemu,
        comparisons.rings.len()
    );
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    if !comparisons.is_recorded_version {
        let _ =
            writeln!(text, "\nQEMU's verdicts are recorded of another version; they are shown, not judged.");
    }
    text
}

fn row(ring: &Comparison) -> [String; 5] {
    let verdict = match (ring.same, ring.difference) {
        _ if matches!(ring.qemu, Verdict::Unavailable { .. }) => "not compared".into(),
        (true, _) => "same".into(),
        (false, Some(difference)) => format!("differs: {difference}"),
        (false, None) => "DIFFERS, unexplained".into(),
    };
    let again = match (ring.qemu_works_again, ring.ring_core_works_again) {
        (Some(true) | None, true) => "",
        (Some(false), _) => "; QEMU does not work again after a reset",
        (_, false) => "; ring-core does not work again after a reset",
    };
    [
        ring.format.to_string(),
        ring.ring.into(),
        ring.qemu.to_string(),
        ring.ring_core.to_string(),
        format!("{verdict}{again}"),
    ]
}
