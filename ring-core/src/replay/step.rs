//! One call, looked at closely.

use super::{Outcome, RingFormat, Split, State};
use crate::{
    memory::{Access, AccessKind, Memory, Ordering, OwnedMemory},
    probe::Event,
    trace::Record,
};
use alloc::vec::Vec;

/// A call with what was before and after it, and everything it did in between.
#[derive(Clone, Debug)]
pub struct Step<F: RingFormat = Split> {
    /// The position after the call.
    pub position: u64,
    /// The call.
    pub record: Record<'static>,
    /// Everything before it.
    pub before: State<F>,
    /// Everything after it.
    pub after: State<F>,
    /// Its loads, stores and fences, in order.
    pub accesses: Vec<Access>,
    /// What it reported, in order.
    pub events: Vec<Event>,
    /// What it gave.
    pub outcome: Outcome,
}

impl<F: RingFormat> Step<F> {
    /// The memory after the first `accesses` of the call's accesses.
    pub fn memory_after(&self, accesses: usize) -> OwnedMemory {
        let memory = self.before.memory.clone();
        for access in self.accesses.iter().take(accesses) {
            let AccessKind::Store { value, .. } = access.kind else { continue };
            // The access succeeded on memory of the same range.
            let _ = match access.length {
                2 => memory.store_u16(access.address, value[0] as u16, Ordering::Relaxed),
                4 => memory.store_u32(access.address, value[0] as u32),
                8 => memory.store_u64(access.address, value[0], Ordering::Relaxed),
                _ => memory.store_words(access.address, value),
            };
        }
        memory
    }
}
