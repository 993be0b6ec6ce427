//! Everything there is at a position of a replay.

use super::{RingFormat, Split, Tables, Writers, watch::Watch};
use crate::{
    ConfigError, Fault,
    device::{Chain, Device},
    driver::{AddError, Driver, Used},
    indirect::{Counted, InvalidParameter},
    memory::{Access, Observed, OutOfRange, OwnedMemory},
    probe::{Event, Probe},
    spec::MAXIMUM_QUEUE_SIZE,
    trace::{Call, MemoryRange, QueueHeader, RingImage, TraceError},
};
use alloc::vec::Vec;
use core::{cell::RefCell, fmt};

/// How often each side notified the other, and how often it saw that it need not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Notifications by the driver.
    pub kicks: u64,
    /// Looks of the driver after which none was needed.
    pub kicks_saved: u64,
    /// Notifications by the device.
    pub interrupts: u64,
    /// Looks of the device after which none was needed.
    pub interrupts_saved: u64,
}

/// Memory, both sides' private state, and what a reader wants to know beside them.
#[derive(Clone, Debug)]
pub struct State<F: RingFormat = Split> {
    /// The ring and its tables.
    pub memory: OwnedMemory,
    /// The driver's side.
    pub driver: F::Driver,
    /// The device's side.
    pub device: F::Device,
    /// Who wrote each cell last.
    pub writers: Writers,
    /// The tables by identity.
    pub tables: Tables,
    /// Notifications so far.
    pub counts: Counts,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The buffer was added, starting at this descriptor.
    Added {
        /// Descriptor that starts it.
        head: u16,
    },
    /// Nothing to tell.
    Done,
    /// A look whether to notify.
    Notified {
        /// Whether a notification was due.
        needed: bool,
        /// The other side's wish, as read: see [`Notify::seen`](crate::driver::Notify::seen).
        seen: u32,
    },
    /// A buffer came back.
    Reaped(Used),
    /// A buffer was taken.
    Popped(Chain),
    /// A checkpoint was reached: the digest of the replayed memory.
    Checkpoint {
        /// The digest that was recorded.
        recorded: u64,
        /// The digest of the replay.
        replayed: u64,
    },
}

/// Why a replay cannot go on. Positions are those after the call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The trace cannot be read there.
    Trace(TraceError),
    /// The queue cannot be made.
    Config(ConfigError),
    /// No queue can have the table strategy.
    Strategy(InvalidParameter),
    /// The ring and its tables lie too far apart to be held.
    TooLarge,
    /// The replayed call failed.
    Fault {
        /// Where.
        position: u64,
        /// Why.
        fault: Fault,
    },
    /// The replayed buffer was not added.
    Add {
        /// Where.
        position: u64,
        /// Why.
        error: AddError,
    },
    /// The replayed call had nothing to do, where the recorded one had.
    Nothing {
        /// Where.
        position: u64,
        /// The call's name.
        call: &'static str,
    },
    /// The replay decided otherwise than the recording.
    Decision {
        /// Where.
        position: u64,
        /// Whether the recorded side notified.
        recorded: bool,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Trace(error) => error.fmt(f),
            ReplayError::Config(error) => error.fmt(f),
            ReplayError::Strategy(error) => error.fmt(f),
            ReplayError::TooLarge => {
                f.write_str("the ring and its tables do not lie within 64 MiB of each other")
            }
            ReplayError::Fault { position, fault } => write!(f, "call {position}: {fault}"),
            ReplayError::Add { position, error } => write!(f, "call {position}: {error}"),
            ReplayError::Nothing { position, call } => {
                write!(f, "call {position} ({call}): the replay has nothing there, the recording had")
            }
            ReplayError::Decision { position, recorded } => {
                let (recorded, replayed) =
                    if *recorded { ("sent", "sends none") } else { ("did not send", "sends one") };
                write!(
                    f,
                    "call {position}: the recorded side {recorded} a notification, the replay {replayed}"
                )
            }
        }
    }
}

impl core::error::Error for ReplayError {}

/// Tells the tables and whoever else wants to know.
struct Probes<'a> {
    tables: &'a mut Tables,
    events: Option<&'a mut Vec<Event>>,
}

impl Probe for Probes<'_> {
    fn event(&mut self, event: Event) {
        self.tables.event(event);
        if let Some(events) = self.events.as_deref_mut() {
            events.push(event);
        }
    }
}

/// Where a step's details go.
pub(super) struct Details<'a> {
    pub(super) accesses: &'a RefCell<Vec<Access>>,
    pub(super) events: &'a mut Vec<Event>,
}

impl<F: RingFormat> State<F> {
    pub(super) fn new(queue: &QueueHeader) -> Result<Self, ReplayError> {
        let range = queue.memory().ok_or(ReplayError::TooLarge)?;
        let MemoryRange { base, length } = range;
        // As for the largest queue: what was recorded did run, though its tables may be larger than any of its buffers.
        let tables = queue
            .strategy
            .build(MAXIMUM_QUEUE_SIZE, queue.tables.base, queue.tables.length)
            .map_err(ReplayError::Strategy)?;
        let memory = OwnedMemory::new(base, length as usize);
        let unreachable = |error: OutOfRange| ReplayError::Fault { position: 0, fault: error.into() };
        queue.config.initialise(&memory).map_err(unreachable)?;
        let (driver, device) = F::sides(&queue.config, Counted::new(tables)).map_err(ReplayError::Config)?;
        Ok(State {
            memory,
            driver,
            device,
            writers: Writers::new(range),
            tables: Tables::default(),
            counts: Counts::default(),
        })
    }

    /// Bytes that a copy of it takes, near enough to bound how many are kept.
    pub(super) fn size(&self) -> usize {
        self.memory.len() * 3
    }

    /// Makes the call that leads to `position`.
    pub(super) fn apply(
        &mut self,
        queue: &QueueHeader,
        position: u64,
        call: &Call<'_>,
        details: Option<Details<'_>>,
    ) -> Result<Outcome, ReplayError> {
        let (log, events) = match details {
            Some(details) => (Some(details.accesses), Some(details.events)),
            None => (None, None),
        };
        let memory =
            &Observed { memory: &self.memory, observer: Watch { writers: &self.writers, position, log } };
        let probe = &mut Probes { tables: &mut self.tables, events };
        let (driver, device) = (&mut self.driver, &mut self.device);
        let broke = |fault| ReplayError::Fault { position, fault };
        let nothing = || ReplayError::Nothing { position, call: call.name() };
        Ok(match call {
            Call::Add { token, readable, writable } => {
                let head = driver
                    .add(memory, probe, *token, readable, writable)
                    .map_err(|error| ReplayError::Add { position, error })?;
                Outcome::Added { head }
            }
            Call::Publish => driver.publish(memory, probe).map(|()| Outcome::Done).map_err(broke)?,
            Call::Notify { sent } => {
                let notify = driver.notify(memory, probe).map_err(broke)?;
                if notify.needed != *sent {
                    return Err(ReplayError::Decision { position, recorded: *sent });
                }
                count(notify.needed, &mut self.counts.kicks, &mut self.counts.kicks_saved);
                Outcome::Notified { needed: notify.needed, seen: notify.seen }
            }
            Call::Reap => Outcome::Reaped(driver.reap(memory, probe).map_err(broke)?.ok_or_else(nothing)?),
            Call::DisableNotifications => {
                driver.disable_notifications(memory).map(|()| Outcome::Done).map_err(broke)?
            }
            Call::EnableNotifications => {
                driver.enable_notifications(memory).map(|_| Outcome::Done).map_err(broke)?
            }
            Call::Pop => {
                let mut chain = Chain::default();
                if !device.pop(memory, probe, &mut chain).map_err(broke)? {
                    return Err(nothing());
                }
                // A copy holds the elements only, not the room for more.
                Outcome::Popped(chain.clone())
            }
            Call::Complete { head, length } => {
                device.complete(memory, probe, *head, *length).map(|()| Outcome::Done).map_err(broke)?
            }
            Call::CompleteBatch { head, length } => {
                device.complete_batch(memory, probe, *head, *length).map(|()| Outcome::Done).map_err(broke)?
            }
            Call::CompletePacked { head, length, flags, batch } => {
                let device = F::packed_device(device).ok_or_else(nothing)?;
                let done = device.complete_as_observed(memory, probe, *head, *length, *flags, *batch);
                done.map(|()| Outcome::Done).map_err(broke)?
            }
            Call::PublishUsed => device.publish(memory, probe).map(|()| Outcome::Done).map_err(broke)?,
            Call::NotifyUsed { sent } => {
                let notify = device.notify(memory, probe).map_err(broke)?;
                if let Some(recorded) = *sent
                    && recorded != notify.needed
                {
                    return Err(ReplayError::Decision { position, recorded });
                }
                count(notify.needed, &mut self.counts.interrupts, &mut self.counts.interrupts_saved);
                Outcome::Notified { needed: notify.needed, seen: notify.seen }
            }
            Call::Wish { value } => device.wish(memory, *value).map(|()| Outcome::Done).map_err(broke)?,
            Call::Reset => {
                device.reset();
                driver.reset(memory, probe, |_| {}).map(|()| Outcome::Done).map_err(broke)?
            }
            Call::Checkpoint { digest } => {
                let unreachable = |error: OutOfRange| broke(error.into());
                let image = RingImage::copy(&self.memory, queue).map_err(unreachable)?;
                Outcome::Checkpoint { recorded: *digest, replayed: image.digest() }
            }
        })
    }
}

fn count(needed: bool, sent: &mut u64, saved: &mut u64) {
    *if needed { sent } else { saved } += 1;
}
