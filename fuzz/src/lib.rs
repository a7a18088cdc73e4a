//! Fuzzing in one process, on a stable compiler, without dependencies of its own.
//!
//! A [`FuzzTarget`](target::FuzzTarget) is a function of bytes: it reads them as a file of some
//! format, or trains what they describe. The [`runner`] mutates inputs of the corpus ([`mutate`],
//! [`json_text`], [`lines`]) and executes the target under limits: no panic, at most one second of
//! processor time, at most 64 MB of memory ([`memory`]). Every execution is named by the seed and
//! its number, so a run can be repeated.
//!
//! Built with the coverage pass of the compiler (`make fuzz`), the edges that an execution takes are
//! counted ([`coverage`]), and inputs that take new ones join the corpus.

pub mod byte_source;
pub mod corpus;
pub mod coverage;
pub mod json_text;
pub mod lines;
pub mod memory;
pub mod mutate;
pub mod runner;
pub mod scratch;
pub mod target;
pub mod targets;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator = memory::CountingAllocator;
