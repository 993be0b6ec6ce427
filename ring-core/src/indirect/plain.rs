//! The two ends of the scale: never a table, and a fresh table each time.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{Fault, memory::Memory, probe::Probe};
use core::iter;

/// Never uses a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direct;

impl TableSource for Direct {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        _: &mut P,
        _: u16,
        _: RingState,
    ) -> Result<Option<Table>, Fault> {
        Ok(None)
    }
    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(&mut self, _: &M, _: &mut P, _: Table, _: u16) -> Result<(), Fault> {
        Ok(())
    }
    fn adopt(&mut self, _: Table) -> Result<(), AdoptError> {
        Err(AdoptError::Entries)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        iter::empty()
    }
}

/// Allocates a table for each buffer and frees it when the buffer comes back: what the cached strategies are
/// compared with.
#[derive(Clone, Debug)]
pub struct PlainAllocation {
    arena: TableArena,
}

impl PlainAllocation {
    /// Tables come from `arena`.
    pub fn new(arena: TableArena) -> Self {
        PlainAllocation { arena }
    }
}

impl TableSource for PlainAllocation {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        elements: u16,
        _: RingState,
    ) -> Result<Option<Table>, Fault> {
        Ok(self.arena.allocate_told(elements, probe))
    }
    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        table: Table,
        _: u16,
    ) -> Result<(), Fault> {
        self.arena.free_told(table, probe);
        Ok(())
    }
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        self.arena.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        iter::empty()
    }

    fn run_on(&mut self, node: u16) {
        self.arena.run_on(node);
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.arena.is_local(table)
    }
}
