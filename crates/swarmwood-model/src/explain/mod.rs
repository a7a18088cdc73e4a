//! Which features matter: over the whole model (importances, interactions) and for one row (contributions).

mod contributions;
mod importance;
mod interaction;
mod path_features;

#[cfg(test)]
mod tests;

pub use contributions::{ExplainError, Explainer};
pub use importance::Importance;
pub use interaction::Interaction;
