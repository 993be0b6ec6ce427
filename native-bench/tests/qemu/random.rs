//! Random runs: every packet verified whatever the order of the calls, in every combination of features.
//!
//! `NATIVE_BENCH_RANDOM_PACKETS` makes them longer, `NATIVE_BENCH_RANDOM_SEED` others.

use crate::{
    bench::{command, have_qemu, is_possible, number, report, stderr},
    traffic::replay,
};
use serde_json::Value;

/// Packets of each run, in each direction.
const PACKETS: u64 = 400;

fn from_environment(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} is {value}, not a number")))
}

/// A random run of these further arguments; what it reported.
fn run(arguments: &str) -> Value {
    let packets = from_environment("NATIVE_BENCH_RANDOM_PACKETS", PACKETS);
    let seed = from_environment("NATIVE_BENCH_RANDOM_SEED", 1);
    let line = format!("--scenario random --json --packets {packets} --seed {seed} {arguments}");
    let output = command(&line).output().unwrap();
    assert!(output.status.success(), "native-bench qemu {line}: {}", stderr(&output));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    for direction in ["transmit", "receive"] {
        for what in ["sent", "verified"] {
            assert_eq!(number(&report, &format!("/{direction}/{what}")), packets, "{line}: {report}");
        }
    }
    report
}

/// Runs it with every combination of indirect tables, order, and buffers that take a packet together.
fn every_combination(arguments: &str, check: impl Fn(&Value, &str)) {
    if !have_qemu() {
        return;
    }
    for table in ["none", "list", "list --below 40"] {
        for in_order in ["off", "on"] {
            for mergeable in ["off", "on"] {
                // QEMU (10.0) loses used buffers with IN_ORDER where the size of a packed ring is no power of two: it
                // takes the difference of two slots modulo 2^32 before it takes it modulo the size.
                let size = if in_order == "off" && arguments.contains("--packed") { 61 } else { 64 };
                let line = format!(
                    "--table {table} --in-order {in_order} --mergeable {mergeable} --queue-size {size} {arguments}"
                );
                if is_possible(&line) {
                    check(&run(&line), &line);
                }
            }
        }
    }
}

/// No kick was lost, and none had to be made unasked.
fn no_doorbell_was_rung_again(report: &Value, line: &str) {
    for direction in ["transmit", "receive"] {
        for what in ["repeated", "unasked"] {
            assert_eq!(
                number(report, &format!("/{direction}/kicks/{what}")),
                0,
                "{line}: {direction} {what}"
            );
        }
    }
}

#[test]
fn split() {
    every_combination("--event-idx off", no_doorbell_was_rung_again);
}

#[test]
fn split_with_event_index() {
    every_combination("--event-idx on", no_doorbell_was_rung_again);
}

#[test]
fn packed() {
    every_combination("--packed --event-idx off", no_doorbell_was_rung_again);
}

/// QEMU's event structure goes out of date when the socket was full (see `Machine::wishes_go_stale`): then the doorbell is
/// rung unasked, but never twice for the same thing.
#[test]
fn packed_with_event_index() {
    every_combination("--packed --event-idx on", |report, line| {
        for direction in ["transmit", "receive"] {
            assert_eq!(number(report, &format!("/{direction}/kicks/repeated")), 0, "{line}: {direction}");
        }
        println!("{line}: {} kicks unasked", number(report, "/transmit/kicks/unasked"));
    });
}

#[test]
fn queues_are_reset_while_buffers_are_in_flight() {
    if !have_qemu() {
        return;
    }
    for format in ["off", "on"] {
        for features in ["--event-idx off --table none", "--event-idx on --in-order on"] {
            let line = format!("--packed {format} {features} --reset-queues");
            if !is_possible(&line) {
                continue;
            }
            let report = run(&line);
            let resets = |queue| number(&report, &format!("/random/{queue}_resets"));
            assert!(resets("transmit") > 0 && resets("receive") > 0, "{line}: {report}");
            no_doorbell_was_rung_again(&report, &line);
        }
    }
}

#[test]
fn a_recorded_random_run_replays_resets_included() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let features = ["--event-idx on", "--event-idx off --in-order on --table none"];
    let formats = ["--packed off", "--packed on"];
    let lines = formats.iter().flat_map(|format| features.map(|features| format!("{format} {features}")));
    for (number_of_run, features) in lines.enumerate() {
        if !is_possible(&features) {
            continue;
        }
        let file = folder.path().join(format!("{number_of_run}.vqt"));
        let report = report(&format!("--scenario random --packets 400 --reset-queues {features}"), &file);
        assert!(number(&report, "/random/transmit_resets") > 0);
        replay(&file);
    }
}
