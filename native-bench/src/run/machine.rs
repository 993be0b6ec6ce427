//! The device in its machine, and waiting for it.

use super::{
    driver_state::DriverState,
    stall::{Stall, shared_fields},
};
use crate::{
    Error,
    doorbell::{Bell, Doorbells},
    net::Sink,
    pci::Regions,
    qemu::Qemu,
    system::GuestMemory,
    virtio::{
        CommonConfig, QueueSetup, reset_queue, set_up_queue,
        status::{DEVICE_NEEDS_RESET, Status},
    },
};
use ring_core::spec::Layout;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Everything that the two queues share.
pub(super) struct Machine<'a> {
    // Dropped first: the sink's socket must not outlive a reader that waits on it.
    pub(super) sink: Sink,
    pub(super) qemu: Qemu,
    pub(super) regions: Regions,
    pub(super) doorbells: Doorbells,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) timeout: Duration,
    /// Whether what the device asks of notifications may be out of date when it sleeps. QEMU writes the event structure of
    /// a packed ring when it turns notifications on, and not again when it then takes more buffers.
    pub(super) wishes_go_stale: bool,
    /// Packets verified in receive buffers.
    pub(super) received: u64,
}

/// The queue that is waited for.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) queue: &'static str,
    pub(super) waiting_for: &'static str,
    pub(super) bell: Bell,
    pub(super) layout: &'a Layout,
    /// Whether the device wanted to hear of what was published last.
    pub(super) rung: bool,
}

/// Looks between two readings of the clock.
const LOOKS: u32 = 32;
/// How often QEMU is looked at while waiting.
const CHECK: Duration = Duration::from_millis(10);
/// After this time without anything new the doorbell is rung once more.
const REPEAT: Duration = Duration::from_millis(500);
/// The same where that is to be expected.
const REPEAT_STALE: Duration = Duration::from_millis(20);

/// A wait without anything new so far.
pub(super) struct Watch {
    start: Instant,
    next_check: Duration,
    looks: u32,
    repeated: u64,
}

impl Watch {
    pub(super) fn start() -> Self {
        Watch { start: Instant::now(), next_check: CHECK, looks: 0, repeated: 0 }
    }

    /// Doorbells that were rung again during the wait.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }
}

impl Machine<'_> {
    pub(super) fn memory(&self) -> GuestMemory {
        self.qemu.memory.clone()
    }

    /// Rings a queue's doorbell; `next_available` is what the driver says of it.
    pub(super) fn ring(&mut self, bell: Bell, next_available: u16) -> Result<(), Error> {
        Ok(self.doorbells.ring(bell, next_available, &mut self.qemu.qtest)?)
    }

    /// The device's status byte.
    pub(super) fn status(&mut self) -> Result<Status, Error> {
        Ok(CommonConfig::new(&mut self.qemu.qtest, self.regions.common).status()?)
    }

    /// An error if the device wants to be reset.
    pub(super) fn check_status(&mut self) -> Result<(), Error> {
        let status = self.status()?;
        match status.contains(DEVICE_NEEDS_RESET) {
            true => Err(Error::NeedsReset { status, said: self.qemu.last_words() }),
            false => Ok(()),
        }
    }

    /// Resets a queue, and returns when the device has confirmed it.
    pub(super) fn reset_queue(&mut self, name: &'static str, bell: Bell) -> Result<(), Error> {
        let mut config = CommonConfig::new(&mut self.qemu.qtest, self.regions.common);
        Ok(reset_queue(&mut config, name, bell.queue(), self.timeout)?)
    }

    /// Sets a queue that was reset up again.
    pub(super) fn enable_queue(
        &mut self,
        name: &'static str,
        bell: Bell,
        layout: Layout,
    ) -> Result<(), Error> {
        let mut config = CommonConfig::new(&mut self.qemu.qtest, self.regions.common);
        let doorbell_bytes = self.doorbells.bytes();
        let queue = QueueSetup { name, index: bell.queue(), layout, doorbell_bytes };
        set_up_queue(&mut config, &self.regions, &queue)?;
        Ok(())
    }

    /// An error if someone wants the run to end.
    pub(super) fn check_interrupted(&self) -> Result<(), Error> {
        if !self.interrupted.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(Error::Interrupted { transmitted: self.sink.verified(), received: self.received })
    }

    /// One look in vain: lets others run, and now and then sees whether waiting still makes sense.
    #[inline]
    pub(super) fn look_again(
        &mut self,
        watch: &mut Watch,
        waiting: Waiting<'_>,
        driver: impl Fn() -> DriverState,
    ) -> Result<(), Error> {
        std::thread::yield_now();
        watch.looks += 1;
        if !watch.looks.is_multiple_of(LOOKS) {
            return Ok(());
        }
        self.sink.check()?;
        self.check_interrupted()?;
        let waited = watch.start.elapsed();
        if waited < watch.next_check {
            return Ok(());
        }
        watch.next_check = waited + CHECK;
        self.check_waiting(watch, waited, waiting, driver())
    }

    #[cold]
    fn check_waiting(
        &mut self,
        watch: &mut Watch,
        waited: Duration,
        waiting: Waiting<'_>,
        driver: DriverState,
    ) -> Result<(), Error> {
        self.qemu.check("while packets were on their way")?;
        self.check_status()?;
        let Waiting { queue, waiting_for, bell, layout, rung } = waiting;
        if waited > self.timeout {
            let fields = shared_fields(&self.qemu.memory, layout, &driver);
            let (status, repeated) = (self.status().ok(), watch.repeated);
            return Err(
                Box::new(Stall { queue, waiting_for, waited, driver, fields, status, repeated }).into()
            );
        }
        let repeat = if self.wishes_go_stale && !rung { REPEAT_STALE } else { REPEAT };
        if watch.repeated == 0 && waited > repeat.min(self.timeout / 2) {
            watch.repeated += 1;
            self.doorbells.ring_surely(bell, driver.next_available(), &mut self.qemu.qtest)?;
        }
        Ok(())
    }

    /// After a wait in which the doorbell was rung again through qtest: if that was what helped, eventfds are no good.
    pub(super) fn waited(&mut self, watch: &Watch, queue: &str) {
        if watch.repeated > 0 && self.doorbells.are_eventfds() {
            let waited = REPEAT.min(self.timeout / 2);
            self.doorbells.give_up_eventfds(format!(
                "the {queue} queue did nothing for {waited:?} after its eventfd was written, and went on after a write through qtest"
            ));
        }
    }
}
