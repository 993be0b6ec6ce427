//! Memory and both sides, brought by real calls to where a case starts.

use super::{
    case::{Case, Check},
    sides::{AnyDevice, AnyDriver},
};
use ring_core::{
    QueueConfig, Segment,
    device::Chain,
    driver::Used,
    indirect::{ListCache, TableArena},
    memory::{Memory, Ordering, OwnedMemory},
    spec::{Format, Layout, RingCell, packed::Position, split::Cell},
};
use std::collections::BTreeMap;

/// Where guest memory starts in the cases.
pub(crate) const MEMORY: u64 = 0x4000_0000;
// Free of the addresses that the cases use.
const TABLES: u64 = 0x4000;
const TABLES_LENGTH: u64 = 0x4000;
const RING: u64 = 0x8000;

pub(crate) struct Scene {
    pub(crate) config: QueueConfig,
    pub(crate) memory: OwnedMemory,
    pub(crate) driver: AnyDriver,
    pub(crate) device: AnyDevice,
    /// The driver's id of each buffer that the case names by another.
    pub(crate) ids: BTreeMap<u32, u16>,
    /// What the driver got back by name while the case's steps ran.
    pub(crate) reaped: Vec<Used>,
    /// What the device still found after the case's last step.
    pub(crate) popped: Vec<Chain>,
}

impl Scene {
    pub(crate) fn new(case: &Case) -> Check<Scene> {
        Scene::at(case, MEMORY, 0x2_0000)
    }

    /// With guest memory elsewhere.
    pub(crate) fn at(case: &Case, base: u64, length: usize) -> Check<Scene> {
        let layout = Layout::contiguous(case.queue_size, base + RING);
        let mut config = QueueConfig::new(layout, case.features()?);
        if config.format() == Format::Split {
            config.start_index = case.start("device", "used_idx")?.unwrap_or(0) as u16;
        }
        let memory = OwnedMemory::new(base, length);
        config.initialise(&memory).map_err(|error| error.to_string())?;
        let tables = ListCache::new(TableArena::new(base + TABLES, TABLES_LENGTH), 4);
        let driver = AnyDriver::new(&config, tables.into())?;
        let device = AnyDevice::new(&config)?;
        let mut scene =
            Scene { config, memory, driver, device, ids: BTreeMap::new(), reaped: vec![], popped: vec![] };
        scene.bring_to_start(case)?;
        Ok(scene)
    }

    fn bring_to_start(&mut self, case: &Case) -> Check {
        let (laps, in_flight) = match self.config.format() {
            Format::Split => (0, case.start_list("in_flight")?),
            Format::Packed => {
                let position = |index, wrap| -> Check<Position> {
                    let index = case.start("driver", index)?.unwrap_or(0) as u16;
                    Ok(Position { index, wrap: case.start("driver", wrap)?.unwrap_or(1) == 1 })
                };
                let used = position("next_used", "used_wrap")?;
                let available = position("next_avail", "avail_wrap")?;
                let size = case.queue_size;
                let in_flight = 0..available.distance_from(used, size).into();
                (used.distance_from(Position::START, size), in_flight.collect())
            }
        };
        for _ in 0..laps {
            let id = self.offer(0)?;
            self.pop()?;
            self.complete(id, 0)?;
            self.publish_used()?;
            self.reap(0)?;
        }
        for name in in_flight {
            let id = self.offer(name)?;
            self.pop()?;
            self.ids.insert(name as u32, id);
        }
        self.kick_needed()?;
        self.interrupt_needed()?;
        for (slot, head) in case.start_list("avail_ring")?.into_iter().enumerate() {
            self.store(Cell::AvailableEntry(slot as u16), head as u16)?;
        }
        Ok(())
    }

    /// The driver makes a writable buffer available.
    pub(crate) fn offer(&mut self, token: u64) -> Check<u16> {
        self.offer_elements(token, 0, 1)
    }

    /// The driver makes a buffer of so many readable and writable elements available.
    pub(crate) fn offer_elements(&mut self, token: u64, readable: usize, writable: usize) -> Check<u16> {
        let id = self.add(token, readable, writable)?;
        self.driver.publish(&self.memory).map_err(|fault| fault.to_string())?;
        Ok(id)
    }

    /// The driver places a buffer, not yet visible.
    pub(crate) fn add(&mut self, token: u64, readable: usize, writable: usize) -> Check<u16> {
        let element = Segment { address: MEMORY + 0x1000, length: 4096 };
        let (readable, writable) = (vec![element; readable], vec![element; writable]);
        let added = self.driver.add(&self.memory, token, &readable, &writable);
        added.map_err(|error| error.to_string())
    }

    /// The device takes a buffer that must be there.
    pub(crate) fn pop(&mut self) -> Check<u16> {
        self.find_available()?.ok_or_else(|| "the device found nothing available".into())
    }

    /// The device takes the next buffer, if there is one.
    pub(crate) fn find_available(&mut self) -> Check<Option<u16>> {
        let popped = self.device.pop(&self.memory).map_err(|fault| fault.to_string())?;
        Ok(popped.map(|chain| chain.head))
    }

    pub(crate) fn complete(&mut self, id: u16, length: u32) -> Check {
        self.device.complete(&self.memory, id, length).map_err(|fault| fault.to_string())
    }

    pub(crate) fn publish_used(&mut self) -> Check {
        self.device.publish(&self.memory).map_err(|fault| fault.to_string())
    }

    /// The device uses a buffer, visibly.
    pub(crate) fn use_buffer(&mut self, id: u16, length: u32) -> Check {
        self.complete(id, length)?;
        self.publish_used()
    }

    /// The driver gets back the buffer of this token.
    pub(crate) fn reap(&mut self, token: u64) -> Check {
        let used = self.driver.reap(&self.memory).map_err(|fault| fault.to_string())?;
        equal("reaped token", used.map(|used| used.token), Some(token))
    }

    /// The driver finds no used buffer.
    pub(crate) fn nothing_used(&mut self) -> Check {
        let used = self.driver.reap(&self.memory).map_err(|fault| fault.to_string())?;
        equal("reaped token", used.map(|used| used.token), None)
    }

    /// Whether the driver finds that the device must be notified.
    pub(crate) fn kick_needed(&mut self) -> Check<bool> {
        Ok(self.driver.notify(&self.memory).map_err(|fault| fault.to_string())?.needed)
    }

    /// Whether the device finds that the driver must be notified.
    pub(crate) fn interrupt_needed(&mut self) -> Check<bool> {
        Ok(self.device.notify(&self.memory).map_err(|fault| fault.to_string())?.needed)
    }

    /// The driver wants no notification.
    pub(crate) fn driver_disables(&mut self) -> Check {
        self.driver.disable_notifications(&self.memory).map_err(|fault| fault.to_string())
    }

    /// The driver wants the next notification. How many used buffers it finds when it looks again.
    pub(crate) fn driver_enables(&mut self) -> Check<u16> {
        self.driver.enable_notifications(&self.memory).map_err(|fault| fault.to_string())
    }

    /// The device wants no notification.
    pub(crate) fn device_disables(&mut self) -> Check {
        self.device.disable_notifications(&self.memory).map_err(|fault| fault.to_string())
    }

    /// The device wants the next notification. Whether it finds a buffer when it looks again.
    pub(crate) fn device_enables(&mut self) -> Check<bool> {
        self.device.enable_notifications(&self.memory).map_err(|fault| fault.to_string())
    }

    pub(crate) fn store(&self, cell: impl RingCell, value: u16) -> Check {
        let address = self.config.layout.address(cell);
        self.memory.store_u16(address, value, Ordering::Relaxed).map_err(|error| error.to_string())
    }

    pub(crate) fn load(&self, cell: impl RingCell) -> Check<u16> {
        let address = self.config.layout.address(cell);
        self.memory.load_u16(address, Ordering::Relaxed).map_err(|error| error.to_string())
    }

    /// Bytes of one of the ring's three areas.
    pub(crate) fn area(&self, index: usize) -> Check<Vec<u8>> {
        let area = self.config.layout.areas(self.config.format())[index];
        self.memory.bytes(area.address, area.length as usize).map_err(|error| error.to_string())
    }
}

/// Says what was found in place of what was expected.
pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Check {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?}, expected {expected:?}")) }
}
