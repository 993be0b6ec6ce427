//! Small buffers direct while the ring has room; others from stacks of tables that are whole cache lines.
//!
//! What the other strategies cost, and what is done about it here:
//!
//! - An idle table that holds the list's link is a cache line to touch, twice, that may have gone cold, and a link to
//!   check, since the device could write it. Here the idle tables stand on a stack outside guest memory, last in first out.
//! - A table costs a descriptor more to write, and taking and putting it back; what it saves is ring descriptors. So a buffer
//!   of up to `direct` elements takes none while half of the ring is free. From that many elements on a table is cheaper
//!   than as many ring descriptors; how many that are depends on the ring's format ([`LineStack::direct_most`]).
//! - One size of cached tables wastes memory on small buffers and passes by large ones. Here a table is as many whole lines
//!   as the buffer needs, one, two or four: lines are what memory is read in, and no two tables share one.
//! - A burst must not hold its tables for ever, and a steady load must keep its own. Every 256 buffers, or as many as the
//!   ring has descriptors, each stack is reviewed: tables at its bottom that were not touched since the last review were not
//!   needed for as long, and are freed. No counting of minima is needed for that: a mark on the stack sinks when it is
//!   reached, and what lies below the mark was never touched. That costs a countdown for each buffer while there are tables,
//!   and for each review no more than there are idle ones.
//!
//! The same calls give the same addresses. Nothing is allocated from the heap once the stacks have grown to the load.
//!
//! `native-bench strategies --instructions` measures it against all the others: instructions, time and memory held. What it
//! does not win: always direct is cheaper while the ring holds everything; where every buffer takes a table, a slab cache of
//! just the right size is a few per cent cheaper, since it has one size to look for, and so is a table per slot for the larger
//! buffers; a threshold of an eighth of the ring before a slab cache costs fewer instructions for small buffers, keeps more
//! of them direct and may hold less, and turns more away in a burst; and plain allocation holds less where many small buffers
//! take tables, since it puts two of them into a line.

use super::{AdoptError, RingState, Table, TableArena, TableSource};
use crate::{
    Fault,
    memory::Memory,
    probe::{Event, Probe},
    spec::Format,
};
use alloc::vec::Vec;

/// The strategy.
#[derive(Clone, Debug)]
pub struct LineStack {
    arena: TableArena,
    direct: u16,
    // The same while there is no table, so that there is nothing to review; otherwise 0.
    direct_without_review: u16,
    // Tables that the stacks have made and not freed.
    made: usize,
    until_review: u32,
    // Tables of 1, 2 and 4 lines of 64 bytes. Not of the machine's own line: the same calls give the same addresses
    // everywhere.
    one: Stack<4>,
    two: Stack<8>,
    four: Stack<16>,
}

/// How many buffers there are from one review to the next, at least; as many as the ring has descriptors, if those are more,
/// so that each buffer of a full ring has come and gone.
const REVIEW: u32 = 256;

/// How far a stack's mark sinks when it is reached.
const SINK: usize = 8;

/// Idle tables of one size.
#[derive(Clone, Debug, Default)]
struct Stack<const ENTRIES: u16> {
    // The table returned last is the last.
    idle: Vec<u64>,
    // What lies below was not touched since the last review.
    mark: usize,
}

impl<const ENTRIES: u16> Stack<ENTRIES> {
    /// The address of an idle table. (An address stays in a register where a table would go through memory.)
    #[inline(always)]
    fn take<P: Probe>(&mut self, probe: &mut P) -> Option<u64> {
        let address = if self.idle.len() > self.mark { self.idle.pop() } else { self.sink() }?;
        probe.event(Event::TableReused(Table { address, entries: ENTRIES }));
        Some(address)
    }

    /// Takes from below the mark.
    #[cold]
    #[inline(never)]
    fn sink(&mut self) -> Option<u64> {
        self.mark = self.mark.saturating_sub(SINK);
        self.idle.pop()
    }

    /// Frees what no buffer needed since the last review, and marks what is idle now. Returns how many tables it freed.
    fn review<P: Probe>(&mut self, arena: &mut TableArena, probe: &mut P) -> usize {
        let freed = self.mark;
        for address in self.idle.drain(..freed) {
            arena.free_told(Table { address, entries: ENTRIES }, probe);
        }
        self.mark = self.idle.len();
        freed
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.idle.iter().rev().map(|address| Table { address: *address, entries: ENTRIES })
    }
}

impl LineStack {
    /// Tables come from `arena`. Buffers of up to `direct` elements take ring descriptors while half of them is free.
    pub fn new(arena: TableArena, direct: u16) -> Self {
        let (one, two, four) = (Stack::default(), Stack::default(), Stack::default());
        LineStack {
            arena,
            direct,
            direct_without_review: direct,
            made: 0,
            until_review: REVIEW,
            one,
            two,
            four,
        }
    }

    /// The largest buffer, in elements, for which ring descriptors cost fewer instructions than a table.
    pub const fn direct_most(format: Format) -> u16 {
        match format {
            Format::Split => 8,
            Format::Packed => 2,
        }
    }

    /// Entries of the table that a buffer of so many elements gets.
    pub(super) fn entries(elements: u16) -> u16 {
        match elements {
            0..=4 => 4,
            5..=8 => 8,
            9..=16 => 16,
            _ => elements,
        }
    }

    /// Looks at every stack, and at whether there is any table left to look at.
    #[cold]
    #[inline(never)]
    fn review<P: Probe>(&mut self, queue_size: u16, probe: &mut P) {
        self.until_review = REVIEW.max(queue_size.into());
        let LineStack { arena, one, two, four, .. } = self;
        self.made -= one.review(arena, probe) + two.review(arena, probe) + four.review(arena, probe);
        if self.made == 0 {
            self.direct_without_review = self.direct;
        }
    }

    /// The address of a new table.
    #[cold]
    #[inline(never)]
    fn allocate<P: Probe>(&mut self, entries: u16, probe: &mut P) -> Option<u64> {
        let table = self.arena.allocate_told(entries, probe)?;
        self.count_made(entries);
        Some(table.address)
    }

    /// There is one table more. What is larger than any stack's is freed when it comes back, and needs no review.
    fn count_made(&mut self, entries: u16) {
        if entries <= 16 {
            self.made += 1;
            self.direct_without_review = 0;
        }
    }
}

impl TableSource for LineStack {
    #[inline(always)]
    fn take<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        elements: u16,
        ring: RingState,
    ) -> Result<Option<Table>, Fault> {
        let half_stays_free = u32::from(ring.free) >= u32::from(ring.size / 2) + u32::from(elements);
        if elements <= self.direct_without_review && half_stays_free {
            return Ok(None);
        }
        self.until_review -= 1;
        if self.until_review == 0 {
            self.review(ring.size, probe);
        }
        if elements <= self.direct && half_stays_free {
            return Ok(None);
        }
        let (idle, entries) = match elements {
            0..=4 => (self.one.take(probe), 4),
            5..=8 => (self.two.take(probe), 8),
            9..=16 => (self.four.take(probe), 16),
            _ => (None, elements),
        };
        let address = idle.or_else(|| self.allocate(entries, probe));
        Ok(address.map(|address| Table { address, entries }))
    }

    #[inline(always)]
    fn put_back<M: Memory, P: Probe>(
        &mut self,
        _: &M,
        probe: &mut P,
        table: Table,
        _: u16,
    ) -> Result<(), Fault> {
        let idle = match table.entries {
            4 => &mut self.one.idle,
            8 => &mut self.two.idle,
            16 => &mut self.four.idle,
            _ => {
                self.arena.free_told(table, probe);
                return Ok(());
            }
        };
        idle.push(table.address);
        probe.event(Event::TableCached(table));
        Ok(())
    }

    fn adopt(&mut self, table: Table) -> Result<(), AdoptError> {
        if Self::entries(table.entries) != table.entries {
            return Err(AdoptError::Entries);
        }
        // Of 64 bytes, so that what is left beside it is whole lines too.
        if !table.address.is_multiple_of(64) {
            return Err(AdoptError::Outside);
        }
        self.arena.adopt(table)?;
        self.count_made(table.entries);
        Ok(())
    }

    fn idle(&self) -> impl Iterator<Item = Table> + '_ {
        self.one.idle().chain(self.two.idle()).chain(self.four.idle())
    }

    fn run_on(&mut self, node: u16) {
        self.arena.run_on(node);
    }

    #[inline]
    fn is_local(&self, table: Table) -> bool {
        self.arena.is_local(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        indirect::{Counted, TableStatistics},
        memory::OwnedMemory,
        probe::NoProbe,
    };

    const SHORT: RingState = RingState { size: 256, free: 9, id: 0 };

    struct Load {
        memory: OwnedMemory,
        source: Counted<LineStack>,
    }

    impl Load {
        fn new() -> Self {
            let source = Counted::new(LineStack::new(TableArena::new(0, 1 << 20), 4));
            Load { memory: OwnedMemory::new(0, 1 << 20), source }
        }

        fn take(&mut self, elements: u16, ring: RingState) -> Option<Table> {
            self.source.take(&self.memory, &mut NoProbe, elements, ring).unwrap()
        }

        /// So many buffers in flight at once, so often. They come back in the order in which they went.
        fn run(&mut self, in_flight: usize, elements: u16, rounds: usize) -> TableStatistics {
            for _ in 0..rounds {
                let tables: Vec<_> = (0..in_flight).map(|_| self.take(elements, SHORT).unwrap()).collect();
                for table in tables {
                    assert!(table.entries >= elements && table.address.is_multiple_of(64));
                    self.source.put_back(&self.memory, &mut NoProbe, table, 0).unwrap();
                }
            }
            self.source.statistics()
        }
    }

    #[test]
    fn tables_are_whole_lines() {
        let mut load = Load::new();
        for (elements, entries) in [(2, 4), (4, 4), (5, 8), (8, 8), (9, 16), (16, 16), (17, 17)] {
            assert_eq!(load.take(elements, SHORT).map(|table| table.entries), Some(entries));
            assert_eq!(LineStack::entries(elements), entries);
        }
    }

    #[test]
    fn small_buffers_take_none_while_half_of_the_ring_stays_free() {
        let mut load = Load::new();
        let ring = |free| RingState { size: 256, free, id: 0 };
        assert_eq!(load.take(4, ring(132)), None);
        assert!(load.take(4, ring(131)).is_some());
        assert_eq!(load.take(2, ring(130)), None);
        assert!(load.take(5, ring(256)).is_some());
        // Nor does the largest buffer overflow.
        let mut all = LineStack::new(TableArena::new(0, 0), u16::MAX);
        let ring = RingState { size: 1 << 15, free: 1 << 15, id: 0 };
        assert_eq!(all.take(&load.memory, &mut NoProbe, u16::MAX, ring), Ok(None));
    }

    #[test]
    fn a_burst_is_given_back_and_a_steady_load_keeps_its_own() {
        let mut load = Load::new();
        let burst = load.run(200, 4, 1);
        assert_eq!((burst.allocations, burst.bytes_held), (200, 200 * 64));
        let review = REVIEW.max(SHORT.size.into()) as usize;
        let after = load.run(8, 4, 3 * review / 8);
        assert!(after.bytes_held <= 2 * 8 * 64, "{after:?}");
        // Ten more reviews free nothing, and nothing is allocated.
        let steady = load.run(8, 4, 10 * review / 8);
        assert_eq!((steady.frees, steady.allocations), (after.frees, after.allocations));
        // Another size is not held for ever either, nor is anything when tables are no longer needed.
        load.run(8, 16, 1);
        for _ in 0..3 * review {
            assert_eq!(load.take(2, RingState { size: 256, free: 256, id: 0 }), None);
        }
        assert_eq!(load.source.statistics().bytes_held, 0);
    }

    #[test]
    fn reviews_lose_and_double_nothing() {
        let mut load = Load::new();
        let (mut out, mut random) = (Vec::<Table>::new(), 1_u32);
        for _ in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let depth = if random >> 28 == 0 { 60 } else { 20 };
            if out.len() < (random >> 8) as usize % depth {
                let table = load.take((random >> 20) as u16 % 19 + 2, SHORT).unwrap();
                assert!(out.iter().all(|other| other.address != table.address));
                out.push(table);
            } else if !out.is_empty() {
                let table = out.swap_remove((random >> 16) as usize % out.len());
                load.source.put_back(&load.memory, &mut NoProbe, table, 0).unwrap();
            }
            let held = out.iter().copied().chain(load.source.idle()).map(|table| u64::from(table.bytes()));
            assert_eq!(load.source.statistics().bytes_held, held.sum::<u64>());
        }
        assert!(load.source.statistics().frees > 100);
    }
}
