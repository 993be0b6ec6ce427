//! Faults planted one at a time in drivers, devices and table strategies. A test has to notice each.

use anyhow::{Context, Result};

use super::{Effort, evidence::Evidence};
use crate::check::cargo;
use crate::progress::Progress;
use crate::project::Project;

/// Some folders of ring-core, and the tests that have to notice.
struct Area {
    name: &'static str,
    files: &'static [&'static str],
    tests: &'static [&'static str],
}

const AREAS: [Area; 2] = [
    Area {
        name: "drivers and devices",
        files: &["ring-core/src/driver/**", "ring-core/src/device/**"],
        tests: &["--test=model", "--test=hostile", "--test=cases"],
    },
    Area {
        name: "table strategies",
        files: &["ring-core/src/indirect/**"],
        tests: &["--lib", "--test=model", "--test=accounts"],
    },
];

/// Every third mutant: the sample that ASSURANCE.md tells of.
const FULL_SAMPLE: u64 = 3;

/// What one takes on a small machine, compiled and tested.
const SECONDS_EACH: u64 = 15;

/// At least so many of a hundred have to be noticed at once; the others are looked at one by one.
const CAUGHT_OF_HUNDRED: usize = 90;

/// The areas, one after the other.
pub(super) fn run(project: &Project, effort: Effort) -> Result<Vec<Evidence>> {
    AREAS.iter().map(|area| sample(project, area, effort)).collect()
}

fn sample(project: &Project, area: &Area, effort: Effort) -> Result<Evidence> {
    let files = area.files.iter().flat_map(|file| ["--file", file]);
    let mutants = || cargo(project).arguments(["mutants", "--package", "ring-core"]).arguments(files.clone());
    let all = mutants().arguments(["--list"]).answer()?.lines().count() as u64;
    let one_of = match effort {
        Effort::Full => FULL_SAMPLE,
        Effort::Within(time) => {
            let fitting = time.as_secs() / SECONDS_EACH / AREAS.len() as u64;
            all.div_ceil(fitting.max(1))
        }
    };
    let folder = tempfile::tempdir().context("no folder for the mutants' results")?;
    let tests = area.tests.iter().map(|test| format!("--cargo-arg={test}"));
    // That mutants are missed is its exit code too: the lists tell more.
    mutants()
        .arguments(["--test-package", "ring-core", "--sharding", "round-robin", "--no-shuffle", "--shard"])
        .arguments([format!("0/{one_of}")])
        .arguments(["--timeout", "90", "--build-timeout", "300", "--colors", "never", "--output"])
        .arguments([folder.path()])
        .arguments(tests)
        // Few cases: what they miss is looked at. No debug information: most of the time goes into linking.
        .environment("PROPTEST_CASES", "60")
        .environment("CARGO_PROFILE_DEV_DEBUG", "0")
        .run_watched(&mut Progress::start())?;
    let [caught, timeout, missed, unviable] = ["caught", "timeout", "missed", "unviable"].map(|list| {
        let file = folder.path().join("mutants.out").join(format!("{list}.txt"));
        std::fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>()
    });
    for mutant in &missed {
        eprintln!("  missed: {mutant}");
    }
    let noticed = caught.len() + timeout.len();
    let viable = noticed + missed.len();
    let figure = format!(
        "{viable} of {all} mutants: {} caught, {} timed out, {} missed; {} do not compile",
        caught.len(),
        timeout.len(),
        missed.len(),
        unviable.len()
    );
    Ok(Evidence::new(area.name, figure, viable > 0 && noticed * 100 >= viable * CAUGHT_OF_HUNDRED))
}
