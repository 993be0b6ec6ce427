//! What was really exercised, counted by what happened.

use std::ops::AddAssign;

/// Of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Covered {
    /// Driver: that came back used. Device: that were taken.
    pub(crate) buffers: u64,
    /// Buffers whose elements stood in a table.
    pub(crate) tables: u64,
    /// Notifications that were due for something new.
    pub(crate) sent: u64,
    /// Looks after something new that found no notification due.
    pub(crate) suppressed: u64,
    /// Buffers that shared a used element with others.
    pub(crate) in_batches: u64,
    /// Positions that a notification carries: driver, as counted by hand; device, where it stands once it took all.
    pub(crate) positions: u64,
    /// Buffers in flight at a reset that were handed back (driver), or forgotten and refused afterwards (device).
    pub(crate) reset: u64,
    /// How often it came back from a snapshot.
    pub(crate) restored: u64,
}

impl AddAssign for Covered {
    fn add_assign(&mut self, other: Self) {
        self.buffers += other.buffers;
        self.tables += other.tables;
        self.sent += other.sent;
        self.suppressed += other.suppressed;
        self.in_batches += other.in_batches;
        self.positions += other.positions;
        self.reset += other.reset;
        self.restored += other.restored;
    }
}
