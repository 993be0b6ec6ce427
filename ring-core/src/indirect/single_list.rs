//! A cache of equal tables on a singly linked list, bounded if wanted.
//!
//! What reviewers asked of the list cache: nothing is ever taken from the middle, so one link is enough and touches one
//! cache line less; and a ring's worth of tables need not stay cached, so the list has a limit.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    fault::Place,
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::Rule,
};
use alloc::vec::Vec;

/// How many idle tables are kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Limit {
    /// Any number.
    None,
    /// So many tables.
    Tables(u16),
    /// Tables of so many bytes together: what a limit is really about.
    Bytes(u32),
}

/// The cache. Buffers of up to `threshold` elements take the table returned last, or a new one of exactly `threshold`
/// entries.
#[derive(Clone, Debug)]
pub struct SingleList {
    arena: TableArena,
    threshold: u16,
    most: usize,
    // The list as we know it, the head last. The links in the tables are where the device could write, so they are checked
    // against this and never followed.
    idle: Vec<u64>,
}

/// What the last table's link says.
const END: u64 = 0;

impl SingleList {
    /// Tables come from `arena`.
    pub fn new(arena: TableArena, threshold: u16, limit: Limit) -> Self {
        let most = match limit {
            Limit::None => usize::MAX,
            Limit::Tables(tables) => tables.into(),
            Limit::Bytes(bytes) => (bytes / Table { address: 0, entries: threshold.max(1) }.bytes()) as usize,
        };
        SingleList { arena, threshold, most, idle: Vec::new() }
    }

    fn cached(&self, address: u64) -> Table {
        Table { address, entries: self.threshold }
    }
}

impl TableSource for SingleList {
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
            let stored = memory.load_u64(address, Ordering::Relaxed)?;
            if stored != next {
                // After a reset the list is whole again.
                memory.store_u64(address, next, Ordering::Relaxed)?;
                let place = Place::Table { address, entry: 0 };
                let expected = "the link the driver left in its idle table";
                return Err(Fault::rule(Rule::ReadOnly, place, stored, expected));
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
        if table.entries > self.threshold || self.idle.len() >= self.most {
            self.arena.free_told(table, probe);
            return Ok(());
        }
        let next = self.idle.last().copied().unwrap_or(END);
        memory.store_u64(table.address, next, Ordering::Relaxed)?;
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

    fn returned(limit: Limit) -> (OwnedMemory, SingleList, [Table; 3]) {
        let memory = OwnedMemory::new(0x1000, 0x1000);
        let mut list = SingleList::new(TableArena::new(0x1000, 0x1000), 4, limit);
        let tables =
            [2, 3, 4].map(|elements| list.take(&memory, &mut NoProbe, elements, RING).unwrap().unwrap());
        for table in tables {
            list.put_back(&memory, &mut NoProbe, table, 0).unwrap();
        }
        (memory, list, tables)
    }

    #[test]
    fn links_each_idle_table_to_the_one_returned_before() {
        let (memory, mut list, [first, second, third]) = returned(Limit::None);
        assert_eq!(memory.load_u64(third.address, Ordering::Relaxed), Ok(second.address));
        assert_eq!(memory.load_u64(first.address, Ordering::Relaxed), Ok(END));
        for table in [third, second, first] {
            assert_eq!(list.take(&memory, &mut NoProbe, 4, RING), Ok(Some(table)));
        }
    }

    #[test]
    fn keeps_no_more_than_its_limit() {
        for (limit, kept) in [
            (Limit::None, 3),
            (Limit::Tables(2), 2),
            (Limit::Tables(0), 0),
            (Limit::Bytes(64), 1),
            (Limit::Bytes(127), 1),
            (Limit::Bytes(128), 2),
        ] {
            assert_eq!(returned(limit).1.idle().count(), kept, "{limit:?}");
        }
    }

    #[test]
    fn a_link_that_the_device_changed_is_a_fault() {
        let (memory, mut list, [_, _, third]) = returned(Limit::None);
        memory.store_u64(third.address, third.address, Ordering::Relaxed).unwrap();
        assert_eq!(list.take(&memory, &mut NoProbe, 2, RING).unwrap_err().rule_id(), Some("B-READONLY"));
    }
}
