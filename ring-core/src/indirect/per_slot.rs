//! A table for every ring slot: no list, and no allocation once each slot has had its buffer.
//!
//! Proposed by a reviewer in 2021. Here a slot's table is made when the slot first needs one, so that a queue that never
//! goes indirect holds none.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    memory::Memory,
    probe::{Event, Probe},
};
use alloc::vec::Vec;

/// Tables of a fixed size, each belonging to a slot (split) or buffer id (packed). Larger buffers take allocated ones.
#[derive(Clone, Debug)]
pub struct PerSlot {
    arena: TableArena,
    entries: u16,
    by_id: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Empty,
    Idle(u64),
    InUse,
}

impl PerSlot {
    /// Tables of `entries` entries, from `arena`.
    pub fn new(arena: TableArena, entries: u16) -> Self {
        PerSlot { arena, entries, by_id: Vec::new() }
    }
}

impl TableSource for PerSlot {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        let entries = self.entries;
        if elements > entries {
            return Ok(self.arena.allocate_told(elements, probe));
        }
        if self.by_id.is_empty() {
            self.by_id.resize(ring.size.into(), Slot::Empty);
        }
        let Some(slot) = self.by_id.get_mut(ring.id as usize) else { return Ok(None) };
        if let Slot::Idle(address) = core::mem::replace(slot, Slot::InUse) {
            let table = Table { address, entries };
            probe.event(Event::TableReused(table));
            return Ok(Some(table));
        }
        let table = self.arena.allocate_told(entries, probe);
        if table.is_none() {
            *slot = Slot::Empty;
        }
        Ok(table)
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        match self.by_id.get_mut(id as usize) {
            Some(slot) if table.entries <= self.entries => {
                *slot = Slot::Idle(table.address);
                probe.event(Event::TableCached(table));
            }
            _ => self.arena.free_told(table, probe),
        }
        Ok(())
    }

    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        if table.entries < self.entries {
            return Err(AdoptError::Entries);
        }
        self.arena.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.by_id.iter().filter_map(|slot| match slot {
            Slot::Idle(address) => Some(Table { address: *address, entries: self.entries }),
            _ => None,
        })
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

    #[test]
    fn a_slot_keeps_its_table() {
        let memory = OwnedMemory::new(0, 0x1000);
        let mut source = PerSlot::new(TableArena::new(64, 0x800), 4);
        let take = |source: &mut PerSlot, elements, id| {
            let ring = RingState { size: 8, free: 8, id };
            source.take(&memory, &mut NoProbe, elements, ring).unwrap().unwrap()
        };
        assert_eq!(source.idle().count(), 0, "nothing is held before it is needed");
        let (third, fifth) = (take(&mut source, 2, 3), take(&mut source, 4, 5));
        assert_ne!(third.address, fifth.address);
        for (table, id) in [(third, 3), (fifth, 5)] {
            source.put_back(&memory, &mut NoProbe, table, id).unwrap();
        }
        assert_eq!(take(&mut source, 3, 3), third);
        assert_eq!(take(&mut source, 3, 5), fifth);
        let large = take(&mut source, 9, 4);
        source.put_back(&memory, &mut NoProbe, large, 4).unwrap();
        assert_eq!(source.idle().count(), 0, "a large table is freed, not kept");
    }
}
