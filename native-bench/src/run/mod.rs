//! A run against QEMU's device: packets in both directions, verified, measured, recorded.

mod bench_driver;
mod bring_up;
mod driver_state;
mod figures;
mod machine;
mod memory_map;
mod numbers;
mod options;
mod queue;
mod random;
mod receive;
mod recording;
mod report;
mod ring_format;
mod stall;
#[cfg(test)]
mod tests;
mod transmit;
mod workload;

pub use driver_state::DriverState;
pub use figures::{DriverTicks, Ticks};
pub use options::{Options, Scenario};
pub use queue::Kicks;
pub use recording::{RECORDING_BOUND, Recorded, RecordingCost};
pub use report::{ClockFacts, DoorbellFacts, QemuFacts, QueueFacts, RandomFacts, Report, Traffic};
pub use stall::Stall;

use crate::{
    Error,
    measure::{Spread, clock},
    net::feature as net_feature,
    record_file::PartialFile,
};
use bench_driver::BenchDriver;
use bring_up::{Found, bring_up};
use machine::Machine;
use memory_map::MemoryMap;
use random::{Done, Random};
use receive::Receive;
use recording::Recording;
use ring_core::{
    QueueConfig,
    indirect::{AnyTableSource, TableArena, TableSource, TableVisitor},
    spec::Format,
    trace::MemoryRange,
};
use ring_format::{Packed, RingFormat, Split};
use std::{sync::atomic::AtomicBool, time::Instant};
use transmit::Transmit;

/// How far a run is.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The device is ready: QEMU's version, and the doorbell.
    Ready {
        /// Which QEMU, and who named it.
        qemu: String,
        /// How it is notified.
        doorbell: String,
    },
    /// Packets done, both directions together.
    Packets {
        /// So far.
        done: u64,
        /// In all.
        of: u64,
    },
    /// The recording is whole and in its place.
    Recorded,
    /// Pairs of rounds done in the comparison of recorded and unrecorded rounds.
    Comparing {
        /// So far.
        done: u64,
        /// In all.
        of: u64,
    },
}

/// Runs it. `progress` is told now and then; setting `interrupted` ends the run soon.
pub fn run(
    options: &Options,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, Error> {
    options.strategy.check(options.queue_size)?;
    options.strategy.visit(WithTables { options, interrupted, progress })
}

/// Has a copy of the whole run for each strategy and format, so that the figures hold no choice between them.
struct WithTables<'a> {
    options: &'a Options,
    interrupted: &'a AtomicBool,
    progress: &'a mut dyn FnMut(Progress),
}

impl TableVisitor for WithTables<'_> {
    type Output = Result<Report, Error>;
    fn visit<T: TableSource + Clone + Into<AnyTableSource> + 'static>(
        self,
        make: impl Fn(TableArena) -> T + 'static,
    ) -> Self::Output {
        let WithTables { options, interrupted, progress } = self;
        let tables = |range: MemoryRange| make(TableArena::new(range.base, range.length));
        match options.format {
            Format::Split => run_with::<Split, T>(options, interrupted, progress, tables),
            Format::Packed => run_with::<Packed, T>(options, interrupted, progress, tables),
        }
    }
}

fn run_with<F: RingFormat, T: TableSource>(
    options: &Options,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
    tables: impl Fn(MemoryRange) -> T,
) -> Result<Report, Error> {
    // The file comes first: if it cannot be written, that is known before the work.
    let record = match &options.record {
        Some(path) => {
            let failed = |source| Error::Record { path: path.clone(), source };
            Some((path, PartialFile::create(path).map_err(failed)?))
        }
        None => None,
    };
    let map = MemoryMap::of(options);
    let (mut machine, found) = bring_up(options, &map, interrupted)?;
    let qemu = format!("QEMU {} ({})", machine.qemu.version, found.located.path.display());
    progress(Progress::Ready { qemu, doorbell: machine.doorbells.to_string() });
    let result = Run { options, map: &map, found: &found, progress }.go::<F, T>(&mut machine, record, tables);
    result.map_err(|error| machine.qemu.explain_any("while packets were on their way", error))
}

/// The recording's place, its file under its other name, and that file.
type RecordTo<'a> = (&'a std::path::PathBuf, (PartialFile, std::fs::File));

struct Run<'a> {
    options: &'a Options,
    map: &'a MemoryMap,
    found: &'a Found,
    progress: &'a mut dyn FnMut(Progress),
}

/// The two queues, and the rates of their rounds.
struct Queues {
    receive: Receive,
    transmit: Transmit,
    receive_rates: Vec<f64>,
    transmit_rates: Vec<f64>,
    random: Option<Done>,
}

impl Run<'_> {
    fn go<F: RingFormat, T: TableSource>(
        mut self,
        machine: &mut Machine<'_>,
        record: Option<RecordTo<'_>>,
        tables: impl Fn(MemoryRange) -> T,
    ) -> Result<Report, Error> {
        let (options, map) = (self.options, self.map);
        let features = self.found.negotiated.accepted;
        let driver = |memory: &memory_map::QueueMemory| {
            F::driver(&QueueConfig::new(memory.layout, features), tables(memory.tables))
        };
        let mut receive_driver = driver(&map.receive)?;
        let mut transmit_driver = driver(&map.transmit)?;
        let mut queues = Queues {
            receive: Receive::new(options, &map.receive),
            transmit: Transmit::new(options, &map.transmit),
            receive_rates: Vec::new(),
            transmit_rates: Vec::new(),
            random: None,
        };
        let header = recording::header(options, machine, self.found, [&map.receive, &map.transmit]);
        let is_recorded = record.is_some();
        let mut recorded = None;
        match record {
            None => self.all_rounds(machine, &mut queues, &mut receive_driver, &mut transmit_driver)?,
            Some((path, (partial, file))) => {
                let failed = |source| Error::Record { path: path.clone(), source };
                let recording = Recording::start(file, &header).map_err(failed)?;
                let [mut receiver, mut transmitter] =
                    recording.wrap(receive_driver, transmit_driver).map_err(failed)?;
                self.all_rounds(machine, &mut queues, &mut receiver, &mut transmitter)?;
                (receive_driver, transmit_driver) = (receiver.into_driver(), transmitter.into_driver());
                let checkpoints = queues.receive.queue.quiet_moments + queues.transmit.queue.quiet_moments;
                recorded = Some(recording.finish(partial, path, checkpoints).map_err(failed)?);
                (self.progress)(Progress::Recorded);
            }
        }
        let mut report = self.report(machine, &queues, (&receive_driver, &transmit_driver), is_recorded);
        report.recorded = recorded;
        if options.measure_recording {
            let Queues { receive, transmit, .. } = &mut queues;
            report.recording_cost = recording::measure_cost(
                options,
                &header,
                machine,
                (receive, transmit),
                (receive_driver, transmit_driver),
                |done, of| (self.progress)(Progress::Comparing { done: done as u64, of: of as u64 }),
            )?;
        }
        machine.check_status()?;
        Ok(report)
    }

    fn all_rounds<D: BenchDriver>(
        &mut self,
        machine: &mut Machine<'_>,
        queues: &mut Queues,
        receive_driver: &mut D,
        transmit_driver: &mut D,
    ) -> Result<(), Error> {
        if self.options.scenario == Scenario::Random {
            return self.random_rounds(machine, queues, receive_driver, transmit_driver);
        }
        let memory = machine.memory();
        queues.receive.queue.begin(receive_driver, &memory)?;
        queues.transmit.queue.begin(transmit_driver, &memory)?;
        queues.receive.fill(receive_driver, machine)?;
        // Filling is not what later batches are like.
        queues.receive.queue.figures = figures::DriverFigures::default();
        let of = self.options.packets * 2;
        while queues.transmit.sent < self.options.packets {
            let packets = self.options.round().min(self.options.packets - queues.transmit.sent);
            let start = Instant::now();
            queues.transmit.round(transmit_driver, machine, packets)?;
            queues.transmit_rates.push(packets as f64 / start.elapsed().as_secs_f64());
            let done = queues.transmit.sent + queues.receive.sent;
            (self.progress)(Progress::Packets { done, of });
            let start = Instant::now();
            queues.receive.round(receive_driver, machine, packets)?;
            queues.receive_rates.push(packets as f64 / start.elapsed().as_secs_f64());
            let done = queues.transmit.sent + queues.receive.sent;
            (self.progress)(Progress::Packets { done, of });
            machine.check_status()?;
            queues.receive.queue.quiet_now(receive_driver, &memory)?;
            queues.transmit.queue.quiet_now(transmit_driver, &memory)?;
        }
        Ok(())
    }

    fn random_rounds<D: BenchDriver>(
        &mut self,
        machine: &mut Machine<'_>,
        queues: &mut Queues,
        receive_driver: &mut D,
        transmit_driver: &mut D,
    ) -> Result<(), Error> {
        let Queues { receive, transmit, .. } = queues;
        let mut random =
            Random { options: self.options, machine, transmit, receive, transmit_driver, receive_driver };
        queues.random = Some(random.go(self.progress)?);
        // Here and there a batch was timed; that says nothing of the others.
        for queue in [&mut queues.receive.queue, &mut queues.transmit.queue] {
            queue.figures = figures::DriverFigures::default();
        }
        Ok(())
    }

    fn report<D: BenchDriver>(
        &self,
        machine: &Machine<'_>,
        queues: &Queues,
        (receive_driver, transmit_driver): (&D, &D),
        recorded: bool,
    ) -> Report {
        let (options, Found { located, negotiated, pinning }) = (self.options, self.found);
        let traffic = |queue: &queue::Queue, rates: &[f64], sent, verified, driver: &D| Traffic {
            sent,
            used: queue.used,
            verified,
            rate: Spread::of(rates),
            kicks: queue.kicks,
            recorded,
            driver: queue.figures.clone().ticks(),
            tables: driver.tables(),
        };
        let Queues { receive, transmit, receive_rates, transmit_rates, random } = queues;
        let verified = machine.sink.verified();
        let doorbells = &machine.doorbells;
        Report {
            qemu: QemuFacts {
                version: machine.qemu.version.to_string(),
                path: located.path.clone(),
                by: located.by,
            },
            queue: QueueFacts {
                format: options.format,
                size: options.queue_size,
                elements: options.most_elements(),
                receive_elements: options.receive_elements,
                receive_bytes: options.receive_bytes,
                strategy: options.strategy,
                batch: options.batch,
                features: net_feature::names(negotiated.accepted),
                offered: net_feature::names(negotiated.offered),
                scenario: options.scenario.name(),
                seed: options.seed,
            },
            doorbell: DoorbellFacts {
                kind: if doorbells.are_eventfds() { "eventfd" } else { "qtest" },
                reason: doorbells.reason().into(),
            },
            cpus: *pinning,
            clock: ClockFacts { unit: clock::UNIT, ticks_per_second: clock::ticks_per_second() },
            transmit: traffic(&transmit.queue, transmit_rates, transmit.sent, verified, transmit_driver),
            receive: traffic(&receive.queue, receive_rates, receive.sent, receive.verified, receive_driver),
            random: random.map(|done| RandomFacts {
                steps: done.steps,
                transmit_resets: done.resets[0],
                receive_resets: done.resets[1],
            }),
            recorded: None,
            recording_cost: None,
            recording_cost_is_bounded: recording::is_bounded(options),
        }
    }
}
