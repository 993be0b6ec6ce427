//! What cannot be run, and what is said about it.

use crate::bench::{command, have_qemu, stderr};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn refused(arguments: &str, qemu: Option<&Path>) -> String {
    let mut command = command(arguments);
    if let Some(qemu) = qemu {
        command.arg("--qemu").arg(qemu);
    }
    let output = command.output().unwrap();
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

#[test]
fn a_qemu_that_is_not_there_names_the_set_up() {
    let error = refused("", Some(Path::new("/no/such/qemu")));
    assert!(
        error.contains("/no/such/qemu named by --qemu") && error.contains("cargo xtask setup"),
        "{error}"
    );
}

#[test]
fn other_programs_and_old_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let other = script("other", "echo GNU bash, version 5");
    let error = refused("", Some(&other));
    assert!(error.contains("printed `GNU bash, version 5`"), "{error}");

    let old = script("old", "echo QEMU emulator version 6.2.0");
    let error = refused("", Some(&old));
    assert!(error.contains("is QEMU 6.2.0; 7.2.0 or later is needed"), "{error}");

    // Answers the question for its version as a good one would, and then fails as one for another CPU does.
    let arm = script(
        "arm",
        "case $1 in --version) echo QEMU emulator version 10.0.2;; \
         *) echo \"qemu: unsupported machine type 'q35'\" >&2; exit 1;; esac",
    );
    let error = refused("", Some(&arm));
    assert!(error.contains("has no machine type `q35`"), "{error}");

    let broken = script(
        "broken",
        "case $1 in --version) echo QEMU emulator version 10.0.2;; *) echo no memory >&2; exit 3;; esac",
    );
    let error = refused("", Some(&broken));
    assert!(
        error.contains("QEMU ended while starting (exit status: 3)") && error.contains("no memory"),
        "{error}"
    );
}

#[test]
fn a_wrong_command_line_shows_the_usage_of_its_command() {
    let output = command("--queue-size 100").output().unwrap();
    let stderr = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("--packed takes any") && stderr.contains("native-bench qemu [OPTIONS]"),
        "{stderr}"
    );
}

#[test]
fn a_recording_that_cannot_be_written_is_told_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let error = refused(&format!("--record {}", folder.path().display()), Some(Path::new("/no/such/qemu")));
    assert!(error.contains("cannot be written: is a directory"), "{error}");
    let error = refused("--record /no/such/folder/run.vqt", Some(Path::new("/no/such/qemu")));
    assert!(error.contains("/no/such/folder/run.vqt cannot be written"), "{error}");
}

#[test]
fn what_the_device_refuses_is_named() {
    if !have_qemu() {
        return;
    }
    let error = refused("--device-option indirect_desc=off", None);
    assert!(error.contains("the device does not offer INDIRECT_DESC"), "{error}");
    let error = refused("--device-option event_idx=off", None);
    assert!(error.contains("the device does not offer EVENT_IDX"), "{error}");
    let error = refused("--notification-data", None);
    assert!(error.contains("the device does not offer NOTIFICATION_DATA"), "{error}");
    let error = refused("--scenario random --reset-queues --device-option queue_reset=off", None);
    assert!(error.contains("the device does not offer RING_RESET"), "{error}");
    let error = refused("--queue-size 1024", None);
    assert!(error.contains("queue has at most 256 descriptors; --queue-size asks for 1024"), "{error}");
    let error = refused("--device-option no_such_property=1", None);
    assert!(error.contains("QEMU ended while starting") && error.contains("no_such_property"), "{error}");
}
