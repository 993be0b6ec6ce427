//! Tables whose chain is made once.
//!
//! Proposed in the review of 2014: keep a few tables of 8 or 16 entries with `next = i + 1` in each, so that the loop that
//! chains them runs only when a table is first allocated. A buffer then writes what changes: address, length and flags. The
//! flags say where the chain ends, so a table can be used again for a buffer of another length: `next` of an entry without
//! `NEXT` is ignored (2.7.5).
//!
//! Only split rings have such a chain. In a packed ring's table the entries follow each other and nothing but `WRITE` is set
//! (2.8.7), so there these are plain cached tables.
//!
//! Leaving `next` alone makes three narrow stores of what otherwise are two words, so it is no cheaper where words are stored
//! as fast as halves of them: `native-bench strategies --instructions` counts both.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    memory::{Memory, Ordering},
    probe::{Event, Probe},
    spec::{DESCRIPTOR_SIZE, Descriptor},
};
use alloc::vec::Vec;

/// Tables of `entries` entries are chained once and cached; larger ones are allocated, and chained for each buffer.
#[derive(Clone, Debug)]
pub struct PreChained {
    arena: TableArena,
    entries: u16,
    idle: Vec<u64>,
}

impl PreChained {
    /// The smaller of the two sizes that were proposed.
    pub const SMALL: u16 = 8;
    /// The larger one.
    pub const LARGE: u16 = 16;

    /// Tables come from `arena`; buffers of up to `entries` elements take cached ones.
    pub fn new(arena: TableArena, entries: u16) -> Self {
        PreChained { arena, entries, idle: Vec::new() }
    }

    /// A new table, its chain made.
    #[cold]
    fn chained<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Table>, Fault> {
        let Some(table) = self.arena.allocate(self.entries) else { return Ok(None) };
        for next in 1..=table.entries {
            let [_, second] = Descriptor { next, ..Descriptor::default() }.to_words();
            let entry = table.address + u64::from(next - 1) * u64::from(DESCRIPTOR_SIZE);
            if let Err(error) = memory.store_u64(entry + 8, second, Ordering::Relaxed) {
                self.arena.free(table);
                return Err(error.into());
            }
        }
        probe.event(Event::TableAllocated(table));
        Ok(Some(table))
    }
}

impl TableSource for PreChained {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        _: RingState,
    ) -> Result<Option<Table>, Fault> {
        if elements > self.entries {
            return Ok(self.arena.allocate_told(elements, probe));
        }
        let Some(address) = self.idle.pop() else { return self.chained(memory, probe) };
        let table = Table { address, entries: self.entries };
        probe.event(Event::TableReused(table));
        Ok(Some(table))
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

    /// Its chain is there already: whoever gave it made it.
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        if table.entries < self.entries {
            return Err(AdoptError::Entries);
        }
        self.arena.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.idle.iter().rev().map(|address| Table { address: *address, entries: self.entries })
    }

    #[inline(always)]
    fn is_chained(&self, table: Table) -> bool {
        table.entries == self.entries
    }

    fn run_on(&mut self, node: u16) {
        self.arena.run_on(node);
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.arena.is_local(table)
    }
}
