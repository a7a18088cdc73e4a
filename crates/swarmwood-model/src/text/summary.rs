//! The key figures of a model.

use std::collections::BTreeSet;
use std::fmt;

use crate::calibration::Calibration;
use crate::ensemble::{Body, LinearTerm, Link, Model, Shape};
use crate::tree::Tree;

/// What a model is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    /// Ordinary trees.
    Trees,
    /// Oblivious trees.
    Oblivious,
    /// Trees of both kinds.
    Mixed,
    /// Linear functions.
    Linear,
}

impl BodyKind {
    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            BodyKind::Trees => "trees",
            BodyKind::Oblivious => "oblivious trees",
            BodyKind::Mixed => "trees, some of them oblivious",
            BodyKind::Linear => "linear",
        }
    }
}

/// The key figures of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// What the model is made of.
    pub kind: BodyKind,
    /// Name of the target.
    pub target: String,
    /// The columns of the target if it has several; else empty.
    pub columns: Vec<String>,
    /// The classes; empty for regression.
    pub classes: Vec<String>,
    /// From raw scores to predictions.
    pub link: Link,
    /// Name of the training objective.
    pub objective: String,
    /// Raw scores per row.
    pub outputs: usize,
    /// Rounds of boosting.
    pub rounds: usize,
    /// Number of trees.
    pub trees: usize,
    /// Number of leaves of all trees.
    pub leaves: usize,
    /// Number of splits on the longest path to a leaf.
    pub max_depth: usize,
    /// Number of features in the schema.
    pub features: usize,
    /// Number of features that some split tests, or that have a nonzero weight.
    pub features_used: usize,
    /// Training method.
    pub method: String,
    /// Version of the program that trained the model.
    pub version: String,
    /// Number of training rows.
    pub rows: u64,
    /// How predictions become decisions.
    pub calibration: Calibration,
}

impl Model {
    /// The key figures of the model.
    pub fn summary(&self) -> Summary {
        let members = self.members();
        let oblivious =
            members.iter().filter(|member| matches!(member.shape, Shape::Oblivious(_))).count();
        let kind = match &self.body {
            Body::Linear(_) => BodyKind::Linear,
            Body::Trees(_) if oblivious == 0 => BodyKind::Trees,
            Body::Trees(_) if oblivious == members.len() => BodyKind::Oblivious,
            Body::Trees(_) => BodyKind::Mixed,
        };

        Summary {
            kind,
            target: self.schema.target.name.clone(),
            columns: self.schema.target.kind.columns().to_vec(),
            classes: self.schema.target.kind.classes().to_vec(),
            link: self.link,
            objective: self.objective.clone(),
            outputs: self.outputs(),
            rounds: self.rounds(),
            trees: members.len(),
            leaves: members.iter().map(|member| member.shape.leaves().len()).sum(),
            max_depth: members.iter().map(|member| member.shape.depth()).max().unwrap_or(0),
            features: self.schema.features.len(),
            features_used: self.features_used().len(),
            method: self.provenance.method.clone(),
            version: self.provenance.version.clone(),
            rows: self.provenance.rows,
            calibration: self.calibration.clone(),
        }
    }

    /// The positions of the features that some split tests, or that have a nonzero weight.
    pub fn features_used(&self) -> BTreeSet<usize> {
        match &self.body {
            Body::Trees(members) => members
                .iter()
                .flat_map(|member| member.shape.splits())
                .map(|split| split.feature as usize)
                .collect(),
            Body::Linear(functions) => {
                let is_nonzero = |term: &LinearTerm| match term {
                    LinearTerm::Number { weight, .. } => *weight != 0.0,
                    LinearTerm::Category { weights } => weights.iter().any(|weight| *weight != 0.0),
                };
                let terms = functions.iter().flat_map(|function| function.terms.iter().enumerate());
                terms.filter(|(_, term)| is_nonzero(term)).map(|(feature, _)| feature).collect()
            }
        }
    }
}

/// The smallest or the largest leaf value.
fn extreme(tree: &Tree, choose: fn(f64, f64) -> f64) -> f64 {
    tree.leaves.iter().map(|leaf| leaf.value).reduce(choose).unwrap_or(1.0)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kind       {}", self.kind.name())?;
        let target = super::trees::printable(&self.target);
        match (self.columns.as_slice(), self.classes.as_slice()) {
            ([], []) => writeln!(f, "target     {target} (number)")?,
            ([], classes) => {
                let names = super::trees::some_names(classes.iter().map(String::as_str));
                writeln!(f, "target     {target} ({} classes: {names})", classes.len())?;
            }
            (columns, _) => writeln!(f, "target     {target} ({} numbers)", columns.len())?,
        }

        writeln!(f, "objective  {}", super::trees::printable(&self.objective))?;
        if self.kind != BodyKind::Linear {
            let (rounds, trees, leaves, depth) =
                (self.rounds, self.trees, self.leaves, self.max_depth);
            writeln!(f, "rounds     {rounds}")?;
            writeln!(f, "trees      {trees}, {leaves} leaves, depth {depth} at most")?;
        }

        if let (Some(threshold), [_, second]) = (self.calibration.threshold, &self.classes[..]) {
            let class = super::trees::printable(second);
            writeln!(f, "decision   {class} where its probability is greater than {threshold}")?;
        }
        if let Some(interval) = &self.calibration.interval {
            let (percent, width) = (100.0 * interval.level, interval.half_width);
            let scale = if self.link == Link::ExpM1 { " on the scale ln(1 + y)" } else { "" };
            match &interval.scale {
                None => writeln!(f, "interval   {percent} %: prediction ± {width}{scale}")?,
                Some(tree) => writeln!(
                    f,
                    "interval   {percent} %: prediction ± {width} times {} to {}{scale}, by a tree of \
                     {} leaves",
                    extreme(tree, f64::min),
                    extreme(tree, f64::max),
                    tree.leaves.len()
                )?,
            }
        }
        if let Some(unit) = self.calibration.points_unit {
            writeln!(f, "points     whole points of {unit} in every leaf")?;
        }
        if let Some(sets) = self.calibration.class_sets {
            let (percent, least) = (100.0 * sets.level, sets.min_probability);
            writeln!(f, "class sets {percent} %: classes with a probability of at least {least}")?;
        }
        writeln!(f, "features   {}, {} of them used", self.features, self.features_used)?;
        let (method, version) =
            (super::trees::printable(&self.method), super::trees::printable(&self.version));

        // Files of other libraries do not contain the number of training rows.
        let rows = if self.rows == 0 { String::new() } else { format!("on {} rows, ", self.rows) };
        writeln!(f, "trained    {rows}method {method}, version {version}")
    }
}
