//! The tools that are Rust programs: installed by `cargo install` into cargo's own folder, so that `trunk serve`
//! and `wasm-pack test` work in any shell afterwards.

use std::path::PathBuf;

use anyhow::Result;

use super::Step;
use crate::progress::Progress;
use crate::project::{Project, install_root};

/// A program to be compiled from its published package.
pub(super) struct CargoTool<'a> {
    project: &'a Project,
    package: &'static str,
    version: &'a str,
    /// The program that tells its version, then those that come with it.
    programs: &'static [&'static str],
    arguments: &'static [&'static str],
    /// What makes the first program tell its version.
    question: &'static [&'static str],
    purpose: &'static str,
    duration: &'static str,
}

/// Makes the JavaScript that the browser loads the page's WebAssembly with.
pub(super) fn wasm_bindgen(project: &Project) -> CargoTool<'_> {
    CargoTool {
        project,
        package: "wasm-bindgen-cli",
        version: &project.versions.wasm_bindgen,
        programs: &["wasm-bindgen", "wasm-bindgen-test-runner"],
        arguments: &["--no-default-features"],
        question: &["--version"],
        purpose: "makes the JavaScript that loads the page's WebAssembly, and runs its tests",
        duration: "3 to 5 min: compiled once",
    }
}

/// Builds and serves the page.
pub(super) fn trunk(project: &Project) -> CargoTool<'_> {
    CargoTool {
        project,
        package: "trunk",
        version: &project.versions.trunk,
        programs: &["trunk"],
        // Its manifest asks for a newer compiler than it needs.
        arguments: &["--no-default-features", "--features", "rustls", "--ignore-rust-version"],
        question: &["--version"],
        purpose: "builds the page and serves it",
        duration: "8 to 10 min: compiled once",
    }
}

/// Runs the page's tests in a browser.
pub(super) fn wasm_pack(project: &Project) -> CargoTool<'_> {
    CargoTool {
        project,
        package: "wasm-pack",
        version: &project.versions.wasm_pack,
        programs: &["wasm-pack"],
        arguments: &[],
        question: &["--version"],
        purpose: "runs the page's tests in a browser",
        duration: "2 to 3 min: compiled once",
    }
}

/// Builds and runs the fuzz targets.
pub(super) fn cargo_fuzz(project: &Project) -> CargoTool<'_> {
    CargoTool {
        project,
        package: "cargo-fuzz",
        version: &project.versions.cargo_fuzz,
        programs: &["cargo-fuzz"],
        arguments: &[],
        question: &["--version"],
        purpose: "builds and runs the fuzz targets",
        duration: "1 to 2 min: compiled once",
    }
}

/// Plants faults in code and looks whether tests notice.
pub(super) fn cargo_mutants(project: &Project) -> CargoTool<'_> {
    CargoTool {
        project,
        package: "cargo-mutants",
        version: &project.versions.cargo_mutants,
        programs: &["cargo-mutants"],
        arguments: &[],
        question: &["mutants", "--version"],
        purpose: "plants faults in code and looks whether tests notice",
        duration: "2 to 3 min: compiled once",
    }
}

impl CargoTool<'_> {
    fn install(&self, lock: &[&str], progress: &mut Progress) -> Result<()> {
        self.project
            .command("cargo")
            // Forced: what lies there has another version or cannot tell it.
            .arguments(["install", "--force", "--root"])
            .arguments([install_root()?])
            .arguments(lock)
            .arguments([format!("{}@{}", self.package, self.version)])
            .arguments(self.arguments)
            // One folder for all of them, so that they share what they have in common and an interrupted
            // build goes on where it stopped.
            .environment("CARGO_TARGET_DIR", build_folder(self.project))
            // Tools that run for seconds: quick to compile matters more than quick to run.
            .environment("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .environment("CARGO_PROFILE_RELEASE_LTO", "off")
            .environment("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .environment("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .environment("CARGO_PROFILE_RELEASE_STRIP", "true")
            .advice(format!(
                "see that this machine reaches crates.io and run this again (it goes on where it stopped), or \
                 put {} {} on PATH",
                self.programs.join(" and "),
                self.version
            ))
            .run(progress)
    }
}

/// Where the tools are compiled. Can be removed once they are installed.
pub(super) fn build_folder(project: &Project) -> PathBuf {
    project.tools().join("build")
}

impl Step for CargoTool<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }

    fn purpose(&self) -> &'static str {
        self.purpose
    }

    fn duration(&self) -> &'static str {
        self.duration
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        let folder = install_root()?.join("bin");
        Ok(Some(format!("installs {} into {}", self.programs.join(", "), folder.display())))
    }

    fn found(&self) -> Result<Option<String>> {
        let mut places = Vec::new();
        for program in self.programs {
            let Some(place) = self.project.find(program) else { return Ok(None) };
            places.push(place.display().to_string());
        }
        let Some(first) = self.programs.first() else { return Ok(None) };
        // A program that cannot tell its version is as good as missing: it is installed anew.
        let answer = self.project.command(first).arguments(self.question).answer().unwrap_or_default();
        let fits = answer.split_whitespace().nth(1) == Some(self.version);
        Ok(fits.then(|| places.join(", ")))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        self.install(&["--locked"], progress).or_else(|_| {
            // A mirror may lag behind the versions that the published lock file names.
            progress.line("the locked versions were not to be had; trying compatible ones");
            self.install(&[], progress)
        })
    }
}
