//! Runs other programs: with progress, with their output shown, or just for their answer. A failure names the
//! command, shows the end of its output and says what can be done.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::progress::Progress;

/// How many lines of a failed command's output are shown.
const TAIL_LINES: usize = 25;

/// A program with its arguments, ready to be run.
pub(crate) struct Invocation {
    program: OsString,
    command: Command,
    advice: String,
}

/// How a program whose output was shown ended.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    /// Everything it printed, standard output and standard error as they came.
    pub(crate) output: String,
}

/// A program that ran and failed.
#[derive(Debug)]
pub(crate) struct CommandFailed {
    command: String,
    status: ExitStatus,
    tail: Vec<String>,
    advice: String,
}

impl std::error::Error for CommandFailed {}

impl fmt::Display for CommandFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` failed ({})", self.command, self.status)?;
        if !self.tail.is_empty() {
            write!(formatter, "\n  the end of its output:")?;
        }
        for line in &self.tail {
            write!(formatter, "\n  | {line}")?;
        }
        if !self.advice.is_empty() {
            write!(formatter, "\n  what to do: {}", self.advice)?;
        }
        Ok(())
    }
}

impl Invocation {
    /// A program by name or path, without arguments.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        Self { program: program.to_owned(), command: Command::new(program), advice: String::new() }
    }

    /// Adds arguments.
    pub(crate) fn arguments(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn environment(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes an environment variable away.
    pub(crate) fn without_environment(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs in another folder.
    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// What a person can do if it fails.
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// Runs with only progress shown; a failure carries the end of the output.
    pub(crate) fn run(mut self, progress: &mut Progress) -> Result<()> {
        let mut tail = VecDeque::with_capacity(TAIL_LINES);
        let status = self.follow(progress, |progress, line| {
            progress.line(line.trim_start());
            if tail.len() == TAIL_LINES {
                tail.pop_front();
            }
            tail.push_back(line.to_owned());
        })?;
        if status.success() { Ok(()) } else { Err(self.failed(status, tail.into()).into()) }
    }

    /// Runs with the output shown as it comes, and returns it. That the program failed is no error here.
    pub(crate) fn run_shown(mut self) -> Result<Outcome> {
        let mut output = String::new();
        let status = self.follow(&mut Progress::silent(), |_, line| {
            println!("{line}");
            output.push_str(line);
            output.push('\n');
        })?;
        Ok(Outcome { status, output })
    }

    /// Runs with only progress shown, and returns the output. That the program failed is no error here.
    pub(crate) fn run_watched(mut self, progress: &mut Progress) -> Result<Outcome> {
        let mut output = String::new();
        let status = self.follow(progress, |progress, line| {
            progress.line(line.trim_start());
            output.push_str(line);
            output.push('\n');
        })?;
        Ok(Outcome { status, output })
    }

    /// Runs with the terminal handed over, until it ends.
    pub(crate) fn run_in_terminal(mut self) -> Result<()> {
        let status = self.command.status().with_context(|| self.cannot_start())?;
        if status.success() { Ok(()) } else { Err(self.failed(status, Vec::new()).into()) }
    }

    /// Runs and returns what it wrote to standard output.
    pub(crate) fn answer(mut self) -> Result<String> {
        let output = self.command.stdin(Stdio::null()).output().with_context(|| self.cannot_start())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect::<Vec<_>>();
            let tail = said.iter().skip(said.len().saturating_sub(TAIL_LINES)).cloned().collect();
            return Err(self.failed(output.status, tail).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Hands every line of output to `on_line` while the program runs.
    fn follow(
        &mut self,
        progress: &mut Progress,
        mut on_line: impl FnMut(&mut Progress, &str),
    ) -> Result<ExitStatus> {
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.cannot_start())?;
        let (sender, receiver) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            send_lines(stdout, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            send_lines(stderr, sender);
        }
        loop {
            match receiver.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => on_line(progress, &line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            progress.alive();
        }
        child.wait().with_context(|| format!("cannot wait for {}", self.program.display()))
    }

    fn cannot_start(&self) -> String {
        let mut text = format!("cannot start `{}`", self.described());
        if !self.advice.is_empty() {
            text.push_str("\n  what to do: ");
            text.push_str(&self.advice);
        }
        text
    }

    fn failed(&self, status: ExitStatus, tail: Vec<String>) -> CommandFailed {
        CommandFailed { command: self.described(), status, tail, advice: self.advice.clone() }
    }

    /// The command as one would type it.
    fn described(&self) -> String {
        let mut text = self.program.to_string_lossy().into_owned();
        for argument in self.command.get_args() {
            text.push(' ');
            text.push_str(&argument.to_string_lossy());
        }
        text
    }
}

/// Reads lines on a thread of their own, so that neither of a program's two outputs blocks the other.
fn send_lines(source: impl Read + Send + 'static, sender: Sender<String>) {
    thread::spawn(move || {
        let mut reader = BufReader::new(source);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(length) if length > 0) {
            // A progress bar rewrites its line with carriage returns: the last part is what one would see.
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if sender.send(text.rsplit('\r').next().unwrap_or(text).to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_its_output_and_what_to_do() {
        let error = Invocation::new("sh")
            .arguments(["-c", "echo to stdout; echo to stderr >&2; exit 3"])
            .advice("try again")
            .run(&mut Progress::silent())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("`sh -c "), "{error}");
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("\n  | to stdout") && error.contains("\n  | to stderr"), "{error}");
        assert!(error.ends_with("what to do: try again"), "{error}");
    }

    #[test]
    fn only_the_end_of_a_long_output_is_shown() {
        let error = Invocation::new("sh")
            .arguments(["-c", "for i in $(seq 100); do echo line $i; done; exit 1"])
            .run(&mut Progress::silent())
            .unwrap_err()
            .to_string();
        assert_eq!(error.matches("| line").count(), TAIL_LINES);
        assert!(error.ends_with("| line 100"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named_with_advice() {
        let error = Invocation::new("no-such-program-here").advice("install it").answer().unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program-here`\n  what to do: install it");
    }

    #[test]
    fn shown_output_is_returned_whole() {
        let outcome =
            Invocation::new("sh").arguments(["-c", "echo one; echo two; exit 1"]).run_shown().unwrap();
        assert!(!outcome.status.success());
        assert_eq!(outcome.output, "one\ntwo\n");
    }
}
