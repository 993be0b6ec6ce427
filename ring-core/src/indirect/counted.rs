//! Statistics of any strategy, from the events it reports.

use super::{AdoptError, RingState, Table, TableSource};
use crate::{
    Fault,
    memory::Memory,
    probe::{Event, Probe},
};

/// What a strategy has done so far. Counts are tables, except where bytes are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TableStatistics {
    /// Taken from the allocator.
    pub allocations: u64,
    /// Given back to the allocator.
    pub frees: u64,
    /// Taken from a cache.
    pub hits: u64,
    /// Put into a cache.
    pub cached: u64,
    /// Bytes taken from the allocator and not given back.
    pub bytes_held: u64,
    /// The most bytes that were ever held.
    pub high_water: u64,
    /// Of those taken from a cache, how many lie on another NUMA node than the one the caller ran on, as it
    /// [said](TableSource::run_on).
    #[cfg_attr(feature = "serde", serde(default))]
    pub across_nodes: u64,
}

impl Probe for TableStatistics {
    #[inline]
    fn event(&mut self, event: Event) {
        match event {
            Event::TableAllocated(table) => {
                self.allocations += 1;
                self.bytes_held += table.bytes() as u64;
                self.high_water = self.high_water.max(self.bytes_held);
            }
            Event::TableFreed(table) => {
                self.frees += 1;
                // A source may have tables out from before it was counted.
                self.bytes_held = self.bytes_held.saturating_sub(table.bytes() as u64);
            }
            Event::TableReused(_) => self.hits += 1,
            Event::TableCached(_) => self.cached += 1,
            _ => {}
        }
    }
}

/// A strategy with statistics.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    source: S,
    statistics: TableStatistics,
}

impl<S> Counted<S> {
    /// Counts what `source` does from now on.
    pub fn new(source: S) -> Self {
        Counted { source, statistics: TableStatistics::default() }
    }

    /// The counts so far.
    pub fn statistics(&self) -> TableStatistics {
        self.statistics
    }
}

/// Tells the statistics and then the probe behind.
struct Both<'a, P> {
    statistics: &'a mut TableStatistics,
    probe: &'a mut P,
}

impl<P: Probe> Probe for Both<'_, P> {
    #[inline]
    fn event(&mut self, event: Event) {
        self.statistics.event(event);
        self.probe.event(event);
    }
}

impl<S: TableSource> TableSource for Counted<S> {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        let mut both = Both { statistics: &mut self.statistics, probe };
        let taken = self.source.take(memory, &mut both, elements, ring);
        // New tables are always local.
        if let Ok(Some(table)) = taken
            && !self.source.is_local(table)
        {
            self.statistics.across_nodes += 1;
        }
        taken
    }
    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        let mut both = Both { statistics: &mut self.statistics, probe };
        self.source.put_back(memory, &mut both, table, id)
    }
    /// Counted as taken from the allocator; the probe of a call is told nothing.
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        self.source.adopt(table)?;
        self.statistics.event(Event::TableAllocated(table));
        Ok(())
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.source.idle()
    }
    #[inline(always)]
    fn is_chained(&self, table: Table) -> bool {
        self.source.is_chained(table)
    }
    fn run_on(&mut self, node: u16) {
        self.source.run_on(node);
    }
    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.source.is_local(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        indirect::{ListCache, TableArena},
        memory::OwnedMemory,
        probe::NoProbe,
    };

    #[test]
    fn counts_what_a_cache_did() {
        let memory = OwnedMemory::new(0, 0x1000);
        let ring = RingState { size: 16, free: 16, id: 0 };
        let mut source = Counted::new(ListCache::new(TableArena::new(64, 0x400), 4));
        for elements in [2, 9, 3, 2] {
            let table = source.take(&memory, &mut NoProbe, elements, ring).unwrap().unwrap();
            source.put_back(&memory, &mut NoProbe, table, 0).unwrap();
        }
        let expected = TableStatistics {
            allocations: 2,
            frees: 1,
            hits: 2,
            cached: 3,
            bytes_held: 64,
            high_water: 64 + 9 * 16,
            across_nodes: 0,
        };
        assert_eq!(source.statistics(), expected);
    }
}
