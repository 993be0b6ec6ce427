//! The ring under ring-core's device, which does what a transmit queue's device must: it reads all of each buffer.

use super::{
    case::Case,
    raw::{HEADER, layout},
    verdict::Verdict,
};
use ring_core::{
    ConfigError, Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    memory::{Memory, OutOfRange, OwnedMemory},
    probe::NoProbe,
    spec::Format,
};

/// What it did, the packets it read, and whether it works again after a reset on a ring that `sound` wrote.
pub(super) struct Own {
    pub(super) verdict: Verdict,
    pub(super) packets: Vec<Vec<u8>>,
    pub(super) works_again: bool,
}

/// Gives copies of the memory, as the case wrote it and as `sound` does, to a fresh device.
pub(super) fn judge(case: &Case, written: &OwnedMemory, sound: &OwnedMemory) -> Result<Own, ConfigError> {
    let config = QueueConfig::new(layout(), case.negotiated());
    Ok(match case.format {
        Format::Split => run(SplitDevice::new(&config)?, written, sound),
        Format::Packed => run(PackedDevice::new(&config)?, written, sound),
    })
}

fn run(mut device: impl Device, written: &OwnedMemory, sound: &OwnedMemory) -> Own {
    let (verdict, packets) = serve(&mut device, written);
    device.reset();
    let (again, _) = serve(&mut device, sound);
    let works_again = matches!(again, Verdict::Accepted { ids } if ids.len() == 1);
    Own { verdict, packets, works_again }
}

fn serve(device: &mut impl Device, memory: &OwnedMemory) -> (Verdict, Vec<Vec<u8>>) {
    let (mut ids, mut packets) = (Vec::new(), Vec::new());
    match take_all(device, memory, &mut ids, &mut packets) {
        Ok(()) if ids.is_empty() => (Verdict::Ignored, packets),
        Ok(()) => (Verdict::Accepted { ids }, packets),
        Err(fault) => {
            let by = fault.rule_id().unwrap_or("memory").into();
            (Verdict::Refused { by }, packets)
        }
    }
}

/// Uses each buffer before it takes the next, as QEMU does.
fn take_all(
    device: &mut impl Device,
    memory: &OwnedMemory,
    ids: &mut Vec<u32>,
    packets: &mut Vec<Vec<u8>>,
) -> Result<(), Fault> {
    let mut chain = Chain::default();
    while device.pop(memory, &mut NoProbe, &mut chain)? {
        packets.push(packet(memory, chain.readable())?);
        device.complete(memory, &mut NoProbe, chain.head, 0)?;
        ids.push(chain.head.into());
    }
    device.publish(memory, &mut NoProbe)?;
    device.notify(memory, &mut NoProbe)?;
    Ok(())
}

/// The bytes behind the header.
fn packet(memory: &OwnedMemory, segments: &[Segment]) -> Result<Vec<u8>, OutOfRange> {
    let mut bytes = Vec::new();
    for segment in segments {
        bytes.extend(memory.bytes(segment.address, segment.length as usize)?);
    }
    bytes.drain(..bytes.len().min(HEADER as usize));
    Ok(bytes)
}

/// A copy of guest memory from `base` on, of `length` bytes, both multiples of 16.
pub(super) fn copy(memory: &impl Memory, base: u64, length: u64) -> Result<OwnedMemory, OutOfRange> {
    let copy = OwnedMemory::new(base, length as usize);
    for address in (base..base + length).step_by(16) {
        copy.store_words(address, memory.load_words(address)?)?;
    }
    Ok(copy)
}
