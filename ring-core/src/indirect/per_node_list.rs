//! A list cache for each NUMA node.
//!
//! The answer to a question of the 2021 review: what if the cache is filled on one node and used on another? A plain list
//! cache then gives tables that lie far from the CPU that writes them, and goes on doing so; how often is counted as
//! [`across_nodes`](super::TableStatistics::across_nodes). Here each node has a list
//! cache of its own: a table goes back to that of the node it lies on, and is taken from that of the node the caller runs on.
//!
//! A node is a range of guest memory ([`TableArena::of_nodes`]), as it is for a guest's kernel. Which one the caller runs
//! on it has to [say](TableSource::run_on); nothing asks the system, so on a machine with one node the nodes are a
//! simulation: the counts are real, a difference in time is not to be expected.

use super::{AdoptError, ListCache, RingState, Table, TableArena, TableSource};
use crate::{Fault, memory::Memory, probe::Probe};
use alloc::vec::Vec;

/// A [`ListCache`] per node.
#[derive(Clone, Debug)]
pub struct PerNodeList {
    // By node.
    caches: Vec<ListCache>,
    here: usize,
}

impl PerNodeList {
    /// Tables of `threshold` entries are cached, a list for each of the arena's nodes.
    pub fn new(arena: TableArena, threshold: u16) -> Self {
        let here = usize::from(arena.node());
        let caches = arena.into_nodes().map(|arena| ListCache::new(arena, threshold)).collect();
        PerNodeList { caches, here }
    }
}

impl TableSource for PerNodeList {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        match self.caches.get_mut(self.here) {
            Some(cache) => cache.take(memory, probe, elements, ring),
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        let cache = match self.caches.get_mut(self.here) {
            Some(cache) if cache.is_local(table) => Some(cache),
            _ => self.caches.iter_mut().find(|cache| cache.is_local(table)),
        };
        cache.map_or(Ok(()), |cache| cache.put_back(memory, probe, table, id))
    }

    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        let cache = self.caches.iter_mut().find(|cache| cache.is_local(table));
        cache.map_or(Err(AdoptError::Outside), |cache| cache.adopt(table))
    }

    /// Those of the caller's node first.
    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        let others = self.caches.iter().enumerate().filter(|(node, _)| *node != self.here);
        self.caches.get(self.here).into_iter().chain(others.map(|(_, cache)| cache)).flat_map(ListCache::idle)
    }

    /// A node without memory of its own is served by node 0.
    fn run_on(&mut self, node: u16) {
        let node = usize::from(node);
        self.here = if node < self.caches.len() { node } else { 0 };
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.caches.get(self.here).is_some_and(|cache| cache.is_local(table))
    }
}
