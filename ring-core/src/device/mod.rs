//! The device's side: takes available buffers, uses them.

mod chain;
mod packed;
mod split;
mod taken;

pub use chain::Chain;
pub use packed::{PackedDevice, PackedDeviceSnapshot, PackedDeviceState, UnpublishedUsed};
pub use split::{SplitDevice, SplitDeviceSnapshot, SplitDeviceState};
pub use taken::{Taken, TakenBufferSnapshot, TakenSnapshot};

use crate::{Fault, driver::Notify, memory::Memory, probe::Probe};

/// What every device can do, whatever its format.
pub trait Device {
    /// Takes the next available buffer into `chain`; `false` if there is none.
    fn pop<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        chain: &mut Chain,
    ) -> Result<bool, Fault>;

    /// Uses a buffer that was taken: writes its used element, not yet visible to the driver. `length` is how many bytes
    /// were written into the writable elements, from the first on. With `IN_ORDER` it is the buffer taken first.
    fn complete<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault>;

    /// With `IN_ORDER`: uses every buffer from the one taken first up to this one, by one used element (2.7.9, 2.8.8).
    /// The driver takes the others as written whole.
    fn complete_batch<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        head: u16,
        length: u32,
    ) -> Result<(), Fault>;

    /// Makes every used element visible to the driver.
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault>;

    /// Whether the driver must be notified of what was published since the last call.
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault>;

    /// Asks the driver not to notify of available buffers. A wish only.
    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault>;

    /// Asks the driver to notify of the next available buffer. Returns whether one became available meanwhile: it may
    /// have come without a notification, so the caller takes it now.
    ///
    /// With `EVENT_IDX` this asks for one notification: a device that waits for them calls it each time it has taken all
    /// there is.
    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<bool, Fault>;

    /// Writes what another device asked for, where it was observed, in the form of [`Notify::seen`].
    fn wish<M: Memory>(&mut self, memory: &M, value: u32) -> Result<(), Fault>;

    /// Why the queue is broken, if it is.
    fn broken(&self) -> Option<Fault>;

    /// After a reset of the queue or the device: as new (2.6.1 "Virtqueue Reset"). What was taken is forgotten.
    fn reset(&mut self);
}
