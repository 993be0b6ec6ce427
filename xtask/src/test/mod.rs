//! `cargo xtask test`: sets up what is missing, then runs every check and every test and counts them.

mod report;
pub(crate) mod summary;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use self::report::{Kind, Report};
use crate::check::{self, cargo};
use crate::command::Invocation;
use crate::page_size::{self, BUDGET_BYTES};
use crate::project::Project;
use crate::setup::{self, driver, qemu};

/// Runs everything, even after a failure, so that one run shows all that is wrong.
pub(crate) fn run(project: &Project) -> Result<()> {
    setup::for_testing(project)?;
    let mut report = Report::default();
    for check in check::all(project) {
        run_check(&mut report, check.name, check.command)?;
    }
    run_tests(&mut report, Kind::Native, native_tests(project))?;
    let temporary = tempfile::tempdir().context("no folder for the browser's temporary files")?;
    run_tests(&mut report, Kind::Browser, browser_tests(project, temporary.path()))?;
    let built = run_check(&mut report, "build of the page", project.command("trunk").arguments(["build"]))?;
    if built {
        check_page_size(&mut report, project);
        run_tests(&mut report, Kind::EndToEnd, end_to_end_tests(project))?;
    } else {
        report.not_run(Kind::EndToEnd, "the page was not built");
    }
    println!("\n{report}");
    if report.is_good() { Ok(()) } else { bail!("{}", report.failures().join("; ")) }
}

fn native_tests(project: &Project) -> Invocation {
    let tests = cargo(project).arguments([
        "test",
        "--locked",
        "--no-fail-fast",
        "--workspace",
        "--all-features",
        "--exclude",
        "end-to-end",
    ]);
    // Set-up has just provided QEMU: a test that finds none is not to be skipped.
    with_qemu(project, tests).environment("NATIVE_BENCH_REQUIRE_QEMU", "1")
}

/// Tells the tests which QEMU set-up found or provided.
fn with_qemu(project: &Project, tests: Invocation) -> Invocation {
    match qemu::program(project) {
        Some(program) => tests.environment(qemu::VARIABLE, program),
        None => tests,
    }
}

/// Browsers leave files behind; those in `temporary` go with it.
fn browser_tests(project: &Project, temporary: &Path) -> Invocation {
    let tests = project
        .command("wasm-pack")
        .arguments(["test", "--headless", "--chrome"])
        // Seconds. The default of 20 is short for replays in an unoptimised build on a busy machine.
        .environment("WASM_BINDGEN_TEST_TIMEOUT", "180")
        .environment("TMPDIR", temporary);
    // Without a driver and `no-install`, wasm-pack would look for a driver to download.
    let tests = match driver(project) {
        Some(driver) => tests.arguments(["--chromedriver", &driver]),
        None => tests,
    };
    tests.arguments(["--mode", "no-install", "web"])
}

fn end_to_end_tests(project: &Project) -> Invocation {
    cargo(project).arguments(["test", "--locked", "--no-fail-fast", "--package", "end-to-end"])
}

/// Runs a command that is good if it succeeds; returns whether it did.
fn run_check(report: &mut Report, name: &'static str, command: Invocation) -> Result<bool> {
    println!("\n── {name}");
    let started = Instant::now();
    let success = command.run_shown()?.status.success();
    report.check(name, success, started.elapsed());
    Ok(success)
}

fn run_tests(report: &mut Report, kind: Kind, command: Invocation) -> Result<()> {
    println!("\n── {kind} tests");
    let started = Instant::now();
    let outcome = command.run_shown()?;
    report.tests(kind, summary::count(&outcome.output), outcome.status.success(), started.elapsed());
    Ok(())
}

fn check_page_size(report: &mut Report, project: &Project) {
    println!("\n── size of the page");
    let started = Instant::now();
    let small_enough = match page_size::measure(&project.dist()) {
        Ok(sizes) => {
            for size in &sizes {
                println!("{:>9} bytes, compressed {:>7}: {}", size.plain, size.compressed, size.name);
            }
            let total: usize = sizes.iter().map(|size| size.compressed).sum();
            println!("compressed {total} of at most {BUDGET_BYTES} bytes");
            total <= BUDGET_BYTES
        }
        Err(error) => {
            println!("{error:#}");
            false
        }
    };
    report.check("size of the page", small_enough, started.elapsed());
}
