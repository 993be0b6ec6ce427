//! Times. The variants of a case run in turns in one process, so that what slows the machine down slows all of them;
//! printed is the median of the ratios within a turn, and their quartiles. Nanoseconds are the least of any turn.

use crate::{cases::Case, rounds};
use std::{error::Error, time::Instant};

const TURNS: usize = 15;
const BUFFERS: usize = 8_192;

/// The quartiles, the median between them.
fn spread(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let quarter = |number| values.get(values.len() * number / 4).copied();
    Some([quarter(1)?, quarter(2)?, quarter(3)?])
}

/// Prints every case.
pub(crate) fn table() -> Result<(), Box<dyn Error>> {
    println!("format  elements batch  variant                   ns/buffer  x floor");
    for case in Case::all() {
        let mut pairs = Vec::new();
        for variant in case.variants() {
            pairs.push((variant, variant.pair(case)?, Vec::new()));
        }
        let number = BUFFERS / case.batch;
        for turn in 0..=TURNS {
            for (_, pair, nanoseconds) in &mut pairs {
                let start = Instant::now();
                rounds(&mut **pair, case.elements, case.batch, number)?;
                let elapsed = start.elapsed();
                // The first turn warms up.
                if turn > 0 {
                    nanoseconds.push(elapsed.as_nanos() as f64 / (number * case.batch) as f64);
                }
            }
        }
        let floor = pairs.first().map(|(_, _, floor)| floor.clone()).unwrap_or_default();
        for (variant, _, nanoseconds) in pairs {
            let ratios = nanoseconds.iter().zip(&floor).map(|(ours, floor)| ours / floor);
            let [low, median, high] = spread(ratios.collect()).ok_or("no turn was run")?;
            let least = nanoseconds.into_iter().fold(f64::INFINITY, f64::min);
            println!("{case}  {:<24} {least:>10.1}  {median:.2} ({low:.2}-{high:.2})", variant.name());
        }
    }
    Ok(())
}
