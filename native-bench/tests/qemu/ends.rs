//! However a run ends: a clear error, no process left, no half written file.

use crate::bench::{Running, have_qemu, is_alive, signal, stderr, until};
use rustix::{
    fs::{Mode, OFlags},
    process::Signal,
};
use std::{fs, path::Path};

fn files(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_qemu_that_dies_midway_is_an_error() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.vqt");
    fs::write(&record, "old").unwrap();
    let running = Running::start("", &record);
    signal(running.qemu, Signal::KILL);
    let output = running.end();
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("QEMU ended while packets were on their way (signal: 9"), "{stderr}");
    assert!(stderr.contains("nothing was recorded"), "{stderr}");
    assert_eq!(files(folder.path()), ["run.vqt"]);
    assert_eq!(fs::read(&record).unwrap(), b"old");
}

#[test]
fn an_interrupt_ends_it_cleanly() {
    if !have_qemu() {
        return;
    }
    for how in [Signal::INT, Signal::TERM] {
        let folder = tempfile::tempdir().unwrap();
        let running = Running::start("", &folder.path().join("run.vqt"));
        let qemu = running.qemu;
        signal(running.bench.id() as i32, how);
        let output = running.end();
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("interrupted after "), "{stderr}");
        assert!(!is_alive(qemu));
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn qemu_goes_with_a_bench_that_is_killed() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start("", &folder.path().join("run.vqt"));
    let qemu = running.qemu;
    assert!(is_alive(qemu));
    signal(running.bench.id() as i32, Signal::KILL);
    until("QEMU ends", || !is_alive(qemu));
    // Where the file system has files without names, nothing is left of the recording either.
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    if rustix::fs::open(folder.path(), flags, Mode::RUSR).is_ok() {
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_qemu_that_hangs_is_an_error() {
    if !have_qemu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start("--timeout 1", &folder.path().join("run.vqt"));
    let qemu = running.qemu;
    signal(qemu, Signal::STOP);
    let output = running.end();
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("QEMU did not answer the qtest command"), "{stderr}");
    assert!(!is_alive(qemu));
}
