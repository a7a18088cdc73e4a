//! What is fuzzed.

use swarmwood::search::rng::Stream;

/// Changes an input with knowledge of its format; leaves it alone where it does not understand it.
pub type Mutator = fn(&mut Vec<u8>, &mut Stream);

/// A function of bytes that must hold its limits on every input.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it executes, in a few words.
    pub description: &'static str,
    /// Valid inputs, made by the program itself.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Mutations of the format, beside those of bytes.
    pub mutators: &'static [Mutator],
    /// Brings a mutated input back to what the reader would otherwise refuse at once, such as a
    /// checksum.
    pub repair: Option<fn(&mut Vec<u8>)>,
    /// An input that is no text in a form for people, to repeat a failure elsewhere.
    pub describe: Option<fn(&[u8]) -> String>,
    /// Executes an input; whether it was accepted. Panics if a promise is broken.
    pub run: fn(&[u8]) -> bool,
}

/// The longest input.
pub const MAX_INPUT: usize = 64 << 10;

/// The most memory that an execution may need.
pub const MAX_MEMORY: usize = 64 << 20;

/// The longest time of one execution, in seconds of the processor.
pub const MAX_SECONDS: f64 = 1.0;
