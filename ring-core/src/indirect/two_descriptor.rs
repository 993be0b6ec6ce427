//! A cache for buffers of two elements, whatever the ring's state.
//!
//! The counter-proposal of 2012: no threshold and no parameter, only a cache for the one size that virtio-net mostly sends,
//! a header and a packet. It is a [`SlabCache`] of two entries, which is all that it was meant to be.

use super::{AdoptError, RingState, SlabCache, Table, TableArena, TableSource};
use crate::{Fault, memory::Memory, probe::Probe};

/// Buffers of two elements take tables of two entries from a cache; larger ones take allocated tables.
#[derive(Clone, Debug)]
pub struct TwoDescriptorCache {
    cache: SlabCache,
}

impl TwoDescriptorCache {
    /// Entries of its tables.
    pub const ENTRIES: u16 = 2;

    /// Tables come from `arena`.
    pub fn new(arena: TableArena) -> Self {
        TwoDescriptorCache { cache: SlabCache::new(arena, Self::ENTRIES) }
    }
}

impl TableSource for TwoDescriptorCache {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        self.cache.take(memory, probe, elements, ring)
    }
    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        self.cache.put_back(memory, probe, table, id)
    }
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        self.cache.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.cache.idle()
    }
    fn run_on(&mut self, node: u16) {
        self.cache.run_on(node);
    }
    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.cache.is_local(table)
    }
}
