//! Driver and device together on one thread, against the floor: the least code that can move the same buffers.
//!
//! The variants of a case run in turns in one process, so that what slows the machine down slows all of them; printed is
//! the median of the ratios within a turn, and their quartiles. Nanoseconds are the least of any turn.

mod floor;
mod ours;

use ring_core::indirect::{Direct, ListCache, PlainAllocation};
use std::{error::Error, hint::black_box, time::Instant};

/// Descriptors of every ring.
const QUEUE_SIZE: u16 = 256;
/// Bytes of every element.
const ELEMENT_BYTES: u32 = 64;
/// The largest buffer, in elements.
const MOST_ELEMENTS: usize = 16;
const TURNS: usize = 15;
const BUFFERS: usize = 8_192;

/// A driver and a device over one ring.
trait Pair {
    /// Adds a batch, takes and uses all of it, gets all of it back. Returns the bytes the device saw.
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>>;
}

struct Variant {
    name: &'static str,
    pair: Box<dyn Pair>,
    nanoseconds: Vec<f64>,
}

/// Nanoseconds a buffer over one turn.
fn turn(pair: &mut dyn Pair, elements: usize, batch: usize) -> Result<f64, Box<dyn Error>> {
    let rounds = BUFFERS / batch;
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..rounds {
        bytes += black_box(&mut *pair).round(batch)?;
    }
    let elapsed = start.elapsed();
    let expected = (rounds * batch * elements) as u64 * ELEMENT_BYTES as u64;
    if bytes != expected {
        return Err(format!("the device saw {bytes} bytes, expected {expected}").into());
    }
    Ok(elapsed.as_nanos() as f64 / (rounds * batch) as f64)
}

fn variants(packed: bool, elements: usize) -> Result<Vec<Variant>, Box<dyn Error>> {
    let mut pairs: Vec<(&str, Box<dyn Pair>)> = vec![];
    if packed {
        pairs.push(("floor", Box::new(floor::Packed::new(elements))));
        pairs.push(("direct", ours::packed(Direct, false, elements)?));
        pairs.push(("list cache", ours::packed(ListCache::new(ours::arena(), 16), true, elements)?));
        pairs.push(("plain", ours::packed(PlainAllocation::new(ours::arena()), true, elements)?));
    } else {
        pairs.push(("floor", Box::new(floor::Split::new(elements))));
        pairs.push(("direct", ours::split(Direct, false, elements)?));
        pairs.push(("list cache", ours::split(ListCache::new(ours::arena(), 16), true, elements)?));
        pairs.push(("plain", ours::split(PlainAllocation::new(ours::arena()), true, elements)?));
    }
    Ok(pairs.into_iter().map(|(name, pair)| Variant { name, pair, nanoseconds: vec![] }).collect())
}

/// The quartiles, the median between them.
fn spread(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let quarter = |number| values.get(values.len() * number / 4).copied();
    Some([quarter(1)?, quarter(2)?, quarter(3)?])
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<7} {:>8} {:>5}  {:<11} {:>9}  x floor",
        "format", "elements", "batch", "variant", "ns/buffer"
    );
    for packed in [false, true] {
        for elements in [1, 2, 4, MOST_ELEMENTS] {
            // As many as the ring holds without tables.
            for batch in [1, 8, 64.min(QUEUE_SIZE as usize / elements)] {
                let mut variants = variants(packed, elements)?;
                for number in 0..=TURNS {
                    for variant in &mut variants {
                        let nanoseconds = turn(&mut *variant.pair, elements, batch)?;
                        // The first turn warms up.
                        if number > 0 {
                            variant.nanoseconds.push(nanoseconds);
                        }
                    }
                }
                let floor = variants.first().map(|floor| floor.nanoseconds.clone()).unwrap_or_default();
                for variant in variants {
                    let ratios = variant.nanoseconds.iter().zip(&floor).map(|(ours, floor)| ours / floor);
                    let ratios = spread(ratios.collect()).ok_or("no turn was run")?;
                    let least = variant.nanoseconds.into_iter().fold(f64::INFINITY, f64::min);
                    let format = if packed { "packed" } else { "split" };
                    let [low, median, high] = ratios;
                    println!(
                        "{format:<7} {elements:>8} {batch:>5}  {:<11} {least:>9.1}  {median:.2} ({low:.2}-{high:.2})",
                        variant.name
                    );
                }
            }
        }
    }
    Ok(())
}
