//! Tree models as plain values.
//!
//! A [`Model`] predicts, explains and prints itself. This crate knows no training and does no I/O:
//! the formats turn a model into text and back, and somebody else owns the file.

pub mod check;
pub mod ensemble;
pub mod explain;
pub mod format;
pub mod picture;
pub mod predict;
pub mod rules;
pub mod schema;
pub mod single;
pub mod text;
pub mod tree;

#[cfg(test)]
mod samples;

pub use check::{ModelError, TreeError};
pub use ensemble::{Body, Linear, Link, Member, Model, Provenance, Shape, Term};
pub use explain::{ExplainError, Explainer, Importance};
pub use format::{FormatError, from_json, to_json};
pub use picture::{MapError, TooLarge};
pub use predict::{Block, BlockError, MISSING, Prediction, Predictions, Predictor, Value, Values};
pub use rules::{
    Answer, Condition, Counts, Figures, Holds, Merge, Rule, RuleFormat, RuleSet, RulesError,
};
pub use schema::{Feature, Kind, Schema, Target, TargetKind};
pub use single::{SingleTree, SingleTreeError};
pub use text::{BodyKind, Summary, TextOptions};
pub use tree::{Child, Leaf, Level, LevelSet, Node, Oblivious, Split, Test, Tree};
