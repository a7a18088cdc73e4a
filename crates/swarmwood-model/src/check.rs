//! The invariants of a model.
//!
//! The rest of the crate relies on them; a reader of files calls [`Model::check`] before it returns
//! a model.

use crate::calibration::Calibration;
use crate::ensemble::{Body, LinearFunction, LinearTerm, Link, Member, Model, Shape};
use crate::schema::{Feature, Kind};
use crate::tree::{Child, Leaf, MAX_LEVELS, ObliviousTree, Split, Test, Tree, VectorTree};

mod inputs;
#[cfg(test)]
mod tests;

use inputs::{check_schema, check_stats};

/// The invariant that a [`Model`] violates. Features, trees, nodes and leaves are counted from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Two features share a name.
    #[error("two features are named `{name}`; give each feature its own name")]
    DuplicateFeature {
        /// The name.
        name: String,
    },
    /// Two levels of a feature share a name.
    #[error("feature `{feature}` has two levels named `{level}`; give each level its own name")]
    DuplicateLevel {
        /// Name of the feature.
        feature: String,
        /// Name of the level.
        level: String,
    },
    /// Two classes share a name.
    #[error("two classes of the target are named `{class}`; give each class its own name")]
    DuplicateClass {
        /// The name.
        class: String,
    },
    /// The columns of the target are too few, or two of them share a name.
    #[error("the target has the columns {columns:?}; there must be at least two, each once")]
    TargetColumns {
        /// The names.
        columns: Vec<String>,
    },
    /// The parts of a date do not fit the features.
    #[error("date `{date}`: {problem}")]
    Date {
        /// Name of the column.
        date: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Counts of training rows do not fit the model.
    #[error("`{key}` of the training rows: {problem}")]
    TrainingStats {
        /// Which counts.
        key: &'static str,
        /// What is wrong with them.
        problem: &'static str,
    },
    /// The link, the target and the start values contradict each other.
    #[error(
        "link {link:?} does not fit a target with {classes} classes and {bases} start values; numbers need identity, \
         exp or expm1 and one start value each, two classes need sigmoid and one, k >= 3 classes need softmax and k"
    )]
    Link {
        /// The link.
        link: Link,
        /// Number of classes; 0 if the target is a number.
        classes: usize,
        /// Number of start values.
        bases: usize,
    },
    /// Leaves are so large that a prediction could be infinite.
    #[error(
        "the leaves of output {output} add up to more than a number can hold; train on a target \
         divided by a power of ten"
    )]
    Overflow {
        /// The output.
        output: usize,
    },
    /// A start value is not finite.
    #[error("start value {output} is {value}; it must be a finite number")]
    Base {
        /// Which one.
        output: usize,
        /// The value.
        value: f64,
    },
    /// A threshold is for two classes.
    #[error("a decision threshold is for targets of two classes, but this one has {classes}")]
    ThresholdTarget {
        /// Number of classes; 0 if the target is a number.
        classes: usize,
    },
    /// A threshold is a probability.
    #[error("the decision threshold is {threshold}; it must be above 0 and below 1")]
    Threshold {
        /// The threshold.
        threshold: f64,
    },
    /// An interval is for numbers.
    #[error(
        "the interval must be of a model of one number, with a level above 0 and below 1, a half-width \
         of at least 0, and values above 0 in the leaves of its tree"
    )]
    Interval,
    /// The tree of an interval violates an invariant.
    #[error("the tree of the interval: {problem}")]
    IntervalScale {
        /// What is wrong with it.
        problem: TreeError,
    },
    /// Sets are for classes.
    #[error(
        "the class sets must be of a model of classes, with a level above 0 and below 1 and a \
         probability from 0 to 1"
    )]
    ClassSets,
    /// Leaf values are no whole numbers of points.
    #[error(
        "the unit of points must be above 0, and the values of all leaves whole numbers of units"
    )]
    Points,
    /// The last round is incomplete.
    #[error("{trees} trees are not a whole number of rounds of {outputs} trees each")]
    Rounds {
        /// Number of trees.
        trees: usize,
        /// Number of raw outputs.
        outputs: usize,
    },
    /// A tree violates an invariant.
    #[error("tree {tree}: {problem}")]
    Tree {
        /// Which tree.
        tree: usize,
        /// What is wrong with it.
        problem: TreeError,
    },
    /// There must be one linear function an output.
    #[error("{functions} linear functions for {outputs} outputs; there must be one per output")]
    LinearOutputs {
        /// Number of linear functions.
        functions: usize,
        /// Number of raw outputs.
        outputs: usize,
    },
    /// There must be one term per feature.
    #[error(
        "linear function {output} has {terms} terms for {features} features; there must be one per feature"
    )]
    LinearTerms {
        /// Which function.
        output: usize,
        /// Number of terms.
        terms: usize,
        /// Number of features.
        features: usize,
    },
    /// A term does not match its feature's kind or holds a number that is not finite.
    #[error(
        "linear function {output}: the term of feature `{feature}` must hold finite numbers and be of the feature's \
         kind, with one weight per level for a category"
    )]
    LinearTerm {
        /// Which function.
        output: usize,
        /// Name of the feature.
        feature: String,
    },
}

/// The invariant that a tree violates.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The tree adds to the wrong output.
    #[error(
        "adds to output {found}, but trees take the outputs in turn and this tree's is {expected}"
    )]
    Output {
        /// The tree's output.
        found: u32,
        /// The output that its position requires.
        expected: usize,
    },
    /// A binary tree has one leaf more than it has nodes.
    #[error("{nodes} nodes and {leaves} leaves; a tree has one leaf more than it has nodes")]
    Size {
        /// Number of nodes.
        nodes: usize,
        /// Number of leaves.
        leaves: usize,
    },
    /// A child does not exist or comes before its parent.
    #[error("node {node} leads to {child:?}; children must exist and come after their parent")]
    Child {
        /// The parent.
        node: usize,
        /// The child.
        child: Child,
    },
    /// Two edges lead to the same node or leaf.
    #[error("{child:?} has two parents; each node and leaf must be reached exactly once")]
    TwoParents {
        /// The node or leaf with two parents.
        child: Child,
    },
    /// An oblivious tree is too deep.
    #[error("{levels} levels; an oblivious tree may have at most {MAX_LEVELS}")]
    TooManyLevels {
        /// Number of levels.
        levels: usize,
    },
    /// An oblivious tree has the wrong number of leaves.
    #[error("{leaves} leaves for {levels} levels; there must be 2 to the number of levels")]
    ObliviousLeaves {
        /// Number of levels.
        levels: usize,
        /// Number of leaves.
        leaves: usize,
    },
    /// A vector tree has the wrong number of values.
    #[error(
        "{values} values for {leaves} leaves and {outputs} outputs; a vector tree has one value per \
         leaf and output, and there must be at least two outputs"
    )]
    VectorValues {
        /// Number of leaves.
        leaves: usize,
        /// Number of raw outputs.
        outputs: usize,
        /// Number of values.
        values: usize,
    },
    /// A leaf of a vector tree has a value of its own.
    #[error("leaf {leaf} of a vector tree has a value of its own; it must be 0")]
    VectorLeaf {
        /// Which leaf.
        leaf: usize,
    },
    /// A split tests a feature that does not exist.
    #[error(
        "split {split} tests feature {feature}, but there are only {features} features, counted from 0"
    )]
    Feature {
        /// Node or level.
        split: usize,
        /// The feature that it tests.
        feature: u32,
        /// Number of features.
        features: usize,
    },
    /// A split compares a category with a threshold, or looks up a number in a set of levels.
    #[error(
        "split {split} does not fit feature `{feature}`: numbers take a threshold, categories a set of levels"
    )]
    WrongTest {
        /// Node or level.
        split: usize,
        /// Name of the feature.
        feature: String,
    },
    /// A set contains a level that the feature does not have.
    #[error(
        "split {split} names level {code} of feature `{feature}`, which has only {levels} levels, counted from 0"
    )]
    Level {
        /// Node or level.
        split: usize,
        /// Name of the feature.
        feature: String,
        /// The code.
        code: u32,
        /// Number of levels of the feature.
        levels: usize,
    },
    /// A number of a split is not finite.
    #[error("the {what} of split {split} is {value}; it must be a finite number{}", if *what == "cover" { " not below 0" } else { "" })]
    SplitNumber {
        /// Which number.
        what: &'static str,
        /// Node or level.
        split: usize,
        /// The value.
        value: f64,
    },
    /// A number of a leaf is not finite.
    #[error("the {what} of leaf {leaf} is {value}; it must be a finite number{}", if *what == "cover" { " not below 0" } else { "" })]
    LeafNumber {
        /// Which number.
        what: &'static str,
        /// Which leaf.
        leaf: usize,
        /// The value.
        value: f64,
    },
}

impl Model {
    /// Checks every invariant that the rest of the crate relies on and reports the first violation.
    ///
    /// ```
    /// use swarmwood_model::*;
    /// let mut model = Model {
    ///     schema: Schema {
    ///         features: vec![Feature { name: "age".into(), kind: Kind::Number }],
    ///         target: Target { name: "price".into(), kind: TargetKind::Number },
    ///         dates: Vec::new(),
    ///     },
    ///     link: Link::Identity,
    ///     objective: "squared".into(),
    ///     base: vec![0.5],
    ///     body: Body::Trees(vec![]),
    ///     provenance: Provenance::default(),
    ///     calibration: Calibration::default(),
    /// };
    /// assert!(model.check().is_ok());
    /// model.base[0] = f64::NAN;
    /// assert!(model.check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), ModelError> {
        check_schema(&self.schema)?;
        self.check_link()?;
        self.check_calibration()?;
        if let Some(output) = self.base.iter().position(|value| !value.is_finite()) {
            return Err(ModelError::Base { output, value: self.base[output] });
        }
        match &self.body {
            Body::Trees(members) => {
                self.check_members(members)?;
                self.check_sums(members)?;
            }
            Body::Linear(functions) => self.check_linear(functions)?,
        }
        check_stats(self)
    }

    fn check_link(&self) -> Result<(), ModelError> {
        let kind = &self.schema.target.kind;
        let (classes, bases) = (kind.classes().len(), self.base.len());
        let fits = match self.link {
            Link::Identity | Link::Exp | Link::ExpM1 => {
                kind.is_regression() && bases == kind.columns().len().max(1)
            }
            Link::Sigmoid => classes == 2 && bases == 1,
            Link::Softmax => classes >= 3 && bases == classes,
        };
        if fits { Ok(()) } else { Err(ModelError::Link { link: self.link, classes, bases }) }
    }

    fn check_calibration(&self) -> Result<(), ModelError> {
        let Calibration { threshold, interval, class_sets, points_unit } = &self.calibration;
        let classes = self.link.is_classification();
        let is_share = |share: f64| share > 0.0 && share < 1.0;
        if let Some(interval) = interval {
            let scale = interval.scale.iter().flat_map(|tree| &tree.leaves);
            let is_positive = scale.map(|leaf| leaf.value).all(|value| value > 0.0);
            let is_width = interval.half_width >= 0.0 && interval.half_width.is_finite();
            let has_order = !classes && self.outputs() == 1;
            if !has_order || !is_share(interval.level) || !is_width || !is_positive {
                return Err(ModelError::Interval);
            }
            if let Some(tree) = &interval.scale {
                check_tree(&self.schema.features, tree)
                    .map_err(|problem| ModelError::IntervalScale { problem })?;
            }
        }
        if let Some(sets) = class_sets {
            let is_probability = (0.0..=1.0).contains(&sets.min_probability);
            if !classes || !is_share(sets.level) || !is_probability {
                return Err(ModelError::ClassSets);
            }
        }
        if let Some(unit) = *points_unit {
            let is_whole = |value: f64| (value / unit - (value / unit).round()).abs() <= 1e-6;
            let values = self.members().iter().flat_map(|member| member.shape.values());
            let has_trees = matches!(self.body, Body::Trees(_));
            if !(has_trees && unit > 0.0 && unit.is_finite() && values.into_iter().all(is_whole)) {
                return Err(ModelError::Points);
            }
        }
        match *threshold {
            Some(_) if self.link != Link::Sigmoid => {
                let classes = self.schema.target.kind.classes().len();
                Err(ModelError::ThresholdTarget { classes })
            }
            Some(threshold) if !is_share(threshold) => Err(ModelError::Threshold { threshold }),
            _ => Ok(()),
        }
    }

    fn check_members(&self, members: &[Member]) -> Result<(), ModelError> {
        let outputs = self.base.len();
        // The output whose turn it is; a vector tree must begin a round, and is all of it.
        let mut expected = 0;
        for (tree, member) in members.iter().enumerate() {
            let features = &self.schema.features;
            let checked = if member.output as usize == expected {
                match &member.shape {
                    Shape::Ordinary(shape) => check_tree(features, shape),
                    Shape::Oblivious(shape) => check_oblivious(features, shape),
                    Shape::Vector(shape) => check_vector(features, outputs, shape),
                }
            } else {
                Err(TreeError::Output { found: member.output, expected })
            };
            checked.map_err(|problem| ModelError::Tree { tree, problem })?;
            if !member.shape.is_vector() {
                expected = (expected + 1) % outputs;
            }
        }

        if expected == 0 {
            Ok(())
        } else {
            Err(ModelError::Rounds { trees: members.len(), outputs })
        }
    }

    /// Checks that no sum of leaves overflows.
    fn check_sums(&self, members: &[Member]) -> Result<(), ModelError> {
        let mut largest: Vec<f64> = self.base.iter().map(|base| base.abs()).collect();
        for member in members {
            if let Shape::Vector(vector) = &member.shape {
                for (output, largest) in largest.iter_mut().enumerate() {
                    let values = vector.values.iter().skip(output).step_by(self.base.len());
                    *largest += values.map(|value| value.abs()).fold(0.0, f64::max);
                }
                continue;
            }
            let values = member.shape.values();
            largest[member.output as usize] += values.map(f64::abs).fold(0.0, f64::max);
        }
        // Half, because sums are rounded.
        match largest.iter().position(|&sum| sum > f64::MAX / 2.0) {
            Some(output) => Err(ModelError::Overflow { output }),
            None => Ok(()),
        }
    }

    fn check_linear(&self, functions: &[LinearFunction]) -> Result<(), ModelError> {
        let features = &self.schema.features;
        if functions.len() != self.base.len() {
            return Err(ModelError::LinearOutputs {
                functions: functions.len(),
                outputs: self.base.len(),
            });
        }

        for (output, function) in functions.iter().enumerate() {
            if function.terms.len() != features.len() {
                let (terms, features) = (function.terms.len(), features.len());
                return Err(ModelError::LinearTerms { output, terms, features });
            }
            for (term, feature) in function.terms.iter().zip(features) {
                let fits = match (term, &feature.kind) {
                    (LinearTerm::Number { weight, centre }, Kind::Number) => {
                        weight.is_finite() && centre.is_finite()
                    }
                    (LinearTerm::Category { weights }, Kind::Category { levels }) => {
                        weights.len() == levels.len()
                            && weights.iter().all(|weight| weight.is_finite())
                    }
                    _ => false,
                };
                if !fits {
                    return Err(ModelError::LinearTerm { output, feature: feature.name.clone() });
                }
            }
        }
        Ok(())
    }
}

fn check_tree(features: &[Feature], tree: &Tree) -> Result<(), TreeError> {
    let (nodes, leaves) = (tree.nodes.len(), tree.leaves.len());
    if leaves != nodes + 1 {
        return Err(TreeError::Size { nodes, leaves });
    }

    let mut node_seen = vec![false; nodes];
    let mut leaf_seen = vec![false; leaves];
    for (index, node) in tree.nodes.iter().enumerate() {
        for child in [node.left, node.right] {
            let seen = match child {
                Child::Node(to) if to as usize > index => node_seen.get_mut(to as usize),
                Child::Node(_) => None,
                Child::Leaf(to) => leaf_seen.get_mut(to as usize),
            };
            let seen = seen.ok_or(TreeError::Child { node: index, child })?;
            if std::mem::replace(seen, true) {
                return Err(TreeError::TwoParents { child });
            }
        }
        check_split(features, index, &node.split)?;
        check_split_number("gain", index, node.gain)?;
        check_split_number("cover", index, node.cover)?;
    }

    // Each of the 2n edges leads to a different one of the 2n nodes and leaves below the root, so
    // all of them are reached.
    check_leaves(&tree.leaves)
}

fn check_oblivious(features: &[Feature], tree: &ObliviousTree) -> Result<(), TreeError> {
    let (levels, leaves) = (tree.levels.len(), tree.leaves.len());
    if levels > MAX_LEVELS {
        return Err(TreeError::TooManyLevels { levels });
    }
    if leaves != 1 << levels {
        return Err(TreeError::ObliviousLeaves { levels, leaves });
    }
    for (index, level) in tree.levels.iter().enumerate() {
        check_split(features, index, &level.split)?;
        check_split_number("gain", index, level.gain)?;
    }
    check_leaves(&tree.leaves)
}

fn check_vector(
    features: &[Feature],
    outputs: usize,
    vector: &VectorTree,
) -> Result<(), TreeError> {
    check_tree(features, &vector.tree)?;
    let (leaves, values) = (vector.tree.leaves.len(), vector.values.len());
    if outputs < 2 || values != leaves * outputs {
        return Err(TreeError::VectorValues { leaves, outputs, values });
    }
    if let Some(at) = vector.values.iter().position(|value| !value.is_finite()) {
        let (leaf, value) = (at / outputs, vector.values[at]);
        return Err(TreeError::LeafNumber { what: "value", leaf, value });
    }
    match vector.tree.leaves.iter().position(|leaf| leaf.value != 0.0) {
        Some(leaf) => Err(TreeError::VectorLeaf { leaf }),
        None => Ok(()),
    }
}

fn check_split(features: &[Feature], index: usize, split: &Split) -> Result<(), TreeError> {
    let Some(feature) = features.get(split.feature as usize) else {
        return Err(TreeError::Feature {
            split: index,
            feature: split.feature,
            features: features.len(),
        });
    };

    match (&split.test, &feature.kind) {
        (Test::Above(threshold), Kind::Number) => {
            check_split_number("threshold", index, *threshold)
        }
        (Test::In(set), Kind::Category { levels }) => match set.iter().next_back() {
            Some(code) if code as usize >= levels.len() => Err(TreeError::Level {
                split: index,
                feature: feature.name.clone(),
                code,
                levels: levels.len(),
            }),
            _ => Ok(()),
        },
        _ => Err(TreeError::WrongTest { split: index, feature: feature.name.clone() }),
    }
}

fn check_split_number(what: &'static str, split: usize, value: f64) -> Result<(), TreeError> {
    if value.is_finite() && (what != "cover" || value >= 0.0) {
        Ok(())
    } else {
        Err(TreeError::SplitNumber { what, split, value })
    }
}

fn check_leaves(leaves: &[Leaf]) -> Result<(), TreeError> {
    for (index, leaf) in leaves.iter().enumerate() {
        if !leaf.value.is_finite() {
            return Err(TreeError::LeafNumber { what: "value", leaf: index, value: leaf.value });
        }
        if !(leaf.cover.is_finite() && leaf.cover >= 0.0) {
            return Err(TreeError::LeafNumber { what: "cover", leaf: index, value: leaf.cover });
        }
    }
    Ok(())
}
