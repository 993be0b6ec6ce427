//! What both devices keep of the buffers they took, and every check that does not depend on the format.

use crate::{
    Fault, QueueConfig,
    fault::Place,
    spec::{Rule, feature},
};
use alloc::{collections::VecDeque, vec::Vec};

/// A buffer that was taken and is not yet used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes the device may write into it, as far as a used length can say: at most 2^32 - 1.
    pub writable_bytes: u32,
    /// Ring descriptors it holds.
    pub descriptors: u16,
    /// The buffer's number: buffers are counted as they are taken, from the start index on, modulo 2^16.
    pub number: u16,
}

/// Buffers by id, and where the device stands. The counters are numbers of buffers.
#[derive(Clone, Debug)]
pub(super) struct TakenBuffers {
    pub(super) in_order: bool,
    by_id: Vec<Option<Taken>>,
    // With IN_ORDER: ids in the order in which they were taken. The capacity is never exceeded.
    order: VecDeque<u16>,
    pub(super) popped: u16,
    pub(super) used: u16,
    pub(super) published: u16,
    pub(super) broken: Option<Fault>,
}

impl TakenBuffers {
    pub(super) fn new(config: &QueueConfig) -> Self {
        let size = config.layout.queue_size;
        let in_order = config.features.contains(feature::IN_ORDER);
        TakenBuffers {
            in_order,
            by_id: (0..size).map(|_| None).collect(),
            order: VecDeque::with_capacity(if in_order { size.into() } else { 0 }),
            popped: config.start_index,
            used: config.start_index,
            published: config.start_index,
            broken: None,
        }
    }

    /// Whether a buffer may have this id: it is below the queue size, and no buffer that was taken has it.
    #[inline(always)]
    pub(super) fn is_new(&self, id: u16) -> bool {
        matches!(self.by_id.get(id as usize), Some(None))
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, id: u16, writable_bytes: u64, descriptors: u16) {
        let writable_bytes = writable_bytes.min(u32::MAX as u64) as u32;
        self.by_id[id as usize] = Some(Taken { writable_bytes, descriptors, number: self.popped });
        if self.in_order {
            self.order.push_back(id);
        }
        self.popped = self.popped.wrapping_add(1);
    }

    /// Whether the caller may use this buffer now, with this length.
    #[inline(always)]
    pub(super) fn check_use(&self, id: u16, length: u32, batch: bool) -> Result<Taken, Fault> {
        self.check_broken()?;
        let Some(Some(taken)) = self.by_id.get(id as usize) else {
            return Err(Fault::rule(
                Rule::UsedId,
                Place::Call,
                id,
                "a buffer that was taken and not yet used",
            ));
        };
        if length > taken.writable_bytes {
            let expected = "no more than the buffer's writable bytes";
            return Err(Fault::rule(Rule::UsedLength, Place::Call, length, expected));
        }
        if self.in_order && !batch && taken.number != self.used {
            return Err(Fault::rule(Rule::InOrder, Place::Call, id, "the buffer that was taken first"));
        }
        if batch && !self.in_order {
            let expected = "a single buffer, since IN_ORDER was not negotiated";
            return Err(Fault::rule(Rule::InOrder, Place::Call, id, expected));
        }
        Ok(*taken)
    }

    /// The buffer is used.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: u16) {
        self.by_id[id as usize] = None;
        if self.in_order {
            self.order.pop_front();
        }
        self.used = self.used.wrapping_add(1);
    }

    /// With `IN_ORDER`: every buffer from the one taken first up to this one is used. Returns their ring descriptors.
    pub(super) fn remove_until(&mut self, id: u16) -> u16 {
        let mut descriptors = 0;
        while let Some(first) = self.order.front().copied() {
            descriptors += self.by_id[first as usize].map_or(0, |taken| taken.descriptors);
            self.remove(first);
            if first == id {
                break;
            }
        }
        descriptors
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &Taken)> {
        self.by_id.iter().enumerate().filter_map(|(id, taken)| Some((id as u16, taken.as_ref()?)))
    }

    /// Back to the beginning.
    pub(super) fn restart(&mut self) {
        self.by_id.fill(None);
        self.order.clear();
        (self.popped, self.used, self.published) = (0, 0, 0);
        self.broken = None;
    }

    #[inline(always)]
    pub(super) fn check_broken(&self) -> Result<(), Fault> {
        match self.broken {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    #[cold]
    pub(super) fn break_with(
        &mut self,
        rule: Rule,
        place: Place,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Fault {
        let fault = Fault::rule(rule, place, found, expected);
        self.broken = Some(fault);
        fault
    }

    #[cold]
    pub(super) fn break_for(&mut self, fault: Fault) -> Fault {
        self.broken = Some(fault);
        fault
    }
}
