//! Where indirect tables come from: one file per strategy.
//!
//! A [`TableSource`] decides *whether* a buffer gets a table and *from where*. Statistics come from one wrapper,
//! [`Counted`], for every strategy.

mod arena;
mod counted;
mod list_cache;
mod per_slot;
mod plain;
mod single_list;
mod slab_cache;
mod strategy;
mod threshold;

pub use arena::TableArena;
pub use counted::{Counted, TableStatistics};
pub use list_cache::{DEFAULT_THRESHOLD, ListCache};
pub use per_slot::PerSlot;
pub use plain::{Direct, PlainAllocation};
pub use single_list::{Limit, SingleList};
pub use slab_cache::SlabCache;
pub use strategy::{AnyTableSource, TableStrategy};
pub use threshold::Threshold;

use crate::{Fault, memory::Memory, probe::Probe};

/// An indirect descriptor table in guest memory (2.7.5.3 "Indirect Descriptors").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Table {
    /// Guest address.
    pub address: u64,
    /// Descriptors it has room for.
    pub entries: u16,
}

impl Table {
    /// Bytes it takes.
    pub fn bytes(&self) -> u32 {
        self.entries as u32 * crate::spec::DESCRIPTOR_SIZE
    }
}

/// The ring's state that a strategy may look at when it decides.
#[derive(Clone, Copy, Debug)]
pub struct RingState {
    /// Queue size.
    pub size: u16,
    /// Free descriptors, at least 1.
    pub free: u16,
    /// The id that the buffer gets: on a split ring the descriptor that starts it.
    pub id: u16,
}

/// A strategy: gives tables to buffers of more than one element, and takes them back.
pub trait TableSource {
    /// A table with room for `elements` descriptors (at least 2), or `None` to use ring descriptors.
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault>;

    /// Takes back a table that the device is done with, or that was never handed over; `id` is its buffer's.
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault>;

    /// Idle tables kept for reuse, in the order in which they will be taken.
    fn idle(&self) -> impl Iterator<Item = Table> + '_;
}
