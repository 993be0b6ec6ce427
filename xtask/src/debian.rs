//! Debian packages without installing them: apt reads sources of the project's own, the machine's stay as they are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::command::Invocation;
use crate::progress::Progress;
use crate::project::Project;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The codename of the Debian release this machine runs, or `None` on other systems.
pub(crate) fn codename() -> Option<String> {
    codename_in(&fs::read_to_string("/etc/os-release").ok()?)
}

fn codename_in(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    if value("ID")? == "debian" { value("VERSION_CODENAME") } else { None }
}

/// A package at one version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// apt with sources, lists and cache in a folder of its own. It needs no privileges.
pub(crate) struct PrivateApt<'a> {
    project: &'a Project,
    folder: PathBuf,
}

impl<'a> PrivateApt<'a> {
    /// Prepares the folder and fetches the package lists of `suites` from the mirror that this machine uses.
    pub(crate) fn fetch_lists(
        project: &'a Project,
        folder: &Path,
        suites: &[&str],
        progress: &mut Progress,
    ) -> Result<Self> {
        let mirror = mirror(project)?;
        for part in ["lists/partial", "cache/archives/partial"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot create {}", part.display()))?;
        }
        let sources: String =
            suites.iter().map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n")).collect();
        let file = folder.join("sources.list");
        fs::write(&file, sources).with_context(|| format!("cannot write {}", file.display()))?;
        let apt = Self { project, folder: folder.to_owned() };
        apt.invocation("apt-get")
            .arguments(["update"])
            .advice("see that this machine reaches its Debian mirror (`apt-get update`), then run this again")
            .run(progress)?;
        Ok(apt)
    }

    /// The newest version of `package` whose number starts with `prefix`.
    pub(crate) fn version_starting_with(&self, package: &str, prefix: &str) -> Result<Option<String>> {
        let table = self.invocation("apt-cache").arguments(["madison", package]).answer()?;
        Ok(versions_in(&table).find(|version| version.starts_with(prefix)).map(str::to_owned))
    }

    /// `package` from `suite` and all it needs that this machine has not installed.
    pub(crate) fn missing_with_dependencies(&self, package: &str, suite: &str) -> Result<Vec<Package>> {
        let plan = self
            .invocation("apt-get")
            .arguments([
                "--simulate",
                "--no-install-recommends",
                "--target-release",
                suite,
                "install",
                package,
            ])
            .answer()?;
        let packages = installations_in(&plan);
        if packages.is_empty() {
            bail!("apt would install nothing for {package} from {suite}");
        }
        Ok(packages)
    }

    /// Downloads packages into `folder` as .deb files.
    pub(crate) fn download(
        &self,
        packages: &[Package],
        folder: &Path,
        progress: &mut Progress,
    ) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        self.invocation("apt-get")
            .directory(folder)
            .arguments(["download"])
            .arguments(packages.iter().map(|package| format!("{}={}", package.name, package.version)))
            .advice("see that this machine reaches its Debian mirror, then run this again")
            .run(progress)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                files.push(path);
            }
        }
        Ok(files)
    }

    fn invocation(&self, program: &str) -> Invocation {
        let option = |name: &str, value: String| ["-o".to_owned(), format!("{name}={value}")];
        let inside = |name: &str| self.folder.join(name).display().to_string();
        self.project
            .command(program)
            .environment("LC_ALL", "C.UTF-8")
            .arguments(option("Dir::Etc::SourceList", inside("sources.list")))
            .arguments(option("Dir::Etc::SourceParts", "/dev/null".to_owned()))
            .arguments(option("Dir::Etc::Preferences", "/dev/null".to_owned()))
            .arguments(option("Dir::Etc::PreferencesParts", "/dev/null".to_owned()))
            .arguments(option("Dir::State::Lists", inside("lists")))
            .arguments(option("Dir::Cache", inside("cache")))
            .arguments(option("Debug::NoLocking", "1".to_owned()))
            // apt would drop to a user that may not write into this folder.
            .arguments(option("APT::Sandbox::User", "root".to_owned()))
    }
}

/// The address this machine has its release's main packages from.
fn mirror(project: &Project) -> Result<String> {
    let codename = codename().context("this is not Debian: there are no Debian packages to be had")?;
    let targets = project
        .command("apt-get")
        .arguments(["indextargets", "--format", "$(RELEASE) $(SITE)", "Created-By: Packages"])
        .answer()?;
    mirror_in(&targets, &codename).with_context(|| {
        format!("apt's sources name no mirror for {codename}; add one to /etc/apt/sources.list.d")
    })
}

fn mirror_in(targets: &str, release: &str) -> Option<String> {
    targets.lines().find_map(|line| line.strip_prefix(release)?.strip_prefix(' ')).map(str::to_owned)
}

/// The second column of `apt-cache madison`.
fn versions_in(table: &str) -> impl Iterator<Item = &str> {
    table.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim)
}

/// The `Inst name [old] (version …)` lines of a simulated installation.
fn installations_in(plan: &str) -> Vec<Package> {
    let parse = |line: &str| {
        let rest = line.strip_prefix("Inst ")?;
        let (name, rest) = rest.split_once(' ')?;
        let (_, rest) = rest.split_once('(')?;
        let (version, _) = rest.split_once(' ')?;
        Some(Package { name: name.to_owned(), version: version.to_owned() })
    };
    plan.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debian_has_a_codename() {
        assert_eq!(codename_in("ID=debian\nVERSION_CODENAME=trixie\n"), Some("trixie".to_owned()));
        assert_eq!(codename_in("ID=\"fedora\"\nVERSION_CODENAME=\"\"\n"), None);
    }

    #[test]
    fn the_mirror_is_the_one_of_the_release_itself() {
        let targets = "bookworm-security http://a.example/security\nbookworm http://b.example/debian\n";
        assert_eq!(mirror_in(targets, "bookworm"), Some("http://b.example/debian".to_owned()));
        assert_eq!(mirror_in(targets, "trixie"), None);
    }

    #[test]
    fn versions_and_installations_are_read() {
        let table =
            " rust-src | 1.95.0+dfsg1-1~bpo13+2 | http://b.example trixie-backports/main amd64 Packages\n";
        assert_eq!(versions_in(table).collect::<Vec<_>>(), ["1.95.0+dfsg1-1~bpo13+2"]);
        let plan = "Reading state information...\n\
            Inst libnl-3-200 (3.7.0-0.2+b1 Debian:12/oldstable [amd64])\n\
            Inst libfdt1 [1.6.0] (1.6.1-4 Debian:12/oldstable [amd64])\n\
            Conf libfdt1 (1.6.1-4 Debian:12/oldstable [amd64])\n";
        let package =
            |name: &str, version: &str| Package { name: name.to_owned(), version: version.to_owned() };
        assert_eq!(
            installations_in(plan),
            [package("libnl-3-200", "3.7.0-0.2+b1"), package("libfdt1", "1.6.1-4")]
        );
    }
}
