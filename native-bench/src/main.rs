//! The `native-bench` command.
fn main() {}
