//! Tree models as plain values.
//!
//! A [`Model`] predicts, explains and prints itself. This crate knows no training and does no I/O: the formats turn a
//! model into text and back, and somebody else owns the file.

pub mod ensemble;
pub mod schema;
pub mod tree;

pub use ensemble::{Body, Linear, Link, Member, Model, Provenance, Shape, Term};
pub use schema::{Feature, Kind, Schema, Target, TargetKind};
pub use tree::{Child, Leaf, Level, LevelSet, Node, Oblivious, Split, Test, Tree};
