//! A run whose every step the seed decides: both queues are driven in any order that the rules allow, in any batches,
//! with any pauses. Nothing is waited for but at the end of each stretch.

use super::{
    Progress, bench_driver::BenchDriver, machine::Machine, numbers::Numbers, options::Options, queue::Queue,
    receive::Receive, transmit::Transmit,
};
use crate::{Error, system::GuestMemory};
use std::hint::spin_loop;

/// Steps of a stretch, at most.
const STRETCH: u64 = 120;
/// Packets that are sent into the device although it may have no buffer for them, at most.
const WAITING_PACKETS: u64 = 3;
/// Looks in vain, at most, that a pause takes.
const PAUSE: u64 = 3000;
/// Stretches from one reset of a queue to the next, on average.
const RESET: u64 = 3;
/// Stretches from one in which the sink does not read to the next, on average.
const HOLD: u64 = 4;

/// The two queues with their drivers.
pub(super) struct Random<'a, 'm, D> {
    pub(super) options: &'a Options,
    pub(super) machine: &'a mut Machine<'m>,
    pub(super) transmit: &'a mut Transmit,
    pub(super) receive: &'a mut Receive,
    pub(super) transmit_driver: &'a mut D,
    pub(super) receive_driver: &'a mut D,
}

/// What was done, beside the packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Steps.
    pub(super) steps: u64,
    /// Resets of the transmit queue, and of the receive queue.
    pub(super) resets: [u64; 2],
}

impl<D: BenchDriver> Random<'_, '_, D> {
    /// Runs until all packets have arrived in both directions.
    pub(super) fn go(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<Done, Error> {
        let mut numbers = Numbers::new(self.options.seed, 3);
        let mut done = Done::default();
        let memory = self.machine.memory();
        let packets = self.options.packets;
        self.receive.make_all_ready();
        while self.transmit.sent < packets || self.receive.verified < packets {
            self.machine.check_interrupted()?;
            let hold = numbers.once_in(HOLD);
            self.machine.sink.hold(hold && self.options.fills_the_socket());
            for _ in 0..=numbers.below(STRETCH) {
                self.step(&mut numbers, &memory)?;
                done.steps += 1;
            }
            if self.options.reset_queues && numbers.once_in(RESET) {
                self.reset(&mut numbers, &mut done)?;
            }
            self.settle(&memory)?;
            progress(Progress::Packets { done: self.transmit.sent + self.receive.verified, of: packets * 2 });
        }
        self.machine.check_status()?;
        Ok(done)
    }

    /// One step of one queue.
    fn step(&mut self, numbers: &mut Numbers, memory: &GuestMemory) -> Result<(), Error> {
        let transmits = numbers.once_in(2);
        let some = 1 + numbers.below(self.options.batch as u64) as usize;
        match numbers.below(8) {
            0 if transmits => self.transmit.make_ready(memory, some, self.options.packets)?,
            0 => self.send(some as u64)?,
            1 if transmits => {
                let added = self.transmit.queue.place(self.transmit_driver, memory, false, some)?;
                self.transmit.queue.placed(added);
                self.transmit.sent += added as u64;
            }
            1 => {
                let added = self.receive.queue.place(self.receive_driver, memory, true, some)?;
                self.receive.queue.placed(added);
            }
            2 if transmits => self.transmit.take(self.transmit_driver, memory, some)?,
            2 => self.receive.take(self.receive_driver, memory, some)?,
            step => {
                let (queue, driver) = if transmits {
                    (&mut self.transmit.queue, &mut *self.transmit_driver)
                } else {
                    (&mut self.receive.queue, &mut *self.receive_driver)
                };
                match step {
                    3 => queue.publish(driver, memory)?,
                    4 => queue.notify(driver, self.machine, memory)?,
                    5 => driver.disable_notifications(memory).map_err(|fault| queue.fault(fault))?,
                    6 => enable_notifications(queue, driver, memory)?,
                    _ => pause(numbers.below(PAUSE), queue, driver, memory)?,
                }
            }
        }
        Ok(())
    }

    /// Sends packets into the device, a few more than it is known to have buffers for; those wait in its socket.
    fn send(&mut self, packets: u64) -> Result<(), Error> {
        // A packet that waits is lost by a reset.
        let waiting = if self.options.reset_queues { 0 } else { WAITING_PACKETS };
        for _ in 0..packets {
            let arriving = self.receive.sent - self.receive.verified;
            if self.receive.sent == self.options.packets || !self.receive.has_room() && arriving >= waiting {
                break;
            }
            self.receive.send(self.receive_driver, self.machine)?;
        }
        Ok(())
    }

    /// Resets one queue in the middle of its work.
    fn reset(&mut self, numbers: &mut Numbers, done: &mut Done) -> Result<(), Error> {
        let [transmit_resets, receive_resets] = &mut done.resets;
        if numbers.once_in(2) {
            *transmit_resets += 1;
            return self.transmit.reset(self.transmit_driver, self.machine);
        }
        *receive_resets += 1;
        self.receive.reset(self.receive_driver, self.machine)
    }

    /// The end of a stretch: everything is made known, and everything that was sent arrives.
    fn settle(&mut self, memory: &GuestMemory) -> Result<(), Error> {
        self.machine.sink.hold(false);
        self.transmit.queue.publish(self.transmit_driver, memory)?;
        self.transmit.queue.notify(self.transmit_driver, self.machine, memory)?;
        self.receive.queue.publish(self.receive_driver, memory)?;
        self.receive.queue.notify(self.receive_driver, self.machine, memory)?;
        self.receive.settle(self.receive_driver, self.machine)?;
        self.transmit.settle(self.transmit_driver, self.machine)?;
        self.receive.queue.quiet_now(self.receive_driver, memory)?;
        self.transmit.queue.quiet_now(self.transmit_driver, memory)
    }
}

/// Asks for a notification, and looks again at once: what is told to be there is there.
fn enable_notifications<D: BenchDriver>(
    queue: &Queue,
    driver: &mut D,
    memory: &GuestMemory,
) -> Result<(), Error> {
    let pending = driver.enable_notifications(memory).map_err(|fault| queue.fault(fault))?;
    let again = driver.pending_used(memory).map_err(|fault| queue.fault(fault))?;
    if again < pending {
        return Err(Error::Vanished { queue: queue.name, pending, again });
    }
    Ok(())
}

/// Does nothing for so many looks, or until something is used.
fn pause<D: BenchDriver>(
    looks: u64,
    queue: &Queue,
    driver: &mut D,
    memory: &GuestMemory,
) -> Result<(), Error> {
    for _ in 0..looks {
        if driver.pending_used(memory).map_err(|fault| queue.fault(fault))? > 0 {
            break;
        }
        spin_loop();
    }
    Ok(())
}
