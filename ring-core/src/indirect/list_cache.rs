//! A cache of equal tables on a doubly linked list, last in first out, the links inside the idle tables.
//!
//! This is the mechanism proposed for Linux in 2021: buffers of up to `threshold` elements take the table returned
//! last, or a new one of exactly `threshold` entries, and idle tables are never freed while the queue lives.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    fault::Place,
    memory::Memory,
    probe::{Event, Probe},
    spec::Rule,
};
use alloc::vec::Vec;

/// The list cache. A threshold of 0 or 1 caches nothing, since one element never takes a table.
#[derive(Clone, Debug)]
pub struct ListCache {
    arena: TableArena,
    threshold: u16,
    // The list as we know it, most recently returned last. The links in the tables are where the device could
    // write, so they are checked against this and never followed.
    idle: Vec<u64>,
}

impl ListCache {
    /// Tables of `threshold` entries are cached; all tables come from `arena`.
    pub fn new(arena: TableArena, threshold: u16) -> Self {
        ListCache { arena, threshold, idle: Vec::new() }
    }

    fn cached(&self, address: u64) -> Table {
        Table { address, entries: self.threshold }
    }

    /// Writes every link anew, so that after a reset the list is whole again.
    #[cold]
    fn relink<M: Memory>(&self, memory: &M) -> Result<(), Fault> {
        let at = |index: usize| self.idle.get(index).copied().unwrap_or(END);
        for (index, address) in self.idle.iter().enumerate() {
            let next = index.checked_sub(1).map_or(END, at);
            memory.store_words(*address, [next, at(index + 1)])?;
        }
        Ok(())
    }
}

/// What a link says at either end of the list.
const END: u64 = 0;

impl TableSource for ListCache {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        _: RingState,
    ) -> Result<Option<Table>, Fault> {
        if elements <= self.threshold
            && let [rest @ .., address] = self.idle.as_slice()
        {
            let (address, next) = (*address, rest.last().copied().unwrap_or(END));
            let [stored_next, stored_previous] = memory.load_words(address)?;
            if stored_next != next || stored_previous != END {
                self.relink(memory)?;
                let found = if stored_next != next { stored_next } else { stored_previous };
                let expected = "the link the driver left in its idle table";
                return Err(Fault::rule(Rule::ReadOnly, Place::Table { address, entry: 0 }, found, expected));
            }
            if next != END {
                let [after, _] = memory.load_words(next)?;
                memory.store_words(next, [after, END])?;
            }
            self.idle.pop();
            let table = self.cached(address);
            probe.event(Event::TableReused(table));
            return Ok(Some(table));
        }
        Ok(self.arena.allocate_told(elements.max(self.threshold), probe))
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        _: u16,
    ) -> Result<(), Fault> {
        if table.entries > self.threshold {
            self.arena.free_told(table, probe);
            return Ok(());
        }
        let next = self.idle.last().copied().unwrap_or(END);
        memory.store_words(table.address, [next, END])?;
        if next != END {
            let [after, _] = memory.load_words(next)?;
            memory.store_words(next, [after, table.address])?;
        }
        self.idle.push(table.address);
        probe.event(Event::TableCached(table));
        Ok(())
    }

    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        if table.entries < self.threshold {
            return Err(AdoptError::Entries);
        }
        self.arena.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.idle.iter().rev().map(|address| self.cached(*address))
    }

    fn run_on(&mut self, node: u16) {
        self.arena.run_on(node);
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.arena.is_local(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory::OwnedMemory, probe::NoProbe};

    const RING: RingState = RingState { size: 16, free: 16, id: 0 };

    fn cache(threshold: u16) -> (OwnedMemory, ListCache) {
        (OwnedMemory::new(0x1000, 0x1000), ListCache::new(TableArena::new(0x1000, 0x1000), threshold))
    }

    #[test]
    fn gives_the_table_returned_last_and_links_the_idle_ones() {
        let (memory, mut cache) = cache(4);
        let [first, second, third] =
            [2, 3, 4].map(|elements| cache.take(&memory, &mut NoProbe, elements, RING).unwrap().unwrap());
        for table in [first, second, third] {
            assert_eq!(table.entries, 4);
            cache.put_back(&memory, &mut NoProbe, table, 0).unwrap();
        }
        assert_eq!(cache.idle().collect::<Vec<_>>(), [third, second, first]);
        assert_eq!(memory.load_words(third.address), Ok([second.address, END]));
        assert_eq!(memory.load_words(second.address), Ok([first.address, third.address]));
        assert_eq!(memory.load_words(first.address), Ok([END, second.address]));
        let mut events = Vec::new();
        assert_eq!(cache.take(&memory, &mut events, 2, RING), Ok(Some(third)));
        assert_eq!(events, [Event::TableReused(third)]);
        assert_eq!(cache.take(&memory, &mut NoProbe, 2, RING), Ok(Some(second)));
    }

    #[test]
    fn larger_buffers_pass_by_the_cache() {
        let (memory, mut cache) = cache(4);
        let table = cache.take(&memory, &mut NoProbe, 5, RING).unwrap().unwrap();
        assert_eq!(table.entries, 5);
        cache.put_back(&memory, &mut NoProbe, table, 0).unwrap();
        assert_eq!(cache.idle().count(), 0);
    }

    #[test]
    fn a_link_that_the_device_changed_is_a_fault() {
        let (memory, mut cache) = cache(4);
        let table = cache.take(&memory, &mut NoProbe, 2, RING).unwrap().unwrap();
        cache.put_back(&memory, &mut NoProbe, table, 0).unwrap();
        memory.store_words(table.address, [0x1fc0, 0]).unwrap();
        let fault = cache.take(&memory, &mut NoProbe, 2, RING).unwrap_err();
        assert_eq!(fault.rule_id(), Some("B-READONLY"));
    }
}
