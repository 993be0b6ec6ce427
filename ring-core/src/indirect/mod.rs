//! Where indirect tables come from: one file per strategy.
//!
//! A [`TableSource`] decides *whether* a buffer gets a table and *from where*. Statistics come from one wrapper,
//! [`Counted`], for every strategy; [`Threshold`] stands before any of them. A [`TableStrategy`] is a strategy as a value.

mod adopt;
mod any;
mod arena;
mod cache_line;
mod counted;
mod line_stack;
mod list_cache;
mod parameter;
mod per_node_list;
mod per_slot;
mod plain;
mod pre_chained;
mod region;
mod single_list;
mod slab_cache;
mod strategy;
mod threshold;
mod two_descriptor;

pub use adopt::AdoptError;
pub use any::AnyTableSource;
pub use arena::TableArena;
pub use cache_line::{
    CACHE_LINE_BYTES, LARGEST_NETWORK_BUFFER, cache_line_bytes, default_network_threshold, default_threshold,
};
pub use counted::{Counted, TableStatistics};
pub use line_stack::LineStack;
pub use list_cache::ListCache;
pub use parameter::InvalidParameter;
pub use per_node_list::PerNodeList;
pub use per_slot::PerSlot;
pub use plain::{Direct, PlainAllocation};
pub use pre_chained::PreChained;
pub use single_list::{Limit, SingleList};
pub use slab_cache::SlabCache;
pub use strategy::{Never, Strategy, TableStrategy, TableVisitor, Unconditional};
pub use threshold::Threshold;
pub use two_descriptor::TwoDescriptorCache;

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

    /// Takes a table for one that this source gave: it is in use, and comes back by [`put_back`](Self::put_back). A fresh
    /// source adopts the tables of a [snapshot](crate::snapshot), and does not give their memory to others meanwhile. What
    /// their entries hold is as the source that gave them left it, which must have been one of the same kind and parameters.
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError>;

    /// Idle tables kept for reuse, in the order in which they will be taken.
    fn idle(&self) -> impl Iterator<Item = Table> + '_;

    /// Whether `next` of each entry of this table names the entry behind it already, so that the driver of a split ring does
    /// not write it; see [`PreChained`]. A strategy that never says so costs nothing for it.
    #[inline(always)]
    fn is_chained(&self, _table: Table) -> bool {
        false
    }

    /// From now on the caller runs on this NUMA node: new tables are to lie on it. The caller has to say so, since nothing
    /// here asks the system; one that never does runs on node 0. Nothing to do for a strategy that knows no nodes.
    fn run_on(&mut self, _node: u16) {}

    /// Whether a table of this strategy lies on the node that the caller runs on. True for one that knows no nodes.
    #[inline]
    fn is_local(&self, _table: Table) -> bool {
        true
    }
}
