//! Everything a developer or a machine does with this tree.
fn main() {}
