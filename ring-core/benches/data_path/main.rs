//! Driver and device together on one thread: against the floor, which is the least code that can move the same buffers,
//! and with one side at a time taken by another library.
//!
//! `cargo bench -p ring-core --all-features` compares times; with `-- --instructions` it counts instructions by callgrind.

mod cases;
mod costless;
mod floor;
mod instructions;
mod ours;
mod peer_device;
mod peer_driver;
mod times;

use std::{error::Error, hint::black_box};

/// Descriptors of every ring.
const QUEUE_SIZE: u16 = 256;
/// Bytes of every element.
const ELEMENT_BYTES: u32 = 64;

/// A driver and a device over one ring.
trait Pair {
    /// Adds a batch, takes and uses all of it, gets all of it back. Returns the bytes the device saw.
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>>;
}

/// Moves `rounds` batches, and checks that the device saw all of them.
fn rounds(pair: &mut dyn Pair, elements: usize, batch: usize, rounds: usize) -> Result<(), Box<dyn Error>> {
    let mut bytes = 0;
    for _ in 0..rounds {
        bytes += black_box(&mut *pair).round(batch)?;
    }
    let expected = (rounds * batch * elements) as u64 * ELEMENT_BYTES as u64;
    if bytes != expected {
        return Err(format!("the device saw {bytes} bytes, expected {expected}").into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench` to what the user asks for.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => times::table(),
        ["--instructions"] => instructions::table(),
        [instructions::ONE, case, variant, number] => {
            instructions::run_one(case.parse()?, variant.parse()?, number.parse()?)
        }
        _ => Err("expected nothing, or --instructions".into()),
    }
}
