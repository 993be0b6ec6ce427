//! What is known when the device does nothing more.

use crate::{system::GuestMemory, virtio::status::Status};
use ring_core::{
    driver::SplitDriverState,
    memory::{Memory, Ordering},
    spec::{Layout, split::Cell},
};
use std::{fmt, time::Duration};

/// Both sides of a queue that stands still. Indices run freely modulo 2^16.
#[derive(Clone, Debug)]
pub struct Stall {
    /// Which queue.
    pub queue: &'static str,
    /// What was waited for.
    pub waiting_for: &'static str,
    /// How long.
    pub waited: Duration,
    /// The driver's own counters.
    pub driver: SplitDriverState,
    /// The ring's shared fields, by name, as they are in guest memory.
    pub fields: Vec<(&'static str, u16)>,
    /// The device's status byte, if it still answers.
    pub status: Option<Status>,
    /// Doorbells rung once more in vain.
    pub repeated: u64,
}

/// The fields of a ring that tell who waits for whom.
pub(super) fn shared_fields(memory: &GuestMemory, layout: &Layout) -> Vec<(&'static str, u16)> {
    let cells = [
        ("avail.idx", Cell::AvailableIndex),
        ("used.idx", Cell::UsedIndex),
        ("avail_event", Cell::AvailableEvent),
        ("used_event", Cell::UsedEvent),
        ("avail.flags", Cell::AvailableFlags),
        ("used.flags", Cell::UsedFlags),
    ];
    let load = |cell| memory.load_u16(layout.address(cell), Ordering::Acquire).ok();
    cells.into_iter().filter_map(|(name, cell)| Some((name, load(cell)?))).collect()
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { queue, waiting_for, waited, driver, .. } = self;
        write!(
            f,
            "the {queue} queue stands still: for {waited:?} there was nothing new while waiting for {waiting_for}; driver: \
             published {}, notified {}, reaped {}, {} descriptors free; ring:",
            driver.published_index, driver.notified_index, driver.last_used, driver.free
        )?;
        for (name, value) in &self.fields {
            write!(f, " {name} {value}")?;
        }
        match self.status {
            Some(status) => write!(f, "; device status {status}")?,
            None => write!(f, "; the device does not answer")?,
        }
        write!(f, "; doorbell rung again {} times", self.repeated)
    }
}

impl std::error::Error for Stall {}
