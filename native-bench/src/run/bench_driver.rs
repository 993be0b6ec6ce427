//! The driver as the run uses it: bare, or with its calls recorded.

use super::driver_state::DriverState;
use crate::system::GuestMemory;
use ring_core::{
    Fault,
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::{Counted, TableSource, TableStatistics},
    trace::RecordedDriver,
};
use std::io::Write;

/// What a run asks of a driver beyond [`Driver`].
pub(super) trait BenchDriver: Driver {
    /// The private counters.
    fn state(&self) -> DriverState;
    /// What its tables cost so far.
    fn tables(&self) -> TableStatistics;
    /// A quiet moment: nothing that was used waits to be reaped, and the device has nothing to do. Returns whether it
    /// was recorded.
    fn quiet(&mut self, memory: &GuestMemory) -> Result<bool, Fault>;
}

impl<T: TableSource> BenchDriver for SplitDriver<Counted<T>> {
    fn state(&self) -> DriverState {
        DriverState::Split(SplitDriver::state(self))
    }
    fn tables(&self) -> TableStatistics {
        SplitDriver::tables(self).statistics()
    }
    fn quiet(&mut self, _: &GuestMemory) -> Result<bool, Fault> {
        Ok(false)
    }
}

impl<T: TableSource> BenchDriver for PackedDriver<Counted<T>> {
    fn state(&self) -> DriverState {
        DriverState::Packed(PackedDriver::state(self))
    }
    fn tables(&self) -> TableStatistics {
        PackedDriver::tables(self).statistics()
    }
    fn quiet(&mut self, _: &GuestMemory) -> Result<bool, Fault> {
        Ok(false)
    }
}

impl<D: BenchDriver, W: Write, C: FnMut() -> u64> BenchDriver for RecordedDriver<D, W, C> {
    fn state(&self) -> DriverState {
        self.driver().state()
    }
    fn tables(&self) -> TableStatistics {
        self.driver().tables()
    }
    fn quiet(&mut self, memory: &GuestMemory) -> Result<bool, Fault> {
        self.checkpoint(memory)
    }
}
