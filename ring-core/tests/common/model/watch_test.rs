//! A watch that let everything pass would say nothing.

use crate::model::{queue, watch::Watch};
use ring_core::{
    QueueConfig, Side,
    memory::{Memory, Observed, Ordering, OwnedMemory},
    spec::Format,
};

fn watched(format: Format) -> (QueueConfig, Observed<OwnedMemory, Watch>) {
    let config = queue(format, 4, 0, 0);
    let watch = Watch::new(&config, 0x2000..0x3000);
    (config, Observed { memory: OwnedMemory::new(0x1000, 0x2000), observer: watch })
}

#[test]
#[should_panic(expected = "the driver wrote at")]
fn no_driver_writes_the_used_ring() {
    let (config, memory) = watched(Format::Split);
    let _ = memory.store_u16(config.layout.device_area, 0, Ordering::Relaxed);
}

#[test]
#[should_panic(expected = "the device wrote at")]
fn no_device_writes_a_descriptor_of_a_split_ring() {
    let (config, memory) = watched(Format::Split);
    memory.observer.call(Side::Device);
    let _ = memory.store_u64(config.layout.descriptor_area + 8, 0, Ordering::Relaxed);
}

#[test]
#[should_panic(expected = "the device wrote at")]
fn no_device_uses_what_is_not_available() {
    let (config, memory) = watched(Format::Packed);
    memory.observer.call(Side::Device);
    let _ = memory.store_u64(config.layout.descriptor_area + 8, 0, Ordering::Relaxed);
}

#[test]
#[should_panic(expected = "the driver wrote at")]
fn no_driver_writes_what_the_device_holds() {
    let (config, memory) = watched(Format::Split);
    memory.observer.hand_over(0, vec![config.layout.descriptor_area]);
    let _ = memory.store_words(config.layout.descriptor_area, [0, 0]);
}

#[test]
#[should_panic(expected = "the driver read at")]
fn no_driver_reads_its_own_descriptors_back() {
    let (config, memory) = watched(Format::Split);
    let _ = memory.load_words(config.layout.descriptor_area);
}

#[test]
#[should_panic(expected = "the device read at")]
fn no_device_reads_a_table_that_no_buffer_names() {
    let (_, memory) = watched(Format::Split);
    memory.observer.call(Side::Device);
    let _ = memory.load_words(0x2000);
}

#[test]
#[should_panic(expected = "the device read twice in one call")]
fn nothing_is_read_twice() {
    let (config, memory) = watched(Format::Split);
    memory.observer.call(Side::Device);
    let _ = memory.load_u16(config.layout.driver_area + 2, Ordering::Acquire);
    memory.observer.call(Side::Device);
    let _ = memory.load_u16(config.layout.driver_area + 2, Ordering::Acquire);
    let _ = memory.load_u16(config.layout.driver_area + 2, Ordering::Acquire);
}
