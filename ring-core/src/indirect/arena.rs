//! An allocator of tables in guest memory, its book-keeping outside of it.

use super::{AdoptError, Table, region::Region};
use crate::probe::{Event, Probe};
use alloc::vec::Vec;

/// Hands out tables from guest memory in size classes, as a kernel's general allocator does.
///
/// All book-keeping is private, so nothing the peer writes can mislead it, and the same calls give the same
/// addresses everywhere, which replay relies on. Each class is last in, first out; only when nothing else is left are
/// free neighbours joined and cut anew.
///
/// Guest memory may lie on several NUMA nodes, each a range of addresses. A table is taken from the node that the caller
/// [runs on](Self::run_on) and goes back to the one it lies on.
#[derive(Clone, Debug)]
pub struct TableArena {
    // Of the node that the caller runs on.
    here: Region,
    node: u16,
    // By node; that of `node` is empty while its range is `here`. Empty altogether with one node.
    others: Vec<Region>,
}

impl TableArena {
    /// All of `length` bytes at guest address `base`, which is rounded up to a cache line of 64 bytes.
    pub fn new(base: u64, length: u64) -> Self {
        TableArena { here: Region::new(base, length), node: 0, others: Vec::new() }
    }

    /// `length` bytes at guest address `base`, an equal part of them on each of so many NUMA nodes (0 is as 1). The
    /// caller runs on node 0 at first.
    pub fn of_nodes(base: u64, length: u64, nodes: u16) -> Self {
        let part = length / u64::from(nodes.max(1));
        let region = |node: u16| Region::new(base.saturating_add(u64::from(node) * part), part);
        match nodes {
            0 | 1 => Self::new(base, length),
            _ => {
                // The place of the node that is `here` stays empty.
                let others = (1..nodes).map(region);
                let others = core::iter::once(Region::new(0, 0)).chain(others).collect();
                TableArena { here: region(0), node: 0, others }
            }
        }
    }

    /// How many nodes its memory lies on.
    pub fn nodes(&self) -> u16 {
        self.others.len().max(1) as u16
    }

    /// The node that the caller runs on.
    pub fn node(&self) -> u16 {
        self.node
    }

    /// From now on the caller runs on this node. One without memory of its own takes node 0's.
    pub fn run_on(&mut self, node: u16) {
        let node = if node < self.nodes() { node } else { 0 };
        if node != self.node {
            self.swap_here();
            self.node = node;
            self.swap_here();
        }
    }

    /// An arena for each node, in their order, none of which knows of nodes.
    pub fn into_nodes(mut self) -> impl Iterator<Item = TableArena> {
        self.swap_here();
        let rest = if self.others.is_empty() { Some(self.here) } else { None };
        let whole = |here| TableArena { here, node: 0, others: Vec::new() };
        self.others.into_iter().chain(rest).map(whole)
    }

    fn swap_here(&mut self) {
        if let Some(region) = self.others.get_mut(usize::from(self.node)) {
            core::mem::swap(region, &mut self.here);
        }
    }

    /// Whether a table lies on the node that the caller runs on.
    #[inline]
    pub fn is_local(&self, table: Table) -> bool {
        self.here.holds(table.address)
    }

    /// The node that a table lies on; `None` if it is not of this arena.
    pub fn node_of(&self, table: Table) -> Option<u16> {
        if self.is_local(table) {
            return Some(self.node);
        }
        (0..).zip(&self.others).find_map(|(node, region)| region.holds(table.address).then_some(node))
    }

    /// A table of exactly `entries` descriptors, or `None` if the node's memory is used up.
    #[inline]
    pub fn allocate(&mut self, entries: u16) -> Option<Table> {
        let address = self.here.allocate(Table { address: 0, entries }.bytes())?;
        Some(Table { address, entries })
    }

    /// [`allocate`](Self::allocate), and tells the probe.
    #[inline]
    pub(super) fn allocate_told<P: Probe>(&mut self, entries: u16, probe: &mut P) -> Option<Table> {
        let table = self.allocate(entries)?;
        probe.event(Event::TableAllocated(table));
        Some(table)
    }

    /// [`free`](Self::free), and tells the probe.
    #[inline]
    pub(super) fn free_told<P: Probe>(&mut self, table: Table, probe: &mut P) {
        self.free(table);
        probe.event(Event::TableFreed(table));
    }

    /// Gives a table back that [`allocate`](Self::allocate) gave.
    #[inline]
    pub fn free(&mut self, table: Table) {
        if self.is_local(table) {
            self.here.free(table.address, table.bytes());
        } else {
            self.free_elsewhere(table);
        }
    }

    /// Marks the bytes of a table as in use, as if [`allocate`](Self::allocate) had given it.
    pub fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        let others = self.others.iter_mut();
        let region =
            core::iter::once(&mut self.here).chain(others).find(|region| region.holds(table.address));
        region.ok_or(AdoptError::Outside)?.adopt(table.address, table.bytes())
    }

    #[cold]
    fn free_elsewhere(&mut self, table: Table) {
        if let Some(region) = self.others.iter_mut().find(|region| region.holds(table.address)) {
            region.free(table.address, table.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_goes_back_to_the_node_it_was_made_on() {
        let mut arena = TableArena::of_nodes(0x1000, 0x400, 2);
        let first = arena.allocate(4).unwrap();
        assert_eq!((arena.nodes(), arena.node(), arena.node_of(first)), (2, 0, Some(0)));
        arena.run_on(1);
        assert!(!arena.is_local(first));
        let second = arena.allocate(4).unwrap();
        assert_eq!((arena.node(), arena.node_of(second), arena.node_of(first)), (1, Some(1), Some(0)));
        arena.free(first);
        let third = arena.allocate(4).unwrap();
        assert_eq!(arena.node_of(third), Some(1), "the free table is another node's");
        arena.run_on(0);
        assert_eq!(arena.allocate(4), Some(first));
        assert_eq!(arena.node_of(Table { address: 0x1400, entries: 1 }), None);
        // A node without memory is served by node 0.
        arena.run_on(7);
        assert_eq!(arena.node(), 0);
    }

    #[test]
    fn one_node_has_all_memory() {
        for nodes in [0, 1] {
            let mut arena = TableArena::of_nodes(0, 0x100, nodes);
            assert_eq!(arena.nodes(), 1);
            assert_eq!(arena.allocate(16).map(|table| table.address), Some(0));
            arena.run_on(1);
            assert_eq!(arena.allocate(1), None);
        }
    }

    #[test]
    fn a_table_of_another_arena_is_not_taken_in() {
        let mut arena = TableArena::new(0, 0x40);
        arena.free(Table { address: 0x4000, entries: 4 });
        assert_eq!(arena.allocate(4).map(|table| table.address), Some(0));
        assert_eq!(arena.allocate(4), None);
    }
}
