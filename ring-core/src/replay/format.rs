//! What differs between replays of the two ring formats.

use crate::{
    ConfigError, QueueConfig,
    device::{Device, PackedDevice, SplitDevice},
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{AnyTableSource, Counted},
};
use core::fmt::Debug;

/// The tables of a replayed driver.
pub type ReplayedTables = Counted<AnyTableSource>;

/// The two sides of a replayed ring of one format.
pub trait RingFormat: Clone + Debug {
    /// The driver's side.
    type Driver: Driver + Clone + Debug;
    /// The device's side.
    type Device: Device + Clone + Debug;

    /// Both sides of a fresh queue.
    fn sides(
        config: &QueueConfig,
        tables: ReplayedTables,
    ) -> Result<(Self::Driver, Self::Device), ConfigError>;

    /// The device, if its used descriptors have flags.
    fn packed_device(device: &mut Self::Device) -> Option<&mut PackedDevice>;
}

/// Split rings (virtio 1.2, 2.7 "Split Virtqueues").
#[derive(Clone, Copy, Debug)]
pub enum Split {}

/// Packed rings (virtio 1.2, 2.8 "Packed Virtqueues").
#[derive(Clone, Copy, Debug)]
pub enum Packed {}

impl RingFormat for Split {
    type Driver = SplitDriver<ReplayedTables>;
    type Device = SplitDevice;

    fn sides(
        config: &QueueConfig,
        tables: ReplayedTables,
    ) -> Result<(Self::Driver, Self::Device), ConfigError> {
        Ok((SplitDriver::new(config, tables)?, SplitDevice::new(config)?))
    }

    fn packed_device(_: &mut Self::Device) -> Option<&mut PackedDevice> {
        None
    }
}

impl RingFormat for Packed {
    type Driver = PackedDriver<ReplayedTables>;
    type Device = PackedDevice;

    fn sides(
        config: &QueueConfig,
        tables: ReplayedTables,
    ) -> Result<(Self::Driver, Self::Device), ConfigError> {
        Ok((PackedDriver::new(config, tables)?, PackedDevice::new(config)?))
    }

    fn packed_device(device: &mut Self::Device) -> Option<&mut PackedDevice> {
        Some(device)
    }
}
