//! The crates that the project depends on, fetched before trunk builds the page: trunk itself downloads nothing.

use anyhow::Result;

use super::Step;
use crate::progress::Progress;
use crate::project::Project;

pub(super) struct Dependencies<'a> {
    pub(super) project: &'a Project,
}

impl Step for Dependencies<'_> {
    fn name(&self) -> String {
        "crates of Cargo.lock".to_owned()
    }

    fn purpose(&self) -> &'static str {
        "what the project is built from"
    }

    fn duration(&self) -> &'static str {
        "about 20 s"
    }

    fn changes_outside(&self) -> Result<Option<String>> {
        Ok(Some("downloads them into cargo's cache".to_owned()))
    }

    fn found(&self) -> Result<Option<String>> {
        let fetched =
            self.project.command("cargo").arguments(["fetch", "--locked", "--offline"]).answer().is_ok();
        Ok(fetched.then(|| "in cargo's cache".to_owned()))
    }

    fn provide(&self, progress: &mut Progress) -> Result<()> {
        self.project
            .command("cargo")
            .arguments(["fetch", "--locked"])
            .advice("see that this machine reaches crates.io; if Cargo.lock is said to be out of date, `cargo update --workspace`")
            .run(progress)
    }
}
