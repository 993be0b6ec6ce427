//! Turns corpora from the one file of each target in `tests/fuzz/corpus` into the folders that a fuzzer works on, and back.
//!
//! - `cargo run --example corpus -- unpack`: the kept inputs and the seeds into `corpus/TARGET`;
//! - `cargo run --example corpus -- pack`: what is in `corpus/TARGET`, minimised before, is kept.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is that of the tests")]
#![allow(dead_code, reason = "the harness is that of all targets")]

#[path = "../../tests/fuzz/corpus.rs"]
mod corpus;
#[path = "../../tests/fuzz/harness/mod.rs"]
mod harness;
#[path = "../../tests/fuzz/seeds.rs"]
mod seeds;

use std::{error::Error, fs, path::Path};

/// Inputs that make up the seeds of a target.
type Seeds = fn() -> Vec<Vec<u8>>;

const TARGETS: [(&str, Seeds); 3] =
    [("device", seeds::of_device), ("driver", seeds::of_driver), ("trace", seeds::of_trace)];

fn main() -> Result<(), Box<dyn Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let task = std::env::args().nth(1);
    for (target, seeds) in TARGETS {
        let folder = here.join("corpus").join(target);
        let kept = here.join("../tests/fuzz/corpus").join(target);
        let named = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        match task.as_deref() {
            Some("unpack") => {
                fs::create_dir_all(&folder).map_err(|error| named(&folder, error))?;
                let packed = fs::read(&kept).map_err(|error| named(&kept, error))?;
                let seeds = seeds();
                let inputs = corpus::unpack(&packed)?.into_iter().chain(seeds.iter().map(Vec::as_slice));
                let mut count = 0;
                for (index, input) in inputs.enumerate() {
                    let file = folder.join(format!("kept-{index:04}"));
                    fs::write(&file, input).map_err(|error| named(&file, error))?;
                    count += 1;
                }
                println!("{target}: {count} inputs in {}", folder.display());
            }
            Some("pack") => {
                let files = fs::read_dir(&folder).map_err(|error| named(&folder, error))?;
                let mut inputs = Vec::new();
                for file in files {
                    let file = file?.path();
                    inputs.push(fs::read(&file).map_err(|error| named(&file, error))?);
                }
                // Short ones first: the same file whatever the fuzzer called them.
                inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
                inputs.dedup();
                let packed = corpus::pack(&inputs);
                fs::write(&kept, &packed).map_err(|error| named(&kept, error))?;
                println!("{target}: {} inputs, {} bytes, in {}", inputs.len(), packed.len(), kept.display());
            }
            other => return Err(format!("expected unpack or pack, found {other:?}").into()),
        }
    }
    Ok(())
}
