//! What both drivers know of their buffers, as plain data.

use super::{Batch, Buffers, Held, IN_TABLE};
use crate::{
    Fault, QueueConfig,
    indirect::{Table, TableSource},
    snapshot::{FaultSnapshot, SnapshotError, check_numbers},
    spec::feature,
};
use alloc::{format, vec::Vec};
use core::num::NonZeroU16;

/// What a driver of either format knows of its buffers. The counters are numbers of buffers, modulo 2^16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BuffersSnapshot {
    /// The number of the next buffer to add.
    pub added: u16,
    /// The number of the first buffer that is not published.
    pub published: u16,
    /// The number of the next used buffer to reap.
    pub reaped: u16,
    /// Buffers that did not come back.
    pub in_flight: Vec<BufferSnapshot>,
    /// With `IN_ORDER`, the used element of which some buffers came back and others did not.
    pub batch: Option<BatchSnapshot>,
    /// Why the queue is broken, if it is.
    pub broken: Option<FaultSnapshot>,
}

/// A buffer in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BufferSnapshot {
    /// What the caller gave to `add`.
    pub token: u64,
    /// The buffer's number.
    pub number: u16,
    /// Bytes the device may write.
    pub writable_bytes: u32,
    /// Where its elements stand.
    pub elements: Elements,
}

/// Where the elements of a buffer in flight stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Elements {
    /// In so many ring descriptors.
    Ring(u16),
    /// In a table, to which one ring descriptor refers.
    Table(Table),
}

impl Elements {
    /// Ring descriptors they take.
    pub fn descriptors(self) -> u16 {
        match self {
            Elements::Ring(descriptors) => descriptors,
            Elements::Table(_) => 1,
        }
    }
}

/// A used element that stands for several buffers, the rest of them not yet reaped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BatchSnapshot {
    /// The number of the last buffer it stands for.
    pub last: u16,
    /// The length it says.
    pub length: u32,
}

impl BuffersSnapshot {
    /// Whether a buffer of this number is placed and not published.
    pub(in crate::driver) fn is_unpublished(&self, number: u16) -> bool {
        number.wrapping_sub(self.published) < self.added.wrapping_sub(self.published)
    }

    /// Checks what does not depend on the format. Returns the ring descriptors that are held.
    pub(in crate::driver) fn check(&self, config: &QueueConfig) -> Result<u16, SnapshotError> {
        let size = config.layout.queue_size;
        let count = self.in_flight.len();
        if count > size.into() {
            let expected = format!("no more buffers than the queue size {size}");
            return Err(SnapshotError::field("in_flight", count as u64, expected));
        }
        if usize::from(self.added.wrapping_sub(self.reaped)) != count {
            let expected = format!("{count} more than reaped, for as many are in flight");
            return Err(SnapshotError::field("added", self.added, expected));
        }
        if usize::from(self.published.wrapping_sub(self.reaped)) > count {
            return Err(SnapshotError::field("published", self.published, "from reaped up to added"));
        }
        let in_order = config.features.contains(feature::IN_ORDER);
        let numbers = self.in_flight.iter().map(|buffer| buffer.number);
        // Without IN_ORDER a buffer may be in flight for so long that its number was counted again.
        let first = if in_order { self.reaped } else { self.published };
        check_numbers(numbers, first, self.added, !in_order)?;
        self.check_batch(in_order)?;
        self.check_elements(config)
    }

    fn check_elements(&self, config: &QueueConfig) -> Result<u16, SnapshotError> {
        let size = config.layout.queue_size;
        let mut held = 0_u16;
        for buffer in &self.in_flight {
            match buffer.elements {
                Elements::Ring(descriptors) if descriptors == 0 || descriptors > size => {
                    return Err(SnapshotError::field(
                        "elements",
                        descriptors,
                        format!("1 to {size} descriptors"),
                    ));
                }
                Elements::Table(table) if !config.features.contains(feature::INDIRECT_DESC) => {
                    return Err(SnapshotError::field(
                        "elements",
                        table.address,
                        "no table without INDIRECT_DESC",
                    ));
                }
                Elements::Table(table) if table.entries < 2 => {
                    return Err(SnapshotError::field(
                        "elements",
                        table.entries,
                        "a table of at least 2 entries",
                    ));
                }
                _ => held = held.saturating_add(buffer.elements.descriptors()),
            }
            if held > size {
                let expected = format!("no more descriptors in flight than the queue size {size}");
                return Err(SnapshotError::field("elements", held, expected));
            }
        }
        Ok(held)
    }

    fn check_batch(&self, in_order: bool) -> Result<(), SnapshotError> {
        let Some(BatchSnapshot { last, length }) = self.batch else { return Ok(()) };
        if !in_order {
            return Err(SnapshotError::field("batch", last, "none without IN_ORDER"));
        }
        let visible = self.published.wrapping_sub(self.reaped);
        let buffer = self.in_flight.iter().find(|buffer| buffer.number == last);
        let Some(buffer) = buffer.filter(|_| last.wrapping_sub(self.reaped) < visible) else {
            return Err(SnapshotError::field(
                "batch.last",
                last,
                "the number of a published buffer in flight",
            ));
        };
        if length > buffer.writable_bytes {
            let expected = format!("no more than the buffer's {} writable bytes", buffer.writable_bytes);
            return Err(SnapshotError::field("batch.length", length, expected));
        }
        Ok(())
    }
}

impl<T: TableSource> Buffers<T> {
    pub(in crate::driver) fn snapshot(&self) -> BuffersSnapshot {
        let in_flight = self.in_flight().map(|(_, buffer)| BufferSnapshot {
            token: buffer.token,
            number: buffer.number,
            writable_bytes: buffer.writable_bytes,
            elements: buffer.table.map_or(Elements::Ring(buffer.descriptors), Elements::Table),
        });
        let batch = self.batch.and_then(|Batch { last, length }| {
            self.get(last).map(|buffer| BatchSnapshot { last: buffer.number, length })
        });
        BuffersSnapshot {
            added: self.added,
            published: self.published,
            reaped: self.reaped,
            in_flight: in_flight.collect(),
            batch,
            broken: self.broken.map(FaultSnapshot::from),
        }
    }

    /// What a snapshot says that was [checked](BuffersSnapshot::check); each of its buffers has one of the `ids`.
    pub(in crate::driver) fn restore(
        config: &QueueConfig,
        strategy: T,
        snapshot: BuffersSnapshot,
        ids: impl IntoIterator<Item = u16>,
    ) -> Result<Self, SnapshotError> {
        let mut buffers = Buffers::new(config, strategy);
        buffers.added = snapshot.added;
        buffers.published = snapshot.published;
        buffers.reaped = snapshot.reaped;
        for (buffer, id) in snapshot.in_flight.iter().zip(ids) {
            let BufferSnapshot { token, number, writable_bytes, elements } = *buffer;
            let descriptors = match elements {
                Elements::Ring(descriptors) => NonZeroU16::new(descriptors),
                Elements::Table(table) => {
                    let adopted = buffers.strategy.adopt(table);
                    adopted.map_err(|error| SnapshotError::Table { table, error })?;
                    if let Some(place) = buffers.tables.get_mut(usize::from(id)) {
                        *place = table;
                    }
                    Some(IN_TABLE)
                }
            };
            if let Some(place) = buffers.held.get_mut(usize::from(id)) {
                *place = Held { token, writable_bytes, number, descriptors };
            }
            buffers.order.set(number, id);
        }
        if let Some(BatchSnapshot { last, length }) = snapshot.batch {
            buffers.batch = buffers.order.get(last).map(|last| Batch { last, length });
        }
        buffers.broken = snapshot.broken.map(Fault::try_from).transpose()?;
        Ok(buffers)
    }
}
