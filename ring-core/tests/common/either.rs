//! What tests ask of a side beside the calls that both formats share.

use ring_core::{
    device::{Device, PackedDevice, SplitDevice},
    driver::{Driver, InFlight, PackedDriver, SplitDriver},
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
}

/// A device of either format, seen from outside.
pub(crate) trait EitherDevice: Device {
    /// The position of the next buffer to take, in the form of a notification's data (2.9).
    fn position(&self) -> u16;
}

impl EitherDevice for SplitDevice {
    fn position(&self) -> u16 {
        self.state().last_available
    }
}

impl EitherDevice for PackedDevice {
    fn position(&self) -> u16 {
        self.state().next_available.to_bits()
    }
}
