//! Telling the device that there is something new.
//!
//! QEMU waits for doorbells on eventfds of its own. A duplicate of such an eventfd rings in well under a
//! microsecond; a write through qtest takes tens. Duplicating needs Linux and the right to trace the process,
//! so qtest is the way that always works.

use crate::{
    bus::Bus,
    qemu::{Qtest, QtestError},
};
use rustix::{fd::OwnedFd, io::Errno};
use std::{fmt, fs, io};

/// Which queue's doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bell {
    /// The first receive queue's.
    Receive,
    /// The first transmit queue's.
    Transmit,
}

impl Bell {
    /// The queue's number at the device.
    pub fn queue(self) -> u16 {
        match self {
            Bell::Receive => crate::net::RECEIVE_QUEUE,
            Bell::Transmit => crate::net::TRANSMIT_QUEUE,
        }
    }
}

/// The doorbells of a device's first two queues.
#[derive(Debug)]
pub struct Doorbells {
    addresses: [u64; 2],
    eventfds: Option<[OwnedFd; 2]>,
    reason: String,
    with_data: bool,
}

/// What is written to a doorbell.
#[derive(Debug, PartialEq, Eq)]
enum Value {
    /// The queue's number.
    Queue(u16),
    /// The queue's number, and the next position in the upper half: 15 bits of it and, highest, the wrap counter, or
    /// the highest bit of avail.idx (2.9 "Driver Notifications").
    WithData(u32),
}

/// An eventfd of QEMU's: the descriptor's number there, and the kernel's number of the eventfd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ForeignEventFd {
    number: i32,
    id: u64,
}

impl Doorbells {
    /// Doorbells at `addresses` (receive, transmit), rung through qtest because of `reason`.
    pub fn through_qtest(addresses: [u64; 2], reason: String) -> Self {
        Doorbells { addresses, eventfds: None, reason, with_data: false }
    }

    /// Duplicates the eventfds that process `id` made since it had those of `before`: one for each of the device's
    /// `queues`, in their order, receive and transmit first. If that cannot be, qtest is used.
    pub fn duplicate(addresses: [u64; 2], id: u32, before: &[ForeignEventFd], queues: u16) -> Self {
        match duplicate(id, before, queues) {
            Ok(eventfds) => {
                let reason = "QEMU waits on eventfds, which could be duplicated".into();
                Doorbells { addresses, eventfds: Some(eventfds), reason, with_data: false }
            }
            Err(error) => Self::through_qtest(addresses, error.to_string()),
        }
    }

    /// Doorbells whose notifications carry data, since `NOTIFICATION_DATA` was negotiated. An eventfd carries none.
    pub fn with_data(addresses: [u64; 2]) -> Self {
        let reason = "notifications carry data, which an eventfd does not".into();
        Doorbells { with_data: true, ..Self::through_qtest(addresses, reason) }
    }

    /// Rings. The device may not have heard it yet when this returns. `next_available` is the driver's next position,
    /// which is heard only where notifications carry data.
    pub fn ring(&self, bell: Bell, next_available: u16, qtest: &mut Qtest) -> Result<(), QtestError> {
        let Some(eventfds) = &self.eventfds else {
            return match self.of(bell, next_available) {
                (address, Value::Queue(queue)) => qtest.post_write_u16(address, queue),
                (address, Value::WithData(value)) => qtest.post_write_u32(address, value),
            };
        };
        let [receive, transmit] = eventfds;
        let eventfd = match bell {
            Bell::Receive => receive,
            Bell::Transmit => transmit,
        };
        loop {
            match rustix::io::write(eventfd, &1_u64.to_ne_bytes()) {
                // Full: it rings already.
                Ok(_) | Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Rings through qtest and waits for the answer.
    pub fn ring_surely(&self, bell: Bell, next_available: u16, qtest: &mut Qtest) -> Result<(), QtestError> {
        match self.of(bell, next_available) {
            (address, Value::Queue(queue)) => qtest.write_u16(address, queue),
            (address, Value::WithData(value)) => qtest.write_u32(address, value),
        }
    }

    /// From now on through qtest, because of `reason`.
    pub fn give_up_eventfds(&mut self, reason: String) {
        if self.eventfds.take().is_some() {
            self.reason = reason;
        }
    }

    /// Whether eventfds are used.
    pub fn are_eventfds(&self) -> bool {
        self.eventfds.is_some()
    }

    /// Bytes of a notification: what a doorbell has room for.
    pub fn bytes(&self) -> u8 {
        if self.with_data { 4 } else { 2 }
    }

    /// Why these are used.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Address and value to write (4.1.5.2 "Available Buffer Notifications").
    fn of(&self, bell: Bell, next_available: u16) -> (u64, Value) {
        let [receive, transmit] = self.addresses;
        let address = match bell {
            Bell::Receive => receive,
            Bell::Transmit => transmit,
        };
        let queue = bell.queue();
        let with_data = Value::WithData(u32::from(queue) | u32::from(next_available) << 16);
        (address, if self.with_data { with_data } else { Value::Queue(queue) })
    }
}

impl fmt::Display for Doorbells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.are_eventfds() { "eventfd" } else { "qtest" };
        write!(f, "{kind} ({})", self.reason)
    }
}

/// The eventfds that process `id` has open, in the order of their numbers; none where `/proc` does not show them.
pub fn eventfds_of(id: u32) -> Vec<ForeignEventFd> {
    let Ok(entries) = fs::read_dir(format!("/proc/{id}/fd")) else { return Vec::new() };
    let mut eventfds: Vec<ForeignEventFd> = entries
        .flatten()
        .filter(|entry| {
            fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().contains("[eventfd]"))
        })
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            let facts = fs::read_to_string(format!("/proc/{id}/fdinfo/{number}")).ok()?;
            Some(ForeignEventFd { number, id: parse_id(&facts)? })
        })
        .collect();
    eventfds.sort();
    eventfds
}

fn parse_id(facts: &str) -> Option<u64> {
    facts.lines().find_map(|line| line.strip_prefix("eventfd-id:"))?.trim().parse().ok()
}

#[derive(Debug, thiserror::Error)]
enum NotDuplicated {
    #[error("QEMU made {found} eventfds for {queues} queues, so they cannot be told apart")]
    Count { found: usize, queues: u16 },
    #[cfg(target_os = "linux")]
    #[error("the system does not let QEMU's eventfds be duplicated: {0}")]
    System(#[from] Errno),
    #[cfg(not(target_os = "linux"))]
    #[error("this system cannot duplicate another process's descriptors")]
    NotHere,
}

#[cfg(target_os = "linux")]
fn duplicate(id: u32, before: &[ForeignEventFd], queues: u16) -> Result<[OwnedFd; 2], NotDuplicated> {
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

    let new: Vec<ForeignEventFd> =
        eventfds_of(id).into_iter().filter(|eventfd| !before.contains(eventfd)).collect();
    let [receive, transmit, ..] = new[..] else {
        return Err(NotDuplicated::Count { found: new.len(), queues });
    };
    if new.len() != usize::from(queues) {
        return Err(NotDuplicated::Count { found: new.len(), queues });
    }
    let process = pidfd_open(Pid::from_raw(id as i32).ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    let duplicate = |eventfd: ForeignEventFd| pidfd_getfd(&process, eventfd.number, PidfdGetfdFlags::empty());
    Ok([duplicate(receive)?, duplicate(transmit)?])
}

#[cfg(not(target_os = "linux"))]
fn duplicate(_: u32, _: &[ForeignEventFd], _: u16) -> Result<[OwnedFd; 2], NotDuplicated> {
    Err(NotDuplicated::NotHere)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_with_data_has_queue_offset_and_wrap_counter() {
        let addresses = [0x3000, 0x3004];
        let plain = Doorbells::through_qtest(addresses, String::new());
        assert_eq!(plain.of(Bell::Transmit, 0x8005), (0x3004, Value::Queue(1)));
        let with_data = Doorbells::with_data(addresses);
        assert_eq!((plain.bytes(), with_data.bytes()), (2, 4));
        // Bits 0 to 15 the queue, 16 to 30 next_off, 31 next_wrap (2.9).
        assert_eq!(with_data.of(Bell::Transmit, 0x8005), (0x3004, Value::WithData(0x8005_0001)));
        assert_eq!(with_data.of(Bell::Receive, 5), (0x3000, Value::WithData(0x0005_0000)));
    }

    #[test]
    fn reads_the_number_of_an_eventfd() {
        assert_eq!(parse_id("pos:\t0\neventfd-count:   0\neventfd-id: 42\n"), Some(42));
        assert_eq!(parse_id("pos:\t0\nflags:\t02\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn duplicates_new_eventfds_in_their_order() {
        use rustix::event::{EventfdFlags, eventfd};
        let id = std::process::id();
        let _old = eventfd(0, EventfdFlags::empty()).unwrap();
        let before = eventfds_of(id);
        let new = [3, 5].map(|count| eventfd(count, EventfdFlags::empty()).unwrap());
        let [receive, transmit] = duplicate(id, &before, 2).unwrap();
        for (eventfd, count) in [(receive, 3_u64), (transmit, 5)] {
            let mut value = [0; 8];
            rustix::io::read(&eventfd, &mut value).unwrap();
            assert_eq!(u64::from_ne_bytes(value), count);
        }
        let error = duplicate(id, &before, 3).unwrap_err().to_string();
        assert!(error.contains("2 eventfds for 3 queues"), "{error}");
        drop(new);
    }
}
