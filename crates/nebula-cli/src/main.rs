//! The program `nebula`.
fn main() {}
