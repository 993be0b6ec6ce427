//! What tests ask of a driver beside the calls that both formats share.

use ring_core::{
    Fault,
    driver::{Driver, InFlight, PackedDriver, SplitDriver},
    indirect::TableSource,
    memory::OwnedMemory,
    probe::NoProbe,
};

/// A driver of either format, seen from outside and after a reset.
pub(crate) trait EitherDriver: Driver {
    type Tables: TableSource;
    fn tables(&self) -> &Self::Tables;
    /// Free ring descriptors.
    fn free(&self) -> u16;
    /// Buffers in flight by id.
    fn held(&self) -> Vec<(u16, InFlight)>;
    /// Every ring descriptor that is told of by its index, free or held; nothing where the format has no such list.
    fn named_descriptors(&self) -> Vec<u16>;
    fn detach_next(&mut self, memory: &OwnedMemory) -> Option<u64>;
    fn reset_queue(&mut self);
    fn fault(&self) -> Option<Fault>;
}

impl<T: TableSource> EitherDriver for SplitDriver<T> {
    type Tables = T;
    fn tables(&self) -> &T {
        self.tables()
    }
    fn free(&self) -> u16 {
        self.state().free
    }
    fn held(&self) -> Vec<(u16, InFlight)> {
        self.in_flight().map(|(id, buffer)| (id, *buffer)).collect()
    }
    fn named_descriptors(&self) -> Vec<u16> {
        let held = self.in_flight().flat_map(|(id, _)| self.descriptors_of(id));
        self.free_list().chain(held).collect()
    }
    fn detach_next(&mut self, memory: &OwnedMemory) -> Option<u64> {
        self.detach(memory, &mut NoProbe)
    }
    fn reset_queue(&mut self) {
        self.reset();
    }
    fn fault(&self) -> Option<Fault> {
        self.broken()
    }
}

impl<T: TableSource> EitherDriver for PackedDriver<T> {
    type Tables = T;
    fn tables(&self) -> &T {
        self.tables()
    }
    fn free(&self) -> u16 {
        self.state().free
    }
    fn held(&self) -> Vec<(u16, InFlight)> {
        self.in_flight().map(|(id, buffer)| (id, *buffer)).collect()
    }
    fn named_descriptors(&self) -> Vec<u16> {
        Vec::new()
    }
    fn detach_next(&mut self, memory: &OwnedMemory) -> Option<u64> {
        self.detach(memory, &mut NoProbe)
    }
    fn reset_queue(&mut self) {
        self.reset();
    }
    fn fault(&self) -> Option<Fault> {
        self.broken()
    }
}
