//! A strategy as a value: in traces, on command lines, in the page.

use super::{
    Direct, Limit, ListCache, PerSlot, PlainAllocation, RingState, SingleList, SlabCache, Table, TableArena,
    TableSource,
};
use crate::{Fault, memory::Memory, probe::Probe};
use alloc::boxed::Box;
use core::fmt;

/// Which strategy, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TableStrategy {
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
}

impl TableStrategy {
    /// Entries of the largest table that a buffer of up to `elements` elements may take; 0 for none.
    pub fn largest_table(self, elements: u16) -> u16 {
        match self {
            TableStrategy::Direct => 0,
            _ if elements < 2 => 0,
            TableStrategy::PlainAllocation => elements,
            TableStrategy::ListCache { threshold: entries }
            | TableStrategy::SingleList { threshold: entries, .. }
            | TableStrategy::SlabCache { entries }
            | TableStrategy::PerSlot { entries } => elements.max(entries),
        }
    }

    /// The strategy, with tables from `length` bytes of guest memory at `base`.
    pub fn build(self, base: u64, length: u64) -> AnyTableSource {
        let arena = TableArena::new(base, length);
        match self {
            TableStrategy::Direct => AnyTableSource::Direct(Direct),
            TableStrategy::PlainAllocation => AnyTableSource::PlainAllocation(PlainAllocation::new(arena)),
            TableStrategy::ListCache { threshold } => {
                AnyTableSource::ListCache(ListCache::new(arena, threshold))
            }
            TableStrategy::SingleList { threshold, limit } => {
                AnyTableSource::SingleList(SingleList::new(arena, threshold, limit))
            }
            TableStrategy::SlabCache { entries } => AnyTableSource::SlabCache(SlabCache::new(arena, entries)),
            TableStrategy::PerSlot { entries } => AnyTableSource::PerSlot(PerSlot::new(arena, entries)),
        }
    }
}

impl fmt::Display for TableStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableStrategy::Direct => f.write_str("always direct"),
            TableStrategy::PlainAllocation => f.write_str("plain allocation"),
            TableStrategy::ListCache { threshold } => write!(f, "list cache, threshold {threshold}"),
            TableStrategy::SingleList { threshold, limit } => {
                write!(f, "single list, threshold {threshold}")?;
                match limit {
                    Limit::None => Ok(()),
                    Limit::Tables(tables) => write!(f, ", at most {tables} tables"),
                    Limit::Bytes(bytes) => write!(f, ", at most {bytes} bytes"),
                }
            }
            TableStrategy::SlabCache { entries } => write!(f, "slab cache of {entries} entries"),
            TableStrategy::PerSlot { entries } => write!(f, "a table of {entries} entries per slot"),
        }
    }
}

/// Any strategy, chosen at run time. Code that measures one uses its type instead.
#[derive(Clone, Debug)]
pub enum AnyTableSource {
    /// See [`Direct`].
    Direct(Direct),
    /// See [`PlainAllocation`].
    PlainAllocation(PlainAllocation),
    /// See [`ListCache`].
    ListCache(ListCache),
    /// See [`SingleList`].
    SingleList(SingleList),
    /// See [`SlabCache`].
    SlabCache(SlabCache),
    /// See [`PerSlot`].
    PerSlot(PerSlot),
}

impl TableSource for AnyTableSource {
    #[inline]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        match self {
            AnyTableSource::Direct(source) => source.take(memory, probe, elements, ring),
            AnyTableSource::PlainAllocation(source) => source.take(memory, probe, elements, ring),
            AnyTableSource::ListCache(source) => source.take(memory, probe, elements, ring),
            AnyTableSource::SingleList(source) => source.take(memory, probe, elements, ring),
            AnyTableSource::SlabCache(source) => source.take(memory, probe, elements, ring),
            AnyTableSource::PerSlot(source) => source.take(memory, probe, elements, ring),
        }
    }
    #[inline]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        match self {
            AnyTableSource::Direct(source) => source.put_back(memory, probe, table, id),
            AnyTableSource::PlainAllocation(source) => source.put_back(memory, probe, table, id),
            AnyTableSource::ListCache(source) => source.put_back(memory, probe, table, id),
            AnyTableSource::SingleList(source) => source.put_back(memory, probe, table, id),
            AnyTableSource::SlabCache(source) => source.put_back(memory, probe, table, id),
            AnyTableSource::PerSlot(source) => source.put_back(memory, probe, table, id),
        }
    }
    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        let idle: Box<dyn Iterator<Item = Table> + '_> = match self {
            AnyTableSource::Direct(source) => Box::new(source.idle()),
            AnyTableSource::PlainAllocation(source) => Box::new(source.idle()),
            AnyTableSource::ListCache(source) => Box::new(source.idle()),
            AnyTableSource::SingleList(source) => Box::new(source.idle()),
            AnyTableSource::SlabCache(source) => Box::new(source.idle()),
            AnyTableSource::PerSlot(source) => Box::new(source.idle()),
        };
        idle
    }
}
