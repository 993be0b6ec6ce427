//! Which CPU does what: the driver's work is measured, so QEMU's threads keep away from its CPU.

use serde::Serialize;

/// Who runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pinning {
    /// The CPU of this program's thread, and of the threads it starts from then on.
    pub bench: usize,
    /// The CPU of all of QEMU's threads.
    pub qemu: usize,
}

/// Pins the calling thread and the process `qemu` to the first and the last CPU this process may use. `None` if there
/// is only one, or the system does not allow it; then nobody is pinned.
#[cfg(target_os = "linux")]
pub fn pin(qemu: u32) -> Option<Pinning> {
    use rustix::{
        process::Pid,
        thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    };

    let allowed = sched_getaffinity(None).ok()?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (bench, qemu_cpu) = (cpus.next()?, cpus.next_back()?);
    let only = |cpu| {
        let mut set = CpuSet::new();
        set.set(cpu);
        set
    };
    for task in std::fs::read_dir(format!("/proc/{qemu}/task")).ok()?.flatten() {
        let thread = Pid::from_raw(task.file_name().to_str()?.parse().ok()?)?;
        sched_setaffinity(Some(thread), &only(qemu_cpu)).ok()?;
    }
    sched_setaffinity(None, &only(bench)).ok()?;
    Some(Pinning { bench, qemu: qemu_cpu })
}

/// Nobody is pinned here.
#[cfg(not(target_os = "linux"))]
pub fn pin(_qemu: u32) -> Option<Pinning> {
    None
}
