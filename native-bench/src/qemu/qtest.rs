//! QEMU's qtest protocol: lines of text over a socket that stand for a CPU's reads and writes.

use crate::bus::Bus;
use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    time::Duration,
};

/// Answers that may be outstanding before they are read. QEMU's side of the socket holds far more.
const MOST_PENDING: usize = 64;
/// Longest line that is accepted, in bytes: ours are far shorter.
const LONGEST_LINE: usize = 4096;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum QtestError {
    /// The other end is gone.
    #[error("QEMU closed the qtest socket")]
    Closed,
    /// No answer came.
    #[error("QEMU did not answer the qtest command `{command}` within {waited:?}")]
    Unanswered {
        /// What was asked.
        command: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// QEMU refused, or answered something else than expected.
    #[error("QEMU answered `{answer}` to the qtest command `{command}`; expected {expected}")]
    Unexpected {
        /// What was asked.
        command: String,
        /// What came back.
        answer: String,
        /// What should have.
        expected: &'static str,
    },
    /// The socket failed.
    #[error("the qtest socket failed: {0}")]
    Io(#[from] io::Error),
}

/// One line from QEMU.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// `OK`, with what follows it.
    Ok(&'a str),
    /// `IRQ raise N` or `IRQ lower N`: not an answer.
    Interrupt,
    /// `FAIL`, `ERR` or anything else.
    Other,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("OK", rest) => Line::Ok(rest.trim()),
            ("IRQ", _) => Line::Interrupt,
            _ => Line::Other,
        }
    }
}

/// The value in an answer to a read.
fn parse_value(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Our end of the socket.
#[derive(Debug)]
pub struct Qtest {
    socket: UnixStream,
    timeout: Duration,
    received: Vec<u8>,
    pending: usize,
}

impl Qtest {
    /// Waits up to `timeout` for each answer.
    pub(super) fn new(socket: UnixStream, timeout: Duration) -> io::Result<Self> {
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        Ok(Qtest { socket, timeout, received: Vec::new(), pending: 0 })
    }

    /// Sends a 16-bit write without waiting for its answer.
    pub fn post_write_u16(&mut self, address: u64, value: u16) -> Result<(), QtestError> {
        self.post(format!("writew {address:#x} {value:#x}\n"))
    }

    /// Sends a 32-bit write without waiting for its answer.
    pub fn post_write_u32(&mut self, address: u64, value: u32) -> Result<(), QtestError> {
        self.post(format!("writel {address:#x} {value:#x}\n"))
    }

    fn post(&mut self, command: String) -> Result<(), QtestError> {
        self.send(command.trim_end(), command.as_bytes())?;
        self.pending += 1;
        if self.pending >= MOST_PENDING { self.collect() } else { Ok(()) }
    }

    /// Reads the answers of all that was posted.
    fn collect(&mut self) -> Result<(), QtestError> {
        while self.pending > 0 {
            self.answer("write to a doorbell")?;
            self.pending -= 1;
        }
        Ok(())
    }

    fn command(&mut self, command: &str) -> Result<String, QtestError> {
        self.collect()?;
        self.send(command, format!("{command}\n").as_bytes())?;
        self.answer(command)
    }

    fn value<T: TryFrom<u64>>(&mut self, command: &str) -> Result<T, QtestError> {
        let answer = self.command(command)?;
        parse_value(&answer).and_then(|value| T::try_from(value).ok()).ok_or_else(|| QtestError::Unexpected {
            command: command.into(),
            answer,
            expected: "OK and a value of the width asked for",
        })
    }

    fn send(&mut self, command: &str, bytes: &[u8]) -> Result<(), QtestError> {
        self.socket.write_all(bytes).map_err(|error| self.failed(error, command))
    }

    fn answer(&mut self, command: &str) -> Result<String, QtestError> {
        loop {
            let line = self.line(command)?;
            match Line::parse(&line) {
                Line::Ok(rest) => return Ok(rest.into()),
                Line::Interrupt => {}
                Line::Other => {
                    return Err(QtestError::Unexpected {
                        command: command.into(),
                        answer: line,
                        expected: "OK",
                    });
                }
            }
        }
    }

    fn line(&mut self, command: &str) -> Result<String, QtestError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().into());
            }
            if self.received.len() > LONGEST_LINE {
                let answer = String::from_utf8_lossy(&self.received).chars().take(80).collect();
                return Err(QtestError::Unexpected {
                    command: command.into(),
                    answer,
                    expected: "a line of text",
                });
            }
            let mut part = [0; 1024];
            match self.socket.read(&mut part) {
                Ok(0) => return Err(QtestError::Closed),
                Ok(length) => self.received.extend(part.iter().take(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error, command)),
            }
        }
    }

    fn failed(&self, error: io::Error, command: &str) -> QtestError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                QtestError::Unanswered { command: command.into(), waited: self.timeout }
            }
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => QtestError::Closed,
            _ => QtestError::Io(error),
        }
    }
}

impl Bus for Qtest {
    fn read_u8(&mut self, address: u64) -> Result<u8, QtestError> {
        self.value(&format!("readb {address:#x}"))
    }
    fn read_u16(&mut self, address: u64) -> Result<u16, QtestError> {
        self.value(&format!("readw {address:#x}"))
    }
    fn read_u32(&mut self, address: u64) -> Result<u32, QtestError> {
        self.value(&format!("readl {address:#x}"))
    }
    fn write_u8(&mut self, address: u64, value: u8) -> Result<(), QtestError> {
        self.command(&format!("writeb {address:#x} {value:#x}")).map(drop)
    }
    fn write_u16(&mut self, address: u64, value: u16) -> Result<(), QtestError> {
        self.command(&format!("writew {address:#x} {value:#x}")).map(drop)
    }
    fn write_u32(&mut self, address: u64, value: u32) -> Result<(), QtestError> {
        self.command(&format!("writel {address:#x} {value:#x}")).map(drop)
    }
    fn port_read_u32(&mut self, port: u16) -> Result<u32, QtestError> {
        self.value(&format!("inl {port:#x}"))
    }
    fn port_write_u32(&mut self, port: u16, value: u32) -> Result<(), QtestError> {
        self.command(&format!("outl {port:#x} {value:#x}")).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader};

    /// A peer that gives the prepared answers, one per line it reads.
    fn peer(answers: &'static [&'static str]) -> (Qtest, std::thread::JoinHandle<Vec<String>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let mut lines = BufReader::new(theirs.try_clone().unwrap()).lines();
            let mut seen = Vec::new();
            for answer in answers {
                seen.push(lines.next().unwrap().unwrap());
                (&theirs).write_all(answer.as_bytes()).unwrap();
            }
            seen
        });
        (Qtest::new(ours, Duration::from_secs(10)).unwrap(), thread)
    }

    #[test]
    fn reads_lines_as_qemu_writes_them() {
        assert_eq!(Line::parse("OK"), Line::Ok(""));
        assert_eq!(Line::parse("OK 0x10411af4"), Line::Ok("0x10411af4"));
        assert_eq!(Line::parse("IRQ raise 11"), Line::Interrupt);
        for other in ["", "FAIL Unknown command", "OKAY", "ERR -2"] {
            assert_eq!(Line::parse(other), Line::Other, "{other}");
        }
        assert_eq!(parse_value("0x00000000000000ea"), Some(0xea));
        for wrong in ["", "ea", "0x", "0xg", "0x11112222333344445"] {
            assert_eq!(parse_value(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn speaks_and_skips_interrupts() {
        let (mut qtest, thread) =
            peer(&["OK 0x2a\n", "IRQ raise 3\nOK\n", "OK\n", "IRQ lower 3\nOK\nIRQ raise 3\n", "OK 0x7\n"]);
        assert_eq!(qtest.read_u8(0x10).unwrap(), 42);
        qtest.port_write_u32(0xcf8, 0x8000_2000).unwrap();
        qtest.post_write_u16(0x3004, 1).unwrap();
        qtest.write_u16(0x3000, 9).unwrap();
        assert_eq!(qtest.port_read_u32(0xcfc).unwrap(), 7);
        let expected =
            ["readb 0x10", "outl 0xcf8 0x80002000", "writew 0x3004 0x1", "writew 0x3000 0x9", "inl 0xcfc"];
        assert_eq!(thread.join().unwrap(), expected);
    }

    #[test]
    fn names_what_went_wrong() {
        let (mut qtest, _thread) = peer(&["FAIL Unknown command 'readl'\n", "OK\n", "OK 0x100\n"]);
        let refused = qtest.read_u32(4).unwrap_err().to_string();
        assert!(refused.contains("FAIL Unknown command") && refused.contains("readl 0x4"), "{refused}");
        assert!(matches!(qtest.read_u32(4), Err(QtestError::Unexpected { .. })), "no value");
        assert!(matches!(qtest.read_u8(4), Err(QtestError::Unexpected { .. })), "too wide");
        assert!(matches!(qtest.read_u8(4), Err(QtestError::Closed)));

        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut silent = Qtest::new(ours, Duration::from_millis(20)).unwrap();
        assert!(matches!(silent.write_u8(1, 1), Err(QtestError::Unanswered { .. })));
    }

    proptest! {
        #[test]
        fn any_value_survives(value: u64) {
            prop_assert_eq!(parse_value(&format!("{value:#x}")), Some(value));
            prop_assert_eq!(parse_value(&format!("0x{value:016x}")), Some(value));
        }
        #[test]
        fn no_line_panics(line in ".*") {
            let _ = Line::parse(&line);
            let _ = parse_value(&line);
        }
    }
}
