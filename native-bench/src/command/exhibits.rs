//! `native-bench exhibits`.

use super::{columns::aligned, failed, print};
use crate::{cli::MeasureArguments, progress::Display};
use anyhow::Result;
use native_bench::{
    exhibits::{Effort, Figures, instructions, run_counted, times},
    measure::Turns,
};
use std::process::ExitCode;

/// Measures every variant and prints the figures.
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
    let mut figures = times(effort, |done, of| display.part("measuring", done, of))?;
    if arguments.instructions {
        instructions(&mut figures, ["exhibits", "--counted"])?;
    }
    display.clear();
    print(&render(&figures, arguments.instructions), &figures, arguments.json)
}

/// One block for each question.
fn render(figures: &[Figures], counted: bool) -> String {
    let mut text = String::new();
    for block in figures.chunk_by(|one, other| one.exhibit == other.exhibit) {
        let mut head = vec!["elements", "variant", "ns/buffer, both sides", "x first", "(p10-p90)"];
        if counted {
            head.push("driver's instructions/buffer");
        }
        let mut rows = vec![head.into_iter().map(String::from).collect()];
        rows.extend(block.iter().map(|figures| {
            let Turns { nanoseconds, ratio } = figures.turns;
            let mut row = vec![
                figures.elements.to_string(),
                figures.variant.name().to_owned(),
                nanoseconds.to_string(),
                format!("{:.3}", ratio.median),
                format!("({:.3}-{:.3})", ratio.p10, ratio.p90),
            ];
            row.extend(figures.instructions.map(|count| format!("{count:.1}")));
            row
        }));
        if let Some(first) = block.first() {
            text += &format!("{}\n{}\n", first.exhibit, aligned(&rows, 2));
        }
    }
    text
}
