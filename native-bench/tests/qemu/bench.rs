//! Running the command.

use serde_json::Value;
use std::{
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Whether there is a QEMU; if not, says why the test is skipped, or fails if one is required.
pub(crate) fn have_qemu() -> bool {
    let Err(reason) = native_bench::qemu::locate(None) else { return true };
    let required = std::env::var("NATIVE_BENCH_REQUIRE_QEMU").is_ok_and(|value| value == "1");
    assert!(!required, "NATIVE_BENCH_REQUIRE_QEMU is set, but {reason}");
    println!("SKIPPED: {reason}");
    false
}

/// Whether this QEMU can do what the arguments ask for: older ones have no IN_ORDER. Says so if not.
pub(crate) fn is_possible(arguments: &str) -> bool {
    static IN_ORDER: OnceLock<bool> = OnceLock::new();
    let in_order = arguments.contains("--in-order") && !arguments.contains("--in-order off");
    let has_in_order = || {
        let qemu = native_bench::qemu::locate(None).unwrap().path;
        let help = Command::new(qemu).args(["-device", "virtio-net-pci,help"]).output().unwrap();
        String::from_utf8_lossy(&help.stdout).contains("in_order=")
    };
    let possible = !in_order || *IN_ORDER.get_or_init(has_in_order);
    if !possible {
        println!("SKIPPED: this QEMU has no in_order: {arguments}");
    }
    possible
}

/// The program, without arguments.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_native-bench"));
    command.stdin(Stdio::null());
    command
}

/// `native-bench qemu` with these arguments.
pub(crate) fn command(arguments: &str) -> Command {
    let mut command = program();
    command.arg("qemu").args(arguments.split_whitespace());
    command
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs to the end; the JSON it printed.
pub(crate) fn report(arguments: &str, record: &Path) -> Value {
    let output = command(arguments).arg("--json").arg("--record").arg(record).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("standard output holds JSON and nothing else")
}

/// A number in the JSON of a report, by its path.
pub(crate) fn number(report: &Value, path: &str) -> u64 {
    report.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {path} in {report}"))
}

/// A run that goes on until it is ended; killed when dropped.
pub(crate) struct Running {
    pub(crate) bench: Child,
    pub(crate) qemu: i32,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.bench.kill();
        let _ = self.bench.wait();
    }
}

impl Running {
    /// Starts a run of many packets and waits until they are on their way: the recording has begun to grow.
    pub(crate) fn start(arguments: &str, record: &Path) -> Self {
        let mut command = command(arguments);
        command.arg("--packets=1000000000").arg("--record").arg(record);
        let bench = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut running = Running { bench, qemu: 0 };
        until("the recording grows", || {
            assert_eq!(running.bench.try_wait().unwrap(), None, "the run ended at once");
            recorded(running.bench.id(), record.parent().unwrap()) > 1 << 16
        });
        running.qemu = child_of(running.bench.id());
        running
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Output {
        let mut ended = None;
        until("the run ends", || {
            ended = self.bench.try_wait().unwrap();
            ended.is_some()
        });
        let read = |stream: &mut dyn std::io::Read| {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        };
        let stdout = read(self.bench.stdout.as_mut().unwrap());
        let stderr = read(self.bench.stderr.as_mut().unwrap());
        Output { status: ended.unwrap(), stdout, stderr }
    }
}

/// Checks again and again, for a minute at most.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// Bytes of the files of `folder` that a process has open, with a name or without.
fn recorded(id: u32, folder: &Path) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten();
    let files =
        open.filter(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.starts_with(folder)));
    files.filter_map(|file| Some(std::fs::metadata(file.path()).ok()?.len())).sum()
}

/// The only child of a process.
fn child_of(id: u32) -> i32 {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    children.trim().parse().unwrap()
}

/// Whether a process runs; one that ended and was not waited for does not.
pub(crate) fn is_alive(id: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}

pub(crate) fn signal(id: i32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}
