//! What both devices know of the buffers they took, as plain data.

use super::{Entry, TakenBuffers, USED};
use crate::{
    Fault, QueueConfig,
    snapshot::{FaultSnapshot, SnapshotError, check_distinct, check_numbers},
    spec::feature,
};
use alloc::{format, vec::Vec};

/// What a device of either format knows of the buffers it took. The counters are numbers of buffers, modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TakenSnapshot {
    /// How many were taken.
    pub popped: u16,
    /// How many were used.
    pub used: u16,
    /// How many were used visibly for the driver.
    pub published: u16,
    /// Buffers that were taken and not used.
    pub taken: Vec<TakenBufferSnapshot>,
    /// Ids of buffers that were used, but not visibly for the driver, in the order in which they were used.
    pub unpublished: Vec<u16>,
    /// Why the queue is broken, if it is.
    pub broken: Option<FaultSnapshot>,
}

/// A buffer that was taken and is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TakenBufferSnapshot {
    /// Its id: on a split ring the descriptor that starts it.
    pub id: u16,
    /// Its number.
    pub number: u16,
    /// Ring descriptors it holds.
    pub descriptors: u16,
    /// Bytes the device may write into it.
    pub writable_bytes: u32,
}

impl TakenSnapshot {
    /// Checks what does not depend on the format. Returns the ring descriptors of the buffers that were taken.
    pub(in crate::device) fn check(&self, config: &QueueConfig) -> Result<u16, SnapshotError> {
        let size = config.layout.queue_size;
        let ids = self.taken.iter().map(|buffer| &buffer.id).chain(&self.unpublished);
        check_distinct("taken.id or unpublished", ids, size)?;
        let (taken, unpublished) = (self.taken.len(), self.unpublished.len());
        if usize::from(self.popped.wrapping_sub(self.used)) != taken {
            let expected = format!("{taken} more than used, for as many are taken");
            return Err(SnapshotError::field("popped", self.popped, expected));
        }
        if usize::from(self.used.wrapping_sub(self.published)) != unpublished {
            let expected = format!("{unpublished} more than published, for as many are unpublished");
            return Err(SnapshotError::field("used", self.used, expected));
        }
        let in_order = config.features.contains(feature::IN_ORDER);
        if in_order {
            let numbers = self.taken.iter().map(|buffer| buffer.number);
            check_numbers(numbers, self.used, self.popped, false)?;
        }
        let mut held = 0_u16;
        for TakenBufferSnapshot { descriptors, .. } in &self.taken {
            held = held.saturating_add(*descriptors);
            // Each buffer that is used and not published holds one at least.
            if *descriptors == 0 || usize::from(held) + unpublished > size.into() {
                let expected = format!("at least 1, and of all no more than the queue size {size}");
                return Err(SnapshotError::field("taken.descriptors", *descriptors, expected));
            }
        }
        Ok(held)
    }
}

impl TakenBuffers {
    pub(in crate::device) fn snapshot(&self) -> TakenSnapshot {
        let taken = self.iter().map(|(id, taken)| TakenBufferSnapshot {
            id,
            number: taken.number,
            descriptors: taken.descriptors,
            writable_bytes: taken.writable_bytes,
        });
        TakenSnapshot {
            popped: self.popped,
            used: self.used,
            published: self.published,
            taken: taken.collect(),
            unpublished: self.unpublished.clone(),
            broken: self.broken.map(FaultSnapshot::from),
        }
    }

    /// What a snapshot says that was [checked](TakenSnapshot::check).
    pub(in crate::device) fn restore(
        config: &QueueConfig,
        snapshot: TakenSnapshot,
    ) -> Result<Self, SnapshotError> {
        let mut buffers = TakenBuffers::new(config);
        buffers.popped = snapshot.popped;
        buffers.used = snapshot.used;
        buffers.published = snapshot.published;
        for TakenBufferSnapshot { id, number, descriptors, writable_bytes } in snapshot.taken {
            if let Some(place) = buffers.by_id.get_mut(usize::from(id)) {
                *place = Entry { writable_bytes, number, descriptors };
            }
            buffers.order.set(number, id);
        }
        for id in snapshot.unpublished {
            if let Some(place) = buffers.by_id.get_mut(usize::from(id)) {
                place.descriptors = USED;
            }
            buffers.unpublished.push(id);
        }
        buffers.broken = snapshot.broken.map(Fault::try_from).transpose()?;
        Ok(buffers)
    }
}
