//! Which features matter: over the whole model (importances) and for one row (contributions).

mod contributions;
mod importance;

#[cfg(test)]
mod tests;

pub use contributions::{ExplainError, Explainer};
pub use importance::Importance;
