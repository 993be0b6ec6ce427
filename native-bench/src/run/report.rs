//! What a run found, for programs; [`crate::report`] prints it for people.

use super::{
    figures::DriverTicks,
    queue::Kicks,
    recording::{Recorded, RecordingCost},
};
use crate::{cpus::Pinning, measure::Spread};
use ring_core::{
    indirect::{TableStatistics, TableStrategy},
    spec::Format,
};
use serde::Serialize;
use std::path::PathBuf;

/// A whole run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The device's side.
    pub qemu: QemuFacts,
    /// What both queues are like.
    pub queue: QueueFacts,
    /// How the device was notified.
    pub doorbell: DoorbellFacts,
    /// Which CPUs were used; none if nobody was pinned.
    pub cpus: Option<Pinning>,
    /// What a tick is.
    pub clock: ClockFacts,
    /// From the driver to the sink.
    pub transmit: Traffic,
    /// From the sink's socket to the driver.
    pub receive: Traffic,
    /// What a random run did.
    pub random: Option<RandomFacts>,
    /// The recording, if one was asked for.
    pub recorded: Option<Recorded>,
    /// What recording costs, if it was measured.
    pub recording_cost: Option<RecordingCost>,
    /// Whether the cost can be held against its bound, which is for batches of 64.
    pub recording_cost_is_bounded: bool,
}

/// Which QEMU.
#[derive(Clone, Debug, Serialize)]
pub struct QemuFacts {
    /// Its version.
    pub version: String,
    /// The program.
    pub path: PathBuf,
    /// Who named it.
    pub by: &'static str,
}

/// What was asked for and agreed on.
#[derive(Clone, Debug, Serialize)]
pub struct QueueFacts {
    /// Split or packed.
    pub format: Format,
    /// Descriptors of each queue.
    pub size: u16,
    /// Elements of a transmit buffer; the most, in a mixed run.
    pub elements: u16,
    /// Elements of a receive buffer; the most, in a mixed run.
    pub receive_elements: u16,
    /// Bytes of a receive buffer.
    pub receive_bytes: u32,
    /// Where tables come from.
    pub strategy: TableStrategy,
    /// Packets made available at once; the most, in a mixed run.
    pub batch: usize,
    /// The negotiated features, by name.
    pub features: Vec<&'static str>,
    /// The features that the device offered.
    pub offered: Vec<&'static str>,
    /// `uniform` or `mixed`.
    pub scenario: &'static str,
    /// The seed.
    pub seed: u64,
}

/// What a random run did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RandomFacts {
    /// Steps, each of one queue.
    pub steps: u64,
    /// Resets of the transmit queue.
    pub transmit_resets: u64,
    /// Resets of the receive queue.
    pub receive_resets: u64,
}

/// How the device was notified.
#[derive(Clone, Debug, Serialize)]
pub struct DoorbellFacts {
    /// `eventfd` or `qtest`.
    pub kind: &'static str,
    /// Why.
    pub reason: String,
}

/// What ticks are.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClockFacts {
    /// `cycles` of the time stamp counter, or `ns`.
    pub unit: &'static str,
    /// Ticks in a second.
    pub ticks_per_second: u64,
}

/// One direction.
#[derive(Clone, Debug, Serialize)]
pub struct Traffic {
    /// Packets sent.
    pub sent: u64,
    /// Buffers the device gave back.
    pub used: u64,
    /// Packets whose number, length and every byte were found right at the other end.
    pub verified: u64,
    /// Packets in a second, over the rounds.
    pub rate: Option<Spread>,
    /// Notifications to the device.
    pub kicks: Kicks,
    /// Whether the ticks hold the recording of the calls too.
    pub recorded: bool,
    /// Ticks per buffer of the driver's work.
    pub driver: DriverTicks,
    /// What indirect tables cost.
    pub tables: TableStatistics,
}
