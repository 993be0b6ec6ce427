//! Tests that take a number for how long they run, and those that always do the same.

use anyhow::{Context, Result};

use super::{Effort, Part, evidence::Evidence};
use crate::check::cargo;
use crate::command::Invocation;
use crate::progress::Progress;
use crate::project::Project;
use crate::setup::qemu;
use crate::test::summary;

/// Cases of each property that ASSURANCE.md tells of, and cases that take a second.
const PROPERTY_CASES: u64 = 100_000;
const PROPERTY_CASES_A_SECOND: u64 = 50;

/// The same for what runs against other implementations.
const INTEROP_CASES: u64 = 20_000;
const INTEROP_CASES_A_SECOND: u64 = 50;

/// Packets of each combination with QEMU that ASSURANCE.md tells of, and packets that take a second.
const PACKETS: u64 = 20_000;
const PACKETS_A_SECOND: u64 = 40;

/// Which packets.
const SEED: &str = "7";

fn amount(effort: Effort, full: u64, a_second: u64) -> u64 {
    match effort {
        Effort::Full => full,
        Effort::Within(time) => (time.as_secs() * a_second).clamp(1, full),
    }
}

/// Runs a part that is tests or a program which checks itself.
pub(super) fn run(project: &Project, part: Part, effort: Effort) -> Result<Vec<Evidence>> {
    let (what, figure, command) = match part {
        Part::Interleavings => {
            let tests = test(project, "ring-core").arguments(["--test", "interleavings"]);
            ("loom models, with and without barriers", None, tests)
        }
        Part::Properties => {
            let cases = amount(effort, PROPERTY_CASES, PROPERTY_CASES_A_SECOND);
            let tests = test(project, "ring-core")
                .arguments(["--test", "model", "--test", "hostile", "--test", "accounts", "--test", "reset"])
                .environment("PROPTEST_CASES", cases.to_string());
            ("model, spoilt memory, accounts, resets", Some(format!("{cases} cases of each property")), tests)
        }
        Part::Interop => {
            let cases = amount(effort, INTEROP_CASES, INTEROP_CASES_A_SECOND);
            let tests = test(project, "ring-core")
                .arguments(["--test", "interop"])
                .environment("PROPTEST_CASES", cases.to_string());
            ("rust-vmm's device, rcore's driver", Some(format!("{cases} cases of each property")), tests)
        }
        Part::Qemu => {
            let packets = amount(effort, PACKETS, PACKETS_A_SECOND);
            let tests = test(project, "native-bench")
                .arguments(["--test", "qemu", "random"])
                .environment("NATIVE_BENCH_RANDOM_PACKETS", packets.to_string())
                .environment("NATIVE_BENCH_RANDOM_SEED", SEED)
                .environment("NATIVE_BENCH_REQUIRE_QEMU", "1");
            let figure = format!("{packets} packets of each combination, seed {SEED}");
            ("random packets through QEMU", Some(figure), with_qemu(project, tests))
        }
        Part::BrokenRings => return broken_rings(project),
        Part::Package => return package(project),
        Part::Fuzz | Part::Mutants => anyhow::bail!("{part:?} is not made of tests"),
    };
    let outcome = command.run_watched(&mut Progress::start())?;
    let counts = summary::count(&outcome.output)
        .with_context(|| format!("no test said how it ended:\n{}", outcome.output))?;
    let holds = outcome.status.success() && counts.passed > 0 && counts.failed == 0;
    if !holds {
        eprintln!("{}", outcome.output);
    }
    let counted = format!("{} tests passed, {} failed", counts.passed, counts.failed);
    let figure = figure.map_or_else(|| counted.clone(), |figure| format!("{figure}; {counted}"));
    Ok(vec![Evidence::new(what, figure, holds)])
}

/// Tests of a package, optimised: they are to try much.
fn test(project: &Project, package: &str) -> Invocation {
    cargo(project).arguments(["test", "--release", "--locked", "--no-fail-fast", "--package", package])
}

fn with_qemu(project: &Project, command: Invocation) -> Invocation {
    match qemu::program(project) {
        Some(program) => command.environment(qemu::VARIABLE, program),
        None => command,
    }
}

fn broken_rings(project: &Project) -> Result<Vec<Evidence>> {
    let bench = cargo(project).arguments([
        "run",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "native-bench",
        "--",
        "broken-rings",
    ]);
    let outcome = with_qemu(project, bench).run_watched(&mut Progress::start())?;
    if !outcome.status.success() {
        eprintln!("{}", outcome.output);
    }
    // The closing line has the counts.
    let last = outcome.output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(vec![Evidence::new("verdicts of QEMU's device and ours", last.trim(), outcome.status.success())])
}

fn package(project: &Project) -> Result<Vec<Evidence>> {
    let outcome = cargo(project)
        .arguments(["publish", "--dry-run", "--locked", "--package", "ring-core"])
        .run_watched(&mut Progress::start())?;
    if !outcome.status.success() {
        eprintln!("{}", outcome.output);
    }
    let packaged = outcome.output.lines().find(|line| line.trim_start().starts_with("Packaged"));
    Ok(vec![Evidence::new(
        "cargo publish --dry-run",
        packaged.unwrap_or_default().trim(),
        outcome.status.success() && packaged.is_some(),
    )])
}
