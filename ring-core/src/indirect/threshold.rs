//! Tables only when the ring runs short: the rule proposed for Linux in 2011. It stands before any strategy.

use super::{AdoptError, RingState, Table, TableSource};
use crate::{Fault, memory::Memory, probe::Probe};

/// Asks `source` for a table only while fewer than `free` descriptors are free; otherwise buffers take ring
/// descriptors.
///
/// The proposal's condition no longer asked whether a descriptor is free at all, so on a full ring it went on to use one
/// that was not. Here a driver asks only while one is free, see [`RingState::free`].
#[derive(Clone, Debug)]
pub struct Threshold<S> {
    source: S,
    free: u16,
}

impl<S> Threshold<S> {
    /// With the proposal's threshold: the larger of 16 and an eighth of the queue size.
    pub fn of_queue(source: S, queue_size: u16) -> Self {
        Self::new(source, Threshold::default_free(queue_size))
    }

    /// With a threshold of one's own, in free descriptors.
    pub fn new(source: S, free: u16) -> Self {
        Threshold { source, free }
    }

    /// The strategy behind.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The same threshold over what becomes of the strategy behind.
    pub(super) fn over<T>(self, change: impl FnOnce(S) -> T) -> Threshold<T> {
        Threshold { source: change(self.source), free: self.free }
    }
}

impl Threshold<()> {
    /// The proposal's threshold, in free descriptors: the larger of 16 and an eighth of the queue size.
    pub const fn default_free(queue_size: u16) -> u16 {
        if queue_size / 8 > 16 { queue_size / 8 } else { 16 }
    }
}

impl<S: TableSource> TableSource for Threshold<S> {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        // A buffer that the free descriptors cannot hold takes a table whatever the threshold.
        if ring.free >= self.free && elements <= ring.free {
            return Ok(None);
        }
        self.source.take(memory, probe, elements, ring)
    }
    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        table: Table,
        id: u16,
    ) -> Result<(), Fault> {
        self.source.put_back(memory, probe, table, id)
    }
    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        self.source.adopt(table)
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.source.idle()
    }
    #[inline(always)]
    fn is_chained(&self, table: Table) -> bool {
        self.source.is_chained(table)
    }
    fn run_on(&mut self, node: u16) {
        self.source.run_on(node);
    }
    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.source.is_local(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        indirect::{PlainAllocation, TableArena},
        memory::OwnedMemory,
        probe::NoProbe,
    };

    #[test]
    fn gives_tables_below_the_threshold_only() {
        let memory = OwnedMemory::new(0, 0x1000);
        let mut source = Threshold::of_queue(PlainAllocation::new(TableArena::new(0, 0x1000)), 256);
        let mut given = |elements, free| {
            let ring = RingState { size: 256, free, id: 0 };
            source.take(&memory, &mut NoProbe, elements, ring).unwrap().is_some()
        };
        assert!(!given(3, 256));
        assert!(!given(3, 32));
        assert!(given(3, 31));
        assert!(given(40, 39), "what does not fit takes a table");
    }
}
