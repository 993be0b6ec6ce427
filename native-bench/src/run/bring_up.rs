//! From nothing to a device that is ready.

use super::{machine::Machine, memory_map::MemoryMap, options::Options};
use crate::{
    Error, cpus,
    doorbell::{Doorbells, eventfds_of},
    net::{Direction, PacketPattern, RECEIVE_QUEUE, Sink, TRANSMIT_QUEUE, feature as net_feature},
    pci,
    qemu::{DEVICE_SLOT, Located, Qemu, Settings, locate},
    virtio::{
        CommonConfig, Negotiated, QueueSetup, negotiate, set_up_queue,
        status::{ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK},
    },
};
use ring_core::{
    indirect::TableStrategy,
    spec::{Features, Format, feature},
};
use std::sync::atomic::AtomicBool;

/// Bytes in which about five packets of a random run can wait.
const FEW_PACKETS: usize = 4096;

/// What was found on the way.
pub(super) struct Found {
    pub(super) located: Located,
    pub(super) negotiated: Negotiated,
    pub(super) pinning: Option<cpus::Pinning>,
}

/// The features that the run is for.
fn wanted(options: &Options) -> Features {
    let chosen = [
        (options.strategy != TableStrategy::Direct, feature::INDIRECT_DESC),
        (options.event_index, feature::EVENT_IDX),
        (options.format == Format::Packed, feature::RING_PACKED),
        (options.in_order, feature::IN_ORDER),
        (options.notification_data, feature::NOTIFICATION_DATA),
        (options.reset_queues, feature::RING_RESET),
        (options.mergeable, net_feature::MRG_RXBUF),
    ];
    let chosen = chosen.into_iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, bit)| bit);
    Features(chosen.fold(feature::VERSION_1, |features, bit| features | bit))
}

/// The properties of QEMU's device without which it would not offer them, and those that were asked for.
fn device_options(options: &Options) -> Vec<String> {
    let needed = [(options.format == Format::Packed, "packed=on"), (options.in_order, "in_order=on")];
    let needed = needed.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, option)| option.into());
    needed.chain(options.device_options.iter().cloned()).collect()
}

/// Starts QEMU and brings its network device up, with its two queues at the addresses of `map`.
pub(super) fn bring_up<'a>(
    options: &Options,
    map: &MemoryMap,
    interrupted: &'a AtomicBool,
) -> Result<(Machine<'a>, Found), Error> {
    let located = locate(options.qemu.as_deref()).map_err(crate::qemu::QemuError::from)?;
    let settings = Settings {
        device_options: device_options(options),
        timeout: options.timeout,
        packet_room: options.fills_the_socket().then_some(FEW_PACKETS),
        ..Settings::default()
    };
    let mut qemu = Qemu::start(&located, &settings, map.bytes)?;
    let pinning = cpus::pin(qemu.id());
    match bring_up_device(options, map, &mut qemu) {
        Ok((regions, negotiated, doorbells)) => {
            let system = |what| move |source| Error::System { what, source };
            let pattern = PacketPattern::new(options.seed, options.sizes, Direction::Transmit);
            let sink = Sink::start(&qemu.packets, pattern).map_err(system("the sink's thread"))?;
            let timeout = options.timeout;
            let wishes_go_stale = options.format == Format::Packed && options.event_index;
            let machine = Machine {
                sink,
                qemu,
                regions,
                doorbells,
                interrupted,
                timeout,
                wishes_go_stale,
                received: 0,
            };
            Ok((machine, Found { located, negotiated, pinning }))
        }
        Err(error) => Err(qemu.explain_any("while its device was brought up", error)),
    }
}

fn bring_up_device(
    options: &Options,
    map: &MemoryMap,
    qemu: &mut Qemu,
) -> Result<(pci::Regions, Negotiated, Doorbells), Error> {
    let regions = pci::enable_network_device(&mut qemu.qtest, DEVICE_SLOT)?;
    let eventfds = eventfds_of(qemu.id());
    let mut config = CommonConfig::new(&mut qemu.qtest, regions.common);
    let names = |features| net_feature::names(features).join(" ");
    let negotiated = negotiate(&mut config, wanted(options), names, options.timeout)?;
    let queues =
        [("receive", RECEIVE_QUEUE, map.receive.layout), ("transmit", TRANSMIT_QUEUE, map.transmit.layout)];
    let doorbell_bytes = if options.notification_data { 4 } else { 2 };
    let mut doorbells = [0; 2];
    for (place, (name, index, layout)) in doorbells.iter_mut().zip(queues) {
        *place = set_up_queue(&mut config, &regions, &QueueSetup { name, index, layout, doorbell_bytes })?;
    }
    let queues = config.queues()?;
    config.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)?;
    // The answer means that the device has acted on DRIVER_OK, and made its eventfds.
    config.status()?;
    let doorbells = if options.notification_data {
        Doorbells::with_data(doorbells)
    } else {
        Doorbells::duplicate(doorbells, qemu.id(), &eventfds, queues)
    };
    Ok((regions, negotiated, doorbells))
}
