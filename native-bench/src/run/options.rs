//! What is run.

use crate::net::Sizes;
use ring_core::{indirect::TableStrategy, spec::Format};
use std::{path::PathBuf, time::Duration};

/// The shape of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Every buffer of as many elements, batches of one length, a batch reaped when it is wholly used.
    Uniform,
    /// Buffers of one to six elements, batches of any length, buffers reaped as they come back.
    Mixed,
    /// Whatever the two drivers can do, in an order that the seed decides: what is tested hardest.
    Random,
}

impl Scenario {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scenario::Uniform => "uniform",
            Scenario::Mixed => "mixed",
            Scenario::Random => "random",
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Packets in each direction.
    pub packets: u64,
    /// Descriptors of each queue.
    pub queue_size: u16,
    /// Elements of each transmit buffer, the header's among them.
    pub elements: u16,
    /// Elements of each receive buffer.
    pub receive_elements: u16,
    /// Bytes of each receive buffer, header included.
    pub receive_bytes: u32,
    /// Where tables come from.
    pub strategy: TableStrategy,
    /// The rings' format.
    pub format: Format,
    /// Whether notifications are suppressed by event index.
    pub event_index: bool,
    /// Whether the device uses buffers in the order in which they were made available.
    pub in_order: bool,
    /// Whether a packet may take several receive buffers.
    pub mergeable: bool,
    /// Whether notifications to the device carry the driver's next position.
    pub notification_data: bool,
    /// Whether a random run resets its queues, one at a time, while they are in use.
    pub reset_queues: bool,
    /// Packets made available at once.
    pub batch: usize,
    /// The shape of the work.
    pub scenario: Scenario,
    /// Lengths of the packets.
    pub sizes: Sizes,
    /// Decides the packets' bytes and lengths, and the shape of a mixed run.
    pub seed: u64,
    /// How long the device may do nothing.
    pub timeout: Duration,
    /// The QEMU to run, if it is not to be looked for.
    pub qemu: Option<PathBuf>,
    /// Further properties of QEMU's device.
    pub device_options: Vec<String>,
    /// Where the run is recorded.
    pub record: Option<PathBuf>,
    /// Whether what recording costs is measured in a further pass.
    pub measure_recording: bool,
}

impl Options {
    /// The most elements a transmit buffer has.
    pub(crate) fn most_elements(&self) -> u16 {
        match self.scenario {
            Scenario::Uniform => self.elements,
            Scenario::Mixed => super::workload::MIXED_ELEMENTS.min(self.queue_size),
            Scenario::Random => super::workload::RANDOM_ELEMENTS.min(self.queue_size),
        }
    }

    /// Whether a random run is to meet a full socket too. QEMU (10.0) aborts where it is full when a queue is reset.
    pub(crate) fn fills_the_socket(&self) -> bool {
        self.scenario == Scenario::Random && !self.reset_queues
    }

    /// Packets of a round, which is what figures are taken of.
    pub(crate) fn round(&self) -> u64 {
        (self.packets / 20).clamp(self.batch as u64, 5000.max(self.batch as u64))
    }
}
