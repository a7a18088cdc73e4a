//! Tree models as plain values.
//!
//! A [`Model`] predicts, explains and prints itself. This crate contains no training code and does
//! no I/O: formats convert a model to bytes and back, and the caller opens the file.

pub mod calibration;
pub mod check;
pub mod dates;
pub mod ensemble;
pub mod explain;
pub mod export;
pub mod format;
pub mod monotone;
pub mod number_format;
pub mod picture;
pub mod predict;
pub mod rules;
pub mod schema;
pub mod single_tree;
pub mod text;
pub mod training_stats;
pub mod tree;

#[cfg(test)]
mod samples;

pub use calibration::{Calibration, ClassSets, PredictionInterval};
pub use check::{ModelError, TreeError};
pub use dates::{CalendarDate, DateColumn, DatePart};
pub use ensemble::{Body, LinearFunction, LinearTerm, Link, Member, Model, Provenance, Shape};
pub use explain::{ExplainError, Explainer, Importance};
pub use format::{FormatError, from_json, to_json};
pub use picture::{MapError, TreeTooLarge};
pub use predict::{
    Block, BlockError, ColumnView, FeatureValue, MISSING, Prediction, Predictions, Predictor,
};
pub use rules::{
    AdditiveGroup, AdditiveRule, AdditiveRules, AdditiveRulesError, DecisionRule, RuleCondition,
    RuleCounts, RuleMerge, RulePrediction, RuleSet, RuleStats, RulesError, ValueSet,
};
pub use schema::{Feature, FeatureSource, Kind, Schema, Target, TargetKind};
pub use single_tree::{SingleTree, SingleTreeError};
pub use text::{BodyKind, Summary, TextOptions};
pub use training_stats::{Distribution, LeafRows, TrainingStats};
pub use tree::{Child, Leaf, Level, LevelSet, Node, ObliviousTree, Split, Test, Tree, VectorTree};
