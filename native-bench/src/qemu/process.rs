//! A running QEMU, which never outlives its [`Qemu`].

use super::{
    command_line::{Descriptors, arguments},
    firmware,
    locate::{Located, NotLocated},
    qtest::{Qtest, QtestError},
    stderr_tail::StderrTail,
    version::Version,
};
use crate::{Error, bus::Bus, memory_file, system, system::GuestMemory};
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::{
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            net::{UnixDatagram, UnixStream},
            process::CommandExt,
        },
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// How long a process may take to end once its socket is closed.
const END: Duration = Duration::from_secs(2);

/// How QEMU is started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// QEMU's name for the machine.
    pub machine: String,
    /// Further properties of the network device, each as `key=value`.
    pub device_options: Vec<String>,
    /// How long to wait for each answer.
    pub timeout: Duration,
    /// Bytes that may wait between the device and the reader of its packets, if not as many as usual: the system counts
    /// its own with them, and keeps a few packets' worth always.
    pub packet_room: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            machine: "q35".into(),
            device_options: Vec::new(),
            timeout: Duration::from_secs(10),
            packet_room: None,
        }
    }
}

/// Why there is no QEMU to speak to, or none any more.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// There is none.
    #[error(transparent)]
    NotLocated(#[from] NotLocated),
    /// It cannot be run.
    #[error("{} (named by {}) cannot be started: {source}", .located.path.display(), .located.by)]
    NotStarted {
        /// Which.
        located: Located,
        /// What the system says.
        source: io::Error,
    },
    /// It is not QEMU.
    #[error("{} --version printed `{printed}`; expected the version of a QEMU", .path.display())]
    NotQemu {
        /// Which program.
        path: PathBuf,
        /// The first line of what it printed.
        printed: String,
    },
    /// It is older than what is used of it.
    #[error("{} is QEMU {found}; {} or later is needed", .path.display(), Version::OLDEST)]
    TooOld {
        /// Which program.
        path: PathBuf,
        /// Its version.
        found: Version,
    },
    /// It does not have the machine, so it is not an x86 one.
    #[error("{} has no machine type `{machine}`: an x86-64 QEMU is needed; it said: {said}", .path.display())]
    WrongMachine {
        /// Which program.
        path: PathBuf,
        /// The machine that was asked for.
        machine: String,
        /// Its own words.
        said: String,
    },
    /// It ended by itself.
    #[error("QEMU ended {during} ({status}); its last words: {}", said_or_nothing(.said))]
    Ended {
        /// What was going on.
        during: &'static str,
        /// Its exit status, or the signal that ended it.
        status: ExitStatus,
        /// The last lines of its standard error.
        said: Vec<String>,
    },
    /// It runs, but does not answer as it should.
    #[error("{error}; QEMU's last words: {}", said_or_nothing(.said))]
    Protocol {
        /// What happened.
        error: QtestError,
        /// The last lines of its standard error.
        said: Vec<String>,
    },
    /// The system does not give what is needed to start it.
    #[error("{what} could not be made: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

fn said_or_nothing(said: &[String]) -> String {
    if said.is_empty() { "none".into() } else { format!("\n  {}", said.join("\n  ")) }
}

/// A QEMU that runs; dropping it ends the process.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    stderr: StderrTail,
    /// The commands' socket.
    pub qtest: Qtest,
    /// The whole of guest memory.
    pub memory: GuestMemory,
    /// What the device sends arrives here; what is sent here arrives at the device.
    pub packets: UnixDatagram,
    /// Which version it is.
    pub version: Version,
}

impl Qemu {
    /// Starts it with `memory_bytes` of guest memory, a whole number of MiB, and waits for its first answer.
    pub fn start(located: &Located, settings: &Settings, memory_bytes: u64) -> Result<Self, QemuError> {
        let version = version(located)?;
        let system = |what| move |source| QemuError::System { what, source };
        let memory_file =
            memory_file::create("guest memory", memory_bytes).map_err(system("the file of guest memory"))?;
        let firmware = memory_file::create("firmware", 0).map_err(system("the firmware's file"))?;
        let memory = GuestMemory::map(&memory_file, memory_bytes as usize)
            .map_err(system("the map of guest memory"))?;
        write_all(&firmware, &firmware::image()).map_err(system("the firmware's file"))?;
        let (qtest, qtest_theirs) = UnixStream::pair().map_err(system("a socket pair"))?;
        let (packets, packets_theirs) = UnixDatagram::pair().map_err(system("a socket pair"))?;
        if let Some(bytes) = settings.packet_room {
            set_socket_send_buffer_size(&packets_theirs, bytes)
                .map_err(|error| system("a socket of that size")(error.into()))?;
        }
        let (qtest_theirs, packets_theirs) = (OwnedFd::from(qtest_theirs), OwnedFd::from(packets_theirs));

        let numbers = Descriptors {
            memory: memory_file.as_raw_fd(),
            firmware: firmware.as_raw_fd(),
            qtest: qtest_theirs.as_raw_fd(),
            packets: packets_theirs.as_raw_fd(),
        };
        let mut command = Command::new(&located.path);
        command.args(arguments(settings, memory_bytes, &numbers));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A Ctrl-C in the terminal is for us alone; we end QEMU ourselves.
        command.process_group(0);
        system::bind_child(&mut command, vec![memory_file, firmware, qtest_theirs, packets_theirs]);
        let started = command.spawn();
        // Closes our copies of QEMU's ends, so that its end is seen as the end of the stream.
        drop(command);
        let mut child =
            started.map_err(|source| QemuError::NotStarted { located: located.clone(), source })?;
        let stderr = match child.stderr.take() {
            Some(stream) => StderrTail::follow(stream),
            None => StderrTail::follow(io::empty()),
        };
        let qtest = Qtest::new(qtest, settings.timeout).map_err(system("the qtest socket"))?;
        let mut qemu = Qemu { child, stderr, qtest, memory, packets, version };
        match qemu.qtest.read_u32(0) {
            Ok(_) => Ok(qemu),
            Err(error) => Err(match qemu.explain("while starting", error) {
                QemuError::Ended { said, .. }
                    if said.iter().any(|line| line.contains("unsupported machine type")) =>
                {
                    let (path, machine) = (located.path.clone(), settings.machine.clone());
                    QemuError::WrongMachine { path, machine, said: said.join(" ") }
                }
                other => other,
            }),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// An error if it has ended; `during` says in which part of the work.
    pub fn check(&mut self, during: &'static str) -> Result<(), QemuError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(QemuError::Ended { during, status, said: self.stderr.at_the_end() }),
            Err(source) => Err(QemuError::System { what: "QEMU's exit status", source }),
        }
    }

    /// Why a command failed: with QEMU's end and last words, if it ended.
    pub fn explain(&mut self, during: &'static str, error: QtestError) -> QemuError {
        match self.end(matches!(error, QtestError::Closed)) {
            Some(status) => QemuError::Ended { during, status, said: self.stderr.at_the_end() },
            None => QemuError::Protocol { error, said: self.last_words() },
        }
    }

    /// The error of a run: if QEMU has ended, that is the cause of whatever went wrong.
    pub(crate) fn explain_any(&mut self, during: &'static str, error: Error) -> Error {
        if matches!(error, Error::Interrupted { .. } | Error::Qemu(QemuError::Ended { .. })) {
            return error;
        }
        match self.end(error.is_closed()) {
            Some(status) => QemuError::Ended { during, status, said: self.stderr.at_the_end() }.into(),
            None => error,
        }
    }

    /// How it ended, if it has. A closed socket means that it is at its end: its status comes soon, but not at once.
    fn end(&mut self, closed: bool) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if closed && start.elapsed() < END => {
                    std::thread::park_timeout(Duration::from_millis(1))
                }
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    /// How many lines it has written to its standard error so far.
    pub fn lines_said(&self) -> u64 {
        self.stderr.count()
    }

    /// The lines of its standard error since there were `count`, as far as they are kept.
    pub fn said_since(&self, count: u64) -> Vec<String> {
        self.stderr.since(count)
    }

    /// The last lines of its standard error so far.
    pub fn last_words(&self) -> Vec<String> {
        self.stderr.so_far()
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // Fails only if it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn version(located: &Located) -> Result<Version, QemuError> {
    let mut command = Command::new(&located.path);
    command.arg("--version").stdin(Stdio::null());
    let output =
        command.output().map_err(|source| QemuError::NotStarted { located: located.clone(), source })?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let path = located.path.clone();
    match Version::parse(&text) {
        None => {
            let printed = text.lines().next().unwrap_or_default().chars().take(200).collect();
            Err(QemuError::NotQemu { path, printed })
        }
        Some(found) if found < Version::OLDEST => Err(QemuError::TooOld { path, found }),
        Some(found) => Ok(found),
    }
}

fn write_all(file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut offset = 0;
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        offset += rustix::io::pwrite(file, rest, offset as u64)?;
    }
    Ok(())
}
