//! A run's results, for people: aligned, with units.

use native_bench::{
    measure::{Quantiles, Spread},
    run::{DriverTicks, RECORDING_BOUND, RecordingCost, Report, Ticks, Traffic},
};
use ring_core::spec::Format;
use std::fmt::Write;

/// Width of the first column.
const LABEL: usize = 28;

/// The lines of the summary.
pub(crate) fn render(report: &Report) -> String {
    let mut text = Lines::default();
    let queue = &report.queue;
    text.line(
        "QEMU",
        format!("{} ({}, found by {})", report.qemu.version, report.qemu.path.display(), report.qemu.by),
    );
    text.line("queues", format!("{}, {} descriptors, {}", queue.format, queue.size, queue.strategy));
    text.line(
        "buffers",
        format!(
            "transmit {}{} elements, receive {}{} of {} bytes; batch {}{}",
            up_to(report),
            queue.elements,
            up_to(report),
            queue.receive_elements,
            queue.receive_bytes,
            up_to(report),
            queue.batch
        ),
    );
    text.line("features", queue.features.join(" "));
    text.line("doorbell", format!("{}: {}", report.doorbell.kind, report.doorbell.reason));
    text.line(
        "CPUs",
        match report.cpus {
            Some(cpus) => format!("driver and sink on {}, QEMU on {}", cpus.bench, cpus.qemu),
            None => "not pinned: figures of the driver hold other threads' work too".into(),
        },
    );
    text.line("clock", clock(report));
    for (name, traffic, verb) in
        [("transmit", &report.transmit, "sent"), ("receive", &report.receive, "received")]
    {
        direction(&mut text, name, verb, traffic, report.clock.unit);
    }
    if let Some(random) = &report.random {
        text.heading("random");
        text.line("seed", queue.seed.to_string());
        text.line("steps", random.steps.to_string());
        let (transmit, receive) = (random.transmit_resets, random.receive_resets);
        text.line("resets", format!("{transmit} of the transmit queue, {receive} of the receive queue"));
    }
    if let Some(recorded) = &report.recorded {
        text.heading("recording");
        text.line("file", recorded.file.display().to_string());
        if queue.format == Format::Packed {
            text.line("NOTE", "the replay and the page open split rings so far".into());
        }
        text.line("calls", format!("{}, {} checkpoints", recorded.calls, recorded.checkpoints));
        text.line(
            "size",
            format!(
                "{} bytes, {:.1} a call",
                recorded.bytes,
                recorded.bytes as f64 / recorded.calls.max(1) as f64
            ),
        );
    }
    if let Some(cost) = &report.recording_cost {
        recording_cost(&mut text, cost, report);
    }
    text.text
}

fn up_to(report: &Report) -> &'static str {
    if report.queue.scenario == "uniform" { "" } else { "up to " }
}

fn clock(report: &Report) -> String {
    let rate = report.clock.ticks_per_second as f64;
    match report.clock.unit {
        "cycles" => format!("cycles of the time stamp counter, {:.3} GHz", rate / 1e9),
        _ => "nanoseconds: this CPU has no cycle counter that can be read here".into(),
    }
}

fn direction(text: &mut Lines, name: &str, verb: &str, traffic: &Traffic, unit: &str) {
    text.heading(name);
    let Traffic { sent, used, verified, kicks, tables, .. } = traffic;
    let buffers = format!("{used} buffers used");
    text.line("packets", format!("{sent} {verb}, {buffers}, {verified} verified"));
    text.line("rate", spread(traffic.rate.as_ref(), "packets/s"));
    text.line("kicks", format!("{} sent, {} suppressed", kicks.sent, kicks.suppressed));
    if kicks.repeated > 0 {
        text.line(
            "WARNING",
            format!("{} kicks repeated: the device did not act on the first", kicks.repeated),
        );
    }
    if kicks.unasked > 0 {
        text.line(
            "WARNING",
            format!(
                "{} kicks although the device had asked for none: it slept, and what it had asked was out of date",
                kicks.unasked
            ),
        );
    }
    let with = if traffic.recorded { ", recording included" } else { "" };
    driver(text, "", &traffic.driver, &format!("{unit}/buffer{with}"));
    text.line(
        "tables",
        format!(
            "{} allocated, {} freed, {} from the cache; {} bytes held, {} at most",
            tables.allocations, tables.frees, tables.hits, tables.bytes_held, tables.high_water
        ),
    );
}

fn driver(text: &mut Lines, prefix: &str, driver: &DriverTicks, unit: &str) {
    for (part, ticks) in [("add", &driver.add), ("notify+doorbell", &driver.notify), ("reap", &driver.reap)] {
        text.line(&format!("{prefix}{part}"), self::ticks(ticks.as_ref(), unit));
    }
}

fn spread(spread: Option<&Spread>, unit: &str) -> String {
    spread.map_or_else(
        || "not measured".into(),
        |spread| format!("{spread:<36} {unit}, {} rounds", spread.count),
    )
}

fn ticks(ticks: Option<&Ticks>, unit: &str) -> String {
    let Some(Ticks { rounds, batches: Quantiles { p10, median, p90 } }) = ticks else {
        return "not measured".into();
    };
    format!("{rounds:<36} {unit}; all batches p10 {p10:.1}, median {median:.1}, p90 {p90:.1}")
}

fn recording_cost(text: &mut Lines, cost: &RecordingCost, report: &Report) {
    text.heading("cost of recording");
    let rounds = format!("packets/s, {} rounds of {} packets, both directions", cost.pairs, cost.packets);
    text.line("not recorded", format!("{:<36} {rounds}", cost.unrecorded));
    text.line("recorded", format!("{:<36} {rounds}", cost.recorded));
    let Quantiles { p10, median, p90 } = cost.ratio;
    text.line("ratio", format!("median {median:.3} (p10 {p10:.3}, p90 {p90:.3}) of pairs in turn"));
    // Where pairs of rounds differ by more than half, their median says nothing of a few percent.
    let noisy = p90 - p10 > 0.5;
    let verdict = match (report.recording_cost_is_bounded, cost.percent <= RECORDING_BOUND) {
        (true, _) if noisy => {
            "but the pairs differ too much to tell; take more packets or a quieter machine".into()
        }
        (false, _) => format!("no bound: that of {RECORDING_BOUND} % is for uniform batches of 64"),
        (true, true) => format!("within the bound of {RECORDING_BOUND} %"),
        (true, false) => format!("OVER the bound of {RECORDING_BOUND} %"),
    };
    text.line("cost", format!("{:.1} % of the packet rate, {verdict}", cost.percent));
    let unit = format!("{}/buffer, not recorded", report.clock.unit);
    driver(text, "transmit ", &cost.transmit_driver, &unit);
    driver(text, "receive ", &cost.receive_driver, &unit);
}

/// Lines of a label and a value; those below a heading are indented.
#[derive(Default)]
struct Lines {
    text: String,
    indent: usize,
}

impl Lines {
    fn heading(&mut self, name: &str) {
        self.indent = 2;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{name}");
    }

    fn line(&mut self, label: &str, value: String) {
        let (indent, width) = (self.indent, LABEL - self.indent);
        let _ = writeln!(self.text, "{:indent$}{label:<width$}{value}", "");
    }
}
