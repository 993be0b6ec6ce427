//! Recording a run, and what that costs.

use super::{
    bench_driver::BenchDriver,
    bring_up::Found,
    figures::{DriverFigures, DriverTicks},
    machine::Machine,
    memory_map::QueueMemory,
    options::{Options, Scenario},
    receive::Receive,
    transmit::Transmit,
};
use crate::{
    Error,
    measure::{Quantiles, Spread, clock},
    net::{RECEIVE_QUEUE, TRANSMIT_QUEUE, feature as net_feature},
    record_file::PartialFile,
};
use ring_core::{
    QueueConfig, Side,
    trace::{Header, QueueHeader, RecordedDriver, Source, TRACE_VERSION, TraceWriter},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    time::Instant,
};

/// Buffer in front of the file, in bytes.
const WRITE_BUFFER: usize = 1 << 16;

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Recorded {
    /// Where.
    pub file: PathBuf,
    /// Calls of both queues.
    pub calls: u64,
    /// Digests of the rings' memory among them.
    pub checkpoints: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// What recording costs, from rounds recorded and not recorded in turn. Rates are packets of both directions in a
/// second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RecordingCost {
    /// Pairs of rounds, not counting the first, which only warms up.
    pub pairs: usize,
    /// Packets of a round, both directions together.
    pub packets: u64,
    /// Rate of the unrecorded rounds.
    pub unrecorded: Spread,
    /// Rate of the recorded rounds.
    pub recorded: Spread,
    /// Recorded rate by unrecorded rate, of each pair: 1 is no cost.
    pub ratio: Quantiles,
    /// Part of the rate that is lost, in percent: 100 less the median ratio.
    pub percent: f64,
    /// Ticks per transmit buffer in the unrecorded rounds.
    pub transmit_driver: DriverTicks,
    /// Ticks per receive buffer in the unrecorded rounds.
    pub receive_driver: DriverTicks,
}

/// The most that recording may cost, in percent of the unrecorded packet rate with batches of 64.
pub const RECORDING_BOUND: f64 = 15.0;

/// Pairs of rounds that are compared.
const PAIRS: usize = 20;

type Output = BufWriter<File>;
type Recorder<D, C> = RecordedDriver<D, Output, C>;

/// A trace that is being written, and the file it goes to.
pub(super) struct Recording {
    writer: TraceWriter<Output>,
    queues: [QueueHeader; 2],
    start: u64,
}

impl Recording {
    pub(super) fn start(file: File, header: &Header) -> io::Result<Self> {
        let writer = TraceWriter::new(BufWriter::with_capacity(WRITE_BUFFER, file), header)?;
        let [receive, transmit] = &header.queues[..] else {
            return Err(io::Error::other("a run has two queues"));
        };
        Ok(Recording { writer, queues: [receive.clone(), transmit.clone()], start: clock::now() })
    }

    /// The two drivers, their calls recorded from now on.
    pub(super) fn wrap<D: BenchDriver>(
        &self,
        receive: D,
        transmit: D,
    ) -> io::Result<[Recorder<D, impl FnMut() -> u64 + use<D>>; 2]> {
        let start = self.start;
        let clock = move || clock::now().saturating_sub(start);
        let writer =
            |queue| self.writer.queue(queue).ok_or_else(|| io::Error::other("the trace lacks a queue"));
        let [receive_header, transmit_header] = self.queues.clone();
        Ok([
            RecordedDriver::new(receive, receive_header, writer(0)?, clock),
            RecordedDriver::new(transmit, transmit_header, writer(1)?, clock),
        ])
    }

    /// Ends the trace, puts its file in its place, and says what is in it.
    pub(super) fn finish(
        self,
        partial: PartialFile,
        target: &Path,
        checkpoints: u64,
    ) -> io::Result<Recorded> {
        let (output, totals) = self.writer.finish()?;
        let file = output.into_inner().map_err(|error| error.into_error())?;
        partial.commit(&file)?;
        Ok(Recorded { file: target.into(), calls: totals.calls, checkpoints, bytes: totals.bytes })
    }
}

/// The trace's header for a run.
pub(super) fn header(
    options: &Options,
    machine: &Machine<'_>,
    found: &Found,
    queues: [&QueueMemory; 2],
) -> Header {
    let queue = |name: &str, index, memory: &QueueMemory| QueueHeader {
        name: name.into(),
        index,
        config: QueueConfig::new(memory.layout, found.negotiated.accepted),
        strategy: options.strategy,
        tables: memory.tables,
    };
    let [receive, transmit] = queues;
    let facts = [
        ("batch", options.batch.to_string()),
        ("doorbell", machine.doorbells.to_string()),
        ("features", net_feature::names(found.negotiated.accepted).join(" ")),
        ("machine", "q35, TCG, virtio-net-pci, dgram netdev".into()),
        ("scenario", options.scenario.name().into()),
        ("seed", options.seed.to_string()),
    ];
    Header {
        version: TRACE_VERSION,
        made_by: concat!("native-bench ", env!("CARGO_PKG_VERSION")).into(),
        source: Source {
            device: "virtio-net".into(),
            implementation: format!("QEMU {}", machine.qemu.version),
            facts: facts
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        },
        observed_from: Side::Driver,
        ticks_per_second: clock::ticks_per_second(),
        queues: vec![queue("receive", RECEIVE_QUEUE, receive), queue("transmit", TRANSMIT_QUEUE, transmit)],
    }
}

/// Runs rounds recorded and not recorded in turn, on queues that already run. The recordings go to a file without a
/// name and are not kept. `done` is told after each pair.
pub(super) fn measure_cost<D: BenchDriver>(
    options: &Options,
    header: &Header,
    machine: &mut Machine<'_>,
    queues: (&mut Receive, &mut Transmit),
    drivers: (D, D),
    mut done: impl FnMut(usize, usize),
) -> Result<Option<RecordingCost>, Error> {
    let (receive, transmit) = queues;
    let (mut receive_driver, mut transmit_driver) = drivers;
    let packets = cost_round(options);
    let file = tempfile::tempfile().map_err(|source| Error::System { what: "a temporary file", source })?;
    let failed = |source| Error::System { what: "a recording that is not kept", source };
    let (mut recorded, mut unrecorded, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut figures = [DriverFigures::default(), DriverFigures::default()];
    for pair in 0..=PAIRS {
        if pair == 1 {
            figures = Default::default();
        }
        let mut rates = [0.0; 2];
        // Which of the two comes first changes, so that neither gains from it.
        let order = if pair.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        for which in order {
            let start = Instant::now();
            if which == 0 {
                // The unrecorded rounds' figures are kept apart.
                swap_figures(&mut figures, receive, transmit);
                let drivers = (&mut receive_driver, &mut transmit_driver);
                both(machine, (&mut *receive, &mut *transmit), drivers, packets)?;
                swap_figures(&mut figures, receive, transmit);
            } else {
                let copy = file.try_clone().map_err(failed)?;
                let recording = Recording::start(copy, header).map_err(failed)?;
                let [mut receiver, mut transmitter] =
                    recording.wrap(receive_driver, transmit_driver).map_err(failed)?;
                both(machine, (&mut *receive, &mut *transmit), (&mut receiver, &mut transmitter), packets)?;
                // The rest of the recording is written here, and so is part of its cost.
                (receive_driver, transmit_driver) = (receiver.into_driver(), transmitter.into_driver());
                recording.writer.finish().map_err(failed)?;
            }
            let elapsed = start.elapsed();
            if let Some(rate) = rates.get_mut(which) {
                *rate = 2.0 * packets as f64 / elapsed.as_secs_f64();
            }
        }
        if pair > 0 {
            let [without, with] = rates;
            unrecorded.push(without);
            recorded.push(with);
            ratios.push(with / without);
        }
        done(pair, PAIRS);
    }
    let (Some(unrecorded), Some(recorded), Some(ratio)) =
        (Spread::of(&unrecorded), Spread::of(&recorded), Quantiles::of(&mut ratios))
    else {
        return Ok(None);
    };
    let percent = 100.0 * (1.0 - ratio.median);
    let [receive_driver, transmit_driver] = figures.map(DriverFigures::ticks);
    Ok(Some(RecordingCost {
        pairs: PAIRS,
        packets: 2 * packets,
        unrecorded,
        recorded,
        ratio,
        percent,
        transmit_driver,
        receive_driver,
    }))
}

fn swap_figures(figures: &mut [DriverFigures; 2], receive: &mut Receive, transmit: &mut Transmit) {
    let [of_receive, of_transmit] = figures;
    std::mem::swap(of_receive, &mut receive.queue.figures);
    std::mem::swap(of_transmit, &mut transmit.queue.figures);
}

/// Packets of one direction in a round of the comparison.
fn cost_round(options: &Options) -> u64 {
    let least = options.batch as u64;
    (options.packets / 50).clamp(least, least.max(2000))
}

fn both<D: BenchDriver>(
    machine: &mut Machine<'_>,
    (receive, transmit): (&mut Receive, &mut Transmit),
    (receive_driver, transmit_driver): (&mut D, &mut D),
    packets: u64,
) -> Result<(), Error> {
    transmit.round(transmit_driver, machine, packets)?;
    receive.round(receive_driver, machine, packets)
}

/// Whether the figure can be held against [`RECORDING_BOUND`].
pub(super) fn is_bounded(options: &Options) -> bool {
    options.scenario == Scenario::Uniform && options.batch == 64
}
