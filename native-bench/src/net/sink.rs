//! The far end of the device's wire: reads and verifies every packet, in a thread of its own, so that the device
//! never waits for the driver's side of this program.

use super::packets::{PacketError, PacketPattern};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io,
    net::Shutdown,
    os::unix::net::UnixDatagram,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

/// Longer than any packet: a longer datagram would be cut, and then fails the check of its length.
const ROOM: usize = 4096;

/// Why packets are no longer read.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// One is not what it should be.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// The socket failed.
    #[error("the socket of the device's packets failed: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug, Default)]
struct Shared {
    verified: AtomicU64,
    held: AtomicBool,
    // Whether the reader found nothing to read and waits.
    idle: AtomicBool,
    failed: AtomicBool,
    error: Mutex<Option<SinkError>>,
}

/// Reads packets 0, 1, 2... until it is dropped or one is wrong.
#[derive(Debug)]
pub struct Sink {
    socket: UnixDatagram,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    /// Starts reading.
    pub fn start(socket: &UnixDatagram, pattern: PacketPattern) -> io::Result<Self> {
        let (ours, theirs) = (socket.try_clone()?, socket.try_clone()?);
        theirs.set_nonblocking(true)?;
        let shared = Arc::new(Shared::default());
        let target = shared.clone();
        let thread = std::thread::Builder::new().name("sink".into()).spawn(move || {
            if let Err(error) = read(&theirs, pattern, &target) {
                *target.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                target.failed.store(true, Ordering::Release);
            }
        })?;
        Ok(Sink { socket: ours, shared, thread: Some(thread) })
    }

    /// Packets read and found right.
    pub fn verified(&self) -> u64 {
        self.shared.verified.load(Ordering::Acquire)
    }

    /// Lets packets wait unread, so that the device finds no room for more, until it is called with `false`.
    pub fn hold(&self, held: bool) {
        self.shared.held.store(held, Ordering::SeqCst);
        if let Some(thread) = self.thread.as_ref().filter(|_| !held) {
            thread.thread().unpark();
        }
    }

    /// Whether every packet that was sent before the call has been read and verified. Not while it is held.
    pub fn is_drained(&self) -> bool {
        let mut wanted = [PollFd::new(&self.socket, PollFlags::IN)];
        let nothing = matches!(poll(&mut wanted, Some(&Timespec::default())), Ok(0));
        // In this order: what was taken out of the socket before is verified before the reader is idle again.
        nothing && self.shared.idle.load(Ordering::SeqCst)
    }

    /// The error that ended the reading, if one did; it is given out once.
    pub fn check(&self) -> Result<(), SinkError> {
        if !self.shared.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Wakes the thread and ends it.
        self.hold(false);
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(socket: &UnixDatagram, pattern: PacketPattern, shared: &Shared) -> Result<(), SinkError> {
    let (mut arrived, mut scratch) = ([0; ROOM], Vec::with_capacity(ROOM));
    let mut number = 0;
    loop {
        while shared.held.load(Ordering::SeqCst) {
            std::thread::park();
        }
        match socket.recv(&mut arrived) {
            Ok(length) => {
                pattern.check(number, arrived.get(..length).unwrap_or_default(), &mut scratch)?;
                number += 1;
                shared.verified.store(number, Ordering::Release);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(socket, PollFlags::IN)];
                shared.idle.store(true, Ordering::SeqCst);
                let polled = poll(&mut wanted, None);
                shared.idle.store(false, Ordering::SeqCst);
                match polled {
                    // A datagram socket that is shut down has no end to read: it hangs up.
                    Ok(_) if wanted.iter().any(|socket| socket.revents().contains(PollFlags::HUP)) => {
                        return Ok(());
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(SinkError::Io(error.into())),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::packets::{Direction, Sizes},
        *,
    };
    use std::time::{Duration, Instant};

    fn until(condition: impl Fn() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < Duration::from_secs(10), "the condition never held");
            std::thread::yield_now();
        }
    }

    #[test]
    fn verifies_in_order_and_stops_at_the_first_that_is_wrong() {
        let (device, socket) = UnixDatagram::pair().unwrap();
        let pattern = PacketPattern::new(1, Sizes::default(), Direction::Transmit);
        let sink = Sink::start(&socket, pattern).unwrap();
        let mut packet = Vec::new();
        for number in [0, 1, 2] {
            pattern.write(number, &mut packet);
            device.send(&packet).unwrap();
        }
        until(|| sink.verified() == 3);
        assert!(sink.check().is_ok());
        pattern.write(5, &mut packet);
        device.send(&packet).unwrap();
        until(|| sink.shared.failed.load(Ordering::Acquire));
        let error = sink.check().unwrap_err().to_string();
        assert!(error.contains("packet 5 arrived where packet 3 was due"), "{error}");
        assert_eq!(sink.verified(), 3);
    }

    #[test]
    fn what_is_held_is_read_later() {
        let (device, socket) = UnixDatagram::pair().unwrap();
        let pattern = PacketPattern::new(1, Sizes::default(), Direction::Transmit);
        let sink = Sink::start(&socket, pattern).unwrap();
        until(|| sink.is_drained());
        sink.hold(true);
        let mut packet = Vec::new();
        for number in [0, 1, 2] {
            pattern.write(number, &mut packet);
            device.send(&packet).unwrap();
        }
        assert!(!sink.is_drained());
        assert_eq!(sink.verified(), 0);
        sink.hold(false);
        until(|| sink.is_drained());
        assert_eq!(sink.verified(), 3);
        sink.hold(true);
    }

    #[test]
    fn ends_when_dropped_though_the_device_lives() {
        let (_device, socket) = UnixDatagram::pair().unwrap();
        let pattern = PacketPattern::new(1, Sizes::default(), Direction::Transmit);
        drop(Sink::start(&socket, pattern).unwrap());
    }
}
