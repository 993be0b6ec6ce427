//! The driver of rcore's `virtio-drivers`, without tables, over our device.

use crate::{ELEMENT_BYTES, Pair, QUEUE_SIZE, ours};
use ring_core::{
    QueueConfig,
    device::{Chain, SplitDevice},
    memory::SharedMemory,
    spec::{Features, Layout, feature},
};
use std::{cell::Cell, error::Error, ptr::NonNull};
use virtio_drivers::{
    BufferDirection, Hal, PAGE_SIZE, PhysAddr, Result as PeerResult,
    queue::VirtQueue,
    transport::{DeviceStatus, DeviceType, InterruptStatus, Transport},
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

thread_local! {
    /// What is left of the memory that the queue being made takes its pages from.
    static PAGES: Cell<Option<NonNull<u8>>> = const { Cell::new(None) };
}

/// Addresses are this process's own, so sharing a buffer costs nothing.
struct Own;

// SAFETY: pages are zeroed, page-aligned, given out once and never freed; a buffer's address is its own.
unsafe impl Hal for Own {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let Some(start) = PAGES.get() else { unreachable!("memory is set aside before a queue is made") };
        // SAFETY: a split ring of this size takes three of the 256 pages set aside.
        PAGES.set(Some(unsafe { start.add(pages * PAGE_SIZE) }));
        (start.as_ptr() as u64, start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unreachable!("there is no MMIO")
    }

    #[inline(always)]
    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as u64
    }

    #[inline(always)]
    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

#[derive(Default)]
struct Remember {
    /// Guest addresses of descriptor area, driver area and device area.
    areas: Option<[u64; 3]>,
}

impl Transport for Remember {
    fn device_type(&self) -> DeviceType {
        DeviceType::Block
    }
    fn read_device_features(&mut self) -> u64 {
        0
    }
    fn write_driver_features(&mut self, _: u64) {}
    fn max_queue_size(&mut self, _: u16) -> u32 {
        256
    }
    fn notify(&mut self, _: u16) {}
    fn get_status(&self) -> DeviceStatus {
        DeviceStatus::empty()
    }
    fn set_status(&mut self, _: DeviceStatus) {}
    fn set_guest_page_size(&mut self, _: u32) {}
    fn requires_legacy_layout(&self) -> bool {
        false
    }
    fn queue_set(&mut self, _: u16, _: u32, descriptors: PhysAddr, driver: PhysAddr, device: PhysAddr) {
        self.areas = Some([descriptors, driver, device]);
    }
    fn queue_unset(&mut self, _: u16) {}
    fn queue_used(&mut self, _: u16) -> bool {
        false
    }
    fn ack_interrupt(&mut self) -> InterruptStatus {
        InterruptStatus::empty()
    }
    fn read_config_generation(&self) -> u32 {
        0
    }
    fn read_config_space<T: FromBytes + IntoBytes>(&self, _: usize) -> PeerResult<T> {
        unreachable!("there is no configuration")
    }
    fn write_config_space<T: IntoBytes + Immutable>(&mut self, _: usize, _: T) -> PeerResult<()> {
        unreachable!("there is no configuration")
    }
}

pub(crate) struct VirtioDrivers {
    memory: SharedMemory,
    driver: VirtQueue<Own, { QUEUE_SIZE as usize }>,
    device: SplitDevice,
    chain: Chain,
    buffers: Vec<&'static [u8]>,
    // The peer takes a buffer back by its token only, so its user keeps them.
    tokens: Vec<u16>,
}

impl VirtioDrivers {
    pub(crate) fn new(elements: usize) -> Result<Self, Box<dyn Error>> {
        let start = ours::forever(ours::BYTES)?;
        PAGES.set(Some(start));
        let mut transport = Remember::default();
        let driver = VirtQueue::new(&mut transport, 0, false, true)?;
        let [descriptor_area, driver_area, device_area] = transport.areas.ok_or("no queue was set")?;
        let layout = Layout { queue_size: QUEUE_SIZE, descriptor_area, driver_area, device_area };
        // SAFETY: the range is never freed and page-aligned; the peer writes it between our device's calls only.
        let memory = unsafe { SharedMemory::new(start, start.as_ptr() as u64, ours::BYTES) };
        let device = SplitDevice::new(&QueueConfig::new(layout, Features(feature::EVENT_IDX)))?;
        let content: &'static [u8] = Box::leak(vec![0; ELEMENT_BYTES as usize].into_boxed_slice());
        Ok(VirtioDrivers {
            memory,
            driver,
            device,
            chain: Chain::default(),
            buffers: vec![content; elements],
            tokens: Vec::new(),
        })
    }
}

impl Pair for VirtioDrivers {
    fn round(&mut self, batch: usize) -> Result<u64, Box<dyn Error>> {
        self.tokens.clear();
        for _ in 0..batch {
            // SAFETY: the buffers are never freed, and nobody writes them.
            self.tokens.push(unsafe { self.driver.add(&self.buffers, &mut []) }?);
        }
        std::hint::black_box(self.driver.should_notify());
        let bytes = ours::serve(&mut self.device, &self.memory, &mut self.chain)?;
        for token in &self.tokens {
            // SAFETY: the very buffers that were added with the token.
            unsafe { self.driver.pop_used(*token, &self.buffers, &mut []) }?;
        }
        Ok(bytes)
    }
}
