//! The identity of tables: the same table is recognised when it is used again.

use crate::{
    indirect::Table,
    probe::{Event, Probe},
};
use alloc::collections::BTreeMap;

/// A table that the driver holds, in use or idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Where it is.
    pub table: Table,
    /// Its number: tables are counted from 1 as the allocator gives them.
    pub number: u32,
    /// How often it was given to a buffer since.
    pub uses: u32,
}

/// Every table that was allocated and not freed.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    by_address: BTreeMap<u64, TableInfo>,
    allocated: u32,
}

impl Tables {
    /// The table at a guest address.
    pub fn at(&self, address: u64) -> Option<&TableInfo> {
        self.by_address.get(&address)
    }

    /// All of them, by address.
    pub fn iter(&self) -> impl Iterator<Item = &TableInfo> {
        self.by_address.values()
    }
}

impl Probe for Tables {
    fn event(&mut self, event: Event) {
        match event {
            Event::TableAllocated(table) => {
                self.allocated += 1;
                self.by_address.insert(table.address, TableInfo { table, number: self.allocated, uses: 1 });
            }
            Event::TableReused(table) => {
                if let Some(info) = self.by_address.get_mut(&table.address) {
                    info.uses += 1;
                }
            }
            Event::TableFreed(table) => {
                self.by_address.remove(&table.address);
            }
            _ => {}
        }
    }
}
