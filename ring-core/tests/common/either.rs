//! What tests ask of a driver beside the calls that both formats share.

use ring_core::{
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
        self.in_flight().map(|(id, buffer)| (id, *buffer)).collect()
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
        self.in_flight().map(|(id, buffer)| (id, *buffer)).collect()
    }
    fn named_descriptors(&self) -> Vec<u16> {
        Vec::new()
    }
}
