//! The file around the blocks.

use super::{
    END_MAGIC, MAGIC,
    block::{BLOCK_MARK, Block, Next, checksum},
};
use crate::trace::{Header, TRACE_VERSION, Trace, TraceError, header::LARGEST_MEMORY};
use alloc::{format, string::ToString, vec, vec::Vec};
use twox_hash::XxHash64;

const HEADER_HEAD: usize = 24;
const INDEX_MARK: [u8; 4] = *b"VQIX";
const INDEX_HEAD: usize = 16;
const INDEX_ENTRY: usize = 16;
const TRAILER: usize = 16;

/// Which encoding.
pub(in crate::trace) enum Kind {
    Binary,
    JsonLines,
}

/// Tells the encodings, and what else people drop on a page, apart by their first bytes.
pub(in crate::trace) fn recognise(bytes: &[u8]) -> Result<Kind, TraceError> {
    if bytes.is_empty() {
        return Err(TraceError::Empty);
    }
    if bytes.starts_with(&MAGIC) {
        return Ok(Kind::Binary);
    }
    let text = bytes.trim_ascii_start();
    if text.starts_with(b"{") {
        return Ok(Kind::JsonLines);
    }
    let looks_like = match bytes {
        [0x8a, b'V', b'Q', b'T', ..] => "a binary trace that was changed as if it were text",
        _ if MAGIC.starts_with(bytes) => "a binary trace of which only the first bytes are there",
        [0x89, b'P', b'N', b'G', ..] => "a PNG picture",
        [0xff, 0xd8, 0xff, ..] => "a JPEG picture",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive",
        [0x1f, 0x8b, ..] => "a gzip file (unpack it first)",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "a zstd file (unpack it first)",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF program",
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        _ if text.starts_with(b"<") => "HTML or XML",
        _ if bytes.iter().take(512).all(|byte| (0x20..0x7f).contains(byte) || byte.is_ascii_whitespace()) => {
            "plain text"
        }
        _ => "something unknown",
    };
    Err(TraceError::NotATrace { looks_like })
}

/// Reads a whole trace.
pub(in crate::trace) fn open(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    match salvage(bytes)? {
        (trace, None) => Ok(trace),
        (_, Some(error)) => Err(error),
    }
}

/// Reads a trace up to its first fault behind the header.
pub(in crate::trace) fn salvage(bytes: Vec<u8>) -> Result<(Trace, Option<TraceError>), TraceError> {
    let (header, mut offset) = parse_header(&bytes)?;
    let mut queues: Vec<Vec<Block>> = vec![Vec::new(); header.queues.len()];
    let mut calls = vec![0_u64; header.queues.len()];
    let mut all: Vec<Block> = Vec::new();
    let mut whole_calls = 0;
    let error = loop {
        match Block::parse(&bytes, offset, queues.len(), whole_calls) {
            Ok(Next::Block(mut block, behind)) => {
                let queue = block.queue as usize;
                block.first_call = calls[queue];
                calls[queue] += block.records as u64;
                whole_calls += block.records as u64;
                queues[queue].push(block);
                all.push(block);
                offset = behind;
            }
            Ok(Next::Other) => break check_index(&bytes, offset, &all, whole_calls).err(),
            Err(error) => break Some(error),
        }
    };
    Ok((Trace::from_parts(header, bytes, queues), error))
}

fn parse_header(bytes: &[u8]) -> Result<(Header, usize), TraceError> {
    let truncated = |inside| TraceError::Truncated { offset: 0, inside, whole_calls: 0 };
    let Some(head) = bytes.get(MAGIC.len()..HEADER_HEAD) else { return Err(truncated("the file's head")) };
    let version = u16::from_le_bytes([head[0], head[1]]);
    if version != TRACE_VERSION {
        return Err(TraceError::Version { found: version });
    }
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    let Some(json) = bytes[HEADER_HEAD..].get(..length) else { return Err(truncated("the header")) };
    let stored = head[8..16].iter().rev().fold(0, |value, byte| value << 8 | *byte as u64);
    let found = checksum(&bytes[..HEADER_HEAD - 8], json);
    if found != stored {
        let reason = format!("its checksum is {found:016x}, and {stored:016x} was written");
        return Err(TraceError::Damaged { offset: 0, part: "the header", reason, whole_calls: 0 });
    }
    let header: Header =
        serde_json::from_slice(json).map_err(|error| TraceError::Header { reason: error.to_string() })?;
    check_header(&header)?;
    Ok((header, HEADER_HEAD + length))
}

/// What both encodings check of a header.
pub(in crate::trace) fn check_header(header: &Header) -> Result<(), TraceError> {
    if header.version != TRACE_VERSION {
        return Err(TraceError::Version { found: header.version });
    }
    let bad = |reason| Err(TraceError::Header { reason });
    if header.queues.is_empty() || header.queues.len() > u16::MAX as usize {
        return bad(format!("it has {} queues, expected 1 to 65535", header.queues.len()));
    }
    let mut memory = 0;
    for queue in &header.queues {
        let name = &queue.name;
        if let Err(error) = queue.config.check() {
            return bad(format!("queue {name}: {error}"));
        }
        let Some(range) = queue.memory() else {
            return bad(format!("queue {name}: its ring and tables do not lie within 64 MiB of each other"));
        };
        // A short header must not ask a reader for more memory than there is.
        memory += range.length;
        if memory > LARGEST_MEMORY {
            return bad(format!(
                "the rings and tables of its queues up to {name} take {memory} bytes, expected at most 64 MiB"
            ));
        }
    }
    if header.ticks_per_second == 0 {
        return bad("ticks_per_second is 0".to_string());
    }
    Ok(())
}

/// What stands behind the last block must be the index that was written with exactly these blocks.
fn check_index(bytes: &[u8], offset: usize, blocks: &[Block], whole_calls: u64) -> Result<(), TraceError> {
    let expected = index_and_trailer(offset as u64, blocks);
    let found = &bytes[offset..];
    if found == expected {
        return Ok(());
    }
    if expected.starts_with(found) {
        return Err(TraceError::Truncated { offset: offset as u64, inside: "the index", whole_calls });
    }
    let reason = if found.starts_with(&INDEX_MARK) {
        "it does not list the blocks before it".to_string()
    } else {
        format!("expected {} or {}", BLOCK_MARK.escape_ascii(), INDEX_MARK.escape_ascii())
    };
    Err(TraceError::Damaged { offset: offset as u64, part: "the block or index", reason, whole_calls })
}

/// A file's bytes up to its first block.
pub(crate) fn pack_header(header: &Header) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(header)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&TRACE_VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    let checksum = checksum(&bytes, &json);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&json);
    Ok(bytes)
}

/// A file's bytes behind its last block. `blocks` are offset, queue and records of each.
pub(crate) fn pack_index(offset: u64, blocks: impl Iterator<Item = (u64, u16, u32)>) -> Vec<u8> {
    let mut entries = Vec::new();
    for (offset, queue, records) in blocks {
        entries.extend_from_slice(&offset.to_le_bytes());
        entries.extend_from_slice(&(queue as u32).to_le_bytes());
        entries.extend_from_slice(&records.to_le_bytes());
    }
    debug_assert!(entries.len().is_multiple_of(INDEX_ENTRY));
    let mut bytes = Vec::with_capacity(INDEX_HEAD + entries.len() + TRAILER);
    bytes.extend_from_slice(&INDEX_MARK);
    bytes.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&XxHash64::oneshot(0, &entries).to_le_bytes());
    bytes.extend_from_slice(&entries);
    bytes.extend_from_slice(&offset.to_le_bytes());
    bytes.extend_from_slice(&END_MAGIC);
    bytes
}

fn index_and_trailer(offset: u64, blocks: &[Block]) -> Vec<u8> {
    pack_index(offset, blocks.iter().map(|block| (block.offset, block.queue, block.records)))
}
