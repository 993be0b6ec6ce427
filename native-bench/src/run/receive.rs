//! Packets from the device to the driver.

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
    net::{Direction, HEADER_LENGTH, PacketError, PacketPattern, receive_segments},
    system::GuestMemory,
};
use ring_core::{Segment, driver::Used};
use std::io;

/// The receive queue.
pub(super) struct Receive {
    pub(super) queue: Queue,
    pattern: PacketPattern,
    workload: Workload,
    elements: u16,
    capacity: u32,
    // Whether the header says how many buffers its packet takes; else it is always one.
    mergeable: bool,
    next_buffer: u64,
    /// Packets sent into the device.
    pub(super) sent: u64,
    /// Packets found right in the receive buffers.
    pub(super) verified: u64,
    packet: Vec<u8>,
    scratch: Vec<u8>,
    segments: Vec<Segment>,
    reaped: Vec<(u16, Used)>,
}

impl Receive {
    pub(super) fn new(options: &Options, memory: &QueueMemory) -> Self {
        Receive {
            queue: Queue::new("receive", Bell::Receive, memory, options.scenario == Scenario::Mixed),
            pattern: PacketPattern::new(options.seed, options.sizes, Direction::Receive),
            workload: Workload::new(options, options.receive_elements, 2),
            elements: options.receive_elements,
            capacity: options.receive_bytes,
            mergeable: options.mergeable,
            next_buffer: 0,
            sent: 0,
            verified: 0,
            packet: Vec::new(),
            scratch: Vec::new(),
            segments: Vec::new(),
            reaped: Vec::new(),
        }
    }

    /// Makes every free slot ready to be added.
    pub(super) fn make_all_ready(&mut self) {
        while let Some(slot) = self.queue.pool.take() {
            self.make_ready(slot);
        }
    }

    /// Gives the device as many buffers as the queue holds.
    pub(super) fn fill<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        self.make_all_ready();
        self.queue.add_ready(driver, machine, &memory, true)?;
        self.queue.quiet_now(driver, &memory)
    }

    /// Sends `packets` into the device, and returns when every one of them was found in the receive buffers.
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
            let batch = self.workload.batch();
            let (first, mut buffers) = (self.sent, 0);
            while self.sent < end && self.sent - first < batch as u64 {
                let more = self.buffers_of(self.pattern.length(self.sent));
                if buffers + more > self.queue.in_flight {
                    break;
                }
                self.send(driver, machine)?;
                buffers += more;
            }
            self.queue.wait(driver, machine, &memory, buffers, "packets in receive buffers")?;
            self.queue.reap_all(driver, &memory, &mut self.reaped)?;
            self.verify(&memory, self.sent)?;
            machine.received = self.verified;
            for index in 0..self.reaped.len() {
                if let Some((slot, _)) = self.reaped.get(index) {
                    self.make_ready(*slot);
                }
            }
            self.queue.add_ready(driver, machine, &memory, true)?;
            self.queue.quiet(driver, &memory, self.sent - first)?;
        }
        self.queue.end_round();
        Ok(())
    }

    /// Reaps what is used, `most` buffers at most, without waiting, and checks the packets that are whole. Their slots
    /// are ready to be added again.
    pub(super) fn take<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        memory: &GuestMemory,
        most: usize,
    ) -> Result<(), Error> {
        let mut reaped = std::mem::take(&mut self.reaped);
        self.queue.reap_some(driver, memory, most, &mut reaped)?;
        loop {
            let buffers = usize::from(self.buffers_of(self.pattern.length(self.verified)));
            let Some(packet) = reaped.get(..buffers) else { break };
            self.verify_next(memory, &mut packet.iter())?;
            for (slot, _) in reaped.drain(..buffers) {
                self.make_ready(slot);
            }
        }
        self.reaped = reaped;
        Ok(())
    }

    /// Waits until every packet that was sent has arrived and is checked; buffers are added as they are needed.
    pub(super) fn settle<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        while self.verified < self.sent {
            self.queue.add_ready(driver, machine, &memory, true)?;
            let due = usize::from(self.buffers_of(self.pattern.length(self.verified)));
            let needed = due.saturating_sub(self.reaped.len()).max(1) as u16;
            self.queue.wait(driver, machine, &memory, needed, "packets in receive buffers")?;
            self.take(driver, &memory, usize::MAX)?;
            machine.received = self.verified;
        }
        Ok(())
    }

    /// Resets the queue and starts it again. What was received before stays received.
    pub(super) fn reset<D: BenchDriver>(
        &mut self,
        driver: &mut D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        let memory = machine.memory();
        let Queue { name, bell, layout, .. } = self.queue;
        machine.reset_queue(name, bell)?;
        self.take(driver, &memory, usize::MAX)?;
        self.queue.reset(driver, &memory)?;
        self.make_all_ready();
        machine.enable_queue(name, bell, layout)
    }

    /// Whether the buffers with the device have room for the next packet, as far as is known.
    pub(super) fn has_room(&self) -> bool {
        let sent: u64 = (self.verified..=self.sent)
            .map(|packet| u64::from(self.buffers_of(self.pattern.length(packet))))
            .sum();
        sent <= u64::from(self.queue.in_flight) + self.reaped.len() as u64
    }

    /// Receive buffers that a packet takes.
    fn buffers_of(&self, packet_bytes: usize) -> u16 {
        (packet_bytes as u32 + HEADER_LENGTH).div_ceil(self.capacity) as u16
    }

    fn make_ready(&mut self, slot: u16) {
        let elements = self.workload.receive_elements(self.elements);
        receive_segments(self.queue.pool.buffer(slot), self.capacity, elements, &mut self.segments);
        self.queue.prepare(slot, self.next_buffer, &self.segments);
        self.next_buffer += 1;
    }

    /// Sends one packet into the device's socket, waiting while the socket is full.
    pub(super) fn send<D: BenchDriver>(
        &mut self,
        driver: &D,
        machine: &mut Machine<'_>,
    ) -> Result<(), Error> {
        self.pattern.write(self.sent, &mut self.packet);
        let mut watch = Watch::start();
        loop {
            match machine.qemu.packets.send(&self.packet) {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let waiting_for = "room in the device's socket";
                    let waiting = self.queue.waiting_for(waiting_for);
                    machine.look_again(&mut watch, waiting, || driver.state())?;
                }
                Err(source) => {
                    // Most likely the other end is gone, with QEMU.
                    machine.qemu.check("while packets were on their way")?;
                    return Err(Error::System { what: "a packet for the device", source });
                }
            }
        }
        self.queue.waited(machine, &watch);
        self.sent += 1;
        Ok(())
    }

    /// Checks the packets in the buffers just reaped: numbers from `verified` up to `end`, each whole.
    fn verify(&mut self, memory: &GuestMemory, end: u64) -> Result<(), Error> {
        let reaped = std::mem::take(&mut self.reaped);
        let mut buffers = reaped.iter();
        while self.verified < end {
            self.verify_next(memory, &mut buffers)?;
        }
        self.reaped = reaped;
        Ok(())
    }

    /// Checks the next packet, in the first of `buffers`, which must be there whole.
    fn verify_next<'a>(
        &mut self,
        memory: &GuestMemory,
        buffers: &mut impl Iterator<Item = &'a (u16, Used)>,
    ) -> Result<(), Error> {
        let direction = Direction::Receive;
        let packet = self.verified;
        let length = self.pattern.length(packet);
        let (expected, total) = (self.buffers_of(length), length as u64 + u64::from(HEADER_LENGTH));
        self.packet.clear();
        let mut used = 0;
        for index in 0..expected {
            let Some((slot, buffer)) = buffers.next() else { break };
            let from = if index == 0 { u64::from(HEADER_LENGTH) } else { 0 };
            if index == 0 && self.mergeable {
                let got = self.queue.pool.num_buffers(memory, *slot)?;
                if got != expected {
                    return Err(PacketError::NumBuffers { direction, packet, expected, got }.into());
                }
            }
            used += u64::from(buffer.length);
            let to = u64::from(buffer.length).max(from);
            self.queue.pool.read(memory, *slot, from..to, &mut self.packet)?;
        }
        if used != total {
            return Err(PacketError::UsedLength { direction, packet, expected: total, got: used }.into());
        }
        self.pattern.check(packet, &self.packet, &mut self.scratch)?;
        self.verified += 1;
        Ok(())
    }
}
