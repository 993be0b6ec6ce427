//! The last lines QEMU wrote to its standard error: what it says before it ends.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

/// Lines kept.
const LINES: usize = 20;
/// Bytes kept of one line.
const LINE_LENGTH: usize = 400;

/// The last lines, and how many there were in all.
#[derive(Debug, Default)]
struct Lines {
    last: VecDeque<String>,
    count: u64,
}

/// Reads to the end of the stream in a thread of its own.
#[derive(Debug)]
pub(super) struct StderrTail {
    lines: Arc<Mutex<Lines>>,
    reader: Option<JoinHandle<()>>,
}

impl StderrTail {
    pub(super) fn follow(stream: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(Lines::default()));
        let target = lines.clone();
        let reader = std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while matches!(stream.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim_end().chars().take(LINE_LENGTH).collect();
                let mut lines = target.lock().unwrap_or_else(PoisonError::into_inner);
                if lines.last.len() == LINES {
                    lines.last.pop_front();
                }
                lines.last.push_back(text);
                lines.count += 1;
                line.clear();
            }
        });
        StderrTail { lines, reader: Some(reader) }
    }

    /// The lines so far.
    pub(super) fn so_far(&self) -> Vec<String> {
        self.since(0)
    }

    /// How many lines there were so far.
    pub(super) fn count(&self) -> u64 {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// The lines since there were `count`, as far as they are kept.
    pub(super) fn since(&self, count: u64) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let new = usize::try_from(lines.count.saturating_sub(count)).unwrap_or(usize::MAX);
        lines.last.iter().skip(lines.last.len().saturating_sub(new)).cloned().collect()
    }

    /// The last lines, once the stream has ended: only to be called when the process has.
    pub(super) fn at_the_end(&mut self) -> Vec<String> {
        if let Some(reader) = self.reader.take() {
            // The reader cannot panic; were it to, the lines so far are still right.
            let _ = reader.join();
        }
        self.so_far()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_lines_only() {
        let text: String = (0..50).map(|i| format!("line {i}\n")).collect();
        let mut tail = StderrTail::follow(std::io::Cursor::new(text + "no newline \u{fffd}"));
        let lines = tail.at_the_end();
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0], "line 31");
        assert_eq!(lines[LINES - 1], "no newline \u{fffd}");
        assert_eq!((tail.count(), tail.since(49).len(), tail.since(51).len()), (51, 2, 0));
        assert_eq!(StderrTail::follow(std::io::empty()).at_the_end(), Vec::<String>::new());
    }
}
