//! A strategy as a value: in traces, on command lines, in the page.

use super::{Direct, ListCache, PlainAllocation, RingState, Table, TableArena, TableSource};
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
}

impl TableStrategy {
    /// The strategy, with tables from `length` bytes of guest memory at `base`.
    pub fn build(self, base: u64, length: u64) -> AnyTableSource {
        let arena = TableArena::new(base, length);
        match self {
            TableStrategy::Direct => AnyTableSource::Direct(Direct),
            TableStrategy::PlainAllocation => AnyTableSource::PlainAllocation(PlainAllocation::new(arena)),
            TableStrategy::ListCache { threshold } => {
                AnyTableSource::ListCache(ListCache::new(arena, threshold))
            }
        }
    }
}

impl fmt::Display for TableStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableStrategy::Direct => f.write_str("always direct"),
            TableStrategy::PlainAllocation => f.write_str("plain allocation"),
            TableStrategy::ListCache { threshold } => write!(f, "list cache, threshold {threshold}"),
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
        }
    }
    #[inline]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
    ) -> Result<(), Fault> {
        match self {
            AnyTableSource::Direct(source) => source.put_back(memory, probe, table),
            AnyTableSource::PlainAllocation(source) => source.put_back(memory, probe, table),
            AnyTableSource::ListCache(source) => source.put_back(memory, probe, table),
        }
    }
    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        let idle: Box<dyn Iterator<Item = Table> + '_> = match self {
            AnyTableSource::Direct(source) => Box::new(source.idle()),
            AnyTableSource::PlainAllocation(source) => Box::new(source.idle()),
            AnyTableSource::ListCache(source) => Box::new(source.idle()),
        };
        idle
    }
}
