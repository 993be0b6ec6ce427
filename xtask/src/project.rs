//! Where things lie: the project's own folder, its tools, cargo's folder for installed programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::versions::Versions;

/// The project's folder and what is pinned in it.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) versions: Versions,
    search_path: OsString,
}

impl Project {
    /// Finds the project from the place of this crate.
    pub(crate) fn locate() -> Result<Self> {
        // Set by cargo at run time; the value at compile time would be wrong once the folder was moved.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").context("start this program with `cargo xtask`")?;
        let root =
            Path::new(&manifest).parent().context("xtask does not lie in the project's folder")?.to_owned();
        let versions = Versions::read(&root.join("Cargo.toml"))?;
        let search_path = search_path()?;
        Ok(Self { root, versions, search_path })
    }

    /// The folder for what is downloaded or built for this project only. Git ignores it.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join(".tools")
    }

    /// Where trunk lays the built page.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// A program to be run in the project's folder, looked for in cargo's folder of installed programs first.
    pub(crate) fn command(&self, program: &str) -> Invocation {
        Invocation::new(program).directory(&self.root).environment("PATH", &self.search_path)
    }

    /// The full path of a program, or `None` if there is none of that name.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        which::which_in(program, Some(&self.search_path), &self.root).ok()
    }
}

/// The folder whose `bin` holds what `cargo install` installs.
pub(crate) fn install_root() -> Result<PathBuf> {
    if let Some(root) = env::var_os("CARGO_INSTALL_ROOT").or_else(|| env::var_os("CARGO_HOME")) {
        return Ok(root.into());
    }
    let home =
        env::home_dir().context("no home folder: set HOME, or CARGO_HOME to the folder cargo shall use")?;
    Ok(home.join(".cargo"))
}

fn search_path() -> Result<OsString> {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(install_root()?.join("bin")).chain(env::split_paths(&inherited));
    env::join_paths(folders).context("cargo's folder cannot be part of PATH")
}
