//! Packets from the driver to the device.

use super::{
    bench_driver::BenchDriver,
    machine::{Machine, Watch},
    memory_map::QueueMemory,
    options::{Options, Scenario},
    queue::Queue,
    workload::Workload,
};
use crate::{
    Error,
    doorbell::Bell,
    net::{Direction, PacketPattern, Sink, transmit_segments},
    system::GuestMemory,
};
use ring_core::{Segment, driver::Used};

/// The transmit queue.
pub(super) struct Transmit {
    pub(super) queue: Queue,
    pattern: PacketPattern,
    workload: Workload,
    most_elements: u16,
    /// Packets added.
    pub(super) sent: u64,
    // Packets made ready.
    next: u64,
    packet: Vec<u8>,
    elements: Vec<Segment>,
    reaped: Vec<(u16, Used)>,
}

impl Transmit {
    pub(super) fn new(options: &Options, memory: &QueueMemory) -> Self {
        Transmit {
            queue: Queue::new("transmit", Bell::Transmit, memory, options.scenario == Scenario::Mixed),
            pattern: PacketPattern::new(options.seed, options.sizes, Direction::Transmit),
            workload: Workload::new(options, options.elements, 1),
            most_elements: options.most_elements(),
            sent: 0,
            next: 0,
            packet: Vec::new(),
            elements: Vec::new(),
            reaped: Vec::new(),
        }
    }

    /// Sends `packets`, and returns when every one of them is used and verified at the sink.
    pub(super) fn round<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
        packets: u64,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        let end = self.sent + packets;
        while self.sent < end {
            machine.check_interrupted()?;
            let wanted = self.workload.batch();
            self.make_ready(&memory, wanted, end)?;
            let added = self.queue.add_ready(driver, machine, &memory, false)?;
            self.sent += added as u64;
            // Full: at least one must come back before anything can be added.
            let needed = self.workload.wait_for(self.queue.in_flight).max(u16::from(added == 0));
            self.reap(driver, machine, &memory, needed)?;
            if self.queue.in_flight == 0 {
                self.queue.quiet(driver, &memory, added as u64)?;
            }
        }
        while self.queue.in_flight > 0 {
            self.reap(driver, machine, &memory, self.queue.in_flight)?;
        }
        self.wait_for_sink(driver, machine)?;
        self.queue.end_round();
        Ok(())
    }

    /// Waits until `needed` buffers are used, and reaps all that are.
    fn reap<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
        memory: &GuestMemory,
        needed: u16,
    ) -> Result<(), Error> {
        self.queue.wait(driver, machine, memory, needed, "buffers to be used")?;
        self.queue.reap_all(driver, memory, &mut self.reaped)?;
        for (slot, _) in &self.reaped {
            self.queue.pool.put_back(*slot);
        }
        Ok(())
    }

    /// Reaps what is used, `most` at most, without waiting.
    pub(super) fn take<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        most: usize,
    ) -> Result<(), Error> {
        self.reaped.clear();
        self.queue.reap_some(driver, memory, most, &mut self.reaped)?;
        for (slot, _) in &self.reaped {
            self.queue.pool.put_back(*slot);
        }
        Ok(())
    }

    /// Waits until every buffer is used and every packet verified at the sink.
    pub(super) fn settle<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        self.reap(driver, machine, &memory, self.queue.in_flight)?;
        self.wait_for_sink(driver, machine)
    }

    /// Resets the queue, whatever is in flight, and starts it again. The packets that were not transmitted are the next
    /// to be made ready.
    pub(super) fn reset<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        let Queue { name, bell, layout, .. } = self.queue;
        machine.reset_queue(name, bell)?;
        // What was used before the reset is there still.
        self.take(driver, &memory, usize::MAX)?;
        let waiting_for = "the packets before the reset to be verified at the sink";
        self.until(driver, machine, waiting_for, Sink::is_drained)?;
        let returned = self.queue.reset(driver, &memory)?;
        let (first, expected) = (machine.sink.verified(), returned.first().copied().unwrap_or(self.sent));
        if first != expected {
            return Err(Error::ResetPackets { first, expected });
        }
        (self.sent, self.next) = (first, first);
        machine.enable_queue(name, bell, layout)
    }

    /// Writes packets into free slots until `wanted` are ready, or there is no slot, or packet `end` is reached.
    pub(super) fn make_ready(&mut self, memory: &GuestMemory, wanted: usize, end: u64) -> Result<(), Error> {
        while self.queue.waiting() < wanted && self.next < end {
            let Some(slot) = self.queue.pool.take() else { break };
            self.pattern.write(self.next, &mut self.packet);
            self.queue.pool.write_packet(memory, slot, &self.packet)?;
            let elements = self.workload.elements(self.most_elements);
            let buffer = self.queue.pool.buffer(slot);
            transmit_segments(buffer, self.packet.len() as u32, elements, &mut self.elements);
            self.queue.prepare(slot, self.next, &self.elements);
            self.next += 1;
        }
        Ok(())
    }

    fn wait_for_sink<D: BenchDriver>(&mut self, driver: &D, machine: &mut Machine<'_>) -> Result<(), Error> {
        let sent = self.sent;
        self.until(driver, machine, "used packets to arrive at the sink", |sink| sink.verified() >= sent)
    }

    /// Waits until something holds for the sink.
    fn until<D: BenchDriver>(
        &mut self,
        driver: &D,
        machine: &mut Machine<'_>,
        waiting_for: &'static str,
        condition: impl Fn(&Sink) -> bool,
    ) -> Result<(), Error> {
        let mut watch = Watch::start();
        while !condition(&machine.sink) {
            let waiting = self.queue.waiting_for(waiting_for);
            machine.look_again(&mut watch, waiting, || driver.state())?;
        }
        self.queue.waited(machine, &watch);
        Ok(())
    }
}
