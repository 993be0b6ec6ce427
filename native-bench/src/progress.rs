//! How far a run is, on standard error: a bar on a terminal, a few lines elsewhere.

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use native_bench::run::Progress;
use std::io::IsTerminal;

const PACKETS: &str = "{prefix} [{bar:30}] {pos}/{len} packets, {rate}, {eta} left";
const COMPARING: &str = "{prefix} [{bar:30}] {pos}/{len} pairs, {eta} left";
const CASES: &str = "{prefix} [{bar:30}] {pos}/{len} cases, {eta} left";

/// Draws it.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    terminal: bool,
    /// Whether the recording is whole and in its place.
    pub(crate) recorded: bool,
}

impl Display {
    pub(crate) fn new() -> Self {
        Display { bar: None, terminal: std::io::stderr().is_terminal(), recorded: false }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Ready { qemu, doorbell } => eprintln!("{qemu} is ready; doorbell: {doorbell}"),
            Progress::Packets { done, of } => self.draw("sending", PACKETS, done, of),
            Progress::Recorded => self.recorded = true,
            Progress::Comparing { done, of } => self.draw("cost of recording", COMPARING, done, of),
        }
    }

    /// So many of so many cases are done.
    pub(crate) fn part(&mut self, what: &'static str, done: u64, of: u64) {
        self.draw(what, CASES, done, of);
    }

    fn draw(&mut self, what: &'static str, template: &str, done: u64, of: u64) {
        if !self.terminal {
            // A line at the end of each part is enough for a log.
            if done == of {
                eprintln!("{what}: done");
            }
            return;
        }
        let bar = match &mut self.bar {
            Some(bar) if bar.prefix() == what => bar,
            place => {
                let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                    // The bar's text cannot fail to grow.
                    let _ = write!(text, "{:.0}/s", state.per_sec());
                };
                let style =
                    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
                if let Some(old) = place.take() {
                    old.finish_and_clear();
                }
                place.insert(
                    ProgressBar::new(of)
                        .with_style(style.with_key("rate", rate).progress_chars("=> "))
                        .with_prefix(what),
                )
            }
        };
        bar.set_position(done);
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
