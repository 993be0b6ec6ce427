//! What is known when the device does nothing more.

use super::driver_state::DriverState;
use crate::{system::GuestMemory, virtio::status::Status};
use ring_core::{
    memory::{Memory, Ordering},
    spec::{
        Layout,
        packed::{self, Position},
        split::Cell,
    },
};
use std::{fmt, time::Duration};

/// Both sides of a queue that stands still.
#[derive(Clone, Debug)]
pub struct Stall {
    /// Which queue.
    pub queue: &'static str,
    /// What was waited for.
    pub waiting_for: &'static str,
    /// How long.
    pub waited: Duration,
    /// The driver's own counters.
    pub driver: DriverState,
    /// The ring's shared fields, by name, as they are in guest memory.
    pub fields: Vec<(&'static str, u16)>,
    /// The device's status byte, if it still answers.
    pub status: Option<Status>,
    /// Doorbells rung once more in vain.
    pub repeated: u64,
}

/// The fields of a ring that tell who waits for whom. A packed ring has the two event structures, and the flags of the
/// descriptors where the driver expects the next used one and puts the next buffer.
pub(super) fn shared_fields(
    memory: &GuestMemory,
    layout: &Layout,
    driver: &DriverState,
) -> Vec<(&'static str, u16)> {
    let fields = match driver {
        DriverState::Split(_) => vec![
            ("avail.idx", layout.address(Cell::AvailableIndex)),
            ("used.idx", layout.address(Cell::UsedIndex)),
            ("avail_event", layout.address(Cell::AvailableEvent)),
            ("used_event", layout.address(Cell::UsedEvent)),
            ("avail.flags", layout.address(Cell::AvailableFlags)),
            ("used.flags", layout.address(Cell::UsedFlags)),
        ],
        DriverState::Packed(state) => {
            let flags = |at: Position| layout.address(packed::Cell::Descriptor(at.index)) + 14;
            let driver_event = layout.address(packed::Cell::DriverEvent);
            let device_event = layout.address(packed::Cell::DeviceEvent);
            vec![
                ("driver event offset", driver_event),
                ("driver event flags", driver_event + 2),
                ("device event offset", device_event),
                ("device event flags", device_event + 2),
                ("flags where the next is used", flags(state.next_used)),
                ("flags where the next is available", flags(state.next_available)),
            ]
        }
    };
    let load = |address| memory.load_u16(address, Ordering::Acquire).ok();
    fields.into_iter().filter_map(|(name, address)| Some((name, load(address)?))).collect()
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { queue, waiting_for, waited, driver, .. } = self;
        write!(
            f,
            "the {queue} queue stands still: for {waited:?} there was nothing new while waiting for {waiting_for}; driver: \
             {driver}; ring:"
        )?;
        for (name, value) in &self.fields {
            match driver {
                DriverState::Split(_) => write!(f, " {name} {value}")?,
                // Bits rather than numbers.
                DriverState::Packed(_) => write!(f, " {name} {value:#06x},")?,
            }
        }
        match self.status {
            Some(status) => write!(f, "; device status {status}")?,
            None => write!(f, "; the device does not answer")?,
        }
        write!(f, "; doorbell rung again {} times", self.repeated)
    }
}

impl std::error::Error for Stall {}
