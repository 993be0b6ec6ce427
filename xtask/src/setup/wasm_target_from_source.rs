//! Builds the standard library for WebAssembly from Debian's source package of the same compiler version, for
//! machines on which rustup may download nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::wasm_target::{TARGET, compiler_version, libraries};
use crate::debian::{Package, PrivateApt};
use crate::progress::Progress;
use crate::project::Project;
use crate::replace;

const SOURCE_PACKAGE: &str = "rust-src";

/// The suites that carry recent compilers, in the order they are looked through.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];

/// Builds the library and lays it into `sysroot`.
pub(super) fn provide(project: &Project, sysroot: &Path, progress: &mut Progress) -> Result<()> {
    let version = compiler_version(project)?;
    let work = project.tools().join("wasm32-standard-library");
    let source = fetch_source(project, &work, &version, progress)?;
    let built = build(project, sysroot, &source, &work, progress)?;
    install(&built, &libraries(sysroot))?;
    replace::remove(&work)
}

/// Fetches and unpacks the source; returns its `library` folder.
fn fetch_source(project: &Project, work: &Path, version: &str, progress: &mut Progress) -> Result<PathBuf> {
    let unpacked = work.join("source");
    let library = unpacked.join(format!("usr/src/rustc-{version}/library"));
    if library.exists() {
        return Ok(library);
    }
    let packages = replace::begin(&work.join("packages"))?;
    let package = download(project, work, &packages, version, progress)?;
    progress.line("unpacking the source");
    let partial = replace::begin(&unpacked)?;
    unpack_library(&package, &partial, version)?;
    replace::finish(&partial, &unpacked)?;
    replace::remove(&packages)?;
    Ok(library)
}

fn download(
    project: &Project,
    work: &Path,
    packages: &Path,
    version: &str,
    progress: &mut Progress,
) -> Result<PathBuf> {
    for suite in SUITES {
        let apt = PrivateApt::fetch_lists(project, &work.join(suite), &[suite], progress)?;
        if let Some(found) = apt.version_starting_with(SOURCE_PACKAGE, &format!("{version}+"))? {
            let package = Package { name: SOURCE_PACKAGE.to_owned(), version: found };
            let files = apt.download(&[package], packages, progress)?;
            return files.into_iter().next().context("apt said it downloaded rust-src and left no file");
        }
    }
    bail!(
        "Debian has no {SOURCE_PACKAGE} {version} in {}\n  what to do: unset RUSTUP_AUTO_INSTALL if rustup may \
         download the library, or use a compiler of a version that Debian carries",
        SUITES.join(" or ")
    )
}

/// Unpacks only the folder that is needed: the rest of the package is several times as large.
fn unpack_library(package: &Path, into: &Path, version: &str) -> Result<()> {
    let mut reader = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `dpkg-deb`")?;
    let archive = reader.stdout.take().context("dpkg-deb has no output")?;
    let unpacked = Command::new("tar")
        .args(["--extract", "--directory"])
        .arg(into)
        .arg(format!("./usr/src/rustc-{version}/library"))
        .stdin(archive)
        .status()
        .context("cannot start `tar`")?;
    let read = reader.wait().context("cannot wait for dpkg-deb")?;
    if !(unpacked.success() && read.success()) {
        bail!(
            "{} could not be unpacked (dpkg-deb: {read}, tar: {unpacked})\n  what to do: run this again; it \
             downloads the package anew",
            package.display()
        );
    }
    Ok(())
}

/// Compiles the library; returns the folder that holds the compiled crates.
fn build(
    project: &Project,
    sysroot: &Path,
    library: &Path,
    work: &Path,
    progress: &mut Progress,
) -> Result<PathBuf> {
    let cargo_folder = library.join(".cargo");
    fs::create_dir_all(&cargo_folder).with_context(|| format!("cannot create {}", cargo_folder.display()))?;
    write(
        &cargo_folder.join("config.toml"),
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n",
    )?;
    leave_out_tests(&library.join("Cargo.toml"))?;
    let target = work.join("target");
    project
        .command(&sysroot.join("bin/cargo").to_string_lossy())
        .directory(library)
        // The profile `dist` is the one upstream ships its libraries with. It keeps the bitcode for link-time
        // optimisation.
        .arguments(["build", "-Zavoid-dev-deps", "--offline", "--profile", "dist", "--package", "sysroot"])
        .arguments(["--features", "panic-unwind,compiler-builtins-mem", "--target", TARGET])
        .environment("RUSTC", sysroot.join("bin/rustc"))
        // The library uses unstable features by its nature.
        .environment("RUSTC_BOOTSTRAP", "1")
        .environment("CARGO_TARGET_DIR", &target)
        .environment("CARGO_PROFILE_DIST_DEBUG", "0")
        // Makes the crates' names differ from those of a program's own dependencies.
        .environment("__CARGO_DEFAULT_LIB_METADATA", "wasm32-standard-library")
        .environment(
            "RUSTFLAGS",
            format!(
                "-Zforce-unstable-if-unmarked --remap-path-prefix={}=/rustc/library",
                library.display()
            ),
        )
        .without_environment("CARGO_BUILD_TARGET")
        .without_environment("CARGO_ENCODED_RUSTFLAGS")
        .advice("run this again; it goes on where it stopped. If it fails at the same place, use rustup's library")
        .run(progress)?;
    Ok(target.join(TARGET).join("dist/deps"))
}

/// Two members are tests whose dependencies Debian does not ship.
fn leave_out_tests(cargo_toml: &Path) -> Result<()> {
    let manifest = fs::read_to_string(cargo_toml)
        .with_context(|| format!("the source package has no {}", cargo_toml.display()))?;
    let kept: String = manifest
        .lines()
        .filter(|line| !line.contains("\"coretests\"") && !line.contains("\"alloctests\""))
        .flat_map(|line| [line, "\n"])
        .collect();
    write(cargo_toml, &kept)
}

fn install(built: &Path, libraries: &Path) -> Result<()> {
    let partial = replace::begin(libraries)?;
    for entry in fs::read_dir(built).with_context(|| format!("cannot list {}", built.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rlib")
            && let Some(name) = path.file_name()
        {
            fs::copy(&path, partial.join(name))
                .with_context(|| format!("cannot copy {} to {}", path.display(), partial.display()))?;
        }
    }
    replace::finish(&partial, libraries)
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
