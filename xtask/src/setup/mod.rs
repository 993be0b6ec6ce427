//! `cargo xtask setup`: every tool the project needs, one step each. A step that finds its tool does nothing.

mod browser;
mod cargo_tool;
mod dependencies;
mod plotly;
pub(crate) mod qemu;
mod wasm_opt;
mod wasm_target;
mod wasm_target_from_source;

use std::thread;

pub(crate) use self::browser::driver;
pub(crate) use self::wasm_target::TARGET;

use anyhow::{Context, Result};

use crate::progress::{Progress, spoken};
use crate::project::Project;
use crate::replace;

/// One tool or piece of data that has to be there.
trait Step: Sync {
    /// What it is, with its version where one is pinned.
    fn name(&self) -> String;

    /// What the project needs it for.
    fn purpose(&self) -> &'static str;

    /// How long providing it takes on a small machine.
    fn duration(&self) -> &'static str;

    /// What providing it changes outside the project's folder, if anything.
    fn changes_outside(&self) -> Result<Option<String>>;

    /// Where it is, or `None` if it has to be provided.
    fn found(&self) -> Result<Option<String>>;

    /// Provides it.
    fn provide(&self, progress: &mut Progress) -> Result<()>;
}

/// Sets up everything and lists it.
pub(crate) fn all(project: &Project) -> Result<()> {
    let mut steps = to_build_the_page(project);
    steps.extend(to_test(project));
    steps.push(Box::new(plotly::PlotlyJs { project }));
    run(project, &steps, Listing::Full)
}

/// Sets up what serving the page needs.
pub(crate) fn for_serving(project: &Project) -> Result<()> {
    run(project, &to_build_the_page(project), Listing::OnlyMissing)
}

/// Sets up what taking pictures of the page needs.
pub(crate) fn for_pictures(project: &Project) -> Result<()> {
    let mut steps = to_build_the_page(project);
    steps.push(Box::new(browser::Browser { project }));
    run(project, &steps, Listing::OnlyMissing)
}

/// Sets up what building and testing everything needs.
pub(crate) fn for_testing(project: &Project) -> Result<()> {
    let mut steps = to_build_the_page(project);
    steps.extend(to_test(project));
    run(project, &steps, Listing::OnlyMissing)
}

/// Sets up what recording a run needs.
pub(crate) fn for_recording(project: &Project) -> Result<()> {
    let steps: Vec<Box<dyn Step + '_>> = vec![Box::new(qemu::Qemu { project })];
    run(project, &steps, Listing::OnlyMissing)
}

/// Sets up what the parts of `cargo xtask assure` need.
pub(crate) fn for_assurance(project: &Project, fuzz: bool, mutants: bool, qemu: bool) -> Result<()> {
    let mut steps: Vec<Box<dyn Step + '_>> = Vec::new();
    if fuzz {
        steps.push(Box::new(cargo_tool::cargo_fuzz(project)));
    }
    if mutants {
        steps.push(Box::new(cargo_tool::cargo_mutants(project)));
    }
    if qemu {
        steps.push(Box::new(qemu::Qemu { project }));
    }
    run(project, &steps, Listing::OnlyMissing)
}

fn to_build_the_page(project: &Project) -> Vec<Box<dyn Step + '_>> {
    vec![
        Box::new(wasm_target::WasmTarget { project }),
        Box::new(cargo_tool::wasm_bindgen(project)),
        Box::new(cargo_tool::trunk(project)),
        Box::new(wasm_opt::WasmOpt { project }),
        Box::new(dependencies::Dependencies { project }),
    ]
}

fn to_test(project: &Project) -> Vec<Box<dyn Step + '_>> {
    vec![
        Box::new(cargo_tool::wasm_pack(project)),
        Box::new(browser::Browser { project }),
        Box::new(qemu::Qemu { project }),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Full,
    OnlyMissing,
}

fn run(project: &Project, steps: &[Box<dyn Step + '_>], listing: Listing) -> Result<()> {
    let found = look_for(steps)?;
    let missing = found.iter().filter(|place| place.is_none()).count();
    if missing > 0 {
        println!("Set-up: {missing} of {} to be provided", steps.len());
    }
    for (step, place) in steps.iter().zip(found) {
        match place {
            Some(place) if listing == Listing::Full => println!("  ✓ {}: {place}", step.name()),
            Some(_) => {}
            None => provide(step.as_ref())?,
        }
    }
    if missing > 0 {
        replace::remove(&cargo_tool::build_folder(project))?;
    } else if listing == Listing::Full {
        println!("Set-up: all {} are there", steps.len());
    }
    Ok(())
}

/// Looks for all tools at once: most of the time goes into starting programs to ask for their version.
fn look_for(steps: &[Box<dyn Step + '_>]) -> Result<Vec<Option<String>>> {
    thread::scope(|scope| {
        let searches: Vec<_> = steps.iter().map(|step| (step, scope.spawn(|| step.found()))).collect();
        searches
            .into_iter()
            .map(|(step, search)| {
                let result = search.join().map_err(|_| anyhow::anyhow!("the search ended by a panic"))?;
                result.with_context(|| format!("cannot tell whether {} is there", step.name()))
            })
            .collect()
    })
}

fn provide(step: &dyn Step) -> Result<()> {
    println!("  → {}: {} ({})", step.name(), step.purpose(), step.duration());
    if let Some(change) = step.changes_outside()? {
        println!("    outside the project's folder: {change}");
    }
    let mut progress = Progress::start();
    step.provide(&mut progress).with_context(|| format!("{} could not be provided", step.name()))?;
    let elapsed = progress.elapsed();
    drop(progress);
    let place = step
        .found()?
        .with_context(|| format!("{} was provided without an error and still is not found", step.name()))?;
    println!("  ✓ {}: {place} (took {})", step.name(), spoken(elapsed));
    Ok(())
}
