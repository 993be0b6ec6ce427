//! `cargo xtask assure`: the evidence that takes long, a part at a time. `ASSURANCE.md` holds what it found.

mod evidence;
mod fuzz;
mod mutants;
mod tests;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::evidence::{Evidence, Table};
use crate::progress::spoken;
use crate::project::Project;
use crate::setup;

/// How long, which parts, and how the result is told.
#[derive(Args)]
pub(crate) struct Options {
    /// The parts to run; all of them if none is named.
    #[arg(value_enum)]
    parts: Vec<Part>,

    /// How long it may take in all, without what has to be compiled before.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "full")]
    minutes: u64,

    /// As much of each part as ASSURANCE.md tells of, however long it takes.
    #[arg(long)]
    full: bool,

    /// The closing table as JSON on standard output; everything else goes to standard error.
    #[arg(long)]
    json: bool,
}

/// One kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Random input against both sides and the reader of traces, AddressSanitizer on.
    Fuzz,
    /// Every interleaving of publishing, notifying and looking once more, with each barrier and without it.
    Interleavings,
    /// Faults planted in drivers, devices and table strategies, to see that tests notice.
    Mutants,
    /// Random calls on both sides against a model, on spoilt memory, across resets.
    Properties,
    /// Our driver against rust-vmm's device, our device against rcore's driver.
    Interop,
    /// Random packets through QEMU's virtio-net, every combination of features.
    Qemu,
    /// Rings that break the rules, under QEMU's device and ours.
    BrokenRings,
    /// The package as it would be published.
    Package,
}

impl Part {
    /// Its share of the time, in hundredths. Parts that always do the same have none.
    fn share(self) -> u64 {
        match self {
            Part::Fuzz => 40,
            Part::Mutants => 30,
            Part::Properties => 10,
            Part::Interop | Part::Qemu => 10,
            Part::Interleavings | Part::BrokenRings | Part::Package => 0,
        }
    }

    fn needs_qemu(self) -> bool {
        matches!(self, Part::Qemu | Part::BrokenRings)
    }
}

/// How much of a part is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// As much as goes into this time.
    Within(Duration),
    /// As much as ASSURANCE.md tells of.
    Full,
}

/// Runs the parts, one after the other, whatever the ones before found.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    let parts = if options.parts.is_empty() { Part::value_variants() } else { &options.parts };
    setup::for_assurance(
        project,
        parts.contains(&Part::Fuzz),
        parts.contains(&Part::Mutants),
        parts.iter().any(|part| part.needs_qemu()),
    )?;
    let shares: u64 = parts.iter().map(|part| part.share()).sum();
    let mut table = Table::default();
    for part in parts {
        let effort = if options.full {
            Effort::Full
        } else {
            let seconds = options.minutes * 60 * part.share() / shares.max(1);
            Effort::Within(Duration::from_secs(seconds.max(1)))
        };
        let started = Instant::now();
        eprintln!(
            "── {}",
            part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
        );
        let found = match part {
            Part::Fuzz => fuzz::run(project, effort),
            Part::Mutants => mutants::run(project, effort),
            _ => tests::run(project, *part, effort),
        };
        match found {
            Ok(evidence) => evidence.into_iter().for_each(|evidence| {
                eprintln!("  {evidence}");
                table.add(*part, evidence);
            }),
            // What cannot run proves nothing, and the other parts still can.
            Err(error) => {
                eprintln!("  {error:#}");
                table.add(*part, Evidence::failed("could not be run", format!("{error}")));
            }
        }
        eprintln!("  took {}", spoken(started.elapsed()));
    }
    if options.json {
        println!("{}", table.json());
    } else {
        println!("\n{table}");
    }
    if table.is_good() { Ok(()) } else { bail!("not everything held: see the table") }
}
