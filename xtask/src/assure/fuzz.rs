//! The fuzz targets of ring-core, each from the kept corpus and the seeds.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Effort, evidence::Evidence};
use crate::check::cargo;
use crate::command::Invocation;
use crate::progress::Progress;
use crate::project::Project;

const TARGETS: [&str; 3] = ["device", "driver", "trace"];

/// Executions of each target that ASSURANCE.md tells of.
const EXECUTIONS: u64 = 10_000_000;

/// The toolchain that has the sanitizer.
const TOOLCHAIN: &str = "+nightly";

/// Bytes of the longest input. Longer ones reach nothing that these do not.
const LONGEST_INPUT: u32 = 256;

/// What is kept of freed memory, and how much is told of where it came from: inputs are small and many.
const SANITIZER: &str = "quarantine_size_mb=4:malloc_context_size=0:detect_stack_use_after_return=0";

/// The targets, one after the other.
pub(super) fn run(project: &Project, effort: Effort) -> Result<Vec<Evidence>> {
    let folder = project.root.join("ring-core/fuzz");
    let mut progress = Progress::start();
    cargo(project)
        .arguments(["run", "--quiet", "--manifest-path", "ring-core/fuzz/Cargo.toml", "--example", "corpus"])
        .arguments(["--", "unpack"])
        .run(&mut progress)?;
    fuzz(project, "build")
        .arguments(["--no-trace-compares"])
        .advice("`rustup toolchain install nightly` provides the toolchain that has the sanitizer")
        .run(&mut progress)?;
    drop(progress);
    TARGETS
        .map(|target| attack(project, target, effort, folder.join("corpus").join(target)))
        .into_iter()
        .collect()
}

fn fuzz(project: &Project, task: &str) -> Invocation {
    cargo(project).arguments([TOOLCHAIN, "fuzz", task, "--fuzz-dir", "ring-core/fuzz"])
}

fn attack(project: &Project, target: &str, effort: Effort, corpus: PathBuf) -> Result<Evidence> {
    let bound = match effort {
        Effort::Full => format!("-runs={EXECUTIONS}"),
        Effort::Within(time) => format!("-max_total_time={}", time.as_secs().div_ceil(TARGETS.len() as u64)),
    };
    let outcome = fuzz(project, "run")
        .arguments(["--no-trace-compares", target])
        .arguments([corpus])
        .arguments(["--", &bound, &format!("-max_len={LONGEST_INPUT}"), "-entropic=0", "-reduce_inputs=0"])
        .environment("ASAN_OPTIONS", SANITIZER)
        .run_watched(&mut Progress::start())?;
    let done = Done::read(&outcome.output)
        .with_context(|| format!("the fuzzer did not say how far it came:\n{}", end_of(&outcome.output)))?;
    Ok(Evidence::new(format!("target {target}"), done.to_string(), outcome.status.success()))
}

/// The fuzzer's closing lines.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    executions: u64,
    coverage: u64,
    features: u64,
    inputs: String,
    seconds: u64,
}

impl Done {
    /// From `#N DONE cov: N ft: N corp: N/SIZE …` and `Done N runs in N second(s)`; after a failure, from the last line of
    /// that kind.
    fn read(output: &str) -> Option<Self> {
        let line = output.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "))?;
        let behind = |name: &str| line.split_whitespace().skip_while(|word| *word != name).nth(1);
        let seconds = output.lines().rev().find_map(|line| {
            line.strip_prefix("Done ")?.split_once(" runs in ")?.1.split(' ').next()?.parse().ok()
        });
        Some(Self {
            executions: line.trim_start_matches('#').split_whitespace().next()?.parse().ok()?,
            coverage: behind("cov:")?.parse().ok()?,
            features: behind("ft:")?.parse().ok()?,
            inputs: behind("corp:")?.split('/').next()?.to_owned(),
            seconds: seconds.unwrap_or_default(),
        })
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { executions, coverage, features, inputs, seconds } = self;
        write!(
            formatter,
            "{executions} executions in {seconds} s, {coverage} edges, {features} features, {inputs} inputs"
        )
    }
}

fn end_of(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_lines_are_read() {
        let output = "#2\tINITED cov: 3 ft: 4 corp: 1/1b exec/s: 0 rss: 26Mb\n\
            #500\tDONE   cov: 3350 ft: 14878 corp: 2434/266Kb lim: 256 exec/s: 6929 rss: 53Mb\n\
            Done 500 runs in 76 second(s)\n";
        let done =
            Done { executions: 500, coverage: 3350, features: 14878, inputs: "2434".into(), seconds: 76 };
        assert_eq!(Done::read(output), Some(done));
        assert_eq!(Done::read("error: no such target\n"), None);
    }
}
