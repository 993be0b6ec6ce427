//! The reader of traces, and the replay of what it read, against any file.

use super::{
    contested::{TABLES, TABLES_LENGTH},
    input::{self, Operation, Setup},
    peer::Elements,
};
use ring_core::{
    Side,
    replay::{Packed, Replay, RingFormat, Split},
    spec::Format,
    trace::{
        Call, Header, MemoryRange, QueueHeader, Record, Source, TRACE_VERSION, Trace, TraceError,
        TraceWriter, json_lines,
    },
};
use std::{borrow::Cow, hash::Hasher, ops::ControlFlow, rc::Rc};
use twox_hash::XxHash64;

/// How the bytes behind the first one are taken, by the first one modulo their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A file, of either encoding.
    File,
    /// What stands behind a binary file's header, with checksums made right, so that what they protect is read.
    Blocks,
    /// A queue and calls on it, to be written, read again and replayed.
    Calls,
    /// The same, and written and read as JSON Lines too.
    Lines,
}

impl Form {
    pub(crate) const ALL: [Form; 4] = [Form::File, Form::Blocks, Form::Calls, Form::Lines];
}

/// Larger rings and longer queues are not replayed: that takes time and shows nothing new.
const REPLAYED_BYTES: u64 = 64 << 10;
const REPLAYED_CALLS: u64 = 512;

/// Reads what may be a trace; panics where the reader breaks a promise.
pub(crate) fn run(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return read(Vec::new()) };
    match Form::ALL[*form as usize % Form::ALL.len()] {
        Form::File => read(rest.to_vec()),
        Form::Blocks => read(repaired(rest)),
        Form::Calls => check(written_and_read(rest, false), false),
        Form::Lines => check(written_and_read(rest, true), true),
    }
}

fn read(bytes: Vec<u8>) {
    let opened = Trace::open(bytes.clone());
    let salvaged = Trace::salvage(bytes);
    match (opened, salvaged) {
        (Ok(trace), Ok((same, None))) => {
            assert_eq!(trace.bytes(), same.bytes());
            check(Some(trace), false);
        }
        (Err(error), Ok((part, Some(reason)))) => {
            assert_eq!(error, reason);
            let calls: u64 = (0..part.header().queues.len()).map(|queue| part.calls(queue)).sum();
            assert_eq!(error.whole_calls(), calls, "{error}");
            check(Some(part), false);
        }
        (Err(error), Err(same)) => {
            assert_eq!(error, same);
            assert_ne!(error.to_string(), "");
        }
        (opened, salvaged) => panic!("opened: {opened:?}, salvaged: {salvaged:?}"),
    }
}

/// What can be read of a trace agrees with what it says of itself, reads the same from JSON Lines, and replays to where
/// it replays.
fn check(trace: Option<Trace>, lines: bool) {
    let Some(trace) = trace else { return };
    let mut whole = true;
    for queue in 0..trace.header().queues.len() {
        let mut calls = 0;
        for (index, block) in trace.blocks(queue).iter().enumerate() {
            assert_eq!(block.first_call, calls);
            calls += block.records as u64;
            if block.records > 0 {
                assert_eq!(trace.block_of(queue, block.first_call), Some(index));
            }
            match trace.read_block(queue, index) {
                Ok(records) => assert_eq!(records.len(), block.records as usize),
                Err(TraceError::Damaged { whole_calls, .. }) => {
                    assert_eq!(whole_calls, block.first_call);
                    whole = false;
                }
                Err(error) => panic!("a block is damaged or it is not: {error}"),
            }
        }
        assert_eq!(trace.calls(queue), calls);
        assert_eq!(trace.block_of(queue, calls), None);
    }
    if whole && lines {
        check_json(&trace);
    }
    let trace = Rc::new(trace);
    for queue in 0..trace.header().queues.len().min(4) {
        replay(&trace, queue);
    }
}

fn records(trace: &Trace, queue: usize) -> Vec<Record<'static>> {
    (0..trace.blocks(queue).len()).flat_map(|block| trace.read_block(queue, block).unwrap()).collect()
}

fn lines(trace: &Trace) -> String {
    let mut text = String::new();
    json_lines::write(trace, |line| {
        text.push_str(line);
        text.push('\n');
    })
    .unwrap();
    text
}

/// A reader of lines may refuse what a reader of blocks cannot see, but not read something else.
fn check_json(trace: &Trace) {
    let Ok(again) = Trace::open(lines(trace).into_bytes()) else { return };
    assert_eq!(again.header(), trace.header());
    for queue in 0..trace.header().queues.len() {
        assert_eq!(records(&again, queue), records(trace, queue));
    }
}

fn replay(trace: &Rc<Trace>, queue: usize) {
    let small = trace.header().queues[queue].memory().is_some_and(|range| range.length <= REPLAYED_BYTES);
    if !small || trace.calls(queue) > REPLAYED_CALLS {
        return;
    }
    match trace.header().queues[queue].config.format() {
        Format::Split => replay_as::<Split>(trace, queue),
        Format::Packed => replay_as::<Packed>(trace, queue),
    }
}

fn replay_as<F: RingFormat>(trace: &Rc<Trace>, queue: usize) {
    let mut told = 0;
    let progress = |progress: ring_core::replay::Progress| {
        told = progress.calls;
        ControlFlow::Continue(())
    };
    let Ok(Some(mut replay)) = Replay::<F>::open(trace.clone(), queue, progress) else { return };
    let length = replay.len();
    assert_eq!((told, replay.report().calls), (length, length));
    let end = replay.seek(length).unwrap().memory.clone();
    // Back to the middle, and on from there again.
    if let Some(step) = replay.step(length / 2 + 1).unwrap() {
        assert_eq!(step.memory_after(step.accesses.len()), step.after.memory);
        assert_eq!(replay.seek(length / 2 + 1).unwrap().memory, step.after.memory);
    }
    assert_eq!(replay.seek(length).unwrap().memory, end);
}

/// A file with a good header, then these blocks with the checksums that they should have, as far as they are blocks.
fn repaired(blocks: &[u8]) -> Vec<u8> {
    thread_local! {
        static HEADER: Vec<u8> = written(&[]).0;
    }
    let mut file = HEADER.with(|file| file[..file.len() - EMPTY_INDEX].to_vec());
    let mut offset = file.len();
    file.extend_from_slice(blocks);
    // Mark, queue, zero, records, unpacked, packed, checksum: see `binary`.
    while let Some(head) = file.get(offset..offset + 28).filter(|head| head.starts_with(b"VQBK")) {
        let packed = head[16..20].iter().rev().fold(0, |value, byte| value << 8 | *byte as usize);
        let (body, behind) = (offset + 28, offset.saturating_add(28).saturating_add(packed));
        if file.len() < behind {
            break;
        }
        let mut hasher = XxHash64::with_seed(0);
        hasher.write(&file[offset..offset + 20]);
        hasher.write(&file[body..behind]);
        file[offset + 20..body].copy_from_slice(&hasher.finish().to_le_bytes());
        offset = behind;
    }
    file
}

/// Bytes of the index, and what ends it, of a file without blocks.
const EMPTY_INDEX: usize = 32;

/// A header with one queue as a setup has it.
pub(crate) fn header(setup: Setup) -> Header {
    Header {
        version: TRACE_VERSION,
        made_by: "".into(),
        source: Source::default(),
        observed_from: Side::Driver,
        ticks_per_second: 1,
        queues: vec![QueueHeader {
            name: "".into(),
            index: 0,
            config: setup.config(),
            strategy: setup.strategy(),
            tables: MemoryRange { base: TABLES, length: TABLES_LENGTH },
        }],
    }
}

/// The call that an operation means.
fn call(operation: Operation) -> Call<'static> {
    let Operation { code, small, half, word } = operation;
    match code % 14 {
        0 => {
            let elements = Elements::new(operation);
            let [readable, writable] = [elements.readable(), elements.writable()].map(<[_]>::to_vec);
            Call::Add { token: half.into(), readable: Cow::Owned(readable), writable: Cow::Owned(writable) }
        }
        1 => Call::Publish,
        2 => Call::Notify { sent: small & 1 == 1 },
        3 => Call::Reap,
        4 => Call::DisableNotifications,
        5 => Call::EnableNotifications,
        6 => Call::Pop,
        7 => Call::Complete { head: half, length: word },
        8 => Call::CompleteBatch { head: half, length: word },
        9 => Call::PublishUsed,
        10 => Call::NotifyUsed { sent: [None, Some(false), Some(true)][small as usize % 3] },
        11 => Call::Wish { value: word },
        12 => Call::Checkpoint { digest: word.into() },
        13 if small & 1 == 1 => {
            Call::CompletePacked { head: half, length: word, flags: small.into(), batch: small & 4 == 4 }
        }
        _ => Call::Reset,
    }
}

/// The file that the calls in these bytes are written as, and its header and records.
fn written(bytes: &[u8]) -> (Vec<u8>, Header, Vec<Record<'static>>) {
    let (setup, operations) = input::read(bytes);
    let header = header(setup);
    let mut time = 0;
    let records: Vec<Record<'static>> = operations
        .map(|operation| {
            time += operation.small as u64;
            Record { time, call: call(operation) }
        })
        .collect();
    let writer = TraceWriter::new(Vec::new(), &header).unwrap();
    if let Some(mut queue) = writer.queue(0) {
        records.iter().for_each(|record| queue.record(record));
    }
    let (file, totals) = writer.finish().unwrap();
    assert_eq!((totals.calls, totals.bytes), (records.len() as u64, file.len() as u64));
    (file, header, records)
}

/// The trace of what the bytes say; none if there cannot be such a queue.
fn written_and_read(bytes: &[u8], compare: bool) -> Option<Trace> {
    let (file, header, written) = written(bytes);
    match Trace::open(file) {
        Ok(trace) => {
            if compare {
                assert_eq!(trace.header(), &header);
                assert_eq!(records(&trace, 0), written);
            }
            Some(trace)
        }
        // An area outside memory lies far from the others.
        Err(TraceError::Header { .. }) => None,
        Err(error) => panic!("what was written cannot be read: {error}"),
    }
}

/// The trace of what the bytes say, as what stands behind the header of a file, and as lines.
pub(crate) fn encodings(bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let (file, ..) = written(bytes);
    let trace = Trace::open(file.clone()).ok()?;
    let first = trace.blocks(0).first()?.offset as usize;
    Some((file[first..].to_vec(), lines(&trace)))
}
