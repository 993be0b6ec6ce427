//! `cargo xtask check`: formatting, lints, documentation and package, for this machine and for WebAssembly.

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};

use crate::command::Invocation;
use crate::project::Project;
use crate::setup;

/// One check: what it is called and how it is run.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) command: Invocation,
}

/// All checks.
pub(crate) fn all(project: &Project) -> Vec<Check> {
    let web = ["--package", "web", "--target", setup::TARGET];
    let deny = ["--", "--deny", "warnings"];
    vec![
        Check { name: "formatting", command: cargo(project).arguments(["fmt", "--all", "--check"]) },
        Check {
            name: "lints",
            command: cargo(project)
                .arguments(["clippy", "--locked", "--workspace", "--all-targets", "--all-features"])
                .arguments(deny),
        },
        Check {
            name: "lints of the page",
            command: cargo(project)
                .arguments(["clippy", "--locked", "--all-targets"])
                .arguments(web)
                .arguments(deny),
        },
        Check {
            name: "documentation of ring-core",
            command: cargo(project)
                .arguments(["doc", "--locked", "--package", "ring-core", "--all-features", "--no-deps"])
                .environment("RUSTDOCFLAGS", "--deny warnings"),
        },
        Check {
            name: "ring-core without std",
            command: cargo(project)
                .arguments(["build", "--locked", "--package", "ring-core", "--no-default-features"])
                .arguments(["--target", setup::TARGET]),
        },
        Check {
            // What would be published, built from nothing else. Set-up has fetched all it depends on.
            name: "package of ring-core",
            command: cargo(project)
                .arguments(["package", "--locked", "--offline", "--allow-dirty"])
                .arguments(["--package", "ring-core"]),
        },
    ]
}

/// Cargo, in colour where there is someone to see it.
pub(crate) fn cargo(project: &Project) -> Invocation {
    let color = if io::stdout().is_terminal() { "always" } else { "never" };
    project.command("cargo").environment("CARGO_TERM_COLOR", color)
}

/// Runs all checks; fails if one of them does.
pub(crate) fn run(project: &Project) -> Result<()> {
    setup::for_serving(project)?;
    let mut failed = Vec::new();
    for check in all(project) {
        println!("── {}", check.name);
        if !check.command.run_shown()?.status.success() {
            failed.push(check.name);
        }
    }
    if !failed.is_empty() {
        bail!("not in order: {}", failed.join(", "));
    }
    println!("All in order.");
    Ok(())
}
