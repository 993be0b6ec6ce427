//! The encoding for people: the header on the first line, then a line for each call.
//!
//! ```json
//! {"queue":0,"time":1200,"call":{"add":{"token":1,"readable":[{"address":4096,"length":12}],"writable":[]}}}
//! {"queue":0,"time":1300,"call":"publish"}
//! ```
//! `queue` is the queue's position in the header. Lines of different queues may stand in any order; empty lines are
//! passed over.

use super::{
    Call, Header, Record, Trace, TraceError,
    binary::{self, Index, Packer},
};
use crate::spec::MAXIMUM_QUEUE_SIZE;
use alloc::{format, string::String, string::ToString, vec::Vec};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    queue: u16,
    time: u64,
    call: Call<'a>,
}

/// Reads a JSON Lines trace.
pub(super) fn open(bytes: &[u8]) -> Result<Trace, TraceError> {
    let mut lines =
        (1_u64..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty());
    let bad = |line: u64, reason: String| TraceError::Line { line, reason };
    let Some((number, first)) = lines.next() else { return Err(TraceError::Empty) };
    let header: Header = serde_json::from_slice(first)
        .map_err(|error| bad(number, format!("expected the trace's header as a JSON object: {error}")))?;
    binary::check_header(&header)?;
    let mut file = binary::pack_header(&header).map_err(|error| bad(number, error.to_string()))?;
    let mut index = Index::new(file.len() as u64);
    let mut packers: Vec<Packer> = (0..header.queues.len()).map(|queue| Packer::new(queue as u16)).collect();
    let mut finish_block = |packer: &mut Packer| {
        let block = packer.take();
        index.add(&block);
        file.extend_from_slice(&block.bytes);
    };
    for (number, line) in lines {
        let line: Line<'static> =
            serde_json::from_slice(line).map_err(|error| bad(number, error.to_string()))?;
        let Some(packer) = packers.get_mut(line.queue as usize) else {
            let queues = header.queues.len();
            return Err(bad(number, format!("queue is {}, and the header has {queues} queues", line.queue)));
        };
        if line.time < packer.last_time() {
            return Err(bad(number, format!("time falls from {} to {}", packer.last_time(), line.time)));
        }
        if let Call::Add { readable, writable, .. } = &line.call
            && readable.len() + writable.len() > MAXIMUM_QUEUE_SIZE as usize
        {
            let elements = readable.len() + writable.len();
            return Err(bad(number, format!("{elements} elements, expected at most {MAXIMUM_QUEUE_SIZE}")));
        }
        packer.push(&Record { time: line.time, call: line.call });
        if packer.is_full() {
            finish_block(packer);
        }
    }
    packers.iter_mut().filter(|packer| !packer.is_empty()).for_each(&mut finish_block);
    file.extend_from_slice(&index.pack());
    binary::open(file)
}

/// Writes a trace as JSON Lines, queue after queue.
pub fn write(trace: &Trace, mut line: impl FnMut(&str)) -> Result<(), TraceError> {
    let unwritable = |error: serde_json::Error| TraceError::Header { reason: error.to_string() };
    line(&serde_json::to_string(trace.header()).map_err(unwritable)?);
    for queue in 0..trace.header().queues.len() {
        for block in 0..trace.blocks(queue).len() {
            for Record { time, call } in trace.read_block(queue, block)? {
                line(&serde_json::to_string(&Line { queue: queue as u16, time, call }).map_err(unwritable)?);
            }
        }
    }
    Ok(())
}
