//! Bring-up against a device that may be difficult.

use super::{fake::FakeDevice, status::Status, *};
use crate::pci::Regions;
use ring_core::spec::{Features, Layout, feature};

const REGIONS: Regions =
    Regions { common: 0, notify: 0x3000, notify_length: 0x1000, notify_multiplier: 4, device: 0x2000 };
const WANTED: Features = Features(feature::VERSION_1 | feature::EVENT_IDX);

fn name(features: Features) -> String {
    features.names().join(" ")
}

fn negotiate_with(device: &mut FakeDevice) -> Result<Negotiated, BringUpError> {
    negotiate(&mut CommonConfig::new(device, 0), WANTED, name, Duration::from_millis(20))
}

#[test]
fn agrees_on_what_is_wanted_and_no_more() {
    let offered = WANTED.0 | feature::INDIRECT_DESC | feature::RING_PACKED;
    let mut device = FakeDevice { offered, status: 0x40, ..FakeDevice::default() };
    let negotiated = negotiate_with(&mut device).unwrap();
    assert_eq!(negotiated, Negotiated { offered: Features(offered), accepted: WANTED });
    assert_eq!((device.accepted, device.status), (WANTED.0, 0xb));
}

#[test]
fn says_which_feature_is_missing_or_refused() {
    let mut device = FakeDevice { offered: feature::VERSION_1, ..FakeDevice::default() };
    let missing = negotiate_with(&mut device).unwrap_err().to_string();
    assert_eq!(missing, "the device does not offer EVENT_IDX; it offers VERSION_1");
    let dislikes = feature::EVENT_IDX;
    let mut device = FakeDevice { offered: WANTED.0, dislikes, ..FakeDevice::default() };
    let refused = negotiate_with(&mut device).unwrap_err().to_string();
    assert!(refused.contains("refused the features EVENT_IDX VERSION_1"), "{refused}");
}

#[test]
fn a_reset_that_does_not_end_is_an_error() {
    let mut device = FakeDevice { stuck: true, status: 0x4f, ..FakeDevice::default() };
    assert!(matches!(negotiate_with(&mut device), Err(BringUpError::NotReset { status: Status(0x4f), .. })));
}

#[test]
fn a_queue_is_reset_once_the_device_says_so() {
    let mut device = FakeDevice { queue_sizes: vec![256, 64], ..FakeDevice::default() };
    let timeout = Duration::from_millis(20);
    let mut config = CommonConfig::new(&mut device, 0);
    for index in [0, 1] {
        config.select_queue(index).unwrap();
        config.enable_queue().unwrap();
    }
    reset_queue(&mut config, "test", 1, timeout).unwrap();
    assert!(!config.is_queue_enabled().unwrap());
    config.select_queue(0).unwrap();
    assert!(config.is_queue_enabled().unwrap(), "the other queue goes on");
    device.stuck = true;
    let error = reset_queue(&mut CommonConfig::new(&mut device, 0), "test", 0, timeout).unwrap_err();
    assert!(error.to_string().contains("reset of its test queue"), "{error}");
}

#[test]
fn sets_up_a_queue_that_fits() {
    let mut device = FakeDevice { queue_sizes: vec![256, 64], ..FakeDevice::default() };
    let mut set_up = |index, queue_size| {
        let layout = Layout::contiguous(queue_size, 0x1_0000_0000);
        set_up_queue(
            &mut CommonConfig::new(&mut device, 0),
            &REGIONS,
            &QueueSetup { name: "test", index, layout, doorbell_bytes: 2 },
        )
    };
    assert_eq!(set_up(1, 32).unwrap(), 0x3004);
    assert!(matches!(set_up(1, 128), Err(BringUpError::QueueTooLarge { asked: 128, maximum: 64, .. })));
    assert!(matches!(set_up(2, 32), Err(BringUpError::NoQueue { index: 2, available: 2, .. })));
    let fields: Vec<u32> = [24, 32, 36, 28].iter().map(|offset| device.queues[&(1, *offset)]).collect();
    assert_eq!(fields, [32, 0, 1, 1], "size, low and high half of the descriptor area, enabled");
}
