//! The driver as the run uses it: bare, or with its calls recorded.

use crate::{Error, system::GuestMemory};
use ring_core::{
    driver::{Driver, SplitDriver, SplitDriverState},
    indirect::{Counted, TableSource, TableStatistics},
    trace::RecordedDriver,
};
use std::io::Write;

/// A split driver whose tables are counted.
pub(super) type Bare<T> = SplitDriver<Counted<T>>;

/// What a run asks of a driver beyond [`Driver`].
pub(super) trait BenchDriver: Driver {
    /// The private counters.
    fn state(&self) -> SplitDriverState;
    /// What its tables cost so far.
    fn tables(&self) -> TableStatistics;
    /// A quiet moment: nothing that was used waits to be reaped, and the device has nothing to do. Returns whether it
    /// was recorded.
    fn quiet(&mut self, memory: &GuestMemory) -> Result<bool, Error>;
}

impl<T: TableSource> BenchDriver for Bare<T> {
    fn state(&self) -> SplitDriverState {
        SplitDriver::state(self)
    }
    fn tables(&self) -> TableStatistics {
        SplitDriver::tables(self).statistics()
    }
    fn quiet(&mut self, _: &GuestMemory) -> Result<bool, Error> {
        Ok(false)
    }
}

impl<T: TableSource, W: Write, C: FnMut() -> u64> BenchDriver for RecordedDriver<Bare<T>, W, C> {
    fn state(&self) -> SplitDriverState {
        self.driver().state()
    }
    fn tables(&self) -> TableStatistics {
        BenchDriver::tables(self.driver())
    }
    fn quiet(&mut self, memory: &GuestMemory) -> Result<bool, Error> {
        Ok(self.checkpoint(memory)?)
    }
}
