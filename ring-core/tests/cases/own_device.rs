//! Faults of a device that no driver can notice: that ours does not commit them.

use super::{
    case::{Case, Check},
    run::{Ours, run},
    scene::{MEMORY, Scene, equal},
    sides::AnyDevice,
};
use ring_core::{
    QueueConfig,
    memory::{Memory, Ordering},
    spec::{
        RingCell,
        packed::{self, Position, descriptor_flag},
        split::Cell,
    },
};

/// The first buffer that was made available is the first taken.
pub(crate) fn takes_buffers_from_its_own_cursor(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let (first, second) = (scene.add(1, 1, 0)?, scene.add(2, 1, 0)?);
    scene.driver.publish(&scene.memory).map_err(|fault| fault.to_string())?;
    equal("popped", (scene.pop()?, scene.pop()?), (first, second))
}

/// No notification before the index that it speaks of, and one after it.
pub(crate) fn notifies_after_the_index(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer_elements(1, 1, 2)?;
    scene.pop()?;
    scene.complete(id, 513)?;
    equal("whether to notify before used.idx", scene.interrupt_needed()?, false)?;
    scene.nothing_used()?;
    scene.publish_used()?;
    equal("whether to notify after used.idx", scene.interrupt_needed()?, true)?;
    scene.reap(1)
}

/// What stands in the ring past avail.idx is not available.
pub(crate) fn stops_at_the_available_index(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    scene.store(Cell::AvailableEntry(1), 2)?;
    equal("popped", scene.pop()?, id)?;
    equal("popped past avail.idx", scene.find_available()?, None)
}

/// Without EVENT_IDX neither side touches or heeds the event fields.
pub(crate) fn leaves_the_event_field_alone(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    scene.device_disables()?;
    equal("used.flags", scene.load(Cell::UsedFlags)?, 1)?;
    scene.device_enables()?;
    scene.pop()?;
    scene.use_buffer(id, 0)?;
    scene.interrupt_needed()?;
    equal("avail_event", scene.load(Cell::AvailableEvent)?, 0)?;
    // A device that writes it all the same changes nothing for the driver.
    scene.reap(1)?;
    scene.kick_needed()?;
    scene.store(Cell::AvailableEvent, 40)?;
    scene.offer(2)?;
    equal("whether a kick is needed", scene.kick_needed()?, true)
}

/// The device writes neither descriptors nor the available ring; the driver does not read back what it wrote.
pub(crate) fn leaves_descriptors_alone(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    let before = (scene.area(0)?, scene.area(1)?);
    scene.pop()?;
    scene.device_disables()?;
    scene.device_enables()?;
    scene.use_buffer(id, 16)?;
    scene.interrupt_needed()?;
    equal("descriptor table and available ring", (scene.area(0)?, scene.area(1)?), before)?;
    let mut scene = Scene::new(case)?;
    let refusal = run(case, Ours::Driver, &mut scene)?;
    equal("refusal", refusal.map(|refusal| refusal.fault), None)?;
    equal("used length", scene.reaped.last().map(|used| used.length), Some(16))?;
    let descriptor = Cell::Descriptor(scene.offer(2)?).address(&scene.config.layout);
    let address = scene.memory.load_u64(descriptor, Ordering::Relaxed).map_err(|error| error.to_string())?;
    equal("address of the next buffer", address, MEMORY + 0x1000)
}

/// With flags 0, a notification after used elements is due, once.
pub(crate) fn notifies_when_asked(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    for token in [1, 2] {
        scene.offer_elements(token, 1, 0)?;
    }
    for _ in 0..2 {
        let id = scene.pop()?;
        scene.complete(id, 0)?;
    }
    scene.publish_used()?;
    equal("whether to notify", scene.interrupt_needed()?, true)?;
    equal("whether to notify again", scene.interrupt_needed()?, false)
}

/// A reset brings every cursor back to 0.
pub(crate) fn starts_anew_after_a_reset(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    equal("next available before", scene.device.next_available(), 7)?;
    equal("buffers that come back", scene.driver.reset(&scene.memory).map(|tokens| tokens.len()), Ok(0))?;
    scene.device.reset();
    let id = scene.offer(1)?;
    equal("avail.idx", scene.load(Cell::AvailableIndex)?, 1)?;
    equal("popped", (scene.pop()?, id), (0, 0))?;
    scene.use_buffer(0, 0)?;
    equal("used.idx", scene.load(Cell::UsedIndex)?, 1)?;
    scene.reap(1)
}

/// The used index is the device's own and never read back; and a driver refuses one that went back to 0.
pub(crate) fn keeps_its_used_index(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    scene.pop()?;
    scene.store(Cell::UsedIndex, 0)?;
    scene.use_buffer(id, 0)?;
    equal("used.idx", scene.load(Cell::UsedIndex)?, 4857)?;
    scene.reap(1)?;
    scene.offer(2)?;
    scene.store(Cell::UsedIndex, 1)?;
    let reaped = scene.driver.reap(&scene.memory);
    equal("reaped", reaped.map_err(|fault| fault.rule_id()), Err(Some("S-USED-MONO")))
}

/// A copy of the device knows every buffer that was taken and not used, in the order of taking.
pub(crate) fn restores_everything_in_flight(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let ids = [scene.offer(1)?, scene.offer(2)?];
    scene.pop()?;
    scene.pop()?;
    scene.device = scene.device.clone();
    let mut taken = scene.device.taken();
    taken.sort_by_key(|(_, buffer)| buffer.number.wrapping_sub(2));
    equal("taken", taken.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids.to_vec())?;
    for (id, _) in taken {
        scene.use_buffer(id, 0)?;
    }
    scene.reap(1)?;
    scene.reap(2)
}

/// In order, a device that starts at used.idx takes everything that was not used.
pub(crate) fn restarts_at_the_used_index(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let ids = [scene.offer(1)?, scene.offer(2)?, scene.offer(3)?];
    scene.pop()?;
    scene.pop()?;
    scene.use_buffer(ids[0], 0)?;
    let start_index = scene.load(Cell::UsedIndex)?;
    equal("used.idx", start_index, 1)?;
    scene.device = AnyDevice::new(&QueueConfig { start_index, ..scene.config })?;
    for id in &ids[1..] {
        equal("popped", scene.pop()?, *id)?;
        scene.use_buffer(*id, 0)?;
    }
    for token in [1, 2, 3] {
        scene.reap(token)?;
    }
    equal("popped at the end", scene.find_available()?, None)
}

/// Each used descriptor stands as many slots behind the one before as that one's buffer held.
pub(crate) fn skips_whole_lists(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let refusal = run(case, Ours::Driver, &mut scene)?;
    equal("refusal", refusal.map(|refusal| refusal.fault), None)?;
    equal("buffers that never came back", scene.driver.in_flight().len(), 1)?;
    let mut scene = Scene::new(case)?;
    let ids = [scene.offer_elements(1, 0, 2)?, scene.offer_elements(2, 0, 2)?];
    for id in ids {
        scene.pop()?;
        scene.complete(id, 800)?;
    }
    scene.publish_used()?;
    let used = descriptor_flag::AVAIL | descriptor_flag::USED | descriptor_flag::WRITE;
    for (slot, id) in [(0, ids[0]), (2, ids[1])] {
        let address = packed::Cell::Descriptor(slot).address(&scene.config.layout);
        let words = scene.memory.load_words(address).map_err(|error| error.to_string())?;
        let found = packed::Descriptor::from_words(words);
        equal("used descriptor", (found.id, found.length, found.flags), (id, 800, used))?;
    }
    scene.reap(1)?;
    scene.reap(2)
}

/// Both sides start at slot 0 with wrap counter 1, which is 0x8000 as one word.
pub(crate) fn starts_with_wrap_counter_1(case: &Case) -> Check {
    equal("0x8000", Position::from_bits(0x8000), Position::START)?;
    let mut scene = Scene::new(case)?;
    equal("next available", scene.device.next_available(), 0x8000)?;
    equal("next used", scene.device.next_used(), 0x8000)?;
    equal("popped from a zeroed ring", scene.find_available()?, None)?;
    let id = scene.offer(1)?;
    equal("popped", scene.pop()?, id)
}
