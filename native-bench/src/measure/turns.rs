//! Variants of the same work, measured in turns: what slows the machine down slows all of them.

use super::{Quantiles, Spread};
use serde::Serialize;
use std::time::Instant;

/// What a variant's turns took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Turns {
    /// Nanoseconds for a buffer, over the turns.
    pub nanoseconds: Spread,
    /// Against the first variant in the same turn.
    pub ratio: Quantiles,
}

/// Gives each variant `turns` turns, one after the other, and one before to warm up. A variant's work returns how many
/// buffers it moved, at least 1.
pub fn alternate<W, E>(
    variants: &mut [W],
    turns: usize,
    mut work: impl FnMut(&mut W) -> Result<u64, E>,
) -> Result<Vec<Turns>, E> {
    let mut nanoseconds = vec![Vec::with_capacity(turns); variants.len()];
    for turn in 0..=turns.max(1) {
        for (variant, nanoseconds) in variants.iter_mut().zip(&mut nanoseconds) {
            let start = Instant::now();
            let buffers = work(variant)?;
            if turn > 0 {
                nanoseconds.push(start.elapsed().as_nanos() as f64 / buffers.max(1) as f64);
            }
        }
    }
    let first = nanoseconds.first().cloned().unwrap_or_default();
    let turns = nanoseconds.iter().filter_map(|nanoseconds| {
        let mut ratios: Vec<f64> =
            nanoseconds.iter().zip(&first).map(|(variant, first)| variant / first).collect();
        Some(Turns { nanoseconds: Spread::of(nanoseconds)?, ratio: Quantiles::of(&mut ratios)? })
    });
    Ok(turns.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_variant_that_takes_twice_as_long_has_a_ratio_of_about_two() {
        let mut calls = [0, 0];
        let spin = |milliseconds: u64| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(milliseconds) {
                std::hint::spin_loop();
            }
        };
        let mut variants = [(0, 4), (1, 8)];
        let turns = alternate(&mut variants, 3, |(index, milliseconds)| {
            calls[*index] += 1;
            spin(*milliseconds);
            Ok::<_, ()>(1000)
        })
        .unwrap();
        assert_eq!(calls, [4, 4], "one turn more to warm up");
        assert_eq!(turns[0].ratio.median, 1.0);
        assert!(turns[0].nanoseconds.minimum >= 4000.0 && turns[1].nanoseconds.minimum >= 8000.0);
        assert!(turns[1].ratio.p90 > 1.0, "{turns:?}");
    }

    #[test]
    fn an_error_ends_it() {
        let result = alternate(&mut [1, 2], 3, |variant| if *variant == 2 { Err("second") } else { Ok(1) });
        assert_eq!(result, Err("second"));
    }
}
