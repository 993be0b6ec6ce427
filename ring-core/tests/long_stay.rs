//! A buffer that the device keeps while tens of thousands of others come and go: legal, and the indices wrap meanwhile.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use ring_core::{
    QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::Direct,
    memory::OwnedMemory,
    probe::NoProbe,
    spec::{Features, Layout, feature},
};

const BASE: u64 = 0x1000;
const KEPT: u64 = u64::MAX;

fn run(config: QueueConfig, mut driver: impl Driver, mut device: impl Device, others: u64) {
    let memory = OwnedMemory::new(BASE, 0x1000);
    config.initialise(&memory).unwrap();
    let probe = &mut NoProbe;
    let element = [Segment { address: 0x10_0000, length: 4 }];
    let mut chain = Chain::default();
    driver.add(&memory, probe, KEPT, &element, &[]).unwrap();
    driver.publish(&memory, probe).unwrap();
    assert!(device.pop(&memory, probe, &mut chain).unwrap());
    let kept = chain.head;
    for token in 0..others {
        driver.add(&memory, probe, token, &element, &[]).unwrap();
        driver.publish(&memory, probe).unwrap();
        assert!(device.pop(&memory, probe, &mut chain).unwrap());
        device.complete(&memory, probe, chain.head, 0).unwrap();
        device.publish(&memory, probe).unwrap();
        assert_eq!(driver.reap(&memory, probe).unwrap().unwrap().token, token);
    }
    device.complete(&memory, probe, kept, 0).unwrap();
    device.publish(&memory, probe).unwrap();
    assert_eq!(driver.reap(&memory, probe).unwrap().unwrap().token, KEPT, "after {others} others");
}

#[test]
fn however_many_others_pass_it_comes_back() {
    for others in [1, 32_767, 32_768, 40_000, 65_535, 65_536, 100_000] {
        let split = QueueConfig::new(Layout::contiguous(4, BASE), Features(0));
        run(split, SplitDriver::new(&split, Direct).unwrap(), SplitDevice::new(&split).unwrap(), others);
        let packed = QueueConfig::new(Layout::contiguous(4, BASE), Features(feature::RING_PACKED));
        run(packed, PackedDriver::new(&packed, Direct).unwrap(), PackedDevice::new(&packed).unwrap(), others);
    }
}
