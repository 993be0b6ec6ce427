//! What a run of all checks and tests came to.

use std::fmt;
use std::time::Duration;

use super::summary::Counts;
use crate::progress::spoken;

/// Where tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Native,
    Browser,
    EndToEnd,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Native => "native",
            Self::Browser => "in the browser (wasm)",
            Self::EndToEnd => "end-to-end",
        })
    }
}

/// The results so far. Displayed as a table of checks, a table of tests and one plain closing line.
#[derive(Default)]
pub(crate) struct Report {
    checks: Vec<Checked>,
    tests: Vec<Tested>,
    failures: Vec<String>,
}

struct Checked {
    name: &'static str,
    success: bool,
    duration: Duration,
}

struct Tested {
    kind: Kind,
    counts: Counts,
    duration: Duration,
}

impl Report {
    /// Takes note of a check.
    pub(crate) fn check(&mut self, name: &'static str, success: bool, duration: Duration) {
        if !success {
            self.failures.push(format!("{name}: failed"));
        }
        self.checks.push(Checked { name, success, duration });
    }

    /// Takes note of a test runner's counts (`None` if they could not be read) and whether it succeeded.
    pub(crate) fn tests(&mut self, kind: Kind, counts: Option<Counts>, success: bool, duration: Duration) {
        let failure = match counts {
            None => Some("the runner's summary could not be read".to_owned()),
            Some(Counts { passed: 0, failed: 0, .. }) => Some("no test ran".to_owned()),
            Some(Counts { failed: 0, .. }) if !success => {
                Some("the runner failed outside the tests".to_owned())
            }
            Some(Counts { failed: 0, .. }) => None,
            Some(Counts { failed, .. }) => Some(format!("{failed} failed")),
        };
        let mut counts = counts.unwrap_or_default();
        if let Some(failure) = failure {
            counts.failed = counts.failed.max(1);
            self.failures.push(format!("{kind} tests: {failure}"));
        }
        self.tests.push(Tested { kind, counts, duration });
    }

    /// Takes note of tests that could not be run.
    pub(crate) fn not_run(&mut self, kind: Kind, reason: &str) {
        self.failures.push(format!("{kind} tests: not run, since {reason}"));
        self.tests.push(Tested {
            kind,
            counts: Counts { failed: 1, ..Counts::default() },
            duration: Duration::ZERO,
        });
    }

    /// Whether nothing failed.
    pub(crate) fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// What failed, one line each.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Passed, failed, left out, over all tests; a failed check counts as one failed test.
    fn total(&self) -> Counts {
        let failed_checks = self.checks.iter().filter(|check| !check.success).count();
        self.tests.iter().map(|tested| tested.counts).fold(
            Counts { failed: failed_checks, ..Counts::default() },
            |sum, counts| Counts {
                passed: sum.passed + counts.passed,
                failed: sum.failed + counts.failed,
                ignored: sum.ignored + counts.ignored,
            },
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Checked { name, success, duration } in &self.checks {
            let result = if *success { "ok" } else { "FAILED" };
            writeln!(formatter, "{name:<24}{result:>8}{:>14}", spoken(*duration))?;
        }
        writeln!(formatter, "\n{:<24}{:>8}{:>8}{:>9}{:>14}", "tests", "passed", "failed", "ignored", "time")?;
        for Tested { kind, counts: Counts { passed, failed, ignored }, duration } in &self.tests {
            writeln!(formatter, "{kind:<24}{passed:>8}{failed:>8}{ignored:>9}{:>14}", spoken(*duration))?;
        }
        let Counts { passed, failed, ignored } = self.total();
        write!(formatter, "\n{passed} passed, {failed} failed")?;
        if ignored > 0 {
            write!(formatter, ", {ignored} skipped")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize) -> Option<Counts> {
        Some(Counts { passed, failed, ignored: 0 })
    }

    fn last_line(report: &Report) -> String {
        report.to_string().lines().last().unwrap_or_default().to_owned()
    }

    #[test]
    fn the_last_line_is_the_sum() {
        let mut report = Report::default();
        report.check("formatting", true, Duration::from_secs(1));
        report.tests(Kind::Native, counts(40, 0), true, Duration::from_secs(1));
        report.tests(Kind::Browser, counts(2, 0), true, Duration::from_secs(1));
        assert!(report.is_good());
        assert_eq!(last_line(&report), "42 passed, 0 failed");
    }

    #[test]
    fn nothing_that_went_wrong_passes_for_success() {
        let bad: [(Option<Counts>, bool); 4] =
            [(None, true), (counts(0, 0), true), (counts(3, 0), false), (counts(3, 1), false)];
        for (counts, success) in bad {
            let mut report = Report::default();
            report.tests(Kind::EndToEnd, counts, success, Duration::ZERO);
            assert!(!report.is_good(), "{counts:?} {success}");
            assert!(last_line(&report).ends_with(" 1 failed"), "{report}");
        }
        let mut report = Report::default();
        report.check("lints", false, Duration::ZERO);
        report.not_run(Kind::EndToEnd, "there is no page");
        assert_eq!(last_line(&report), "0 passed, 2 failed");
        assert_eq!(report.failures().len(), 2);
    }
}
