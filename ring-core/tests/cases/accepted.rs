//! What a legal case must come to, beside that nobody complains.

use super::{
    case::{Case, Check},
    run::Ours,
    scene::{MEMORY, Scene, equal},
};
use ring_core::{driver::AddError, spec::packed::Position};

/// Nothing more.
pub(crate) fn as_it_stands(_: &Case, _: &Scene, _: Ours) -> Check {
    Ok(())
}

/// Every buffer came back and every descriptor is free again.
pub(crate) fn all_came_back(case: &Case, scene: &Scene, ours: Ours) -> Check {
    if ours == Ours::Device {
        return Ok(());
    }
    equal("buffers in flight", scene.driver.in_flight().len(), 0)?;
    equal("free descriptors", scene.driver.free(), case.queue_size)
}

/// A queue size of buffers is full, not empty.
pub(crate) fn full_is_not_empty(case: &Case, _: &Scene, _: Ours) -> Check {
    let mut scene = Scene::new(case)?;
    scene.offer(1)?;
    scene.offer(2)?;
    let element = ring_core::Segment { address: MEMORY, length: 1 };
    let third = scene.driver.add(&scene.memory, 3, &[], &[element]);
    equal("third buffer", third, Err(AddError::Full { needed: 1, free: 0 }))?;
    scene.pop()?;
    scene.pop().map(|_| ())
}

/// One descriptor more than the queue size is one too many.
pub(crate) fn one_more_is_too_long(case: &Case, scene: &Scene, ours: Ours) -> Check {
    all_free_if_reaped(scene, ours)?;
    let added = Scene::new(case)?.add(1, 1, case.queue_size.into());
    match added {
        Err(reason) if reason.contains("B-LONG") => Ok(()),
        other => Err(format!("a longer buffer: {other:?}, expected B-LONG")),
    }
}

fn all_free_if_reaped(scene: &Scene, ours: Ours) -> Check {
    equal("buffers in flight", ours == Ours::Device || scene.driver.in_flight().is_empty(), true)
}

/// The buffer ends with memory: its last byte can be reached, the one behind cannot.
pub(crate) fn last_byte_is_in_memory(case: &Case, _: &Scene, ours: Ours) -> Check {
    let mut scene = Scene::at(case, 0x4fff_0000, 0x1_0000)?;
    super::run::run(case, ours, &mut scene)?;
    let reach = |length| scene.memory.bytes(0x4fff_f000, length).is_ok();
    equal("bytes within memory", (reach(4096), reach(4097)), (true, false))
}

/// Without WRITE the length means nothing.
pub(crate) fn length_is_zero(_: &Case, scene: &Scene, ours: Ours) -> Check {
    let length = scene.reaped.last().map(|used| used.length);
    equal("used length", length, (ours != Ours::Device).then_some(0))
}

/// A notification names the next position that is not available yet.
pub(crate) fn next_position_is_named(case: &Case, scene: &Scene, ours: Ours) -> Check {
    if ours == Ours::Device {
        return Ok(());
    }
    let position = Position::from_bits(scene.driver.next_available());
    equal("next position", position, Position { index: 1, wrap: true })?;
    // On a split ring the same 16 bits are avail.idx.
    let mut split = case.features()?;
    split.0 &= !ring_core::spec::feature::RING_PACKED;
    let layout = ring_core::spec::Layout::contiguous(case.queue_size, MEMORY);
    let config = ring_core::QueueConfig { start_index: 0x7fff, ..ring_core::QueueConfig::new(layout, split) };
    let mut driver = super::sides::AnyDriver::new(&config, ring_core::indirect::Direct.into())?;
    let memory = ring_core::memory::OwnedMemory::new(MEMORY, 0x1000);
    let element = ring_core::Segment { address: MEMORY, length: 1 };
    driver.add(&memory, 1, &[element], &[]).map_err(|error| error.to_string())?;
    driver.publish(&memory).map_err(|fault| fault.to_string())?;
    equal("next avail.idx", driver.next_available(), 0x8000)
}

/// As many tables went back as were taken.
pub(crate) fn no_table_is_out(case: &Case, scene: &Scene, ours: Ours) -> Check {
    all_came_back(case, scene, ours)?;
    let count = scene.driver.statistics();
    let taken = u64::from(ours != Ours::Device);
    equal("tables taken", count.allocations + count.hits, taken)?;
    equal("tables put back", count.frees + count.cached, taken)
}
