//! The crate's root denies unsafe code. One module may lift that, and no other does.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{fs, path::Path};

/// Every source file below a folder, with what stands in it beside comments.
fn sources(folder: &Path, each: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, each);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            each(&path, &code.join("\n"));
        }
    }
}

#[test]
fn stands_in_shared_memory_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut with_unsafe = Vec::new();
    let mut allowed = Vec::new();
    sources(&source, &mut |path, code| {
        let name = path.strip_prefix(&source).unwrap().display().to_string();
        if code.contains("unsafe ") {
            with_unsafe.push(name.clone());
        }
        // An attribute may stand on several lines.
        let dense: String = code.split_whitespace().collect();
        let lifted = ["allow(unsafe_code", "expect(unsafe_code"].map(|lift| dense.matches(lift).count());
        allowed.extend((0..lifted.iter().sum()).map(|_| name.clone()));
    });
    assert_eq!(with_unsafe, ["memory/shared.rs"]);
    assert_eq!(allowed, ["memory/mod.rs"]);
    let root = fs::read_to_string(source.join("lib.rs")).unwrap();
    assert!(root.contains("#![deny(unsafe_code)]"));
}
