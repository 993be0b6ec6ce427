//! plotly.js, which draws the charts of measurements. Served with the page, never fetched by it from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Step;
use crate::progress::Progress;
use crate::project::Project;
use crate::replace;

/// The part of plotly.js that draws boxes, points and lines, minified.
const PACKAGE: &str = "plotly.js-cartesian-dist-min";
const SCRIPT: &str = "plotly-cartesian.min.js";

pub(super) struct PlotlyJs<'a> {
    pub(super) project: &'a Project,
}

impl Step for PlotlyJs<'_> {
    fn name(&self) -> String {
        format!("plotly.js {}", self.project.versions.plotly_js)
    }

    fn purpose(&self) -> &'static str {
        "draws the charts of measurements"
    }

    fn duration(&self) -> &'static str {
        "about 5 s"
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn found(&self) -> Result<Option<String>> {
        let folder = self.folder();
        let script = folder.join(SCRIPT);
        let fits =
            is_version(&folder.join("package.json"), &self.project.versions.plotly_js) && script.exists();
        Ok(fits.then(|| script.display().to_string()))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        if self.project.find("npm").is_none() {
            bail!("there is no npm to fetch it with\n  what to do: install Node.js");
        }
        let folder = self.folder();
        let partial = replace::begin(&folder)?;
        self.project
            .command("npm")
            .directory(&partial)
            .arguments(["pack", &format!("{PACKAGE}@{}", self.project.versions.plotly_js)])
            .advice("see that this machine reaches npm's registry, then run this again")
            .run(progress)?;
        let archive = only_archive(&partial)?;
        self.project
            .command("tar")
            .directory(&partial)
            .arguments(["--extract", "--gzip", "--strip-components=1", "--file"])
            .arguments([&archive])
            .run(progress)?;
        fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))?;
        replace::finish(&partial, &folder)
    }
}

impl PlotlyJs<'_> {
    fn folder(&self) -> PathBuf {
        self.project.tools().join("plotly.js")
    }
}

/// Whether the package description names this version.
fn is_version(package_json: &Path, version: &str) -> bool {
    let Ok(text) = fs::read_to_string(package_json) else { return false };
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("\"version\":"))
        .any(|value| value.trim_matches([' ', '"', ',']) == version)
}

fn only_archive(folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "tgz") {
            return Ok(path);
        }
    }
    bail!("npm said it fetched {PACKAGE} and left no archive in {}", folder.display())
}
