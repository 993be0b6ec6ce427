//! The driver's side: makes buffers available, gets them back.

mod buffers;
mod packed;
mod split;

pub use buffers::{BatchSnapshot, BufferSnapshot, BuffersSnapshot, Elements, InFlight};
pub use packed::{PackedDriver, PackedDriverSnapshot, PackedDriverState, UnpublishedDescriptor};
pub use split::{SplitDriver, SplitDriverSnapshot, SplitDriverState};

use crate::{Fault, Segment, memory::Memory, probe::Probe, spec::descriptor_flag};
use buffers::Bytes;
use core::fmt;

/// What every driver can do, whatever its format, and whatever is wrapped around it.
pub trait Driver {
    /// Places a buffer, not yet visible to the device: `readable` elements first, then `writable` ones. The token comes
    /// back when the buffer was used. Returns the id that the device will name.
    fn add<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError>;

    /// Makes every added buffer visible to the device.
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault>;

    /// Whether the device must be notified of what was published since the last call.
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault>;

    /// Used buffers that wait to be reaped.
    fn pending_used<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault>;

    /// Calls `each` with every used element that waits, without taking any. They are checked only when they are reaped.
    fn peek_used<M: Memory>(&mut self, memory: &M, each: impl FnMut(UsedElement)) -> Result<(), Fault>;

    /// Gets the next used buffer back, if there is one.
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault>;

    /// Asks the device not to notify of used buffers. A wish only: it may do so all the same.
    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault>;

    /// Asks the device to notify of the next used buffer. With `EVENT_IDX` the wish is for that one alone: whoever wants to be
    /// notified again asks again after reaping. Returns how many were used meanwhile: those may have come
    /// without a notification, so the caller reaps them now.
    ///
    /// With `EVENT_IDX` this asks for one notification. A driver that waits for notifications calls it each time it has
    /// reaped all there is, and reaps again unless it returns 0; otherwise it is not told of what comes later
    /// (2.7.7, 2.8.10).
    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault>;

    /// The number of the next used buffer to reap: buffers are counted from the start index on, modulo 2^16.
    fn last_used(&self) -> u16;

    /// The next position not yet made available, as a notification carries it with `NOTIFICATION_DATA` (2.9): split,
    /// avail.idx; packed, slot and wrap counter.
    fn next_available(&self) -> u16;

    /// Free ring descriptors.
    fn free(&self) -> u16;

    /// Why the queue is broken, if it is.
    fn broken(&self) -> Option<Fault>;

    /// Starts anew once the device confirmed a reset of the queue (2.6.1 "Virtqueue Reset") or of itself: hands the token of
    /// every buffer that it still had to `returned`, zeroes the ring's memory, and is as a fresh driver from index 0 on,
    /// its idle tables kept. Works on a broken queue too, which is whole again then.
    fn reset<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        returned: impl FnMut(u64),
    ) -> Result<(), Fault>;
}

/// A used element of a split ring, or a used descriptor of a packed one, as the device wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedElement {
    /// The id in it; with a wrong one the elements behind it are not known.
    pub id: u32,
    /// The length in it, in bytes.
    pub length: u32,
    /// How many buffers it stands for: more than 1 only with `IN_ORDER`.
    pub buffers: u16,
    /// The flags of a used descriptor; 0 in a split ring.
    pub flags: u16,
}

/// A buffer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// What the caller gave to `add`.
    pub token: u64,
    /// The descriptor that started the buffer.
    pub head: u16,
    /// Bytes the device says it wrote into the writable elements.
    pub length: u32,
}

/// Whether a notification is due, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify {
    /// Send one now.
    pub needed: bool,
    /// What the other side's wish was. Split: its event index, or its flags without `EVENT_IDX`. Packed: its event
    /// structure, as [`Event::to_bits`](crate::spec::packed::Event::to_bits).
    pub seen: u32,
}

/// Why a buffer was not added. The queue is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// Not enough free descriptors; some come back with every reaped buffer.
    Full {
        /// Ring descriptors the buffer takes.
        needed: u16,
        /// Ring descriptors there are.
        free: u16,
    },
    /// The caller's buffer can never be added to this queue: rule and value.
    Refused(Fault),
    /// The queue is broken, or broke now.
    Fault(Fault),
}

impl From<Fault> for AddError {
    #[cold]
    fn from(fault: Fault) -> Self {
        AddError::Fault(fault)
    }
}

impl From<crate::memory::OutOfRange> for AddError {
    #[cold]
    fn from(out_of_range: crate::memory::OutOfRange) -> Self {
        AddError::Fault(out_of_range.into())
    }
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddError::Full { needed, free } => {
                write!(f, "the buffer takes {needed} ring descriptors and {free} are free")
            }
            AddError::Refused(fault) => write!(f, "the buffer was refused: {fault}"),
            AddError::Fault(fault) => write!(f, "the queue is broken: {fault}"),
        }
    }
}

impl core::error::Error for AddError {}

/// Hands every element to `place` with the flags it has in a chain: `WRITE`, and `NEXT` on all but the last, which comes
/// by a call of its own so that the others need no test. Adds up the bytes on the way.
#[inline(always)]
fn for_each_element(
    readable: &[Segment],
    writable: &[Segment],
    mut place: impl FnMut(Segment, u16) -> Result<(), Fault>,
) -> Result<Bytes, Fault> {
    let mut bytes = Bytes::default();
    let last_writable = writable.split_last();
    let (last_readable, readable) = match (last_writable, readable.split_last()) {
        (None, Some((last, others))) => (Some(last), others),
        _ => (None, readable),
    };
    for segment in readable {
        bytes.readable += segment.length as u64;
        place(*segment, descriptor_flag::NEXT)?;
    }
    if let Some((last, writable)) = last_writable {
        for segment in writable {
            bytes.writable += segment.length as u64;
            place(*segment, descriptor_flag::NEXT | descriptor_flag::WRITE)?;
        }
        bytes.writable += last.length as u64;
        place(*last, descriptor_flag::WRITE)?;
    } else if let Some(last) = last_readable {
        bytes.readable += last.length as u64;
        place(*last, 0)?;
    }
    Ok(bytes)
}
