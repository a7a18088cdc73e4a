//! The model: a start value, a body of trees (or a linear function), and a link from raw score to
//! prediction.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::calibration::Calibration;
use crate::schema::{Schema, TargetKind};
use crate::training_stats::TrainingStats;
use crate::tree::{Leaf, ObliviousTree, Split, Tree, VectorTree};

/// A trained model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The input columns and the target.
    pub schema: Schema,
    /// From raw scores to predictions.
    pub link: Link,
    /// Name of the training objective; not used to predict.
    pub objective: String,
    /// Start value of each raw output: one, one per class for softmax, or one per target column.
    pub base: Vec<f64>,
    /// The trees or linear functions that are added to the start values.
    pub body: Body,
    /// How the model was trained.
    pub provenance: Provenance,
    /// How predictions become decisions.
    pub calibration: Calibration,
}

impl Model {
    /// Number of raw scores per row.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// The names of the raw scores, where there are several: classes, or columns of the target.
    pub fn output_names(&self) -> &[String] {
        match &self.schema.target.kind {
            _ if self.outputs() == 1 => &[],
            TargetKind::Number => &[],
            TargetKind::Numbers(names) | TargetKind::Classes(names) => names,
        }
    }

    /// The trees in order; none if the model is linear.
    pub fn members(&self) -> &[Member] {
        match &self.body {
            Body::Trees(members) => members,
            Body::Linear(_) => &[],
        }
    }

    /// Number of boosting rounds: a round is one tree per output, or one vector tree. A linear model
    /// has none.
    pub fn rounds(&self) -> usize {
        count_rounds(self.members(), self.outputs())
    }

    /// The trees of the first `first_rounds` rounds, or all of them.
    pub fn first_members(&self, first_rounds: Option<usize>) -> &[Member] {
        first_members(self.members(), self.outputs(), first_rounds)
    }

    /// How many training rows reached a leaf, if they were counted.
    pub fn leaf_rows(&self, tree: usize, leaf: usize) -> Option<u64> {
        Some(self.leaf_classes(tree, leaf)?.iter().sum())
    }

    /// The same by class; a single number for regression.
    pub fn leaf_classes(&self, tree: usize, leaf: usize) -> Option<&[u64]> {
        self.provenance.stats.leaf(tree, leaf, self.schema.target.kind.classes().len())
    }
}

/// Number of whole rounds of some trees.
fn count_rounds(members: &[Member], outputs: usize) -> usize {
    let vectors = members.iter().filter(|member| member.shape.is_vector()).count();
    vectors + (members.len() - vectors) / outputs.max(1)
}

/// The trees of the first rounds, or all of them.
pub(crate) fn first_members(
    members: &[Member],
    outputs: usize,
    first_rounds: Option<usize>,
) -> &[Member] {
    let Some(rounds) = first_rounds else { return members };
    let mut end = 0;
    for _ in 0..rounds.min(members.len()) {
        match members.get(end) {
            Some(member) if member.shape.is_vector() => end += 1,
            Some(_) => end += outputs,
            None => break,
        }
    }
    &members[..end.min(members.len())]
}

/// From raw scores to predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The raw score is the prediction.
    Identity,
    /// `exp(raw)`: counts.
    Exp,
    /// `exp(raw) - 1`: targets that were trained on the scale `ln(1 + y)`.
    ExpM1,
    /// Probability of the second of two classes.
    Sigmoid,
    /// Probabilities of three or more classes.
    Softmax,
}

/// The part of a model that is added to its start values.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Trees, round after round; within a round one tree per output, in the order of the outputs, or
    /// one vector tree.
    Trees(Vec<Member>),
    /// A linear function of the features, one per output.
    Linear(Vec<LinearFunction>),
}

/// A tree and the raw output it adds to.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Index into [`Model::base`] of the first output that the tree adds to: its only one, except
    /// for a vector tree, which adds to all of them and has 0 here.
    pub output: u32,
    /// The tree.
    pub shape: Shape,
}

/// A tree of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Each node has its own split.
    Ordinary(Tree),
    /// All nodes of a level share one split.
    Oblivious(ObliviousTree),
    /// Each node has its own split, and each leaf one value per output.
    Vector(VectorTree),
}

/// A linear function: one term per feature.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearFunction {
    /// In the order of [`Schema::features`].
    pub terms: Vec<LinearTerm>,
}

impl Shape {
    /// The leaves. Those of a vector tree have no value of their own; see [`Shape::values`].
    pub fn leaves(&self) -> &[Leaf] {
        match self {
            Shape::Ordinary(tree) => &tree.leaves,
            Shape::Oblivious(tree) => &tree.leaves,
            Shape::Vector(vector) => &vector.tree.leaves,
        }
    }

    /// All leaf values: one per leaf, or one per leaf and output.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let (leaves, values) = match self {
            Shape::Vector(vector) => ([].as_slice(), vector.values.as_slice()),
            _ => (self.leaves(), [].as_slice()),
        };
        leaves.iter().map(|leaf| leaf.value).chain(values.iter().copied())
    }

    /// Multiplies all leaf values by a factor.
    pub fn scale_values(&mut self, factor: f64) {
        let leaves = match self {
            Shape::Ordinary(tree) => &mut tree.leaves,
            Shape::Oblivious(tree) => &mut tree.leaves,
            Shape::Vector(vector) => {
                return vector.values.iter_mut().for_each(|value| *value *= factor);
            }
        };
        leaves.iter_mut().for_each(|leaf| leaf.value *= factor);
    }

    /// Whether the leaves hold one value per output.
    pub fn is_vector(&self) -> bool {
        matches!(self, Shape::Vector(_))
    }

    /// The splits and covers as an ordinary tree. The leaves of a vector tree have no value in it.
    pub fn to_tree(&self) -> Cow<'_, Tree> {
        match self {
            Shape::Ordinary(tree) => Cow::Borrowed(tree),
            Shape::Oblivious(tree) => Cow::Owned(tree.to_tree()),
            Shape::Vector(vector) => Cow::Borrowed(&vector.tree),
        }
    }

    /// The splits: one per node, or one per level.
    pub fn splits(&self) -> impl Iterator<Item = &Split> {
        let (nodes, levels) = match self {
            Shape::Ordinary(tree) => (tree.nodes.as_slice(), [].as_slice()),
            Shape::Oblivious(tree) => ([].as_slice(), tree.levels.as_slice()),
            Shape::Vector(vector) => (vector.tree.nodes.as_slice(), [].as_slice()),
        };
        nodes.iter().map(|node| &node.split).chain(levels.iter().map(|level| &level.split))
    }

    /// The number of splits on the longest path from the root to a leaf.
    pub fn depth(&self) -> usize {
        match self {
            Shape::Ordinary(tree) => tree.depth(),
            Shape::Oblivious(tree) => tree.levels.len(),
            Shape::Vector(vector) => vector.tree.depth(),
        }
    }
}

/// One feature's term of a linear function.
#[derive(Debug, Clone, PartialEq)]
pub enum LinearTerm {
    /// `weight * (x - centre)`; a missing value adds nothing.
    Number {
        /// The slope.
        weight: f64,
        /// The mean of the training rows.
        centre: f64,
    },
    /// The weight of the level; a missing or new level adds nothing.
    Category {
        /// In level order.
        weights: Vec<f64>,
    },
}

/// How a model was trained. Informative; never used to predict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    /// Version of the program that trained the model.
    pub version: String,
    /// Training method.
    pub method: String,
    /// Number of training rows.
    pub rows: u64,
    /// The parameters used, by name.
    pub params: BTreeMap<String, String>,
    /// Counts of the training rows.
    pub stats: TrainingStats,
}
