//! Any strategy, chosen at run time.

use super::{
    AdoptError, Direct, LineStack, ListCache, PerNodeList, PerSlot, PlainAllocation, PreChained, RingState,
    SingleList, SlabCache, Table, TableSource, Threshold, TwoDescriptorCache,
};
use crate::{Fault, memory::Memory, probe::Probe};
use alloc::boxed::Box;

/// Evaluates an expression on whichever strategy it is.
macro_rules! each {
    ($any:expr, $source:ident => $expression:expr) => {
        match $any {
            AnyTableSource::Direct($source) => $expression,
            AnyTableSource::PlainAllocation($source) => $expression,
            AnyTableSource::ListCache($source) => $expression,
            AnyTableSource::SingleList($source) => $expression,
            AnyTableSource::SlabCache($source) => $expression,
            AnyTableSource::PerSlot($source) => $expression,
            AnyTableSource::TwoDescriptorCache($source) => $expression,
            AnyTableSource::PreChained($source) => $expression,
            AnyTableSource::PerNodeList($source) => $expression,
            AnyTableSource::LineStack($source) => $expression,
            AnyTableSource::Threshold($source) => $expression,
        }
    };
}

/// A strategy becomes any strategy.
macro_rules! from {
    ($($name:ident),*) => {
        $(impl From<$name> for AnyTableSource {
            fn from(source: $name) -> Self {
                AnyTableSource::$name(source)
            }
        })*
    };
}

/// Any strategy, chosen at run time. Code that measures one uses its type instead, see
/// [`TableStrategy::visit`](super::TableStrategy::visit).
#[derive(Clone, Debug)]
pub enum AnyTableSource {
    /// See [`Direct`].
    Direct(Direct),
    /// See [`PlainAllocation`].
    PlainAllocation(PlainAllocation),
    /// See [`ListCache`].
    ListCache(ListCache),
    /// See [`SingleList`].
    SingleList(SingleList),
    /// See [`SlabCache`].
    SlabCache(SlabCache),
    /// See [`PerSlot`].
    PerSlot(PerSlot),
    /// See [`TwoDescriptorCache`].
    TwoDescriptorCache(TwoDescriptorCache),
    /// See [`PreChained`].
    PreChained(PreChained),
    /// See [`PerNodeList`].
    PerNodeList(PerNodeList),
    /// See [`LineStack`].
    LineStack(LineStack),
    /// See [`Threshold`].
    Threshold(Box<Threshold<AnyTableSource>>),
}

from!(
    Direct,
    PlainAllocation,
    ListCache,
    SingleList,
    SlabCache,
    PerSlot,
    TwoDescriptorCache,
    PreChained,
    PerNodeList,
    LineStack
);

impl<S: Into<AnyTableSource>> From<Threshold<S>> for AnyTableSource {
    fn from(threshold: Threshold<S>) -> Self {
        AnyTableSource::Threshold(Box::new(threshold.over(Into::into)))
    }
}

impl TableSource for AnyTableSource {
    // One call, not every strategy's code in each place that takes a table.
    #[inline(never)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        each!(self, source => source.take(memory, probe, elements, ring))
    }
    #[inline(never)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        each!(self, source => source.put_back(memory, probe, table, id))
    }
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        each!(self, source => source.adopt(table))
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        let idle: Box<dyn Iterator<Item = Table> + '_> = each!(self, source => Box::new(source.idle()));
        idle
    }
    #[inline]
    fn is_chained(&self, table: Table) -> bool {
        match self {
            AnyTableSource::PreChained(source) => source.is_chained(table),
            AnyTableSource::Threshold(source) => source.is_chained(table),
            _ => false,
        }
    }
    fn run_on(&mut self, node: u16) {
        each!(self, source => source.run_on(node));
    }
    #[inline]
    fn is_local(&self, table: Table) -> bool {
        each!(self, source => source.is_local(table))
    }
}
