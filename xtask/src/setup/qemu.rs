//! QEMU, whose virtio-net device the recorded runs and the measurements come from. One on PATH is used if it is new
//! enough; else Debian's packages are unpacked into the project's folder, not installed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Step;
use crate::debian::{self, PrivateApt};
use crate::progress::Progress;
use crate::project::Project;
use crate::replace;

const PROGRAM: &str = "qemu-system-x86_64";
/// Tells native-bench and its tests which QEMU to run.
pub(crate) const VARIABLE: &str = "NATIVE_BENCH_QEMU";

const PACKAGE: &str = "qemu-system-x86";

/// The first version whose virtio-net knows VIRTIO_F_IN_ORDER.
const OLDEST: (u32, u32) = (9, 1);

pub(super) struct Qemu<'a> {
    pub(super) project: &'a Project,
}

/// The path of the QEMU to be used, or `None` if set-up has to provide one.
pub(crate) fn program(project: &Project) -> Option<PathBuf> {
    let on_path = project.find(PROGRAM);
    on_path.filter(|program| is_new_enough(project, program)).or_else(|| {
        let own = folder(project).join(PROGRAM);
        own.exists().then_some(own)
    })
}

impl Step for Qemu<'_> {
    fn name(&self) -> String {
        "QEMU".to_owned()
    }

    fn purpose(&self) -> &'static str {
        "its virtio-net device is the other side of every recorded ring"
    }

    fn duration(&self) -> &'static str {
        "about 30 s, 80 MB"
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn found(&self) -> Result<Option<String>> {
        Ok(program(self.project).map(|program| program.display().to_string()))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        let Some(codename) = debian::codename() else {
            bail!(
                "no {PROGRAM} of version {}.{} or newer on PATH\n  what to do: install QEMU with your system's \
                 package manager (Fedora: qemu-system-x86-core, Arch: qemu-system-x86, Homebrew: qemu)",
                OLDEST.0,
                OLDEST.1
            );
        };
        let work = self.project.tools().join("qemu-packages");
        let suites = [codename.as_str(), &format!("{codename}-backports")];
        let packages = download(self.project, &work, &suites, progress)?;
        let folder = folder(self.project);
        let partial = replace::begin(&folder)?;
        let root = partial.join("root");
        for package in packages {
            progress.line(&format!("unpacking {}", package.display()));
            self.project
                .command("dpkg-deb")
                .arguments(["--extract".as_ref(), package.as_path(), root.as_path()])
                .advice("run this again; it downloads the packages anew")
                .run(progress)?;
        }
        write_wrapper(&partial)?;
        try_out(self.project, &partial.join(PROGRAM))?;
        replace::finish(&partial, &folder)?;
        replace::remove(&work)
    }
}

fn folder(project: &Project) -> PathBuf {
    project.tools().join("qemu")
}

fn download(
    project: &Project,
    work: &Path,
    suites: &[&str],
    progress: &mut Progress,
) -> Result<Vec<PathBuf>> {
    let folder = replace::begin(&work.join("downloads"))?;
    let apt = PrivateApt::fetch_lists(project, &work.join("apt"), suites, progress)?;
    let newest = suites.last().context("no suite to look in")?;
    let packages = apt.missing_with_dependencies(PACKAGE, newest)?;
    apt.download(&packages, &folder, progress)
}

/// A script that runs the unpacked QEMU with the libraries and the firmware that lie beside it.
fn write_wrapper(folder: &Path) -> Result<()> {
    let script = format!(
        r#"#!/bin/sh
# Runs the QEMU that is unpacked beside this script. Made by `cargo xtask setup`.
root=$(dirname "$(readlink -f "$0")")/root
libraries=
for folder in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
    libraries=$libraries${{libraries:+:}}$folder
done
LD_LIBRARY_PATH=$libraries${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH
exec "$root/usr/bin/{PROGRAM}" -L "$root/usr/share/qemu" -L "$root/usr/share/seabios" \
    -L "$root/usr/lib/ipxe/qemu" "$@"
"#
    );
    let file = folder.join(PROGRAM);
    fs::write(&file, script).with_context(|| format!("cannot write {}", file.display()))?;
    make_executable(&file)
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", file.display()))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}

/// An unpacked program may lack a library; better to know now than in the middle of a test.
fn try_out(project: &Project, program: &Path) -> Result<()> {
    if is_new_enough(project, program) {
        return Ok(());
    }
    let answer = version_answer(project, program)?;
    let first = answer.lines().next().unwrap_or_default().to_owned();
    bail!(
        "Debian's newest is too old: {first}, needed is {}.{}\n  what to do: put a newer {PROGRAM} on PATH",
        OLDEST.0,
        OLDEST.1
    )
}

fn is_new_enough(project: &Project, program: &Path) -> bool {
    version_answer(project, program)
        .ok()
        .and_then(|answer| version_in(&answer))
        .is_some_and(|version| version >= OLDEST)
}

fn version_answer(project: &Project, program: &Path) -> Result<String> {
    project
        .command(&program.to_string_lossy())
        .arguments(["--version"])
        .advice("this copy of QEMU does not run here; install QEMU so that it is on PATH")
        .answer()
}

/// The version in `QEMU emulator version 10.0.2 (Debian …)`.
fn version_in(answer: &str) -> Option<(u32, u32)> {
    let mut words = answer.split_whitespace().skip_while(|word| *word != "version");
    let mut numbers = words.nth(1)?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(version_in("QEMU emulator version 10.0.2 (Debian 1:10.0.2)"), Some((10, 0)));
        assert!(version_in("QEMU emulator version 10.0.2").unwrap() > OLDEST);
        assert!(version_in("QEMU emulator version 7.2.19").unwrap() < OLDEST);
        assert_eq!(version_in("something else"), None);
    }
}
