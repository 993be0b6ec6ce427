//! A recorded run replays to the same memory, and any position is reached in any order.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "common/recording.rs"]
mod recording;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "common/strategies.rs"]
mod strategies;

use recording::{Numbers, queue, record};
use ring_core::{
    indirect::TableStrategy,
    memory::{AccessKind, OwnedMemory},
    replay::{Outcome, Packed, QueueReplay, Replay, ReplayError, RingFormat, Split, verify},
    spec::feature::{EVENT_IDX, IN_ORDER, INDIRECT_DESC, NOTIFICATION_DATA, RING_PACKED, RING_RESET},
    trace::{Trace, json_lines},
};
use std::{collections::HashMap, ops::ControlFlow, rc::Rc};

const LIST: TableStrategy = TableStrategy::ListCache { threshold: 4 };

fn open(bytes: Vec<u8>) -> QueueReplay {
    open_as(bytes)
}

fn open_as<F: RingFormat>(bytes: Vec<u8>) -> Replay<F> {
    let trace = Rc::new(Trace::open(bytes).unwrap());
    Replay::open(trace, 0, |_| ControlFlow::Continue(())).unwrap().unwrap()
}

#[test]
fn every_checkpoint_is_reached() {
    for (size, start) in [(1, 0), (4, 65_530), (16, 0), (256, 65_000)] {
        // Thresholds do not depend on the size of the ring.
        let every = if size == 16 { strategies::every(size) } else { strategies::alone(size).collect() };
        for strategy in every {
            // Without tables all strategies are one.
            let both = [EVENT_IDX, INDIRECT_DESC | EVENT_IDX, 0, INDIRECT_DESC];
            let features = if strategy == TableStrategy::Direct { &both[..] } else { &both[1..2] };
            for features in features.iter().copied() {
                let replay = open(record(queue(size, features, strategy, start), 320, size.into()));
                let report = replay.report();
                assert_eq!(report.first_difference, None, "{strategy} {features:#x} {size}");
                assert_eq!((report.calls, report.identical), (replay.len(), 20));
            }
        }
    }
}

/// Both formats with every set of features; a packed ring's size is no power of two either.
#[test]
fn every_checkpoint_is_reached_in_both_formats_with_all_features() {
    let switches = [EVENT_IDX, INDIRECT_DESC, IN_ORDER, NOTIFICATION_DATA, RING_RESET];
    for (format, sizes) in [(0, [1, 4, 16, 64]), (RING_PACKED, [1, 3, 16, 61])] {
        for chosen in 0..1 << switches.len() {
            let is_chosen = |(bit, _): &(usize, &u64)| chosen >> bit & 1 == 1;
            let features =
                switches.iter().enumerate().filter(is_chosen).map(|(_, feature)| feature).sum::<u64>();
            for size in sizes {
                let list = TableStrategy::ListCache { threshold: size.min(4) };
                let bytes = record(queue(size, format | features, list, 65_500), 320, size.into());
                let trace = Rc::new(Trace::open(bytes).unwrap());
                let report = verify(&trace, 0, |_| ControlFlow::Continue(())).unwrap().unwrap();
                assert_eq!(report.first_difference, None, "{format:#x} {features:#x} {size}");
                assert_eq!((report.calls, report.identical), (trace.calls(0), 20));
            }
        }
    }
}

/// What QEMU's device does: it never sets WRITE, whatever it wrote. The driver counts the length all the same.
#[test]
fn a_used_descriptor_is_as_it_was_observed() {
    let recorded = record(queue(16, RING_PACKED | INDIRECT_DESC, LIST, 0), 64, 3);
    let mut lines = Vec::new();
    let trace = Trace::open(recorded.clone()).unwrap();
    json_lines::write(&trace, |line| lines.push(line.to_owned())).unwrap();
    assert!(lines.iter().any(|line| line.contains("\"complete_packed\"") && line.contains("\"flags\":2")));
    let without = lines.join("\n").replace("\"flags\":2", "\"flags\":0").into_bytes();
    let (mut with, mut without) = (open_as::<Packed>(recorded), open_as::<Packed>(without));
    assert!(without.report().first_difference.is_some(), "the flag is part of the digest");
    let mut reaped = 0;
    for position in 1..=with.len() {
        let (with, without) =
            (with.step(position).unwrap().unwrap(), without.step(position).unwrap().unwrap());
        if let (Outcome::Reaped(with), Outcome::Reaped(without)) = (with.outcome, without.outcome) {
            assert_eq!(with, without);
            reaped += u32::from(with.length > 0);
        }
    }
    assert!(reaped > 0);
}

#[test]
fn a_replay_is_of_one_format() {
    let trace = Rc::new(Trace::open(record(queue(16, RING_PACKED, LIST, 0), 2, 3)).unwrap());
    let error = Replay::<Split>::open(trace, 0, |_| ControlFlow::Continue(())).err().unwrap();
    assert_eq!(error.to_string(), "by its features this is a packed ring");
}

#[test]
fn a_changed_checkpoint_is_told_with_the_last_good_one() {
    let trace = Trace::open(record(queue(16, EVENT_IDX, LIST, 0), 64, 1)).unwrap();
    let mut lines = Vec::new();
    json_lines::write(&trace, |line| lines.push(line.to_owned())).unwrap();
    let checkpoints: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("checkpoint"))
        .map(|(line, _)| line)
        .collect();
    let digest = lines[checkpoints[2]].split_once("\"digest\":").unwrap().1.trim_end_matches('}').to_owned();
    lines[checkpoints[2]] = lines[checkpoints[2]].replace(&digest, "12345");
    let replay = open(lines.join("\n").into_bytes());
    let difference = replay.report().first_difference.unwrap();
    // Line 1 is the header, so the line's index is the position.
    assert_eq!(difference.position, checkpoints[2] as u64);
    assert_eq!(difference.identical_until, checkpoints[1] as u64);
    assert_eq!((difference.recorded, difference.replayed), (12345, digest.parse().unwrap()));
    assert_eq!(replay.report().identical, 3, "a difference does not end the replay");
}

#[test]
fn a_call_that_cannot_be_replayed_is_an_error_with_its_position() {
    let trace = Trace::open(record(queue(16, 0, TableStrategy::Direct, 0), 16, 1)).unwrap();
    let mut lines = Vec::new();
    json_lines::write(&trace, |line| lines.push(line.to_owned())).unwrap();
    let publish = lines.iter().position(|line| line.contains("\"publish_used\"")).unwrap();
    lines.remove(publish);
    let trace = Rc::new(Trace::open(lines.join("\n").into_bytes()).unwrap());
    let error = QueueReplay::open(trace, 0, |_| ControlFlow::Continue(())).err().unwrap();
    assert!(
        matches!(error, ReplayError::Nothing { call: "reap", position } if position > publish as u64),
        "{error}"
    );
}

#[test]
fn a_queue_that_is_not_there_is_an_error() {
    let trace = Rc::new(Trace::open(record(queue(16, 0, TableStrategy::Direct, 0), 1, 1)).unwrap());
    let error = QueueReplay::open(trace, 1, |_| ControlFlow::Continue(())).err().unwrap();
    assert!(error.to_string().contains("there is no queue 1"), "{error}");
}

/// Every position in random order is as it was in order, over several snapshots and blocks.
#[test]
fn any_position_is_the_same_from_anywhere() {
    any_position(open(record(queue(16, INDIRECT_DESC | EVENT_IDX, LIST, 0), 1500, 9)));
    any_position(open_as::<Packed>(record(
        queue(16, RING_PACKED | INDIRECT_DESC | EVENT_IDX, LIST, 0),
        1500,
        9,
    )));
}

fn any_position(mut replay: Replay<impl RingFormat>) {
    let length = replay.len();
    assert!(length > 9000, "{length} calls do not span snapshots");
    let mut in_order: HashMap<u64, OwnedMemory> = HashMap::new();
    for position in 0..=length {
        let memory = &replay.seek(position).unwrap().memory;
        if position % 50 == 0 {
            in_order.insert(position, memory.clone());
        }
    }
    let mut numbers = Numbers(5);
    for _ in 0..60 {
        let position = numbers.below(length / 50) * 50;
        assert_eq!(replay.seek(position).unwrap().memory, in_order[&position], "position {position}");
    }
}

#[test]
fn a_step_is_made_of_its_accesses() {
    accesses_make_steps(open(record(queue(16, INDIRECT_DESC | EVENT_IDX, LIST, 0), 60, 2)));
    accesses_make_steps(open_as::<Packed>(record(
        queue(16, RING_PACKED | INDIRECT_DESC | EVENT_IDX, LIST, 0),
        60,
        2,
    )));
}

fn accesses_make_steps(mut replay: Replay<impl RingFormat>) {
    assert!(replay.step(0).unwrap().is_none());
    assert!(replay.step(replay.len() + 1).unwrap().is_none());
    for position in 1..=replay.len() {
        let step = replay.step(position).unwrap().unwrap();
        assert_eq!(step.memory_after(0), step.before.memory);
        assert_eq!(step.memory_after(step.accesses.len()), step.after.memory);
        assert_eq!(step.after.memory, replay.seek(position).unwrap().memory);
        for access in &step.accesses {
            if let AccessKind::Store { .. } = access.kind {
                assert_eq!(step.after.writers.last(access.address), Some(position));
            }
        }
        if let Outcome::Checkpoint { recorded, replayed } = step.outcome {
            assert_eq!(recorded, replayed);
        }
    }
}

#[test]
fn a_reused_table_keeps_its_number() {
    let mut replay = open(record(queue(16, INDIRECT_DESC, LIST, 0), 400, 4));
    let end = replay.seek(u64::MAX).unwrap();
    let statistics = end.driver.tables().statistics();
    assert!(statistics.hits > 10, "{statistics:?}");
    let uses: u64 = end.tables.iter().map(|info| info.uses as u64).sum();
    // Tables over the threshold are freed after one use each and are gone.
    let (gone, live) = (statistics.frees, end.tables.iter().count() as u64);
    assert_eq!(uses + gone, statistics.hits + statistics.allocations);
    assert_eq!(live, statistics.allocations - statistics.frees);
    let mut numbers: Vec<u32> = end.tables.iter().map(|info| info.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len() as u64, live);
}

#[test]
fn progress_can_break_off() {
    let trace = Rc::new(Trace::open(record(queue(16, 0, TableStrategy::Direct, 0), 100, 1)).unwrap());
    assert!(QueueReplay::open(trace, 0, |_| ControlFlow::Break(())).unwrap().is_none());
}
