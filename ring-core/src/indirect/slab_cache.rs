//! A cache of objects of one size for small buffers, its free list kept privately.
//!
//! Proposed for Linux in 2012: buffers of up to a fixed number of elements take a table from a cache of equal objects in
//! place of the general allocator. With two entries it is the counter-proposal made for virtio-net, whose buffers mostly
//! have two.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    memory::Memory,
    probe::{Event, Probe},
};
use alloc::vec::Vec;

/// Tables of `entries` entries are cached, larger ones allocated.
#[derive(Clone, Debug)]
pub struct SlabCache {
    arena: TableArena,
    entries: u16,
    idle: Vec<u64>,
}

impl SlabCache {
    /// Tables come from `arena`; buffers of up to `entries` elements take cached ones.
    pub fn new(arena: TableArena, entries: u16) -> Self {
        SlabCache { arena, entries, idle: Vec::new() }
    }
}

impl TableSource for SlabCache {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        elements: u16,
        _: RingState,
    ) -> Result<Option<Table>, Fault> {
        if elements <= self.entries
            && let Some(address) = self.idle.pop()
        {
            let table = Table { address, entries: self.entries };
            probe.event(Event::TableReused(table));
            return Ok(Some(table));
        }
        Ok(self.arena.allocate_told(elements.max(self.entries), probe))
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        table: Table,
        _: u16,
    ) -> Result<(), Fault> {
        if table.entries > self.entries {
            self.arena.free_told(table, probe);
        } else {
            self.idle.push(table.address);
            probe.event(Event::TableCached(table));
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
        self.idle.iter().rev().map(|address| Table { address: *address, entries: self.entries })
    }

    fn run_on(&mut self, node: u16) {
        self.arena.run_on(node);
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.arena.is_local(table)
    }
}
