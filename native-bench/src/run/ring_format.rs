//! The two ring formats as types: each has a copy of the run, so that the figures hold no choice between them.

use super::bench_driver::BenchDriver;
use ring_core::{
    ConfigError, QueueConfig,
    driver::{PackedDriver, SplitDriver},
    indirect::{Counted, TableSource},
};

/// A format, and the driver of its rings.
pub(super) trait RingFormat {
    /// A bare driver whose tables are counted.
    type Driver<T: TableSource>: BenchDriver;

    /// The driver of a fresh queue.
    fn driver<T: TableSource>(config: &QueueConfig, tables: T) -> Result<Self::Driver<T>, ConfigError>;
}

/// 2.7 "Split Virtqueues".
pub(super) struct Split;
/// 2.8 "Packed Virtqueues".
pub(super) struct Packed;

impl RingFormat for Split {
    type Driver<T: TableSource> = SplitDriver<Counted<T>>;
    fn driver<T: TableSource>(config: &QueueConfig, tables: T) -> Result<Self::Driver<T>, ConfigError> {
        SplitDriver::new(config, Counted::new(tables))
    }
}

impl RingFormat for Packed {
    type Driver<T: TableSource> = PackedDriver<Counted<T>>;
    fn driver<T: TableSource>(config: &QueueConfig, tables: T) -> Result<Self::Driver<T>, ConfigError> {
        PackedDriver::new(config, Counted::new(tables))
    }
}
