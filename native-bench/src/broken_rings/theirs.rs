//! The ring under QEMU's device.

use super::{
    case::Case,
    raw::{self, BUFFER, END, QUEUE_SIZE, Raw, WHOLE},
    verdict::Verdict,
};
use crate::{
    Error,
    bus::Bus,
    net::TRANSMIT_QUEUE,
    pci,
    qemu::{DEVICE_SLOT, Located, Qemu, QemuError, Settings},
    virtio::{
        BringUpError, CommonConfig, QueueSetup, negotiate, set_up_queue,
        status::{ACKNOWLEDGE, DEVICE_NEEDS_RESET, DRIVER, DRIVER_OK, FEATURES_OK},
    },
};
use ring_core::{
    QueueConfig, Segment,
    driver::{Driver, PackedDriver, SplitDriver},
    indirect::Direct,
    memory::{Memory, Ordering, OutOfRange},
    probe::NoProbe,
    spec::{
        Features, Format,
        packed::{self, Position},
        split::Cell,
    },
};
use std::{io, time::Duration, time::Instant};

/// Answers of QEMU's main loop in which nothing new happens, after which nothing will: work that the device puts off is
/// done in the next turn of that loop.
const TURNS: u32 = 200;

/// A QEMU whose transmit queue can be given any ring; a new one is started whenever it has ended.
pub(super) struct Theirs<'a> {
    located: &'a Located,
    timeout: Duration,
    running: Option<Running>,
}

struct Running {
    qemu: Qemu,
    regions: pci::Regions,
}

/// What QEMU's device did, and the packets it transmitted.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) packets: Vec<Vec<u8>>,
}

impl<'a> Theirs<'a> {
    pub(super) fn new(located: &'a Located, timeout: Duration) -> Self {
        Theirs { located, timeout, running: None }
    }

    fn running(&mut self) -> Result<&mut Running, Error> {
        if self.running.is_none() {
            let mut qemu = self.start()?;
            qemu.packets
                .set_nonblocking(true)
                .map_err(|source| Error::System { what: "a socket", source })?;
            let regions = pci::enable_network_device(&mut qemu.qtest, DEVICE_SLOT)?;
            return Ok(self.running.insert(Running { qemu, regions }));
        }
        self.running
            .as_mut()
            .ok_or(Error::System { what: "a running QEMU", source: io::ErrorKind::NotFound.into() })
    }

    fn start(&self) -> Result<Qemu, QemuError> {
        let start = |options: &[&str]| {
            let device_options = options.iter().map(|option| (*option).into()).collect();
            let settings = Settings { device_options, timeout: self.timeout, ..Settings::default() };
            Qemu::start(self.located, &settings, END)
        };
        match start(&["packed=on", "in_order=on"]) {
            // Older versions do not know it.
            Err(QemuError::Ended { said, .. }) if said.iter().any(|line| line.contains("in_order")) => {
                start(&["packed=on"])
            }
            started => started,
        }
    }

    /// QEMU's version.
    pub(super) fn version(&mut self) -> Result<crate::qemu::Version, Error> {
        Ok(self.running()?.qemu.version)
    }

    /// Guest memory.
    pub(super) fn memory(&mut self) -> Result<crate::system::GuestMemory, Error> {
        Ok(self.running()?.qemu.memory.clone())
    }

    /// Gives the device the ring as the case has written it.
    pub(super) fn judge(&mut self, case: &Case) -> Result<Judged, Error> {
        let timeout = self.timeout;
        let running = self.running()?;
        let said = running.qemu.lines_said();
        let used = Used::new(case.format, &running.qemu.memory)?;
        let judged = running.bring_up(case.negotiated(), timeout).and_then(|doorbell| {
            running.qemu.qtest.write_u16(doorbell, TRANSMIT_QUEUE)?;
            running.watch(used, said, timeout)
        });
        match judged {
            Ok(judged) => Ok(judged),
            Err(Error::BringUp(BringUpError::NotOffered { missing, .. })) => {
                Ok(Judged { verdict: Verdict::Unavailable { missing }, packets: Vec::new() })
            }
            Err(error) => match running.qemu.explain_any("on a broken ring", error) {
                Error::Qemu(QemuError::Ended { status, .. }) => {
                    let how = format!("{status}; {}", running.said_since(said));
                    self.running = None;
                    Ok(Judged { verdict: Verdict::Ended { how }, packets: Vec::new() })
                }
                other => Err(other),
            },
        }
    }

    /// Whether the device, once reset, transmits a packet of a sound driver.
    pub(super) fn works_again(&mut self, case: &Case) -> Result<bool, Error> {
        let timeout = self.timeout;
        let memory = self.memory()?;
        let raw = Raw::new(&memory);
        raw.clear()?;
        let running = self.running()?;
        let config = QueueConfig::new(raw.layout, case.negotiated());
        let doorbell = running.bring_up(case.negotiated(), timeout)?;
        match case.format {
            Format::Split => running.transmit_one(SplitDriver::new(&config, Direct)?, doorbell, timeout),
            Format::Packed => running.transmit_one(PackedDriver::new(&config, Direct)?, doorbell, timeout),
        }
    }
}

impl Running {
    /// Resets the device and gives it the transmit queue. Returns its doorbell.
    fn bring_up(&mut self, features: Features, timeout: Duration) -> Result<u64, Error> {
        let mut config = CommonConfig::new(&mut self.qemu.qtest, self.regions.common);
        negotiate(&mut config, features, |features| features.names().join(" "), timeout)?;
        let layout = raw::layout();
        let queue = QueueSetup { name: "transmit", index: TRANSMIT_QUEUE, layout, doorbell_bytes: 2 };
        let doorbell = set_up_queue(&mut config, &self.regions, &queue)?;
        config.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)?;
        Ok(doorbell)
    }

    /// Watches until the device gives up or has nothing more to do.
    fn watch(&mut self, mut used: Used, said: u64, timeout: Duration) -> Result<Judged, Error> {
        let (mut packets, mut turns) = (Vec::new(), 0);
        let start = Instant::now();
        while turns < TURNS && start.elapsed() < timeout {
            let status = CommonConfig::new(&mut self.qemu.qtest, self.regions.common).status()?;
            if status.contains(DEVICE_NEEDS_RESET) {
                let by = self.message(said, timeout);
                return Ok(Judged { verdict: Verdict::Refused { by }, packets });
            }
            let new = self.receive(&mut packets)? + used.look(&self.qemu.memory)?;
            turns = if new == 0 { turns + 1 } else { 0 };
        }
        let ids = used.ids;
        let verdict = if ids.is_empty() { Verdict::Ignored } else { Verdict::Accepted { ids } };
        Ok(Judged { verdict, packets })
    }

    /// What QEMU says since it had said so many lines. It says it before it asks to be reset, but through a pipe.
    fn message(&self, said: u64, timeout: Duration) -> String {
        let start = Instant::now();
        loop {
            let message = self.said_since(said);
            if !message.is_empty() || start.elapsed() > timeout {
                return message;
            }
            std::thread::yield_now();
        }
    }

    /// Its new lines without the program's name in front.
    fn said_since(&self, said: u64) -> String {
        let lines = self.qemu.said_since(said);
        let message = |line: &String| line.split_once(": ").map_or(line.clone(), |(_, text)| text.into());
        lines.iter().map(message).collect::<Vec<_>>().join("; ")
    }

    /// Reads the packets that have arrived. Returns how many.
    fn receive(&self, packets: &mut Vec<Vec<u8>>) -> Result<usize, Error> {
        let mut bytes = vec![0; 1 << 17];
        let before = packets.len();
        loop {
            match self.qemu.packets.recv(&mut bytes) {
                Ok(length) => packets.push(bytes.get(..length).unwrap_or_default().to_vec()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(packets.len() - before),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::System { what: "a packet of the device", source }),
            }
        }
    }

    fn transmit_one(
        &mut self,
        mut driver: impl Driver,
        doorbell: u64,
        timeout: Duration,
    ) -> Result<bool, Error> {
        let memory = self.qemu.memory.clone();
        let fault = |fault| Error::Ring { queue: "transmit", fault };
        let buffer = [Segment { address: BUFFER, length: WHOLE }];
        driver
            .add(&memory, &mut NoProbe, 7, &buffer, &[])
            .map_err(|error| Error::Add { queue: "transmit", error })?;
        driver.publish(&memory, &mut NoProbe).map_err(fault)?;
        if driver.notify(&memory, &mut NoProbe).map_err(fault)?.needed {
            self.qemu.qtest.write_u16(doorbell, TRANSMIT_QUEUE)?;
        }
        let (mut packets, mut used, start) = (Vec::new(), None, Instant::now());
        while (used.is_none() || packets.is_empty()) && start.elapsed() < timeout {
            used = used.or(driver.reap(&memory, &mut NoProbe).map_err(fault)?);
            self.receive(&mut packets)?;
            std::thread::yield_now();
        }
        Ok(used.is_some_and(|used| used.token == 7) && packets.len() == 1)
    }
}

/// Reads used elements as they come, without asking whether they can be.
struct Used {
    format: Format,
    index: u16,
    // Packed: the next slot to look at, and what the driver wrote into each.
    slot: u16,
    written: Vec<u64>,
    ids: Vec<u32>,
}

impl Used {
    /// Of a ring that the device has not seen yet.
    fn new(format: Format, memory: &impl Memory) -> Result<Self, Error> {
        let written =
            (0..QUEUE_SIZE).map(|slot| second_word(memory, slot)).collect::<Result<_, OutOfRange>>()?;
        Ok(Used { format, index: 0, slot: 0, written, ids: Vec::new() })
    }

    /// Adds what is new. Returns how many that are.
    fn look(&mut self, memory: &impl Memory) -> Result<usize, Error> {
        let before = self.ids.len();
        match self.format {
            Format::Split => self.look_split(memory)?,
            Format::Packed => self.look_packed(memory)?,
        }
        Ok(self.ids.len() - before)
    }

    fn look_split(&mut self, memory: &impl Memory) -> Result<(), Error> {
        let layout = raw::layout();
        let index = memory.load_u16(layout.address(Cell::UsedIndex), Ordering::Acquire)?;
        while self.index != index {
            let entry = Cell::UsedEntry(self.index % QUEUE_SIZE);
            self.ids.push(memory.load_u32(layout.address(entry))?);
            self.index = self.index.wrapping_add(1);
        }
        Ok(())
    }

    /// A case takes one lap at most, so each slot is looked at once. Slots that a list skips stay as they were.
    fn look_packed(&mut self, memory: &impl Memory) -> Result<(), Error> {
        for slot in self.slot..QUEUE_SIZE {
            let word = second_word(memory, slot)?;
            let descriptor = packed::Descriptor::from_words([0, word]);
            if descriptor.is_used(Position::START) && self.written.get(usize::from(slot)) != Some(&word) {
                self.ids.push(descriptor.id.into());
                self.slot = slot + 1;
            }
        }
        Ok(())
    }
}

/// Length, id and flags of a packed ring's descriptor.
fn second_word(memory: &impl Memory, slot: u16) -> Result<u64, OutOfRange> {
    let address = raw::layout().address(packed::Cell::Descriptor(slot));
    memory.load_u64(address + 8, Ordering::Acquire)
}
