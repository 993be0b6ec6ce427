//! The device of rust-vmm's `virtio-queue`, over one region of `vm-memory`, under our driver.

use crate::{Pair, QUEUE_SIZE, ours};
use ring_core::{Segment, driver::SplitDriver, indirect::Direct, memory::SharedMemory, spec::Layout};
use std::{error::Error, ptr::NonNull};
use virtio_queue::{Queue, QueueT};
use vm_memory::{GuestAddress, GuestMemoryBackend, GuestMemoryMmap};

pub(crate) struct VirtioQueue {
    memory: GuestMemoryMmap<()>,
    // The same bytes, as our driver wants them.
    shared: SharedMemory,
    driver: SplitDriver<Direct>,
    device: Queue,
    elements: Vec<Segment>,
}

impl VirtioQueue {
    pub(crate) fn new(elements: usize) -> Result<Self, Box<dyn Error>> {
        let start = GuestAddress(ours::BASE);
        let memory = GuestMemoryMmap::from_ranges(&[(start, ours::BYTES)])?;
        let pointer = NonNull::new(memory.get_host_address(start)?).ok_or("no memory")?;
        // SAFETY: the mapping is page-aligned, as long as said, and lives as long as `memory` beside it.
        let shared = unsafe { SharedMemory::new(pointer, ours::BASE, ours::BYTES) };
        let config = ours::config(0);
        let Layout { descriptor_area, driver_area, device_area, .. } = config.layout;
        let mut device = Queue::new(QUEUE_SIZE)?;
        device.set_desc_table_address(Some(descriptor_area as u32), Some(0));
        device.set_avail_ring_address(Some(driver_area as u32), Some(0));
        device.set_used_ring_address(Some(device_area as u32), Some(0));
        device.set_event_idx(true);
        device.set_ready(true);
        if !device.is_valid(&memory) {
            return Err("virtio-queue refuses the ring".into());
        }
        let driver = SplitDriver::new(&config, Direct)?;
        Ok(VirtioQueue { memory, shared, driver, device, elements: ours::elements(elements) })
    }
}

impl Pair for VirtioQueue {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        ours::add_batch(&mut self.driver, &self.shared, &self.elements, batch)?;
        let mut bytes = 0;
        while let Some(mut chain) = self.device.pop_descriptor_chain(&self.memory) {
            for descriptor in &mut chain {
                bytes += u64::from(descriptor.len());
            }
            self.device.add_used(&self.memory, chain.head_index(), 0)?;
        }
        ours::reap_batch(&mut self.driver, &self.shared, batch)?;
        Ok(bytes)
    }
}
