//! What tests ask of a side beside the calls that both formats share.

use ring_core::{
    QueueConfig,
    device::{Device, PackedDevice, SplitDevice},
    driver::{Driver, InFlight, PackedDriver, SplitDriver, SplitDriverState},
    indirect::TableSource,
};

/// A driver of either format, seen from outside and after a reset.
pub(crate) trait EitherDriver: Driver {
    type Tables: TableSource;
    fn tables(&self) -> &Self::Tables;
    /// Buffers in flight by id.
    fn held(&self) -> Vec<(u16, InFlight)>;
    /// Every ring descriptor that is told of by its index, free or held; nothing where the format has no such list.
    fn named_descriptors(&self) -> Vec<u16>;
    /// The driver that its snapshot makes, once written and read in two formats.
    fn restored(&self, config: &QueueConfig, tables: Self::Tables) -> Self;
}

/// What comes back of a value that is written as JSON, and that as postcard.
#[cfg(feature = "serde")]
fn carried<S: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: S) -> S {
    let json: S = serde_json::from_slice(&serde_json::to_vec(&value).unwrap()).unwrap();
    let bytes = postcard::to_allocvec(&json).unwrap();
    let back = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(value, back);
    back
}

/// Without serde there is nothing to write.
#[cfg(not(feature = "serde"))]
fn carried<S>(value: S) -> S {
    value
}

impl<T: TableSource> EitherDriver for SplitDriver<T> {
    type Tables = T;
    fn tables(&self) -> &T {
        self.tables()
    }
    fn held(&self) -> Vec<(u16, InFlight)> {
        self.in_flight().collect()
    }
    fn named_descriptors(&self) -> Vec<u16> {
        let held = self.in_flight().flat_map(|(id, _)| self.descriptors_of(id));
        self.free_list().chain(held).collect()
    }
    fn restored(&self, config: &QueueConfig, tables: T) -> Self {
        let snapshot = self.snapshot();
        let restored = SplitDriver::restore(config, tables, carried(snapshot.clone())).unwrap();
        assert_eq!(restored.snapshot(), snapshot);
        let known = |state: SplitDriverState| SplitDriverState {
            free_head: state.free_head * u16::from(state.free > 0),
            ..state
        };
        assert_eq!(known(restored.state()), known(self.state()));
        restored
    }
}

impl<T: TableSource> EitherDriver for PackedDriver<T> {
    type Tables = T;
    fn tables(&self) -> &T {
        self.tables()
    }
    fn held(&self) -> Vec<(u16, InFlight)> {
        self.in_flight().collect()
    }
    fn named_descriptors(&self) -> Vec<u16> {
        Vec::new()
    }
    fn restored(&self, config: &QueueConfig, tables: T) -> Self {
        let snapshot = self.snapshot();
        let restored = PackedDriver::restore(config, tables, carried(snapshot.clone())).unwrap();
        assert_eq!(restored.snapshot(), snapshot);
        assert_eq!(restored.state(), self.state());
        restored
    }
}

/// A device of either format, seen from outside.
pub(crate) trait EitherDevice: Device {
    /// The position of the next buffer to take, in the form of a notification's data (2.9).
    fn position(&self) -> u16;
    /// The device that its snapshot makes, once written and read in two formats.
    fn restored(&self, config: &QueueConfig) -> Self;
}

impl EitherDevice for SplitDevice {
    fn position(&self) -> u16 {
        self.state().last_available
    }
    fn restored(&self, config: &QueueConfig) -> Self {
        let snapshot = self.snapshot();
        let restored = SplitDevice::restore(config, carried(snapshot.clone())).unwrap();
        assert_eq!(restored.snapshot(), snapshot);
        assert_eq!(restored.state(), self.state());
        restored
    }
}

impl EitherDevice for PackedDevice {
    fn position(&self) -> u16 {
        self.state().next_available.to_bits()
    }
    fn restored(&self, config: &QueueConfig) -> Self {
        let snapshot = self.snapshot();
        let restored = PackedDevice::restore(config, carried(snapshot.clone())).unwrap();
        assert_eq!(restored.snapshot(), snapshot);
        assert_eq!(restored.state(), self.state());
        restored
    }
}
