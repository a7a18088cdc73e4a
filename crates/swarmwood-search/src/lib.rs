//! Ask/tell search engines. This crate knows no trees, no rows, no clock and no thread.

pub mod rng;
