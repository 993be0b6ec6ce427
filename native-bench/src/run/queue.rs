//! What both queues have: slots by head, notifications, quiet moments, figures.

use super::{
    bench_driver::BenchDriver,
    figures::DriverFigures,
    machine::{Machine, Waiting, Watch},
    memory_map::QueueMemory,
};
use crate::{Error, doorbell::Bell, net::BufferPool, system::GuestMemory};
use ring_core::{
    Fault, Segment,
    driver::{AddError, Used},
    probe::NoProbe,
    spec::Layout,
};
use serde::Serialize;

/// Packets between two quiet moments that are made known to the driver: a few thousand calls.
const QUIET_INTERVAL: u64 = 500;

/// Notifications to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kicks {
    /// The doorbell was rung.
    pub sent: u64,
    /// The device had asked not to be notified.
    pub suppressed: u64,
    /// Rung once more because nothing happened for a long time: 0 unless something is wrong.
    pub repeated: u64,
    /// Rung though the device had asked not to be, because nothing happened for a long time: what it had asked was no
    /// longer what it waited for.
    pub unasked: u64,
}

/// A buffer that is ready to be added.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) slot: u16,
    pub(super) token: u64,
    /// Its elements, in the queue's list of segments.
    pub(super) segments: std::ops::Range<usize>,
}

/// One queue of the device.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) name: &'static str,
    pub(super) bell: Bell,
    pub(super) layout: Layout,
    pub(super) pool: BufferPool,
    pub(super) kicks: Kicks,
    pub(super) figures: DriverFigures,
    /// Buffers the device gave back.
    pub(super) used: u64,
    /// Buffers with the device.
    pub(super) in_flight: u16,
    pub(super) quiet_moments: u64,
    // Whether the device is asked for a notification while the driver waits, as an interrupt-driven driver does.
    // Nobody hears it: the driver looks all the same.
    asks_for_notifications: bool,
    prepared: Vec<Prepared>,
    segments: Vec<Segment>,
    slots: Vec<u16>,
    // By slot: the token of the buffer that was last in it, since the last reset.
    tokens: Vec<Option<u64>>,
    // Whether the device wanted to hear of what was published last.
    rung: bool,
    packets_since_quiet: u64,
}

impl Queue {
    pub(super) fn new(
        name: &'static str,
        bell: Bell,
        memory: &QueueMemory,
        asks_for_notifications: bool,
    ) -> Self {
        Queue {
            name,
            bell,
            layout: memory.layout,
            pool: memory.pool.clone(),
            kicks: Kicks::default(),
            figures: DriverFigures::default(),
            used: 0,
            in_flight: 0,
            quiet_moments: 0,
            asks_for_notifications,
            prepared: Vec::new(),
            segments: Vec::new(),
            slots: vec![0; usize::from(memory.layout.queue_size)],
            tokens: vec![None; usize::from(memory.layout.queue_size)],
            rung: false,
            packets_since_quiet: 0,
        }
    }

    /// Buffers that were prepared and not yet added.
    pub(super) fn waiting(&self) -> usize {
        self.prepared.len()
    }

    /// Makes a buffer ready to be added.
    pub(super) fn prepare(&mut self, slot: u16, token: u64, elements: &[Segment]) {
        let start = self.segments.len();
        self.segments.extend_from_slice(elements);
        self.prepared.push(Prepared { slot, token, segments: start..self.segments.len() });
        if let Some(place) = self.tokens.get_mut(usize::from(slot)) {
            *place = Some(token);
        }
    }

    /// Adds what is ready, as far as there is room; what is left stays ready. `writable` says for whom the buffers
    /// are. Returns how many were added, and makes them known to the device.
    pub(super) fn add_ready<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
        memory: &GuestMemory,
        writable: bool,
    ) -> Result<usize, Error> {
        use crate::measure::clock::now;
        let start = now();
        let added = self.place(driver, memory, writable, usize::MAX)?;
        if added == 0 {
            return Ok(0);
        }
        self.publish(driver, memory)?;
        let published = now();
        self.notify(driver, machine, memory)?;
        let notified = now();
        self.figures.add.add(published.wrapping_sub(start), added);
        self.figures.notify.add(notified.wrapping_sub(published), added);
        self.placed(added);
        Ok(added)
    }

    /// Places what is ready, `most` at most, and returns how many; [`placed`](Self::placed) is to be told.
    pub(super) fn place<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        writable: bool,
        most: usize,
    ) -> Result<usize, Error> {
        let mut added = 0;
        for buffer in self.prepared.iter().take(most) {
            let elements = self.segments.get(buffer.segments.clone()).unwrap_or_default();
            let (readable, writable) = if writable { (&[][..], elements) } else { (elements, &[][..]) };
            match driver.add(memory, &mut NoProbe, buffer.token, readable, writable) {
                Ok(head) => {
                    if let Some(slot) = self.slots.get_mut(usize::from(head)) {
                        *slot = buffer.slot;
                    }
                    added += 1;
                }
                Err(AddError::Full { .. }) => break,
                Err(error) => return Err(Error::Add { queue: self.name, error }),
            }
        }
        Ok(added)
    }

    /// Makes what was placed visible to the device.
    pub(super) fn publish<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        driver.publish(memory, &mut NoProbe).map_err(|fault| self.fault(fault))
    }

    /// Notifies the device of what was published, if it wants to be.
    pub(super) fn notify<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        let notify = driver.notify(memory, &mut NoProbe).map_err(|fault| self.fault(fault))?;
        self.rung = notify.needed;
        if notify.needed {
            machine.ring(self.bell, driver.next_available())?;
            self.kicks.sent += 1;
        } else {
            self.kicks.suppressed += 1;
        }
        Ok(())
    }

    /// The first `added` buffers that were ready are with the device now.
    pub(super) fn placed(&mut self, added: usize) {
        self.in_flight += added as u16;
        self.prepared.drain(..added);
        let cut = self.prepared.first().map_or(self.segments.len(), |first| first.segments.start);
        self.segments.drain(..cut);
        for buffer in &mut self.prepared {
            buffer.segments = buffer.segments.start - cut..buffer.segments.end - cut;
        }
    }

    /// What a wait for this queue is told by.
    pub(super) fn waiting_for(&self, waiting_for: &'static str) -> Waiting<'_> {
        Waiting { queue: self.name, waiting_for, bell: self.bell, layout: &self.layout, rung: self.rung }
    }

    /// Waits until `wanted` buffers wait to be reaped.
    pub(super) fn wait<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
        memory: &GuestMemory,
        wanted: u16,
        waiting_for: &'static str,
    ) -> Result<(), Error> {
        let mut watch = Watch::start();
        let mut pending = driver.pending_used(memory).map_err(|fault| self.fault(fault))?;
        let asks = self.asks_for_notifications && pending < wanted;
        if asks {
            pending = driver.enable_notifications(memory).map_err(|fault| self.fault(fault))?;
        }
        while pending < wanted {
            let waiting = self.waiting_for(waiting_for);
            machine.look_again(&mut watch, waiting, || driver.state())?;
            pending = driver.pending_used(memory).map_err(|fault| self.fault(fault))?;
        }
        if asks {
            driver.disable_notifications(memory).map_err(|fault| self.fault(fault))?;
        }
        self.waited(machine, &watch);
        Ok(())
    }

    /// Counts what was done in a wait that has ended well.
    pub(super) fn waited(&mut self, machine: &mut Machine<'_>, watch: &Watch) {
        if self.rung {
            self.kicks.repeated += watch.repeated();
            machine.waited(watch, self.name);
        } else {
            self.kicks.unasked += watch.repeated();
        }
    }

    /// The driver looks by itself from now on.
    pub(super) fn begin<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        driver.disable_notifications(memory).map_err(|fault| self.fault(fault))
    }

    /// Reaps all that is used, into `reaped`: slots and what the driver says.
    pub(super) fn reap_all<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        reaped: &mut Vec<(u16, Used)>,
    ) -> Result<(), Error> {
        use crate::measure::clock::now;
        reaped.clear();
        let start = now();
        while let Some(used) = self.reap_one(driver, memory)? {
            reaped.push(used);
        }
        let ticks = now().wrapping_sub(start);
        if !reaped.is_empty() {
            self.figures.reap.add(ticks, reaped.len());
        }
        self.used += reaped.len() as u64;
        self.in_flight -= reaped.len() as u16;
        Ok(())
    }

    /// The next used buffer, if there is one: its slot and what the driver says. The caller counts it.
    #[inline]
    fn reap_one<D: BenchDriver>(
        &self,
        driver: &mut D,
        memory: &GuestMemory,
    ) -> Result<Option<(u16, Used)>, Error> {
        let used = driver.reap(memory, &mut NoProbe).map_err(|fault| self.fault(fault))?;
        Ok(used.map(|used| (self.slots.get(usize::from(used.head)).copied().unwrap_or_default(), used)))
    }

    /// Reaps what is used, `most` at most, and adds it to `reaped`.
    pub(super) fn reap_some<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        most: usize,
        reaped: &mut Vec<(u16, Used)>,
    ) -> Result<(), Error> {
        for _ in 0..most {
            let Some(used) = self.reap_one(driver, memory)? else { break };
            reaped.push(used);
            self.used += 1;
            self.in_flight -= 1;
        }
        Ok(())
    }

    /// The device has confirmed that it reset the queue: every buffer comes back, those that were only prepared too.
    /// Returns the tokens that the driver gave back, in their order.
    pub(super) fn reset<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
    ) -> Result<Vec<u64>, Error> {
        let mut returned = Vec::new();
        driver
            .reset(memory, &mut NoProbe, |token| returned.push(token))
            .map_err(|fault| self.fault(fault))?;
        returned.sort_unstable();
        returned.dedup();
        if returned.len() != usize::from(self.in_flight) {
            let (queue, expected, returned) = (self.name, self.in_flight, returned.len());
            return Err(Error::Reset { queue, expected, returned });
        }
        for token in &returned {
            let slot = self.tokens.iter().position(|other| *other == Some(*token)).unwrap_or_default();
            self.pool.put_back(slot as u16);
        }
        for buffer in self.prepared.drain(..) {
            self.pool.put_back(buffer.slot);
        }
        self.tokens.fill(None);
        self.segments.clear();
        self.in_flight = 0;
        Ok(returned)
    }

    /// `packets` more are done, and nothing goes on in the queue: now and then the driver is told so.
    pub(super) fn quiet<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        packets: u64,
    ) -> Result<(), Error> {
        self.packets_since_quiet += packets;
        if self.packets_since_quiet >= QUIET_INTERVAL { self.quiet_now(driver, memory) } else { Ok(()) }
    }

    /// Nothing goes on in the queue.
    pub(super) fn quiet_now<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
    ) -> Result<(), Error> {
        self.packets_since_quiet = 0;
        let recorded = driver.quiet(memory).map_err(|fault| self.fault(fault))?;
        self.quiet_moments += u64::from(recorded);
        Ok(())
    }

    pub(super) fn end_round(&mut self) {
        self.figures.end_round();
    }

    pub(super) fn fault(&self, fault: Fault) -> Error {
        Error::Ring { queue: self.name, fault }
    }
}
