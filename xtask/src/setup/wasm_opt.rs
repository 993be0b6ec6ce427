//! wasm-opt, which makes the built page smaller. From the npm package `binaryen`, where it is a program for Node.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::Step;
use crate::progress::Progress;
use crate::project::{Project, install_root};
use crate::replace;

pub(super) struct WasmOpt<'a> {
    pub(super) project: &'a Project,
}

impl Step for WasmOpt<'_> {
    fn name(&self) -> String {
        format!("wasm-opt ({})", self.project.versions.binaryen_release())
    }

    fn purpose(&self) -> &'static str {
        "makes the page smaller"
    }

    fn duration(&self) -> &'static str {
        "about 10 s"
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        let root = install_root()?;
        Ok(Some(format!(
            "lays npm's binaryen into {} and a link to its wasm-opt into {}",
            package_folder()?.display(),
            root.join("bin").display()
        )))
    }

    fn found(&self) -> Result<Option<String>> {
        let Some(place) = self.project.find("wasm-opt") else { return Ok(None) };
        let answer = self.project.command("wasm-opt").arguments(["--version"]).answer().unwrap_or_default();
        let release = self.project.versions.binaryen_release();
        let fits = answer.split(|character: char| !(character.is_alphanumeric() || character == '_'));
        Ok(fits.into_iter().any(|word| word == release).then(|| place.display().to_string()))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        if self.project.find("npm").is_none() {
            bail!(
                "there is no npm to fetch it with\n  what to do: install Node.js, or put wasm-opt of binaryen {} \
                 on PATH",
                self.project.versions.binaryen_release()
            );
        }
        let folder = package_folder()?;
        let partial = replace::begin(&folder)?;
        self.project
            .command("npm")
            .arguments(["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix"])
            .arguments([&partial])
            .arguments([format!("binaryen@{}", self.project.versions.binaryen)])
            .advice("see that this machine reaches npm's registry, then run this again")
            .run(progress)?;
        replace::finish(&partial, &folder)?;
        link(&folder.join("node_modules/.bin/wasm-opt"), &install_root()?.join("bin/wasm-opt"))
    }
}

fn package_folder() -> Result<PathBuf> {
    Ok(install_root()?.join("binaryen"))
}

#[cfg(unix)]
fn link(program: &std::path::Path, place: &std::path::Path) -> Result<()> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let partial = place.with_extension("partial");
    if fs::symlink_metadata(&partial).is_ok() {
        fs::remove_file(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    std::os::unix::fs::symlink(program, &partial)
        .with_context(|| format!("cannot create the link {}", partial.display()))?;
    fs::rename(&partial, place).with_context(|| format!("cannot create the link {}", place.display()))
}

#[cfg(not(unix))]
fn link(program: &std::path::Path, place: &std::path::Path) -> Result<()> {
    bail!(
        "{} cannot be linked to on this system\n  what to do: put the folder of {} on PATH",
        place.display(),
        program.display()
    )
}
