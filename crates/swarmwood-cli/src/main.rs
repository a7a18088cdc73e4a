//! The `swarmwood` command line: parse, call the facade, print.
fn main() {}
