//! The standard library for WebAssembly, without which the compiler cannot build the page.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{Step, wasm_target_from_source};
use crate::progress::Progress;
use crate::project::Project;

/// The compiler's name for WebAssembly in the browser.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

pub(super) struct WasmTarget<'a> {
    pub(super) project: &'a Project,
}

impl Step for WasmTarget<'_> {
    fn name(&self) -> String {
        format!("standard library for {TARGET}")
    }

    fn purpose(&self) -> &'static str {
        "the page is Rust compiled to WebAssembly"
    }

    fn duration(&self) -> &'static str {
        if rustup_may_download() { "about 10 s" } else { "about 1 min: built from Debian's source package" }
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        Ok(Some(format!("adds it to the compiler's own folder, {}", sysroot(self.project)?.display())))
    }

    fn found(&self) -> Result<Option<String>> {
        let folder = libraries(&sysroot(self.project)?);
        Ok(has_standard_library(&folder).then(|| folder.display().to_string()))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        if !rustup_may_download() {
            return wasm_target_from_source::provide(self.project, &sysroot(self.project)?, progress);
        }
        if self.project.find("rustup").is_none() {
            bail!(
                "this Rust was not installed by rustup, and it has no {TARGET}\n  what to do: install your \
                 distribution's package of it (Debian: libstd-rust-dev-wasm32), or use rustup"
            );
        }
        self.project
            .command("rustup")
            .arguments(["target", "add", TARGET])
            .advice(
                "see that this machine reaches rustup's server; where it may not, set RUSTUP_AUTO_INSTALL=0 \
                 (on Debian the library is then built from Debian's source package)",
            )
            .run(progress)
    }
}

/// Someone who tells rustup to install nothing by itself means it.
fn rustup_may_download() -> bool {
    env::var_os("RUSTUP_AUTO_INSTALL").is_none_or(|value| value != "0")
}

/// The folder of the compiler in use.
fn sysroot(project: &Project) -> Result<PathBuf> {
    let answer = project.command("rustc").arguments(["--print", "sysroot"]).answer()?;
    Ok(PathBuf::from(answer.trim()))
}

/// Where a compiler keeps the compiled libraries for WebAssembly.
pub(super) fn libraries(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

fn has_standard_library(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// The version of the compiler in use, such as `1.95.0`.
pub(super) fn compiler_version(project: &Project) -> Result<String> {
    let answer = project.command("rustc").arguments(["--version", "--verbose"]).answer()?;
    let release = answer.lines().find_map(|line| line.strip_prefix("release: "));
    Ok(release.context("`rustc --version --verbose` names no release")?.to_owned())
}
