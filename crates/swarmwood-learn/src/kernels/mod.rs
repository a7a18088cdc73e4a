//! Hot loops, compiled once for the baseline and once for AVX2, chosen at run time.
//!
//! Both versions are the same source: `f32` operations in a fixed order, never contracted into fused ones, so their
//! results agree bit for bit and a model does not depend on the machine it was trained on.

mod dispatch;

pub mod derivatives;
pub mod exp;
pub mod losses;
