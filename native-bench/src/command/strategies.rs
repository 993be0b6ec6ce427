//! `native-bench strategies`.

use super::{columns::aligned, failed, print};
use crate::{cli::MeasureArguments, progress::Display};
use anyhow::Result;
use native_bench::strategies::{Comparison, Effort, InCase, compare, run_counted};
use std::process::ExitCode;

/// Measures every table strategy and prints the figures.
pub(crate) fn execute(arguments: &MeasureArguments) -> ExitCode {
    let mut display = Display::new();
    let result =
        if arguments.counted { run_counted().map_err(Into::into) } else { run(arguments, &mut display) };
    display.clear();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn run(arguments: &MeasureArguments, display: &mut Display) -> Result<()> {
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let counted = arguments.instructions.then_some(["strategies", "--counted"]);
    let comparison = compare(effort, counted, |done, of| display.part("measuring", done, of))?;
    display.clear();
    print(&render(&comparison), &comparison, arguments.json)
}

fn render(comparison: &Comparison) -> String {
    let mut text = String::from("strategies\n");
    let numbered = (1..).zip(&comparison.strategies);
    text += &aligned(
        &numbered
            .map(|(number, strategy)| vec![number.to_string(), strategy.to_string()])
            .collect::<Vec<_>>(),
        0,
    );
    if comparison.cases.iter().any(|case| case.instructions.iter().any(Option::is_some)) {
        text += "\nthe driver's instructions for a buffer; - where the ring does not hold the batch\n";
        text += &table(comparison, |case, index| {
            case.instructions.get(index)?.map(|count| format!("{count:.0}"))
        });
    }
    text += "\ntime of both sides for a buffer against strategy 1, median of the turns\n";
    text += &table(comparison, |case, index| {
        case.turns.get(index)?.map(|turns| format!("{:.2}", turns.ratio.median))
    });
    text += "\nns for a buffer of both sides, over all turns\n";
    text +=
        &table(comparison, |case, index| case.turns.get(index)?.map(|turns| turns.nanoseconds.to_string()));
    text += "\nmemory of tables held, and buffers that a full ring turned away of every thousand\n";
    let head = ["strategy", "load", "most bytes", "mean bytes", "bytes in the end", "turned away"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (strategy, loads) in comparison.strategies.iter().zip(&comparison.held) {
        rows.extend(loads.iter().map(|(load, held)| {
            vec![
                strategy.to_string(),
                load.name().to_owned(),
                held.high_water.to_string(),
                format!("{:.0}", held.mean),
                held.end.to_string(),
                format!("{:.0}", held.turned_away),
            ]
        }));
    }
    text + &aligned(&rows, 2)
}

/// A row for each case, a column for each strategy.
fn table(comparison: &Comparison, cell: impl Fn(&InCase, usize) -> Option<String>) -> String {
    let mut head: Vec<String> = ["ring", "elements", "batch", "used"].map(String::from).to_vec();
    head.extend((1..=comparison.strategies.len()).map(|number| number.to_string()));
    let mut rows = vec![head];
    for case in &comparison.cases {
        let mut row = vec![
            case.case.format.to_string(),
            case.case.elements.to_string(),
            case.case.batch.to_string(),
            case.case.order.name().to_owned(),
        ];
        row.extend(
            (0..comparison.strategies.len()).map(|index| cell(case, index).unwrap_or_else(|| "-".into())),
        );
        rows.push(row);
    }
    aligned(&rows, 4)
}
