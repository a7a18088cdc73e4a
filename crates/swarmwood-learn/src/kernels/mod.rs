//! The hot loops, each in its own file and each tested against the plain way to say it.
//!
//! Where wider vectors help, the loop is compiled once for the baseline, once for AVX2 and, where
//! that pays, once for AVX-512, and chosen at run time. All versions are the same source, but for
//! tables looked up in registers: operations in a fixed order, never contracted into fused ones, so
//! their results agree bit for bit and a model does not depend on the machine it was trained on.

mod dispatch;

pub mod aligned;
pub mod cells;
pub mod derivatives;
pub mod exp;
pub mod gains;
pub mod histogram;
pub mod leaf_values;
pub mod losses;
pub mod particle;
pub mod partition;
pub mod quantise;
pub mod softmax_output;
pub mod sums;
pub mod walsh;
