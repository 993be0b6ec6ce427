//! Packets from the driver to the device.

use super::{
    bench_driver::BenchDriver,
    machine::{Machine, Waiting, Watch},
    memory_map::QueueMemory,
    options::{Options, Scenario},
    queue::Queue,
    workload::Workload,
};
use crate::{
    Error,
    doorbell::Bell,
    net::{Direction, PacketPattern, transmit_segments},
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

    /// Writes packets into free slots until `wanted` are ready, or there is no slot, or packet `end` is reached.
    fn make_ready(&mut self, memory: &GuestMemory, wanted: usize, end: u64) -> Result<(), Error> {
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

    fn wait_for_sink<D: BenchDriver>(&self, driver: &D, machine: &mut Machine<'_>) -> Result<(), Error> {
        let mut watch = Watch::start();
        while machine.sink.verified() < self.sent {
            let waiting_for = "used packets to arrive at the sink";
            let Queue { name, bell, layout, .. } = &self.queue;
            let waiting = Waiting { queue: name, waiting_for, bell: *bell, layout };
            machine.look_again(&mut watch, waiting, || driver.state())?;
        }
        Ok(())
    }
}
