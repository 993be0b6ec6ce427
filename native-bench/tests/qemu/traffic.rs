//! Packets both ways, and the recordings of them.

use crate::bench::{command, have_qemu, is_possible, number, report, stderr};
use ring_core::{
    indirect::TableStrategy,
    replay::verify,
    spec::Format,
    trace::{Call, Trace},
};
use serde_json::Value;
use std::{collections::BTreeSet, ops::ControlFlow, path::Path, rc::Rc};

pub(crate) fn open(file: &Path) -> Rc<Trace> {
    let trace = Rc::new(Trace::open(std::fs::read(file).unwrap()).unwrap());
    assert_eq!(trace.header().queues.len(), 2);
    trace
}

/// Replays every queue and compares its memory at every checkpoint. Returns the trace.
pub(crate) fn replay(file: &Path) -> Rc<Trace> {
    let trace = open(file);
    for queue in 0..2 {
        let report = verify(&trace, queue, |_| ControlFlow::Continue(())).unwrap().unwrap();
        assert_eq!(report.first_difference, None, "queue {queue}");
        assert_eq!(report.calls, trace.calls(queue));
        assert!(report.identical >= 10, "{} checkpoints", report.identical);
    }
    trace
}

/// The lengths of the buffers that a queue's driver added.
fn elements(trace: &Trace, queue: usize) -> BTreeSet<usize> {
    let blocks = 0..trace.blocks(queue).len();
    let records = blocks.flat_map(|block| trace.read_block(queue, block).unwrap());
    records
        .filter_map(|record| match record.call {
            Call::Add { readable, writable, .. } => Some(readable.len() + writable.len()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_thousand_packets_each_way_in_every_combination() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let switches = ["on", "off"];
    let rings = switches.map(|packed| switches.map(|in_order| (packed, in_order))).concat();
    for (packed, in_order) in rings {
        for (table, event_index) in ["none", "alloc", "list"]
            .iter()
            .flat_map(|table| switches.map(|event_index| (*table, event_index)))
        {
            let file = folder.path().join(format!("{packed}-{in_order}-{table}-{event_index}.vqt"));
            let arguments = format!(
                "--packets 1000 --packed {packed} --in-order {in_order} --table {table} --event-idx {event_index} \
                 --no-measure-recording"
            );
            if !is_possible(&arguments) {
                continue;
            }
            let report = report(&arguments, &file);
            for direction in ["transmit", "receive"] {
                for what in ["sent", "used", "verified"] {
                    assert_eq!(
                        number(&report, &format!("/{direction}/{what}")),
                        1000,
                        "{direction} {what}: {report}"
                    );
                }
                assert_eq!(number(&report, &format!("/{direction}/kicks/repeated")), 0);
            }
            assert!(number(&report, "/transmit/kicks/sent") > 0);
            let allocations = number(&report, "/transmit/tables/allocations");
            let hits = number(&report, "/transmit/tables/hits");
            match table {
                "none" => assert_eq!((allocations, hits), (0, 0)),
                "alloc" => assert_eq!((allocations, hits), (1000, 0)),
                _ => assert!(allocations <= 256 && allocations + hits == 1000, "{allocations} and {hits}"),
            }
            let features = report["queue"]["features"].as_array().unwrap();
            let has = |name: &str| features.iter().any(|feature| feature == name);
            assert_eq!((has("EVENT_IDX"), has("INDIRECT_DESC")), (event_index == "on", table != "none"));
            assert_eq!((has("RING_PACKED"), has("IN_ORDER")), (packed == "on", in_order == "on"));

            let trace = replay(&file);
            let format = if packed == "on" { Format::Packed } else { Format::Split };
            assert!(trace.header().queues.iter().all(|queue| queue.config.format() == format));
            assert!(trace.header().source.implementation.starts_with("QEMU "));
            assert_eq!(elements(&trace, 1), BTreeSet::from([3]));
            assert_eq!(trace.calls(0) + trace.calls(1), number(&report, "/recorded/calls"));
        }
    }
}

#[test]
fn a_mixed_run_has_all_kinds_of_buffers_and_replays() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mixed.vqt");
    let report = report("--scenario mixed", &file);
    let (verified, buffers) = (number(&report, "/receive/verified"), number(&report, "/receive/used"));
    assert_eq!((number(&report, "/transmit/verified"), verified), (400, 400));
    assert!(buffers > verified, "some packets take several buffers");
    let tables = &report["transmit"]["tables"];
    for what in ["allocations", "frees", "hits"] {
        assert!(tables[what].as_u64() > Some(0), "{what}: {tables}");
    }
    let trace = replay(&file);
    assert_eq!(elements(&trace, 0), (1..=3).collect());
    assert_eq!(elements(&trace, 1), (1..=6).collect());
    assert_eq!(trace.header().queues[1].strategy, TableStrategy::ListCache { threshold: 4 });
}

#[test]
fn a_mixed_run_works_packed_too() {
    if !have_qemu() {
        return;
    }
    for features in ["", "--event-idx off --in-order", "--in-order --mergeable off --queue-size 16"] {
        if !is_possible(features) {
            continue;
        }
        let output = command(&format!("--scenario mixed --packed --json {features}")).output().unwrap();
        assert!(output.status.success(), "{features}: {}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let (sent, received) = (number(&report, "/transmit/verified"), number(&report, "/receive/verified"));
        assert_eq!((sent, received), (400, 400), "{report}");
        for queue in ["transmit", "receive"] {
            assert_eq!(number(&report, &format!("/{queue}/kicks/repeated")), 0, "{report}");
        }
    }
}

#[test]
fn small_queues_single_elements_and_many_work() {
    if !have_qemu() {
        return;
    }
    for arguments in [
        "--queue-size 1 --elements 1 --batch 1 --packets 50",
        "--packed --queue-size 1 --elements 1 --batch 1 --packets 50",
        "--packed --queue-size 3 --elements 3 --batch 2 --packets 200 --event-idx off",
        "--packed --queue-size 255 --elements 19 --table none --packets 500",
        "--queue-size 64 --elements 64 --table none --packets 200",
        "--queue-size 8 --elements 3 --table none --receive-elements 3 --packets 300",
        "--receive-bytes 128 --receive-elements 2 --packets 300 --batch 500",
    ] {
        let output = command(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", stderr(&output));
    }
}

#[test]
fn the_cost_of_recording_is_measured_and_told() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = report("--packets 5000 --table alloc", &folder.path().join("run.vqt"));
    let cost = &report["recording_cost"];
    assert_eq!(cost["pairs"], 20);
    assert!(
        cost["unrecorded"]["minimum"].as_f64() > Some(0.0) && cost["ratio"]["median"].as_f64() > Some(0.0),
        "{cost}"
    );
}

#[test]
fn without_eventfds_doorbells_go_through_qtest() {
    if !have_qemu() {
        return;
    }
    let output = command("--packets 500 --device-option ioeventfd=off --json").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((number(&report, "/transmit/verified"), number(&report, "/receive/verified")), (500, 500));
    assert_eq!(report["doorbell"]["kind"], "qtest");
    assert!(report["doorbell"]["reason"].as_str().unwrap().contains("0 eventfds for 3 queues"), "{report}");
}

#[test]
fn a_doorbell_that_was_not_heard_is_rung_again_and_told() {
    if !have_qemu() {
        return;
    }
    // This QEMU timer puts off for seconds what is sent, unless the doorbell rings once more meanwhile. It runs
    // when the first packet comes, since QEMU rings once itself, but not when the second does.
    let slow =
        "--packets 2 --device-option tx=timer --device-option x-txtimer=4000000000 --timeout 1 --batch 1";
    let output = command(slow).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(number(&report, "/transmit/kicks/repeated"), 1);
    assert!(stderr(&output).contains("1 kicks repeated"), "{}", stderr(&output));
    assert_eq!(report["doorbell"]["kind"], "qtest", "eventfds are no longer trusted");
}
