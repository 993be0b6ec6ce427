//! Everything that can end a run.

use crate::{
    measure::instructions::InstructionsError,
    net::{PacketError, SinkError},
    pci::PciError,
    qemu::{QemuError, QtestError},
    run::Stall,
    virtio::{BringUpError, status::Status},
};
use ring_core::{ConfigError, Fault, driver::AddError, indirect::InvalidParameter, memory::OutOfRange};
use std::{io, path::PathBuf};

/// Why a run ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// QEMU is missing, unfit, or has ended.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// The device is not on the bus as it should be.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// The device was not brought up.
    #[error(transparent)]
    BringUp(#[from] BringUpError),
    /// A command to QEMU failed.
    #[error(transparent)]
    Qtest(#[from] QtestError),
    /// The queue cannot be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The table strategy does not fit the queue.
    #[error(transparent)]
    Strategy(#[from] InvalidParameter),
    /// The device broke a rule of the ring.
    #[error("the device broke a rule on the {queue} queue: {fault}")]
    Ring {
        /// Which.
        queue: &'static str,
        /// The rule and where.
        fault: Fault,
    },
    /// A buffer could not be added.
    #[error("a buffer could not be added to the {queue} queue: {error}")]
    Add {
        /// Which.
        queue: &'static str,
        /// Why.
        error: AddError,
    },
    /// Not as many buffers came back as were added.
    #[error("{added} buffers were added and {back} came back")]
    Lost {
        /// How many were added.
        added: usize,
        /// How many came back.
        back: usize,
    },
    /// There are no counts of instructions.
    #[error(transparent)]
    Instructions(#[from] InstructionsError),
    /// A buffer lies outside guest memory.
    #[error(transparent)]
    Memory(#[from] OutOfRange),
    /// A packet is not what was sent.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// A transmitted packet is not what was sent, or could not be read.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// Buffers were lost or doubled by a reset of their queue.
    #[error(
        "the reset of the {queue} queue gave back {returned} different buffers; {expected} were in flight"
    )]
    Reset {
        /// Which.
        queue: &'static str,
        /// Buffers that were in flight.
        expected: u16,
        /// How many different ones came back.
        returned: usize,
    },
    /// Used buffers that a driver told of are not there any more.
    #[error("{pending} buffers of the {queue} queue were used, and then only {again}")]
    Vanished {
        /// Which queue.
        queue: &'static str,
        /// How many there were.
        pending: u16,
        /// How many there are.
        again: u16,
    },
    /// What a transmit queue's reset gave back is not what the other end lacks.
    #[error(
        "after the reset of the transmit queue packet {first} is the first that was not transmitted; expected {expected}"
    )]
    ResetPackets {
        /// The first packet that did not arrive.
        first: u64,
        /// The first that the driver got back unused.
        expected: u64,
    },
    /// The device does nothing more.
    #[error(transparent)]
    Stalled(#[from] Box<Stall>),
    /// The device gave up.
    #[error("the device asks to be reset: its status is {status}; QEMU's last words: {}", .said.join("; "))]
    NeedsReset {
        /// The status byte.
        status: Status,
        /// The last lines of QEMU's standard error.
        said: Vec<String>,
    },
    /// Someone wants it to end.
    #[error("interrupted after {transmitted} packets transmitted and {received} received")]
    Interrupted {
        /// Packets verified at the sink.
        transmitted: u64,
        /// Packets verified in the receive buffers.
        received: u64,
    },
    /// The recording cannot be written.
    #[error("{} cannot be written", .path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system does not give what is needed.
    #[error("{what} could not be made: {source}")]
    System {
        /// What.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// Whether the cause is that QEMU no longer answers, as it is when it ends.
    pub(crate) fn is_closed(&self) -> bool {
        let bus = match self {
            Error::Qtest(error)
            | Error::Pci(PciError::Bus(error))
            | Error::BringUp(BringUpError::Bus(error))
            | Error::Qemu(QemuError::Protocol { error, .. }) => error,
            _ => return false,
        };
        matches!(bus, QtestError::Closed)
    }
}
