//! Shows that something is going on: a spinner on a terminal, plain lines now and then elsewhere.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Without a terminal, a sign of life is printed this often.
const PLAIN_INTERVAL: Duration = Duration::from_secs(30);

/// The progress of one step.
pub(crate) struct Progress {
    spinner: Option<ProgressBar>,
    started: Instant,
    last_print: Instant,
    last_line: String,
}

impl Progress {
    /// Starts showing progress.
    pub(crate) fn start() -> Self {
        let spinner = io::stderr().is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("    {spinner} {elapsed} {wide_msg:.dim}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(Duration::from_millis(120));
            spinner
        });
        let now = Instant::now();
        Self { spinner, started: now, last_print: now, last_line: String::new() }
    }

    /// Shows nothing: for commands whose own output is shown.
    pub(crate) fn silent() -> Self {
        let now = Instant::now();
        Self { spinner: Some(ProgressBar::hidden()), started: now, last_print: now, last_line: String::new() }
    }

    /// Takes note of the newest line of output, or of what is being done.
    pub(crate) fn line(&mut self, line: &str) {
        match &self.spinner {
            Some(spinner) => spinner.set_message(line.to_owned()),
            None => line.clone_into(&mut self.last_line),
        }
    }

    /// To be called at least every second or so while something runs.
    pub(crate) fn alive(&mut self) {
        if self.spinner.is_none() && self.last_print.elapsed() >= PLAIN_INTERVAL {
            self.last_print = Instant::now();
            eprintln!("    … {} so far; {}", spoken(self.started.elapsed()), self.last_line);
        }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}

/// A duration as people say it: `0.3 s`, `42 s`, `3 min 5 s`.
pub(crate) fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spoken_in_fitting_units() {
        assert_eq!(spoken(Duration::from_millis(250)), "0.2 s");
        assert_eq!(spoken(Duration::from_secs(42)), "42 s");
        assert_eq!(spoken(Duration::from_secs(185)), "3 min 5 s");
    }
}
