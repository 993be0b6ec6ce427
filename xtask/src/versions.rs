//! The pinned versions of the tools, read from `[workspace.metadata.tools]` in the top Cargo.toml.

use std::path::Path;

use anyhow::{Context, Result};
use toml::Table;

/// The versions that `cargo xtask setup` provides.
pub(crate) struct Versions {
    pub(crate) wasm_bindgen: String,
    pub(crate) trunk: String,
    pub(crate) wasm_pack: String,
    /// npm's number, such as `132.0.0`; the tools themselves say `version_132`.
    pub(crate) binaryen: String,
    pub(crate) plotly_js: String,
    pub(crate) cargo_fuzz: String,
    pub(crate) cargo_mutants: String,
}

impl Versions {
    /// Reads the versions from the workspace's Cargo.toml.
    pub(crate) fn read(cargo_toml: &Path) -> Result<Self> {
        let table = read_table(cargo_toml)?;
        let tool = |name: &str| {
            text_at(&table, &["workspace", "metadata", "tools", name]).with_context(|| {
                format!("{}: [workspace.metadata.tools] has no {name}", cargo_toml.display())
            })
        };
        Ok(Self {
            wasm_bindgen: tool("wasm-bindgen")?,
            trunk: tool("trunk")?,
            wasm_pack: tool("wasm-pack")?,
            binaryen: tool("binaryen")?,
            plotly_js: tool("plotly-js")?,
            cargo_fuzz: tool("cargo-fuzz")?,
            cargo_mutants: tool("cargo-mutants")?,
        })
    }

    /// binaryen's own name for its version, as `wasm-opt --version` prints it: `version_132`.
    pub(crate) fn binaryen_release(&self) -> String {
        let major = self.binaryen.split('.').next().unwrap_or(&self.binaryen);
        format!("version_{major}")
    }
}

fn read_table(file: &Path) -> Result<Table> {
    std::fs::read_to_string(file)
        .with_context(|| format!("cannot read {}", file.display()))?
        .parse()
        .with_context(|| format!("{} is not valid TOML", file.display()))
}

fn text_at(table: &Table, path: &[&str]) -> Option<String> {
    let (last, parents) = path.split_last()?;
    let parent = parents.iter().try_fold(table, |table, name| table.get(*name)?.as_table())?;
    Some(parent.get(*last)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    #[test]
    fn trunk_asks_for_the_pinned_versions() {
        let project = Project::locate().unwrap();
        let trunk = read_table(&project.root.join("Trunk.toml")).unwrap();
        let asked = |tool| text_at(&trunk, &["tools", tool]);
        assert_eq!(asked("wasm_bindgen"), Some(project.versions.wasm_bindgen.clone()));
        assert_eq!(asked("wasm_opt"), Some(project.versions.binaryen_release()));
    }

    #[test]
    fn the_wasm_bindgen_crate_is_the_command_line_tools_version() {
        let project = Project::locate().unwrap();
        let cargo = read_table(&project.root.join("Cargo.toml")).unwrap();
        let dependency = text_at(&cargo, &["workspace", "dependencies", "wasm-bindgen"]);
        assert_eq!(dependency, Some(format!("={}", project.versions.wasm_bindgen)));
    }

    #[test]
    fn a_missing_version_is_named() {
        let file = std::env::temp_dir().join(format!("xtask-versions-{}.toml", std::process::id()));
        std::fs::write(&file, "[workspace.metadata.tools]\nwasm-bindgen = \"0.2.130\"\n").unwrap();
        let error = Versions::read(&file).err().map(|error| error.to_string());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(error, Some(format!("{}: [workspace.metadata.tools] has no trunk", file.display())));
    }
}
