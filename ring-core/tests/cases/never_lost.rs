//! Sequences in which a notification was lost: with both sides ours it is not.

use super::{
    case::{Case, Check},
    scene::{Scene, equal},
    sides::AnyDevice,
};
use ring_core::spec::{packed, split::Cell};

/// An event in the middle of a batch is crossed.
pub(crate) fn crossing_counts_not_equality(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    equal("used buffers found on enabling", scene.driver_enables()?, 0)?;
    for token in 0..3 {
        scene.offer(token)?;
    }
    equal("whether a kick is needed", scene.kick_needed()?, true)?;
    for _ in 0..3 {
        let id = scene.pop()?;
        scene.complete(id, 16)?;
    }
    scene.publish_used()?;
    equal("used_event", scene.load(Cell::UsedEvent)?, 0)?;
    equal("whether to notify", scene.interrupt_needed()?, true)
}

/// The device moves its event on when it has drained the ring; if it did not, the driver would be right not to kick.
pub(crate) fn device_moves_its_event_on(case: &Case) -> Check {
    for (moves, kick) in [(true, true), (false, false)] {
        let mut scene = Scene::new(case)?;
        let id = scene.offer(1)?;
        equal("whether the first kick is needed", scene.kick_needed()?, true)?;
        scene.pop()?;
        scene.use_buffer(id, 0)?;
        equal("whether to notify", scene.interrupt_needed()?, true)?;
        scene.reap(1)?;
        if moves {
            equal("whether more is available", scene.device_enables()?, false)?;
        }
        scene.offer(2)?;
        equal("whether the second kick is needed", scene.kick_needed()?, kick)?;
    }
    Ok(())
}

/// Whichever comes first, the new index or the device's wish, somebody sees the other's.
pub(crate) fn kick_or_second_look(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    scene.device_disables()?;
    equal("whether more is available", scene.device_enables()?, false)?;
    scene.offer(1)?;
    equal("whether a kick is needed", scene.kick_needed()?, true)?;
    let mut scene = Scene::new(case)?;
    scene.device_disables()?;
    scene.offer(1)?;
    equal("whether a kick is needed", scene.kick_needed()?, false)?;
    equal("whether more is available", scene.device_enables()?, true)
}

/// The same on the other side.
pub(crate) fn interrupt_or_second_look(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = in_flight(&scene, 2)?;
    scene.driver_disables()?;
    scene.use_buffer(id, 64)?;
    equal("whether to notify", scene.interrupt_needed()?, false)?;
    equal("used buffers found on enabling", scene.driver_enables()?, 1)?;
    let mut scene = Scene::new(case)?;
    scene.driver_disables()?;
    equal("used buffers found on enabling", scene.driver_enables()?, 0)?;
    scene.use_buffer(id, 64)?;
    equal("whether to notify", scene.interrupt_needed()?, true)
}

/// A device made after the kick looks at the ring without one.
pub(crate) fn a_new_device_looks_at_the_ring(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = scene.offer(1)?;
    equal("whether a kick is needed", scene.kick_needed()?, true)?;
    scene.device = AnyDevice::new(&scene.config)?;
    equal("whether something is available", scene.device_enables()?, true)?;
    equal("popped", scene.pop()?, id)
}

/// A device restored from before the kick looks at the ring, and moves its event on.
pub(crate) fn a_restored_device_looks_at_the_ring(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    equal("whether something is available", scene.device_enables()?, false)?;
    let saved = scene.device.clone();
    let id = scene.offer(1)?;
    equal("whether the lost kick was needed", scene.kick_needed()?, true)?;
    scene.device = saved;
    equal("whether something is available", scene.device_enables()?, true)?;
    equal("popped", scene.pop()?, id)?;
    equal("whether more is available", scene.device_enables()?, false)?;
    let id = scene.offer(2)?;
    equal("whether a kick is needed", scene.kick_needed()?, true)?;
    equal("popped", scene.pop()?, id)
}

/// Enabling writes 0, and the device heeds it.
pub(crate) fn enabling_enables(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    scene.driver_disables()?;
    equal("used buffers found on enabling", scene.driver_enables()?, 0)?;
    let event = scene.config.layout.address(packed::Cell::DriverEvent);
    let flags = scene.memory.bytes(event + 2, 2).map_err(|error| error.to_string())?;
    equal("event flags", flags, vec![0, 0])?;
    let id = scene.offer(1)?;
    equal("whether a kick is needed", scene.kick_needed()?, true)?;
    scene.pop()?;
    scene.use_buffer(id, 16)?;
    equal("whether to notify", scene.interrupt_needed()?, true)?;
    scene.reap(1)
}

/// After enabling, the driver looks where the next used descriptor is, not where its event is.
pub(crate) fn second_look_at_the_next_used(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    for token in [1, 2] {
        scene.offer_elements(token, 2, 0)?;
    }
    for _ in 0..2 {
        let id = scene.pop()?;
        scene.use_buffer(id, 0)?;
    }
    equal("used buffers found on enabling", scene.driver_enables()?, 2)?;
    scene.reap(1)?;
    scene.reap(2)
}

/// The crossing notifies once; and with it lost, the driver still sees from the ring what is used.
pub(crate) fn ring_tells_without_interrupt(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    equal("used buffers found on enabling", scene.driver_enables()?, 0)?;
    equal("used_event", scene.load(Cell::UsedEvent)?, 2)?;
    let id = in_flight(&scene, 2)?;
    scene.use_buffer(id, 90)?;
    equal("whether to notify", scene.interrupt_needed()?, true)?;
    let id = in_flight(&scene, 3)?;
    scene.use_buffer(id, 90)?;
    equal("whether to notify again", scene.interrupt_needed()?, false)?;
    let waiting = scene.driver.pending_used(&scene.memory).map_err(|fault| fault.to_string())?;
    equal("used buffers", waiting, 2)?;
    scene.reap(2)?;
    scene.reap(3)
}

/// What was used while notifications were off is found when they are enabled.
pub(crate) fn second_look_of_the_one_who_drains(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let id = in_flight(&scene, 0)?;
    scene.use_buffer(id, 90)?;
    equal("whether to notify", scene.interrupt_needed()?, true)?;
    scene.driver_disables()?;
    scene.reap(0)?;
    let id = in_flight(&scene, 1)?;
    scene.use_buffer(id, 90)?;
    equal("whether to notify", scene.interrupt_needed()?, false)?;
    equal("used buffers found on enabling", scene.driver_enables()?, 1)?;
    scene.reap(1)
}

fn in_flight(scene: &Scene, name: u32) -> Check<u16> {
    scene.ids.get(&name).copied().ok_or_else(|| format!("buffer {name} is not in flight"))
}
