//! Traces: both encodings, and every way in which a file can be wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "common/recording.rs"]
mod recording;

use proptest::prelude::*;
use recording::{queue, record};
use ring_core::{
    indirect::TableStrategy,
    spec::feature::{EVENT_IDX, INDIRECT_DESC},
    trace::{Call, Record, Trace, TraceError, json_lines},
};

fn sample(rounds: u64) -> Vec<u8> {
    record(queue(16, INDIRECT_DESC | EVENT_IDX, TableStrategy::ListCache { threshold: 4 }, 0), rounds, 3)
}

fn records(trace: &Trace) -> Vec<Record<'static>> {
    (0..trace.blocks(0).len()).flat_map(|block| trace.read_block(0, block).unwrap()).collect()
}

fn json(trace: &Trace) -> String {
    let mut text = String::new();
    json_lines::write(trace, |line| text.extend([line, "\n"])).unwrap();
    text
}

#[test]
fn json_lines_hold_the_same_trace() {
    let trace = Trace::open(sample(1200)).unwrap();
    assert!(trace.blocks(0).len() > 1, "the sample must span blocks");
    let again = Trace::open(json(&trace).into_bytes()).unwrap();
    assert_eq!(again.header(), trace.header());
    assert_eq!(records(&again), records(&trace));
    assert_eq!(again.bytes(), trace.bytes(), "one trace has one binary form");
}

#[test]
fn every_call_is_found_through_its_block() {
    let trace = Trace::open(sample(1200)).unwrap();
    let all = records(&trace);
    assert_eq!(trace.calls(0), all.len() as u64);
    for call in (0..trace.calls(0)).step_by(97) {
        let block = trace.block_of(0, call).unwrap();
        let first = trace.blocks(0)[block].first_call;
        assert_eq!(trace.read_block(0, block).unwrap()[(call - first) as usize], all[call as usize]);
    }
    assert_eq!(trace.block_of(0, trace.calls(0)), None);
    assert_eq!(trace.calls(7), 0);
}

#[test]
fn any_changed_byte_is_an_error() {
    let good = sample(20);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        let error = Trace::open(bad).expect_err(&format!("byte {at} changed and nobody noticed"));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn any_cut_is_an_error_and_whole_blocks_are_salvaged() {
    let good = sample(1200);
    let whole = Trace::open(good.clone()).unwrap();
    let starts: Vec<u64> = whole.blocks(0).iter().map(|block| block.offset).collect();
    for length in (0..good.len()).step_by(if cfg!(debug_assertions) { 613 } else { 7 }) {
        let cut = good[..length].to_vec();
        let error = Trace::open(cut.clone()).expect_err("a cut file opened");
        if length == 0 {
            assert_eq!(error, TraceError::Empty);
            continue;
        }
        // A block is whole if the next thing begins within the cut, or exactly at its end.
        let blocks = starts.iter().skip(1).filter(|start| **start <= length as u64).count();
        if let Ok((trace, fault)) = Trace::salvage(cut) {
            assert_eq!(fault, Some(error.clone()));
            assert!(trace.blocks(0).len() >= blocks);
            assert_eq!(trace.calls(0), error.whole_calls());
            let kept = records(&trace);
            assert_eq!(kept[..], records(&whole)[..kept.len()]);
        } else {
            assert!((length as u64) < starts[0], "only a file cut in its header cannot be salvaged");
        }
    }
}

#[test]
fn other_files_are_named() {
    for (bytes, name) in [
        (&b"\x89PNG\r\n\x1a\n\0\0"[..], "a PNG picture"),
        (b"PK\x03\x04....", "a ZIP archive"),
        (b"<!doctype html>", "HTML"),
        (b"virtqueue_flush vq 0x55 count 1\n", "plain text"),
        (b"\x00\x01\x02", "something unknown"),
        (b"\x8aVQ", "only the first bytes"),
        (b"\x8aVQT\n\x1a\n", "changed as if it were text"),
    ] {
        let error = Trace::open(bytes.to_vec()).unwrap_err();
        assert!(matches!(error, TraceError::NotATrace { .. }) && error.to_string().contains(name), "{error}");
    }
    assert_eq!(Trace::open(Vec::new()).unwrap_err(), TraceError::Empty);
}

#[test]
fn a_newer_version_is_told_in_both_encodings() {
    let mut newer = sample(20);
    let text = json(&Trace::open(newer.clone()).unwrap()).replacen("\"version\":1", "\"version\":2", 1);
    newer[8] = 2;
    for bytes in [newer, text.into_bytes()] {
        let error = Trace::open(bytes).unwrap_err();
        assert_eq!(error, TraceError::Version { found: 2 });
        assert!(error.to_string().contains("newer"), "{error}");
    }
}

#[test]
fn a_wrong_line_is_named_by_its_number() {
    let text = json(&Trace::open(sample(20)).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    let with = |line: usize, content: &str| {
        let mut lines = lines.clone();
        lines[line - 1] = content;
        Trace::open(lines.join("\n").into_bytes()).unwrap_err().to_string()
    };
    assert!(with(5, "{").starts_with("line 5: "));
    assert!(with(5, r#"{"queue":9,"time":0,"call":"reap"}"#).contains("queue is 9"));
    assert!(with(6, r#"{"queue":0,"time":0,"call":"reap"}"#).contains("time falls"));
    assert!(with(7, r#"{"queue":0,"time":99999,"call":"reep"}"#).contains("reep"));
    assert!(with(1, "{}").contains("header"));
}

#[test]
fn an_impossible_header_is_refused() {
    let text = json(&Trace::open(sample(20)).unwrap());
    for (from, to, says) in [
        ("\"queue_size\":16", "\"queue_size\":17", "B-SIZE"),
        ("\"descriptor_area\":65536", "\"descriptor_area\":65544", "B-ALIGN"),
        ("\"base\":73728", "\"base\":18446744073709551615", "64 MiB"),
        ("\"base\":73728", "\"base\":1099511627776", "64 MiB"),
        ("\"ticks_per_second\":1000000000", "\"ticks_per_second\":0", "ticks_per_second"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Trace::open(text.replacen(from, to, 1).into_bytes()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// A file of a few bytes must not take gigabytes: queues are cheap to name.
#[test]
fn a_header_of_many_queues_is_bounded() {
    let text = json(&Trace::open(sample(20)).unwrap());
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let many = |count: usize, table_bytes: u64| {
        let mut header = header.clone();
        let mut queue = header["queues"][0].clone();
        queue["tables"]["length"] = table_bytes.into();
        header["queues"] = vec![queue; count].into();
        Trace::open(header.to_string().into_bytes())
    };
    assert_eq!(many(2000, 1024).unwrap().header().queues.len(), 2000);
    let error = many(3, 30 << 20).unwrap_err().to_string();
    assert!(error.contains("64 MiB"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..3000) {
        let _ = Trace::open(bytes.clone());
        // Behind a good beginning too.
        let mut file = sample(5);
        file.truncate(at.min(file.len()));
        file.extend_from_slice(&bytes);
        if let Ok((trace, _)) = Trace::salvage(file) {
            for block in 0..trace.blocks(0).len() {
                let _ = trace.read_block(0, block);
            }
        }
    }
}

#[test]
fn calls_say_their_side_and_name() {
    for record in records(&Trace::open(sample(50)).unwrap()) {
        let json = serde_json::to_string(&record.call).unwrap();
        assert!(json.contains(record.call.name()), "{json}");
        assert_eq!(record.call.side().is_none(), matches!(record.call, Call::Checkpoint { .. }));
    }
}
