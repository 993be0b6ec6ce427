//! Recording as a wrapper around a driver.

use super::{Call, QueueHeader, QueueWriter, Record, RingImage};
use crate::{
    Fault, Segment,
    driver::{AddError, Driver, Notify, Used, UsedElement},
    memory::Memory,
    probe::Probe,
    spec::{Format, packed::descriptor_flag},
};
use std::{borrow::Cow, collections::VecDeque, io::Write};

/// A driver whose calls are recorded, with the device's work as seen from it.
///
/// What the device did is known from what it wrote: used elements when the driver sees them, its wish for
/// notifications when the driver reads it. The buffers it must have taken before are recorded just before.
pub struct RecordedDriver<D, W: Write, C> {
    driver: D,
    queue: QueueHeader,
    writer: QueueWriter<W>,
    clock: C,
    // Heads in the order in which they were made available, not yet known to be taken.
    available: VecDeque<u16>,
    // By head: taken by the device, not yet named in a used element.
    taken: Vec<bool>,
    // The device's wish as last recorded.
    wish: u32,
    // Used elements that were recorded and not yet reaped.
    observed: u16,
}

impl<D: Driver, W: Write, C: FnMut() -> u64> RecordedDriver<D, W, C> {
    /// Records `driver`, which is fresh, as `queue`. `clock` gives the ticks since the recording began.
    pub fn new(driver: D, queue: QueueHeader, writer: QueueWriter<W>, clock: C) -> Self {
        let taken = vec![false; queue.config.layout.queue_size as usize];
        RecordedDriver {
            driver,
            queue,
            writer,
            clock,
            available: VecDeque::new(),
            taken,
            wish: 0,
            observed: 0,
        }
    }

    /// The driver inside.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// The driver, its recording ended.
    pub fn into_driver(self) -> D {
        self.driver
    }

    fn record(&mut self, call: Call<'_>) {
        let record = Record { time: (self.clock)(), call };
        self.writer.record(&record);
    }

    fn record_wish(&mut self, wish: u32) {
        if wish != self.wish {
            self.wish = wish;
            self.record(Call::Wish { value: wish });
        }
    }

    /// Records what the device has used since the last look.
    fn observe<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        let mut used = Vec::new();
        self.driver.peek_used(memory, |element| used.push(element))?;
        if used.is_empty() {
            return Ok(());
        }
        for UsedElement { id, length, buffers, flags } in used {
            self.observed += buffers;
            // No buffer's id: reaping finds the fault.
            let Ok(head) = u16::try_from(id) else { break };
            while !self.taken.get(head as usize).copied().unwrap_or(true) {
                let Some(available) = self.available.pop_front() else { break };
                self.taken[available as usize] = true;
                self.record(Call::Pop);
            }
            let batch = buffers > 1;
            if batch {
                // In order, no buffer behind the one it names was taken yet.
                self.taken.fill(false);
            } else if let Some(taken) = self.taken.get_mut(head as usize) {
                *taken = false;
            }
            self.record(match (self.queue.config.format(), batch) {
                (Format::Packed, batch) => {
                    let flags = flags & !(descriptor_flag::AVAIL | descriptor_flag::USED);
                    Call::CompletePacked { head, length, flags, batch }
                }
                (Format::Split, true) => Call::CompleteBatch { head, length },
                (Format::Split, false) => Call::Complete { head, length },
            });
        }
        self.record(Call::PublishUsed);
        self.record(Call::NotifyUsed { sent: None });
        Ok(())
    }

    /// Records the digest of the ring's memory, if the queue is quiet: everything that was used is reaped. The caller
    /// sees to it that the device is not at work on the queue. Returns whether one was recorded.
    pub fn checkpoint<M: Memory>(&mut self, memory: &M) -> Result<bool, Fault> {
        let image = RingImage::copy(memory, &self.queue)?;
        // What waits to be reaped never becomes less by itself: none now, none in the copy.
        if self.driver.pending_used(memory)? != 0 {
            return Ok(false);
        }
        // The wish is taken from the very copy that is digested: the device may change it at any moment.
        if let Some(wish) = image.device_wish() {
            self.record_wish(wish);
        }
        self.record(Call::Checkpoint { digest: image.digest() });
        Ok(true)
    }
}

impl<D: Driver, W: Write, C: FnMut() -> u64> Driver for RecordedDriver<D, W, C> {
    #[inline]
    fn add<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        token: u64,
        readable: &[Segment],
        writable: &[Segment],
    ) -> Result<u16, AddError> {
        let head = self.driver.add(memory, probe, token, readable, writable)?;
        self.available.push_back(head);
        self.record(Call::Add {
            token,
            readable: Cow::Borrowed(readable),
            writable: Cow::Borrowed(writable),
        });
        Ok(head)
    }

    #[inline]
    fn publish<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<(), Fault> {
        self.driver.publish(memory, probe)?;
        self.record(Call::Publish);
        Ok(())
    }

    #[inline]
    fn notify<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Notify, Fault> {
        let notify = self.driver.notify(memory, probe)?;
        self.record_wish(notify.seen);
        self.record(Call::Notify { sent: notify.needed });
        Ok(notify)
    }

    #[inline]
    fn pending_used<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        self.driver.pending_used(memory)
    }

    fn peek_used<M: Memory>(&mut self, memory: &M, each: impl FnMut(UsedElement)) -> Result<(), Fault> {
        self.driver.peek_used(memory, each)
    }

    #[inline]
    fn reap<M: Memory, P: Probe>(&mut self, memory: &M, probe: &mut P) -> Result<Option<Used>, Fault> {
        if self.observed == 0 {
            self.observe(memory)?;
        }
        if self.observed == 0 {
            return Ok(None);
        }
        let used = self.driver.reap(memory, probe)?;
        self.observed -= 1;
        self.record(Call::Reap);
        Ok(used)
    }

    fn disable_notifications<M: Memory>(&mut self, memory: &M) -> Result<(), Fault> {
        self.driver.disable_notifications(memory)?;
        self.record(Call::DisableNotifications);
        Ok(())
    }

    fn enable_notifications<M: Memory>(&mut self, memory: &M) -> Result<u16, Fault> {
        let pending = self.driver.enable_notifications(memory)?;
        self.record(Call::EnableNotifications);
        Ok(pending)
    }

    fn last_used(&self) -> u16 {
        self.driver.last_used()
    }

    fn next_available(&self) -> u16 {
        self.driver.next_available()
    }

    fn free(&self) -> u16 {
        self.driver.free()
    }

    fn broken(&self) -> Option<Fault> {
        self.driver.broken()
    }

    fn reset<M: Memory, P: Probe>(
        &mut self,
        memory: &M,
        probe: &mut P,
        returned: impl FnMut(u64),
    ) -> Result<(), Fault> {
        self.driver.reset(memory, probe, returned)?;
        self.available.clear();
        self.taken.fill(false);
        (self.wish, self.observed) = (0, 0);
        self.record(Call::Reset);
        Ok(())
    }
}
