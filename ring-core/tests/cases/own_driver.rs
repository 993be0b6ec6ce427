//! Faults of a driver that no device can notice: that ours does not commit them.

use super::{
    case::{Case, Check},
    run::{Ours, run},
    scene::{MEMORY, Scene, equal},
    sides::{AnyDevice, AnyDriver},
};
use ring_core::{
    QueueConfig, Segment, Side,
    indirect::Direct,
    memory::{Memory, Ordering, OwnedMemory},
    spec::{
        Descriptor, Features, Layout, RingCell, feature,
        packed::{self, Position, descriptor_flag},
        split::Cell,
    },
};

/// The index passes 65535 like any other.
pub(crate) fn counts_modulo_2_to_16(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    for (token, index) in [(1, 65535), (2, 0), (3, 1)] {
        let id = scene.offer(token)?;
        equal("avail.idx", scene.load(Cell::AvailableIndex)?, index)?;
        equal("popped", scene.pop()?, id)?;
        equal("popped after it", scene.find_available()?, None)?;
        scene.use_buffer(id, 0)?;
        scene.reap(token)?;
    }
    Ok(())
}

/// Driver and device are made from one configuration, so they mean one slot.
pub(crate) fn has_the_size_of_the_configuration(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    equal("popped", scene.pop()?, id)?;
    scene.offer(2)?;
    equal("entry of slot 5", scene.load(Cell::AvailableEntry(5))?, 1)
}

/// With the driver's available ring elsewhere, a kick is seen and nothing found; in one place it is.
pub(crate) fn available_ring_in_one_place(case: &Case) -> Check {
    let base = MEMORY + 0x8000;
    let device =
        Layout { queue_size: 8, descriptor_area: base, driver_area: base + 0x80, device_area: base + 0x1000 };
    let (available, _) = meet(case, Layout { queue_size: 4, driver_area: base + 0x40, ..device }, device)?;
    equal("whether the device finds the buffer", available, false)?;
    equal("both found", meet(case, device, device)?, (true, true))
}

/// With the driver's used ring elsewhere, a completion is not found; in one place it is.
pub(crate) fn used_ring_in_one_place(case: &Case) -> Check {
    let base = MEMORY + 0x8000;
    let device = Layout {
        queue_size: 16,
        descriptor_area: base,
        driver_area: base + 0x100,
        device_area: base + 0x1000,
    };
    let apart = meet(case, Layout { device_area: base + 0x130, ..device }, device)?;
    equal("found by device and driver", apart, (true, false))?;
    equal("both found", meet(case, device, device)?, (true, true))
}

/// With the whole ring elsewhere, a kick is seen and nothing found; in one place it is.
pub(crate) fn ring_in_one_place(case: &Case) -> Check {
    let device = Layout::contiguous(8, MEMORY + 0x8000);
    let apart = meet(case, Layout::contiguous(8, MEMORY + 0xa000), device)?;
    equal("found by device and driver", apart, (false, false))?;
    equal("both found", meet(case, device, device)?, (true, true))
}

/// A buffer's way between a driver and a device with a layout each: whether the device finds it, and the driver its use.
fn meet(case: &Case, driver: Layout, device: Layout) -> Check<(bool, bool)> {
    let features = case.features()?;
    let memory = OwnedMemory::new(MEMORY, 0x2_0000);
    let mut driver = AnyDriver::new(&QueueConfig::new(driver, features), Direct.into())?;
    let mut device = AnyDevice::new(&QueueConfig::new(device, features))?;
    let element = Segment { address: MEMORY, length: 16 };
    driver.add(&memory, 7, &[element], &[]).map_err(|error| error.to_string())?;
    let mut exchange = || {
        driver.publish(&memory)?;
        if !driver.notify(&memory)?.needed {
            return Ok((false, false));
        }
        let Some(chain) = device.pop(&memory)? else { return Ok((false, driver.reap(&memory)?.is_some())) };
        device.complete(&memory, chain.head, 0)?;
        device.publish(&memory)?;
        Ok((true, driver.reap(&memory)?.is_some()))
    };
    exchange().map_err(|fault: ring_core::Fault| fault.to_string())
}

/// A table is neither rewritten nor handed out again before its buffer came back.
pub(crate) fn keeps_the_table_while_in_flight(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let table_of = |scene: &Scene, id: u16| {
        let found = scene.driver.in_flight().into_iter().find(|(other, _)| *other == id);
        found.and_then(|(_, buffer)| buffer.table).ok_or_else(|| format!("buffer {id} has no table"))
    };
    let first = scene.offer_elements(1, 2, 1)?;
    let table = table_of(&scene, first)?;
    let bytes = |scene: &Scene| {
        scene.memory.bytes(table.address, table.bytes() as usize).map_err(|error| error.to_string())
    };
    let before = bytes(&scene)?;
    scene.pop()?;
    let second = scene.offer_elements(2, 2, 1)?;
    equal("whether the table is shared", table_of(&scene, second)?.address == table.address, false)?;
    equal("the table's bytes", bytes(&scene)?, before)?;
    scene.use_buffer(first, 1)?;
    scene.reap(1)?;
    let third = scene.offer_elements(3, 2, 1)?;
    equal("table of the third buffer", table_of(&scene, third)?.address, table.address)
}

/// Until the reset is confirmed a buffer comes back only if it is used; after it, all do, and both sides are as new.
pub(crate) fn keeps_buffers_until_reset_is_confirmed(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let first = scene.offer(1)?;
    let second = scene.offer(2)?;
    scene.pop()?;
    scene.pop()?;
    equal("buffers in flight", scene.driver.in_flight().len(), 2)?;
    // The reset is asked for and not confirmed: the device still finishes one.
    scene.use_buffer(first, 98)?;
    scene.reap(1)?;
    equal("buffers in flight", scene.driver.in_flight().len(), 1)?;
    scene.device.reset();
    equal("buffers detached", scene.driver.reset(&scene.memory), Ok(vec![2]))?;
    let late = scene.device.complete(&scene.memory, second, 0);
    equal("late use", late.map_err(|fault| fault.rule_id()), Err(Some("B-USED-ID")))?;
    equal("next used", (scene.driver.next_used(), scene.device.next_used()), (0, 0))?;
    let id = scene.offer(3)?;
    equal("popped", scene.pop()?, id)
}

/// Entry and descriptor stand in memory before the index covers them.
pub(crate) fn writes_the_entry_before_the_index(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    scene.store(Cell::AvailableEntry(0), 3)?;
    let head = scene.add(1, 0, 1)?;
    equal("avail.ring[0]", scene.load(Cell::AvailableEntry(0))?, head)?;
    let descriptor = scene.config.layout.address(Cell::Descriptor(head));
    let address = scene.memory.load_u64(descriptor, Ordering::Relaxed).map_err(|error| error.to_string())?;
    equal("descriptor's address", address, MEMORY + 0x1000)?;
    equal("avail.idx before", scene.load(Cell::AvailableIndex)?, 0)?;
    equal("popped before", scene.find_available()?, None)?;
    scene.driver.publish(&scene.memory).map_err(|fault| fault.to_string())?;
    equal("avail.idx after", scene.load(Cell::AvailableIndex)?, 1)?;
    equal("popped after", scene.pop()?, head)
}

/// In the second lap the bits are the other way round; bits of the first lap are nothing available.
pub(crate) fn turns_the_flags_each_lap(case: &Case) -> Check {
    let refusal = run(case, Ours::Device, &mut Scene::new(case)?)?;
    equal("refusal", refusal.map(|refusal| refusal.fault), None)?;
    let mut scene = Scene::new(case)?;
    for bits in [descriptor_flag::AVAIL, descriptor_flag::USED, descriptor_flag::AVAIL] {
        for slot in 0..case.queue_size {
            let id = scene.offer(slot.into())?;
            equal("AVAIL and USED", lap_bits(&scene, slot)?, bits)?;
            equal("popped", scene.pop()?, id)?;
            scene.use_buffer(id, 0)?;
            scene.reap(slot.into())?;
        }
    }
    Ok(())
}

/// With IN_ORDER, chains take descriptors from 0 on, each `next` one further, around the table's end. Our device refuses
/// other chains, and tables whose entries are not in sequence.
pub(crate) fn takes_descriptors_in_ring_order(case: &Case) -> Check {
    super::refuses(case, Ours::Device, Side::Device, "S-IN-ORDER-SEQ")?;
    for (second, refused_by) in [(1, None), (2, Some("S-IN-ORDER-SEQ"))] {
        let config = QueueConfig {
            features: Features(case.features()?.0 | feature::INDIRECT_DESC),
            ..Scene::new(case)?.config
        };
        let memory = OwnedMemory::new(MEMORY, 0x2_0000);
        let table = MEMORY + 0x1000;
        let write = |address, flags, length, next| {
            let element = Descriptor { address: table, length, flags, next };
            memory.store_words(address, element.to_words()).map_err(|error| error.to_string())
        };
        write(Cell::Descriptor(0).address(&config.layout), descriptor_flag::INDIRECT, 48, 0)?;
        write(table, descriptor_flag::NEXT, 1, second)?;
        write(table + 16 * u64::from(second), 0, 1, 0)?;
        let index = Cell::AvailableIndex.address(&config.layout);
        memory.store_u16(index, 1, Ordering::Relaxed).map_err(|error| error.to_string())?;
        let popped = AnyDevice::new(&config)?.pop(&memory);
        let elements = popped.map(|chain| chain.map(|chain| chain.elements()));
        let expected = refused_by.map_or(Ok(Some(2)), |rule| Err(Some(rule)));
        equal("elements popped", elements.map_err(|fault| fault.rule_id()), expected)?;
    }
    let mut scene = Scene::new(case)?;
    for (elements, slots) in [(3, vec![0, 1, 2]), (2, vec![3, 0]), (4, vec![1, 2, 3, 0])] {
        let head = scene.offer_elements(1, elements - 1, 1)?;
        let mut found = vec![head];
        for _ in 1..elements {
            let last = found.last().copied().unwrap_or_default();
            let address = Cell::Descriptor(last).address(&scene.config.layout);
            let words = scene.memory.load_words(address).map_err(|error| error.to_string())?;
            found.push(Descriptor::from_words(words).next);
        }
        equal("descriptors of the chain", found, slots)?;
        scene.pop()?;
        scene.use_buffer(head, 0)?;
        scene.reap(1)?;
    }
    Ok(())
}

/// Slot and wrap counter change as one: past the last slot an old used descriptor is not taken for a new one.
pub(crate) fn keeps_slot_and_wrap_counter_together(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let (id, buffer) = *scene.driver.in_flight().first().ok_or("nothing in flight")?;
    equal("next used", scene.driver.next_used(), Position { index: 3, wrap: true }.to_bits())?;
    scene.use_buffer(id, 0)?;
    scene.reap(buffer.token)?;
    equal("next used", scene.driver.next_used(), Position { index: 0, wrap: false }.to_bits())?;
    equal("AVAIL and USED", lap_bits(&scene, 0)?, descriptor_flag::AVAIL | descriptor_flag::USED)?;
    scene.nothing_used()
}

fn lap_bits(scene: &Scene, slot: u16) -> Check<u16> {
    let address = packed::Cell::Descriptor(slot).address(&scene.config.layout);
    let words = scene.memory.load_words(address).map_err(|error| error.to_string())?;
    Ok(packed::Descriptor::from_words(words).flags & (descriptor_flag::AVAIL | descriptor_flag::USED))
}

/// The specification's example leaves the loop with work pending; ours looks again and finds it.
pub(crate) fn looks_again_after_enabling(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    scene.pop()?;
    scene.use_buffer(id, 0)?;
    scene.driver_disables()?;
    equal("avail.flags", scene.load(Cell::AvailableFlags)?, 1)?;
    equal("used buffers found on enabling", scene.driver_enables()?, 1)?;
    equal("avail.flags", scene.load(Cell::AvailableFlags)?, 0)?;
    scene.reap(1)?;
    equal("used buffers found on enabling again", scene.driver_enables()?, 0)
}
