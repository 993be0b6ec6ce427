//! Configurations that neither side accepts, and addresses that memory does not have.

use super::{
    case::{Case, Check},
    run::{Ours, run},
    scene::{Scene, equal},
    sides::{AnyDevice, AnyDriver},
};
use ring_core::{
    QueueConfig,
    indirect::Direct,
    spec::{Features, Layout, feature},
};

/// A descriptor table right behind another ring's used ring, 2-byte aligned only.
pub(crate) fn misaligned(case: &Case) -> Check {
    let layout = Layout {
        queue_size: case.queue_size,
        descriptor_area: 0x2000_0076,
        driver_area: 0x2000_00b6,
        device_area: 0x2000_00c8,
    };
    refused(layout, case.features()?, "B-ALIGN: the descriptor area at 0x20000076")?;
    // The ring before it, as it should be.
    accepted(Layout { descriptor_area: 0x2000_0000, ..layout }, case.features()?)
}

/// A used ring that starts before the available ring's event field.
pub(crate) fn overlapping(case: &Case) -> Check {
    let layout =
        Layout { queue_size: case.queue_size, descriptor_area: 0, driver_area: 0x80, device_area: 0x8c };
    refused(layout, case.features()?, "the driver area of 22 bytes at 0x80 and the device area of 70 bytes")?;
    accepted(Layout { device_area: 0x98, ..layout }, case.features()?)
}

/// No queue has size 0, in either format.
pub(crate) fn of_size_zero(case: &Case) -> Check {
    let layout = Layout::contiguous(case.queue_size, 0x1000);
    for features in [Features(feature::VERSION_1), case.features()?] {
        refused(layout, features, "B-SIZE: queue size 0")?;
        accepted(Layout::contiguous(1, 0x1000), features)?;
    }
    Ok(())
}

fn refused(layout: Layout, features: Features, reason: &str) -> Check {
    let config = QueueConfig::new(layout, features);
    let driver = AnyDriver::new(&config, Direct.into()).err();
    for refusal in [driver, AnyDevice::new(&config).err()] {
        let refusal = refusal.unwrap_or_default();
        if !refusal.starts_with(reason) {
            return Err(format!("refusal is {refusal:?}, expected {reason:?}"));
        }
    }
    Ok(())
}

fn accepted(layout: Layout, features: Features) -> Check {
    let config = QueueConfig::new(layout, features);
    AnyDriver::new(&config, Direct.into())?;
    AnyDevice::new(&config).map(|_| ())
}

/// The device takes the buffers; the one whose address is not there cannot be reached, the others can.
pub(crate) fn address_outside_memory(case: &Case) -> Check {
    let mut scene = Scene::new(case)?;
    let refusal = run(case, Ours::Device, &mut scene)?;
    equal("refusal", refusal.map(|refusal| refusal.fault), None)?;
    let reachable = scene.popped.iter().map(|chain| {
        let reach =
            |segment: &ring_core::Segment| scene.memory.bytes(segment.address, segment.length as usize);
        chain.writable().iter().all(|segment| reach(segment).is_ok())
    });
    equal("buffers within memory", reachable.collect::<Vec<_>>(), vec![true, false, true, true])
}
