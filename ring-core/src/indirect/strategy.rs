//! A strategy as a value: in traces, on command lines, in the page.

use super::{
    AnyTableSource, Direct, InvalidParameter, Limit, LineStack, ListCache, PerNodeList, PerSlot,
    PlainAllocation, PreChained, SingleList, SlabCache, TableArena, TableSource, Threshold,
    TwoDescriptorCache, parameter::check,
};
use core::fmt;

/// Which strategy, with its parameters, perhaps behind a threshold.
///
/// The threshold stands over any strategy but another threshold, so the type is one of two levels.
pub type TableStrategy = Strategy<Unconditional>;

/// Which strategy, with its parameters, without a threshold.
pub type Unconditional = Strategy<Never>;

/// A strategy that does not exist: what a threshold would stand over where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}

/// Which strategy, with its parameters. `Over` is what a threshold stands over; see [`TableStrategy`].
///
/// Parameters are numbers of elements or ring descriptors unless they say otherwise, and must lie in the range that
/// [`check`](TableStrategy::check) names. With 0 or 1 as the largest buffer that takes a cached table nothing is cached, since one
/// element takes no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Strategy<Over> {
    /// [`Direct`].
    Direct,
    /// [`PlainAllocation`].
    PlainAllocation,
    /// [`ListCache`].
    ListCache {
        /// The largest buffer, in elements, that takes a cached table.
        threshold: u16,
    },
    /// [`SingleList`].
    SingleList {
        /// The largest buffer, in elements, that takes a cached table.
        threshold: u16,
        /// How many idle tables are kept.
        limit: Limit,
    },
    /// [`SlabCache`].
    SlabCache {
        /// The largest buffer, in elements, that takes a cached table.
        entries: u16,
    },
    /// [`PerSlot`].
    PerSlot {
        /// The largest buffer, in elements, that takes its slot's table.
        entries: u16,
    },
    /// [`TwoDescriptorCache`].
    TwoDescriptorCache,
    /// [`PreChained`].
    PreChained {
        /// The largest buffer, in elements, that takes a table whose chain is made.
        entries: u16,
    },
    /// [`PerNodeList`].
    PerNodeList {
        /// The largest buffer, in elements, that takes a cached table.
        threshold: u16,
    },
    /// [`LineStack`].
    LineStack {
        /// The largest buffer, in elements, that takes ring descriptors while half of them is free.
        direct: u16,
    },
    /// [`Threshold`].
    Threshold {
        /// Tables are asked for while fewer ring descriptors than this are free; with 0, only for buffers that the free
        /// ones do not hold.
        free: u16,
        /// Where they come from then.
        over: Over,
    },
}

/// What is done with a strategy of a type of its own; see [`TableStrategy::visit`].
pub trait TableVisitor {
    /// What comes of it.
    type Output;

    /// Is called once, with what makes the strategy from an arena.
    fn visit<T: TableSource + Clone + Into<AnyTableSource> + 'static>(
        self,
        make: impl Fn(TableArena) -> T + 'static,
    ) -> Self::Output;
}

impl TableStrategy {
    /// Whether a queue of this size can use the parameters: none is larger than the queue's size, since no buffer is; but a
    /// threshold may be the one that [every small queue has by default](Threshold::of_queue).
    pub fn check(self, queue_size: u16) -> Result<(), InvalidParameter> {
        Level::check(self, queue_size)
    }

    /// Entries of the largest table that a buffer of up to `elements` elements may take; 0 for none.
    pub fn largest_table(self, elements: u16) -> u16 {
        Level::largest_table(self, elements)
    }

    /// The strategy for a queue of this size, with tables from `length` bytes of guest memory at `base`.
    pub fn build(self, queue_size: u16, base: u64, length: u64) -> Result<AnyTableSource, InvalidParameter> {
        self.build_from(queue_size, TableArena::new(base, length))
    }

    /// The strategy for a queue of this size, with tables from this arena.
    pub fn build_from(self, queue_size: u16, arena: TableArena) -> Result<AnyTableSource, InvalidParameter> {
        self.check(queue_size)?;
        Ok(self.visit(Build(arena)))
    }

    /// Calls `visitor` with the strategy's own type, for code that measures it without a choice at run time. Parameters are
    /// taken as they are; any are safe.
    pub fn visit<V: TableVisitor>(self, visitor: V) -> V::Output {
        Level::visit(self, visitor)
    }
}

impl fmt::Display for TableStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Level::name(*self, f)
    }
}

impl From<Unconditional> for TableStrategy {
    fn from(strategy: Unconditional) -> Self {
        match strategy {
            Strategy::Direct => Strategy::Direct,
            Strategy::PlainAllocation => Strategy::PlainAllocation,
            Strategy::ListCache { threshold } => Strategy::ListCache { threshold },
            Strategy::SingleList { threshold, limit } => Strategy::SingleList { threshold, limit },
            Strategy::SlabCache { entries } => Strategy::SlabCache { entries },
            Strategy::PerSlot { entries } => Strategy::PerSlot { entries },
            Strategy::TwoDescriptorCache => Strategy::TwoDescriptorCache,
            Strategy::PreChained { entries } => Strategy::PreChained { entries },
            Strategy::PerNodeList { threshold } => Strategy::PerNodeList { threshold },
            Strategy::LineStack { direct } => Strategy::LineStack { direct },
        }
    }
}

/// Makes it, with its type hidden.
struct Build(TableArena);

impl TableVisitor for Build {
    type Output = AnyTableSource;
    fn visit<T: TableSource + Clone + Into<AnyTableSource> + 'static>(
        self,
        make: impl Fn(TableArena) -> T + 'static,
    ) -> AnyTableSource {
        make(self.0).into()
    }
}

/// Puts a threshold before what is visited.
struct Behind<V> {
    free: u16,
    visitor: V,
}

impl<V: TableVisitor> TableVisitor for Behind<V> {
    type Output = V::Output;
    fn visit<T: TableSource + Clone + Into<AnyTableSource> + 'static>(
        self,
        make: impl Fn(TableArena) -> T + 'static,
    ) -> V::Output {
        let free = self.free;
        self.visitor.visit(move |arena| Threshold::new(make(arena), free))
    }
}

/// Either level of a strategy, and the end below both.
trait Level: Copy {
    fn check(self, queue_size: u16) -> Result<(), InvalidParameter>;
    fn largest_table(self, elements: u16) -> u16;
    fn visit<V: TableVisitor>(self, visitor: V) -> V::Output;
    fn name(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl Level for Never {
    fn check(self, _: u16) -> Result<(), InvalidParameter> {
        match self {}
    }
    fn largest_table(self, _: u16) -> u16 {
        match self {}
    }
    fn visit<V: TableVisitor>(self, _: V) -> V::Output {
        match self {}
    }
    fn name(self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {}
    }
}

impl<Over: Level> Level for Strategy<Over> {
    fn check(self, queue_size: u16) -> Result<(), InvalidParameter> {
        let size = "the queue size";
        match self {
            Strategy::Direct | Strategy::PlainAllocation | Strategy::TwoDescriptorCache => Ok(()),
            Strategy::ListCache { threshold }
            | Strategy::SingleList { threshold, .. }
            | Strategy::PerNodeList { threshold } => check("threshold", threshold, 0..=queue_size, size),
            Strategy::SlabCache { entries }
            | Strategy::PerSlot { entries }
            | Strategy::PreChained { entries } => check("entries", entries, 0..=queue_size, size),
            Strategy::LineStack { direct } => check("direct", direct, 0..=queue_size, size),
            Strategy::Threshold { free, over } => {
                let default = Threshold::default_free(queue_size);
                let (most, because) = if default > queue_size {
                    (default, "the default of small queues")
                } else {
                    (queue_size, size)
                };
                check("free", free, 0..=most, because)?;
                over.check(queue_size)
            }
        }
    }

    fn largest_table(self, elements: u16) -> u16 {
        match self {
            Strategy::Direct => 0,
            Strategy::Threshold { over, .. } => over.largest_table(elements),
            _ if elements < 2 => 0,
            Strategy::PlainAllocation => elements,
            Strategy::LineStack { .. } => elements.max(LineStack::entries(elements)),
            Strategy::TwoDescriptorCache => elements.max(TwoDescriptorCache::ENTRIES),
            Strategy::ListCache { threshold: entries }
            | Strategy::SingleList { threshold: entries, .. }
            | Strategy::PerNodeList { threshold: entries }
            | Strategy::SlabCache { entries }
            | Strategy::PerSlot { entries }
            | Strategy::PreChained { entries } => elements.max(entries),
        }
    }

    fn visit<V: TableVisitor>(self, visitor: V) -> V::Output {
        match self {
            Strategy::Direct => visitor.visit(|_| Direct),
            Strategy::PlainAllocation => visitor.visit(PlainAllocation::new),
            Strategy::ListCache { threshold } => visitor.visit(move |arena| ListCache::new(arena, threshold)),
            Strategy::SingleList { threshold, limit } => {
                visitor.visit(move |arena| SingleList::new(arena, threshold, limit))
            }
            Strategy::SlabCache { entries } => visitor.visit(move |arena| SlabCache::new(arena, entries)),
            Strategy::PerSlot { entries } => visitor.visit(move |arena| PerSlot::new(arena, entries)),
            Strategy::TwoDescriptorCache => visitor.visit(TwoDescriptorCache::new),
            Strategy::PreChained { entries } => visitor.visit(move |arena| PreChained::new(arena, entries)),
            Strategy::PerNodeList { threshold } => {
                visitor.visit(move |arena| PerNodeList::new(arena, threshold))
            }
            Strategy::LineStack { direct } => visitor.visit(move |arena| LineStack::new(arena, direct)),
            Strategy::Threshold { free, over } => over.visit(Behind { free, visitor }),
        }
    }

    fn name(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Direct => f.write_str("always direct"),
            Strategy::PlainAllocation => f.write_str("plain allocation"),
            Strategy::ListCache { threshold } => write!(f, "list cache, threshold {threshold}"),
            Strategy::SingleList { threshold, limit } => {
                write!(f, "single list, threshold {threshold}")?;
                match limit {
                    Limit::None => Ok(()),
                    Limit::Tables(tables) => write!(f, ", at most {tables} tables"),
                    Limit::Bytes(bytes) => write!(f, ", at most {bytes} bytes"),
                }
            }
            Strategy::SlabCache { entries } => write!(f, "slab cache of {entries} entries"),
            Strategy::PerSlot { entries } => write!(f, "a table of {entries} entries per slot"),
            Strategy::TwoDescriptorCache => f.write_str("two-descriptor cache"),
            Strategy::PreChained { entries } => write!(f, "chained tables of {entries} entries"),
            Strategy::PerNodeList { threshold } => {
                write!(f, "list cache per NUMA node, threshold {threshold}")
            }
            Strategy::LineStack { direct } => write!(f, "line stacks, direct up to {direct} elements"),
            Strategy::Threshold { free, over } => {
                over.name(f)?;
                write!(f, ", below {free} free descriptors")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const LIST: Unconditional = Strategy::ListCache { threshold: 4 };

    #[test]
    fn a_parameter_out_of_its_range_is_named() {
        let checked = |strategy: TableStrategy, size| strategy.check(size).map_err(|error| error.to_string());
        assert_eq!(checked(LIST.into(), 4), Ok(()));
        assert_eq!(
            checked(LIST.into(), 2).unwrap_err(),
            "the table strategy's threshold is 4, expected 0 to 2, the queue size"
        );
        assert_eq!(
            checked(Strategy::PreChained { entries: 300 }, 256).unwrap_err(),
            "the table strategy's entries is 300, expected 0 to 256, the queue size"
        );
        // What stands behind a threshold is checked too, and the default of a small queue is possible.
        let behind = |free| Strategy::Threshold { free, over: LIST };
        assert_eq!(checked(behind(Threshold::default_free(4)), 4), Ok(()));
        assert_eq!(checked(behind(0), 2).unwrap_err(), checked(LIST.into(), 2).unwrap_err());
        assert_eq!(
            checked(behind(17), 4).unwrap_err(),
            "the table strategy's free is 17, expected 0 to 16, the default of small queues"
        );
        assert_eq!(
            checked(behind(257), 256).unwrap_err(),
            "the table strategy's free is 257, expected 0 to 256, the queue size"
        );
        assert!(behind(17).build(4, 0, 0x100).is_err());
    }

    #[test]
    fn a_threshold_says_what_stands_behind() {
        let strategy: TableStrategy = Strategy::Threshold { free: 32, over: LIST };
        assert_eq!(strategy.to_string(), "list cache, threshold 4, below 32 free descriptors");
        assert_eq!((strategy.largest_table(2), strategy.largest_table(9)), (4, 9));
        assert_eq!(strategy.largest_table(1), 0);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn is_written_as_it_always_was() {
        for (strategy, json) in [
            (TableStrategy::Direct, r#""direct""#),
            (LIST.into(), r#"{"list_cache":{"threshold":4}}"#),
            (
                Strategy::SingleList { threshold: 4, limit: Limit::Bytes(64) },
                r#"{"single_list":{"threshold":4,"limit":{"bytes":64}}}"#,
            ),
            (
                Strategy::Threshold { free: 32, over: LIST },
                r#"{"threshold":{"free":32,"over":{"list_cache":{"threshold":4}}}}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&strategy).unwrap(), json);
            assert_eq!(serde_json::from_str::<TableStrategy>(json).unwrap(), strategy);
        }
        // A threshold stands over no threshold.
        let twice = r#"{"threshold":{"free":1,"over":{"threshold":{"free":2,"over":"direct"}}}}"#;
        assert!(serde_json::from_str::<TableStrategy>(twice).is_err());
    }
}
