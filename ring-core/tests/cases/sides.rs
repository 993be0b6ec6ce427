//! Either side in either format.

use ring_core::{
    Fault, QueueConfig, Segment,
    device::{Chain, Device, PackedDevice, SplitDevice, Taken},
    driver::{AddError, Driver, InFlight, Notify, PackedDriver, SplitDriver, Used},
    indirect::{AnyTableSource, Counted, TableStatistics},
    memory::OwnedMemory,
    probe::NoProbe,
    spec::Format,
};

use super::case::Check;

type Tables = Counted<AnyTableSource>;

#[derive(Clone)]
pub(crate) enum AnyDriver {
    Split(SplitDriver<Tables>),
    Packed(PackedDriver<Tables>),
}

#[derive(Clone)]
pub(crate) enum AnyDevice {
    Split(SplitDevice),
    Packed(PackedDevice),
}

/// The same call on whichever format there is.
macro_rules! either {
    ($any:ident, $value:expr, $side:ident => $call:expr) => {
        match $value {
            $any::Split($side) => $call,
            $any::Packed($side) => $call,
        }
    };
}

impl AnyDriver {
    pub(crate) fn new(config: &QueueConfig, tables: AnyTableSource) -> Check<Self> {
        let tables = Counted::new(tables);
        let driver = match config.format() {
            Format::Split => SplitDriver::new(config, tables).map(AnyDriver::Split),
            Format::Packed => PackedDriver::new(config, tables).map(AnyDriver::Packed),
        };
        driver.map_err(|error| error.to_string())
    }

    pub(crate) fn add(
        &mut self,
        memory: &OwnedMemory,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError> {
        either!(AnyDriver, self, driver => driver.add(memory, &mut NoProbe, token, readable, writable))
    }

    pub(crate) fn publish(&mut self, memory: &OwnedMemory) -> Result<(), Fault> {
        either!(AnyDriver, self, driver => driver.publish(memory, &mut NoProbe))
    }

    pub(crate) fn notify(&mut self, memory: &OwnedMemory) -> Result<Notify, Fault> {
        either!(AnyDriver, self, driver => driver.notify(memory, &mut NoProbe))
    }

    pub(crate) fn pending_used(&mut self, memory: &OwnedMemory) -> Result<u16, Fault> {
        either!(AnyDriver, self, driver => driver.pending_used(memory))
    }

    pub(crate) fn reap(&mut self, memory: &OwnedMemory) -> Result<Option<Used>, Fault> {
        either!(AnyDriver, self, driver => driver.reap(memory, &mut NoProbe))
    }

    pub(crate) fn disable_notifications(&mut self, memory: &OwnedMemory) -> Result<(), Fault> {
        either!(AnyDriver, self, driver => driver.disable_notifications(memory))
    }

    pub(crate) fn enable_notifications(&mut self, memory: &OwnedMemory) -> Result<u16, Fault> {
        either!(AnyDriver, self, driver => driver.enable_notifications(memory))
    }

    /// Takes every buffer back and starts anew.
    pub(crate) fn reset(&mut self, memory: &OwnedMemory) -> Result<Vec<u64>, Fault> {
        let mut tokens = vec![];
        either!(AnyDriver, self, driver => driver.reset(memory, &mut NoProbe, |token| tokens.push(token)))?;
        Ok(tokens)
    }

    pub(crate) fn in_flight(&self) -> Vec<(u16, InFlight)> {
        either!(AnyDriver, self, driver => driver.in_flight().collect())
    }

    /// Free ring descriptors.
    pub(crate) fn free(&self) -> u16 {
        either!(AnyDriver, self, driver => driver.state().free)
    }

    /// The next position, as a notification carries it.
    pub(crate) fn next_available(&self) -> u16 {
        either!(AnyDriver, self, driver => driver.next_available())
    }

    /// Where the next used element or descriptor is expected, in the form of the format.
    pub(crate) fn next_used(&self) -> u16 {
        match self {
            AnyDriver::Split(driver) => driver.state().last_used,
            AnyDriver::Packed(driver) => driver.state().next_used.to_bits(),
        }
    }

    pub(crate) fn statistics(&self) -> TableStatistics {
        either!(AnyDriver, self, driver => driver.tables().statistics())
    }

    pub(crate) fn broken(&self) -> Option<Fault> {
        either!(AnyDriver, self, driver => driver.broken())
    }
}

impl AnyDevice {
    pub(crate) fn new(config: &QueueConfig) -> Check<Self> {
        let device = match config.format() {
            Format::Split => SplitDevice::new(config).map(AnyDevice::Split),
            Format::Packed => PackedDevice::new(config).map(AnyDevice::Packed),
        };
        device.map_err(|error| error.to_string())
    }

    pub(crate) fn pop(&mut self, memory: &OwnedMemory) -> Result<Option<Chain>, Fault> {
        let mut chain = Chain::default();
        let popped = either!(AnyDevice, self, device => device.pop(memory, &mut NoProbe, &mut chain))?;
        Ok(popped.then_some(chain))
    }

    pub(crate) fn complete(&mut self, memory: &OwnedMemory, id: u16, length: u32) -> Result<(), Fault> {
        either!(AnyDevice, self, device => device.complete(memory, &mut NoProbe, id, length))
    }

    pub(crate) fn complete_batch(&mut self, memory: &OwnedMemory, id: u16, length: u32) -> Result<(), Fault> {
        either!(AnyDevice, self, device => device.complete_batch(memory, &mut NoProbe, id, length))
    }

    pub(crate) fn publish(&mut self, memory: &OwnedMemory) -> Result<(), Fault> {
        either!(AnyDevice, self, device => device.publish(memory, &mut NoProbe))
    }

    pub(crate) fn notify(&mut self, memory: &OwnedMemory) -> Result<Notify, Fault> {
        either!(AnyDevice, self, device => device.notify(memory, &mut NoProbe))
    }

    pub(crate) fn disable_notifications(&mut self, memory: &OwnedMemory) -> Result<(), Fault> {
        either!(AnyDevice, self, device => device.disable_notifications(memory))
    }

    pub(crate) fn enable_notifications(&mut self, memory: &OwnedMemory) -> Result<bool, Fault> {
        either!(AnyDevice, self, device => device.enable_notifications(memory))
    }

    pub(crate) fn reset(&mut self) {
        either!(AnyDevice, self, device => device.reset());
    }

    pub(crate) fn taken(&self) -> Vec<(u16, Taken)> {
        either!(AnyDevice, self, device => device.taken().collect())
    }

    /// Where the next available entry or descriptor is expected, in the form of the format.
    pub(crate) fn next_available(&self) -> u16 {
        match self {
            AnyDevice::Split(device) => device.state().last_available,
            AnyDevice::Packed(device) => device.state().next_available.to_bits(),
        }
    }

    /// Where the next used element or descriptor goes, in the form of the format.
    pub(crate) fn next_used(&self) -> u16 {
        match self {
            AnyDevice::Split(device) => device.state().used_index,
            AnyDevice::Packed(device) => device.state().next_used.to_bits(),
        }
    }

    pub(crate) fn broken(&self) -> Option<Fault> {
        either!(AnyDevice, self, device => device.broken())
    }
}
