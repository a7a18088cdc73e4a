//! The traversal from the root to a leaf, one row at a time. It defines what a model predicts;
//! every faster implementation must give the same bits.

use crate::ensemble::{Body, LinearFunction, LinearTerm, Member, Model, Shape};
use crate::predict::block::{BlockError, FeatureValue, MISSING, check_row};
use crate::schema::Kind;
use crate::tree::{Child, ObliviousTree, Split, Test, Tree};

/// Replaces a category code without a level in the schema by [`MISSING`].
pub(crate) fn unknown_to_missing(levels: Option<u32>, value: FeatureValue) -> FeatureValue {
    match (value, levels) {
        (FeatureValue::Category(code), Some(levels)) if code >= levels => {
            FeatureValue::Category(MISSING)
        }
        _ => value,
    }
}

impl Split {
    /// Whether a row with this value goes right. Codes without a level in the schema must have been
    /// replaced by [`MISSING`].
    pub fn goes_right(&self, value: FeatureValue) -> bool {
        match (&self.test, value) {
            (Test::Above(threshold), FeatureValue::Number(number)) if !number.is_nan() => {
                number > *threshold
            }
            (Test::In(set), FeatureValue::Category(code)) if code != MISSING => set.contains(code),
            _ => self.missing_right,
        }
    }
}

impl Tree {
    /// The leaf that a row reaches; `value` returns the row's value of a feature.
    pub fn leaf_of(&self, value: impl Fn(u32) -> FeatureValue) -> u32 {
        let mut at = self.root();
        loop {
            match at {
                Child::Leaf(leaf) => return leaf,
                Child::Node(index) => {
                    let node = &self.nodes[index as usize];
                    at = if node.split.goes_right(value(node.split.feature)) {
                        node.right
                    } else {
                        node.left
                    };
                }
            }
        }
    }
}

impl ObliviousTree {
    /// The leaf that a row reaches; `value` returns the row's value of a feature.
    pub fn leaf_of(&self, value: impl Fn(u32) -> FeatureValue) -> u32 {
        let side = |split: &Split| u32::from(split.goes_right(value(split.feature)));
        self.levels
            .iter()
            .enumerate()
            .fold(0, |leaf, (level, rule)| leaf | side(&rule.split) << level)
    }
}

impl Shape {
    /// The leaf that a row reaches; `value` returns the row's value of a feature.
    pub fn leaf_of(&self, value: impl Fn(u32) -> FeatureValue) -> u32 {
        match self {
            Shape::Ordinary(tree) => tree.leaf_of(value),
            Shape::Oblivious(tree) => tree.leaf_of(value),
            Shape::Vector(vector) => vector.tree.leaf_of(value),
        }
    }
}

impl LinearTerm {
    /// The contribution of the term for a value, which is finite for every value.
    pub(crate) fn evaluate(&self, value: FeatureValue) -> f64 {
        match (self, value) {
            (LinearTerm::Number { weight, centre }, FeatureValue::Number(number))
                if !number.is_nan() =>
            {
                bounded(weight * bounded(number - centre))
            }
            (LinearTerm::Category { weights }, FeatureValue::Category(code)) => {
                weights.get(code as usize).copied().unwrap_or(0.0)
            }
            _ => 0.0,
        }
    }
}

/// The nearest finite number.
fn bounded(number: f64) -> f64 {
    number.clamp(-f64::MAX, f64::MAX)
}

/// Adds the leaf values of a row to its raw scores, in the order of the trees.
pub(super) fn add_trees(members: &[Member], value: impl Fn(u32) -> FeatureValue, raw: &mut [f64]) {
    for member in members {
        let leaf = member.shape.leaf_of(&value) as usize;
        match &member.shape {
            Shape::Vector(vector) => {
                let values = vector.leaf_values(leaf);
                raw.iter_mut().zip(values).for_each(|(raw, value)| *raw += value);
            }
            shape => raw[member.output as usize] += shape.leaves()[leaf].value,
        }
    }
}

/// Adds the terms of a row to its raw scores, in the order of the features.
pub(super) fn add_linear(
    functions: &[LinearFunction],
    value: impl Fn(u32) -> FeatureValue,
    raw: &mut [f64],
) {
    for (function, raw) in functions.iter().zip(raw) {
        for (feature, term) in function.terms.iter().enumerate() {
            *raw = bounded(*raw + term.evaluate(value(feature as u32)));
        }
    }
}

impl Model {
    /// A row's value of a feature; unknown levels become missing.
    fn value_of(&self, row: &[FeatureValue], feature: u32) -> FeatureValue {
        let levels = match &self.schema.features[feature as usize].kind {
            Kind::Number => None,
            Kind::Category { levels } => Some(levels.len() as u32),
        };
        unknown_to_missing(levels, row[feature as usize])
    }

    /// The raw scores of one row: the start values plus the leaf values of the first `first_rounds`
    /// rounds (or all), added in order.
    ///
    /// A linear model has no rounds and ignores `first_rounds`.
    pub fn raw_row(
        &self,
        row: &[FeatureValue],
        first_rounds: Option<usize>,
    ) -> Result<Vec<f64>, BlockError> {
        check_row(&self.schema, row)?;
        let mut raw = self.base.clone();
        let value = |feature| self.value_of(row, feature);
        match &self.body {
            Body::Trees(_) => add_trees(self.first_members(first_rounds), value, &mut raw),
            Body::Linear(functions) => add_linear(functions, value, &mut raw),
        }
        Ok(raw)
    }

    /// The leaf that one row reaches in each tree.
    pub fn leaves_row(
        &self,
        row: &[FeatureValue],
        first_rounds: Option<usize>,
    ) -> Result<Vec<u32>, BlockError> {
        check_row(&self.schema, row)?;
        let leaf = |member: &Member| member.shape.leaf_of(|feature| self.value_of(row, feature));
        Ok(self.first_members(first_rounds).iter().map(leaf).collect())
    }
}
