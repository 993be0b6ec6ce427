//! An allocator of tables in a range of guest memory, its book-keeping outside of it.

use super::Table;
use crate::probe::{Event, Probe};
use alloc::vec::Vec;

/// Hands out tables from a range of guest memory in size classes, as a kernel's general allocator does.
///
/// All book-keeping is private, so nothing the peer writes can mislead it, and the same calls give the same
/// addresses everywhere, which replay relies on. Each class is last in, first out.
#[derive(Clone, Debug)]
pub struct TableArena {
    next: u64,
    end: u64,
    free: Vec<Vec<u64>>,
}

/// The size class of a table, and the bytes of that class. Between powers of two from 64 bytes on there is no class
/// but 96 and 192, the two that general-purpose kernel allocators add.
fn class(bytes: u32) -> (usize, u64) {
    match bytes {
        0..=16 => (0, 16),
        17..=32 => (1, 32),
        33..=64 => (2, 64),
        65..=96 => (3, 96),
        97..=128 => (4, 128),
        129..=192 => (5, 192),
        _ => {
            let power = bytes.next_power_of_two();
            (power.trailing_zeros() as usize - 2, power as u64)
        }
    }
}

impl TableArena {
    /// All of `length` bytes at guest address `base`, which is rounded up to a cache line of 64 bytes.
    pub fn new(base: u64, length: u64) -> Self {
        let end = base.saturating_add(length);
        TableArena { next: base.checked_next_multiple_of(64).unwrap_or(end), end, free: Vec::new() }
    }

    /// A table of exactly `entries` descriptors, or `None` if the range is used up.
    #[inline]
    pub fn allocate(&mut self, entries: u16) -> Option<Table> {
        let (class, bytes) = class(Table { address: 0, entries }.bytes());
        let address = match self.free.get_mut(class).and_then(Vec::pop) {
            Some(address) => address,
            None => self.fresh(bytes)?,
        };
        Some(Table { address, entries })
    }

    #[cold]
    fn fresh(&mut self, bytes: u64) -> Option<u64> {
        let address = self.next;
        let next = address.checked_add(bytes).filter(|next| *next <= self.end)?;
        self.next = next;
        Some(address)
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
        let (class, _) = class(table.bytes());
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(table.address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn live_tables_never_overlap_and_stay_inside() {
        let (base, length) = (0x1010_u64, 64 * 1024);
        let mut arena = TableArena::new(base, length);
        let mut live: Vec<Table> = vec![];
        let mut seed = 1_u32;
        for _ in 0..5000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 || live.is_empty() {
                let Some(table) = arena.allocate((seed >> 16) as u16 % 40 + 1) else { continue };
                assert!(table.address >= base && table.address + table.bytes() as u64 <= base + length);
                assert!(table.address.is_multiple_of(16));
                for other in &live {
                    assert!(
                        table.address + table.bytes() as u64 <= other.address
                            || other.address + other.bytes() as u64 <= table.address,
                        "{table:?} overlaps {other:?}"
                    );
                }
                live.push(table);
            } else {
                arena.free(live.swap_remove((seed >> 8) as usize % live.len()));
            }
        }
    }

    #[test]
    fn says_when_it_is_used_up_and_reuses_the_table_freed_last() {
        let mut arena = TableArena::new(0, 128);
        let first = arena.allocate(4).unwrap();
        let second = arena.allocate(3).unwrap();
        assert_eq!(arena.allocate(4), None);
        arena.free(first);
        arena.free(second);
        assert_eq!(arena.allocate(4).unwrap().address, second.address);
    }

    #[test]
    fn every_class_holds_what_it_is_asked_for() {
        let mut previous = (0, 0);
        for entries in 1..=32768_u32 {
            let (class, bytes) = class(entries * 16);
            assert!(bytes >= entries as u64 * 16);
            assert!(
                (class, bytes) == previous || (class == previous.0 + 1 && bytes > previous.1) || entries == 1
            );
            previous = (class, bytes);
        }
    }
}
