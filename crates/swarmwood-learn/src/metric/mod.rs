//! How good predictions are.
