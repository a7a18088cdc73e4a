//! Workspace checks and generators: `cargo xtask <task>`.
fn main() {}
