//! Ways of adding a buffer that a ring could have and that ring-core does not, kept to be measured.
//!
//! Two questions of the 2014 discussion about Linux' ring: what does it cost to find a buffer's elements by walking lists, and
//! what does one path for direct and indirect buffers cost? Each is answered on a ring in plain arrays, by variants that move
//! the same buffers.

pub mod paths;
pub mod ring;
pub mod scatter_list;
pub mod walks;

use crate::{
    Error,
    measure::{
        Turns, alternate,
        instructions::{self, counted},
    },
};
use ring::{Ring, Seen, elements};
use scatter_list::{Element, ScatterLists};
use serde::Serialize;

/// Buffers made available at once: what the ring holds of the largest.
pub const BATCH: usize = 16;
/// Elements of the buffers that are measured.
pub const ELEMENTS: [usize; 4] = [1, 2, 4, 16];

/// A way of adding a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// An array of elements, with their number.
    Counted,
    /// Two lists, walked by `next`.
    Walked,
    /// Ring descriptors, by a path of their own.
    SeparateDirect,
    /// Ring descriptors, by the one path.
    UnifiedDirect,
    /// A table, by a path of its own.
    SeparateIndirect,
    /// A table that is chained for each buffer, by the one path.
    UnifiedIndirect,
    /// A table that was chained once, by the one path.
    UnifiedPreChained,
}

impl Variant {
    /// What it does, in words.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Counted => "array and count",
            Variant::Walked => "lists walked by next",
            Variant::SeparateDirect => "direct, path of its own",
            Variant::UnifiedDirect => "direct, one path",
            Variant::SeparateIndirect => "indirect, path of its own",
            Variant::UnifiedIndirect => "indirect, one path, chained each time",
            Variant::UnifiedPreChained => "indirect, one path, chained once",
        }
    }
}

/// A question, and the variants that answer it. The first is what the others are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// The question, in words.
    pub name: &'static str,
    /// The variants.
    pub variants: &'static [Variant],
}

/// All of them.
pub const EXHIBITS: [Exhibit; 3] = [
    Exhibit { name: "finding the elements", variants: &[Variant::Counted, Variant::Walked] },
    Exhibit { name: "one path, direct", variants: &[Variant::SeparateDirect, Variant::UnifiedDirect] },
    Exhibit {
        name: "one path, indirect",
        variants: &[Variant::SeparateIndirect, Variant::UnifiedIndirect, Variant::UnifiedPreChained],
    },
];

/// A variant at work.
pub struct Work {
    variant: Variant,
    ring: Ring,
    buffers: Vec<Vec<Element>>,
    readable: usize,
    lists: ScatterLists,
    starts: Vec<[Option<usize>; 2]>,
    seen: Seen,
}

impl Work {
    /// A variant with buffers of so many elements.
    pub fn new(variant: Variant, count: usize) -> Self {
        let readable = count.div_ceil(2);
        let buffers: Vec<_> = (0..BATCH as u64).map(|buffer| elements(buffer, count)).collect();
        let mut lists = ScatterLists::default();
        let starts = buffers.iter().map(|buffer| {
            let (first, second) = buffer.split_at(readable);
            [lists.add(first), lists.add(second)]
        });
        let starts = starts.collect();
        let ring = Ring::new(variant == Variant::UnifiedPreChained);
        Work { variant, ring, buffers, readable, lists, starts, seen: Seen::default() }
    }

    /// Adds a batch, lets the device see it and gets it back. `false` if the ring did not hold it.
    pub fn round(&mut self) -> bool {
        let Work { variant, ring, buffers, readable, lists, starts, seen } = self;
        let readable = *readable;
        let mut added = true;
        // The choice is made once for a batch, not for each buffer.
        counted(&mut || {
            added = match *variant {
                Variant::Counted => buffers.iter().all(|buffer| walks::add_counted(ring, buffer, readable)),
                Variant::Walked => starts.iter().all(|start| walks::add_walked(ring, lists, *start)),
                Variant::SeparateDirect => {
                    buffers.iter().all(|buffer| paths::separate_direct(ring, buffer, readable))
                }
                Variant::SeparateIndirect => {
                    buffers.iter().all(|buffer| paths::separate_indirect(ring, buffer, readable))
                }
                Variant::UnifiedDirect => {
                    buffers.iter().all(|buffer| paths::unified(ring, buffer, readable, false, false))
                }
                Variant::UnifiedIndirect => {
                    buffers.iter().all(|buffer| paths::unified(ring, buffer, readable, true, false))
                }
                Variant::UnifiedPreChained => {
                    buffers.iter().all(|buffer| paths::unified(ring, buffer, readable, true, true))
                }
            };
        });
        ring.device(seen);
        counted(&mut || ring.reap());
        added
    }

    /// What the device has seen so far.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Moves so many buffers, at least a batch.
    fn work(&mut self, buffers: usize) -> Result<u64, Error> {
        let rounds = (buffers / BATCH).max(1);
        let before = self.seen.buffers;
        for _ in 0..rounds {
            self.round();
        }
        let (added, back) = (rounds * BATCH, (self.seen.buffers - before) as usize);
        if added == back { Ok(added as u64) } else { Err(Error::Lost { added, back }) }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns of each variant.
    pub turns: usize,
    /// Buffers of a turn.
    pub buffers: usize,
}

impl Effort {
    /// What a good figure takes.
    pub const FULL: Effort = Effort { turns: 31, buffers: 32_768 };
    /// A look.
    pub const QUICK: Effort = Effort { turns: 5, buffers: 2048 };
    /// What is run under valgrind.
    const COUNTED: Effort = Effort { turns: 1, buffers: 1024 };
}

/// A variant's figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// The question.
    pub exhibit: &'static str,
    /// The answer that is measured.
    pub variant: Variant,
    /// Elements of a buffer.
    pub elements: usize,
    /// Time of both sides, and against the exhibit's first variant.
    pub turns: Turns,
    /// The driver's instructions for a buffer.
    pub instructions: Option<f64>,
}

/// Measures every variant, telling `progress` how many of how many cases are done.
pub fn times(effort: Effort, mut progress: impl FnMut(u64, u64)) -> Result<Vec<Figures>, Error> {
    let mut figures = Vec::new();
    let of = (EXHIBITS.len() * ELEMENTS.len()) as u64;
    let cases = EXHIBITS.iter().flat_map(|exhibit| ELEMENTS.map(|elements| (exhibit, elements)));
    for (done, (exhibit, elements)) in (1..).zip(cases) {
        let mut works: Vec<_> =
            exhibit.variants.iter().map(|variant| Work::new(*variant, elements)).collect();
        let turns = alternate(&mut works, effort.turns, |work| work.work(effort.buffers))?;
        figures.extend(exhibit.variants.iter().zip(turns).map(|(variant, turns)| Figures {
            exhibit: exhibit.name,
            variant: *variant,
            elements,
            turns,
            instructions: None,
        }));
        progress(done, of);
    }
    Ok(figures)
}

/// What runs under valgrind to be counted, in the order of [`times`]; before all of it nothing, to know what counting
/// costs.
pub fn run_counted() -> Result<(), Error> {
    instructions::count_nothing();
    for exhibit in EXHIBITS {
        for elements in ELEMENTS {
            for variant in exhibit.variants {
                let mut work = Work::new(*variant, elements);
                work.work(Effort::COUNTED.buffers)?;
                instructions::end_case();
            }
        }
    }
    Ok(())
}

/// Fills in the driver's instructions for a buffer, counted while this program runs [`run_counted`] with `arguments`.
pub fn instructions<'a>(
    figures: &mut [Figures],
    arguments: impl IntoIterator<Item = &'a str>,
) -> Result<(), Error> {
    let counts = instructions::count(arguments, figures.len())?;
    let rounds = (Effort::COUNTED.buffers / BATCH) as f64;
    for (figures, count) in figures.iter_mut().zip(counts) {
        figures.instructions = Some(count.without(2.0 * rounds) / (rounds * BATCH as f64));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::QUEUE_SIZE;

    #[test]
    fn every_variant_moves_the_same_buffers() {
        for elements in [1, 2, 3, 4, 5, 9, 16] {
            for exhibit in EXHIBITS {
                let seen = exhibit.variants.iter().map(|variant| {
                    let mut work = Work::new(*variant, elements);
                    for _ in 0..40 {
                        assert!(work.round(), "{variant:?} with {elements} elements");
                        assert_eq!(work.ring.free, QUEUE_SIZE, "all descriptors came back");
                        assert_eq!(work.ring.free_tables.len(), usize::from(QUEUE_SIZE), "and all tables");
                    }
                    work.seen()
                });
                let seen: Vec<_> = seen.collect();
                assert_eq!(seen[0].buffers, 40 * BATCH as u64);
                assert_eq!(seen[0].elements, seen[0].buffers * elements as u64);
                assert!(seen.iter().all(|other| *other == seen[0]), "{}: {seen:?}", exhibit.name);
            }
        }
    }

    #[test]
    fn a_chain_made_once_holds_for_buffers_of_other_lengths() {
        let mut ring = Ring::new(true);
        let mut seen = Seen::default();
        let mut expected = 0;
        for count in [16, 1, 7, 16, 2, 3, 16] {
            let elements = elements(0, count);
            for _ in 0..3 {
                assert!(paths::unified(&mut ring, &elements, count / 2, true, true));
                expected += count as u64;
            }
            ring.device(&mut seen);
            ring.reap();
        }
        assert_eq!(seen.elements, expected);
    }

    #[test]
    fn a_full_ring_is_told() {
        let mut ring = Ring::new(false);
        let elements = elements(0, 16);
        let added = (0..20).take_while(|_| paths::separate_direct(&mut ring, &elements, 8)).count();
        assert_eq!(added, usize::from(QUEUE_SIZE) / 16);
        assert!(!paths::separate_indirect(&mut ring, &elements, 8));
    }

    #[test]
    fn the_figures_are_of_every_variant() {
        let mut steps = Vec::new();
        let effort = Effort { turns: 1, buffers: BATCH };
        let figures = times(effort, |done, of| steps.push((done, of))).unwrap();
        let variants: usize = EXHIBITS.iter().map(|exhibit| exhibit.variants.len()).sum();
        assert_eq!(figures.len(), variants * ELEMENTS.len());
        assert_eq!((steps.len(), steps.last()), (12, Some(&(12, 12))));
    }
}
