//! Chromium and its driver, in which the page is tested.

use std::env;
use std::path::Path;

use anyhow::{Result, bail};

use super::Step;
use crate::command::Invocation;
use crate::debian;
use crate::progress::Progress;
use crate::project::Project;

/// The names under which Chromium or Chrome is installed.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", MACOS_CHROME];
const MACOS_CHROME: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";

/// What apt is told. It waits a while if another apt is at work.
const INSTALL: [&str; 7] = [
    "install",
    "--yes",
    "--no-install-recommends",
    "-o",
    "DPkg::Lock::Timeout=120",
    "chromium",
    "chromium-driver",
];

pub(super) struct Browser<'a> {
    pub(super) project: &'a Project,
}

/// Who may install packages.
enum Installer {
    Root,
    Sudo,
    Nobody,
}

impl Step for Browser<'_> {
    fn name(&self) -> String {
        "Chromium and chromedriver".to_owned()
    }

    fn purpose(&self) -> &'static str {
        "the page is tested in a real browser"
    }

    fn duration(&self) -> &'static str {
        "about 1 min, 110 MB"
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        let packages = "installs Debian's packages chromium and chromium-driver";
        Ok(match (debian::codename(), self.installer()) {
            (Some(_), Installer::Root) => Some(packages.to_owned()),
            (Some(_), Installer::Sudo) => Some(format!("{packages}, by sudo")),
            _ => None,
        })
    }

    fn found(&self) -> Result<Option<String>> {
        let browser = BROWSERS.iter().find_map(|name| self.project.find(name));
        let driver = driver(self.project);
        Ok(browser.zip(driver).map(|(browser, driver)| format!("{}, {}", browser.display(), driver)))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        let Some(_) = debian::codename() else {
            bail!(
                "no {} on PATH\n  what to do: install Chromium or Chrome and the chromedriver of the same \
                 version, the driver on PATH or named by the environment variable CHROMEDRIVER",
                self.missing()
            );
        };
        let advice = "see what apt says; `apt-get install chromium chromium-driver` has to work";
        // The lists may be missing or old, as on a new machine. That alone is no failure.
        if self.apt(&INSTALL)?.run(progress).is_err() {
            self.apt(&["update"])?.advice(advice).run(progress)?;
            self.apt(&INSTALL)?.advice(advice).run(progress)?;
        }
        Ok(())
    }
}

impl Browser<'_> {
    fn apt(&self, arguments: &[&str]) -> Result<Invocation> {
        let command = match self.installer() {
            Installer::Root => self.project.command("apt-get"),
            Installer::Sudo => self.project.command("sudo").arguments(["--non-interactive", "apt-get"]),
            Installer::Nobody => bail!(
                "no {} on PATH, and this user may not install packages\n  what to do: sudo apt-get install \
                 --no-install-recommends chromium chromium-driver",
                self.missing()
            ),
        };
        Ok(command.environment("DEBIAN_FRONTEND", "noninteractive").arguments(arguments))
    }

    fn installer(&self) -> Installer {
        let answers = |command: Invocation| command.answer().ok();
        if answers(self.project.command("id").arguments(["-u"])).is_some_and(|user| user.trim() == "0") {
            Installer::Root
        } else if answers(self.project.command("sudo").arguments(["--non-interactive", "true"])).is_some() {
            Installer::Sudo
        } else {
            Installer::Nobody
        }
    }

    fn missing(&self) -> &'static str {
        if driver(self.project).is_some() { "chromium" } else { "chromedriver" }
    }
}

/// The driver's path: from the environment as wasm-bindgen's test runner reads it, else from PATH.
pub(crate) fn driver(project: &Project) -> Option<String> {
    env::var("CHROMEDRIVER")
        .ok()
        .filter(|driver| Path::new(driver).exists())
        .or_else(|| project.find("chromedriver").map(|driver| driver.display().to_string()))
}
