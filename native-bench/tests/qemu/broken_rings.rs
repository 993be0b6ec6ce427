//! Broken rings, given to QEMU's device and to ring-core's.

use crate::bench::{have_qemu, program, stderr};
use serde_json::Value;

#[test]
fn both_devices_do_what_is_recorded_and_every_difference_has_its_reason() {
    if !have_qemu() {
        return;
    }
    let output = program().args(["broken-rings", "--json"]).output().unwrap();
    println!("{}", stderr(&output));
    let comparisons: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rings = comparisons["rings"].as_array().unwrap();
    assert!(rings.len() >= 60, "{} rings", rings.len());
    let recorded = comparisons["is_recorded_version"] == true;
    for ring in rings {
        assert_eq!(ring["ring_core_as_recorded"], true, "{ring}");
        assert_eq!(ring["ring_core_works_again"], true, "{ring}");
        if recorded {
            assert_eq!(ring["qemu_as_recorded"], true, "{ring}");
            assert_eq!(ring["qemu_works_again"], true, "{ring}");
            assert_eq!(ring["same"] == true, ring["difference"].is_null(), "{ring}");
        }
    }
    let count = |device: &str, what: &str| {
        rings.iter().filter(|ring| ring[device].get(what).is_some() || ring[device] == what).count()
    };
    // Each kind of end occurs, so that none of them is what everything looks like.
    for (device, kinds) in [
        ("ring_core", &["accepted", "refused", "ignored"][..]),
        (
            "qemu",
            if recorded { &["accepted", "refused", "ignored", "ended"] } else { &["accepted", "refused"] },
        ),
    ] {
        for what in kinds {
            assert!(count(device, what) > 0, "{device} {what}");
        }
    }
    assert!(output.status.success(), "{}", stderr(&output));
}
