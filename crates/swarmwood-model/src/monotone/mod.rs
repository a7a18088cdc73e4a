//! Whether a model is monotone in a feature: a proof, or two rows that show it is not.
//!
//! A sum of trees changes only where a feature passes a threshold, and there only trees with that
//! threshold change. So a model is increasing in a feature exactly if, at each of its thresholds and
//! for all values of the other features, the jumps of the trees that have it sum to no less than
//! zero. [`check`] goes through these jumps: through the pairs of leaves of each tree, and where one
//! of them has the wrong sign, through the combinations of pairs of all trees with the threshold.
//!
//! A model whose trees are monotone one by one is monotone to the last bit, because sums of numbers
//! that do not fall do not fall when they are rounded. Otherwise sums are compared after rounding.
//! Missing values are not compared with numbers; rows are finite.

mod boxes;
mod jumps;
mod region;

#[cfg(test)]
mod tests;

use std::fmt;

use boxes::LeafBoxes;
use jumps::{FeatureWalk, LeafJump};
use region::{RowRegion, number_in};

use crate::ensemble::{Body, LinearTerm, Link, Model, Shape};
use crate::predict::{FeatureValue, level_counts};
use crate::schema::Kind;
use crate::tree::Tree;

/// Combinations of leaves of trees with the same threshold that are tried.
const MOST_COMBINATIONS: usize = 5_000_000;

/// The direction in which predictions may change when a feature grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A greater value never lowers the prediction.
    Increasing,
    /// A greater value never raises the prediction.
    Decreasing,
}

impl Direction {
    /// The sign that turns this direction into increasing.
    pub fn sign(self) -> f64 {
        match self {
            Direction::Increasing => 1.0,
            Direction::Decreasing => -1.0,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Increasing => "increasing",
            Direction::Decreasing => "decreasing",
        })
    }
}

/// Pairs of leaves that a row passes between when a feature grows over a threshold, for each of some
/// features: first the leaf below, then the one above. A tree is increasing in a feature exactly if no
/// pair falls.
///
/// ```
/// use swarmwood_model::monotone::neighbours;
/// use swarmwood_model::{Child, Leaf, Node, Split, Test, Tree};
///
/// let split = Split { feature: 0, test: Test::Above(30.0), missing_right: true };
/// let (left, right) = (Child::Leaf(0), Child::Leaf(1));
/// let nodes = vec![Node { split, left, right, gain: 1.0, cover: 2.0 }];
/// let tree = Tree { nodes, leaves: vec![Leaf::default(); 2] };
/// assert_eq!(neighbours(&tree, &[0]), [[(0, 1)]]);
/// ```
pub fn neighbours(tree: &Tree, features: &[u32]) -> Vec<Vec<(u32, u32)>> {
    if tree.leaves.len() <= boxes::MOST_LEAVES {
        let boxes = LeafBoxes::new(tree);
        return features.iter().map(|&feature| boxes.neighbours(feature)).collect();
    }
    features.iter().map(|&feature| neighbours_by_walk(tree, feature)).collect()
}

/// The same for one feature, without looking at pairs of leaves that do not meet.
fn neighbours_by_walk(tree: &Tree, feature: u32) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    let walk = FeatureWalk { tree, feature, levels: &[] };
    walk.each_jump(&mut |_, jump| pairs.push((jump.lower, jump.upper)));
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub enum MonotoneCheck {
    /// No two rows contradict the direction.
    Proven {
        /// Pairs of neighbouring leaves that were compared.
        pairs: usize,
    },
    /// Two rows do.
    Violated(Counterexample),
    /// Too many trees share a threshold and compensate each other there.
    Undecided {
        /// The threshold.
        threshold: f64,
    },
}

/// Two rows that differ in one feature and are predicted in the wrong order.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterexample {
    /// The row with the lesser value, in the order of the schema.
    pub lower: Vec<FeatureValue>,
    /// The row with the greater value.
    pub upper: Vec<FeatureValue>,
    /// The raw scores of both.
    pub raw: [f64; 2],
}

/// Why a check does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MonotoneError {
    /// The model predicts several scores.
    #[error(
        "the model predicts {outputs} scores; only models of one number and of two classes can be \
         checked"
    )]
    Outputs {
        /// How many.
        outputs: usize,
    },
    /// The values of the feature have no order.
    #[error("the values of '{name}' are categories, which have no order")]
    Category {
        /// The feature's name.
        name: String,
    },
}

/// Whether the raw score of a model never changes against a direction when a feature, given by its
/// place in the schema, grows and all others stay as they are.
///
/// # Panics
/// If there is no such feature.
pub fn check(
    model: &Model,
    feature: usize,
    direction: Direction,
) -> Result<MonotoneCheck, MonotoneError> {
    let outputs = model.outputs();
    if outputs != 1 || model.link == Link::Softmax {
        return Err(MonotoneError::Outputs { outputs });
    }
    let Kind::Number = model.schema.features[feature].kind else {
        return Err(MonotoneError::Category { name: model.schema.features[feature].name.clone() });
    };

    let levels = level_counts(&model.schema);
    let check = ModelCheck { model, feature, direction, levels: &levels };
    match &model.body {
        Body::Trees(members) => {
            let trees: Vec<Tree> = members
                .iter()
                .filter(|member| {
                    member.shape.splits().any(|split| split.feature as usize == feature)
                })
                .map(|member| match &member.shape {
                    Shape::Vector(vector) => vector.to_tree(0),
                    shape => shape.to_tree().into_owned(),
                })
                .collect();
            Ok(check.trees(&trees))
        }
        Body::Linear(functions) => {
            let falls = functions.iter().any(|function| {
                matches!(function.terms.get(feature), Some(LinearTerm::Number { weight, .. })
                    if weight * direction.sign() < 0.0)
            });
            let proven = MonotoneCheck::Proven { pairs: 0 };
            Ok(if falls {
                check.confirmed(0.0, 1.0, &RowRegion::default()).unwrap_or(proven)
            } else {
                proven
            })
        }
    }
}

/// One feature of a model.
struct ModelCheck<'a> {
    model: &'a Model,
    feature: usize,
    direction: Direction,
    levels: &'a [Option<u32>],
}

/// The jumps of one tree at one threshold, in the direction.
struct TreeJumps {
    cells: Vec<(f64, RowRegion)>,
    least: f64,
}

impl ModelCheck<'_> {
    fn walk<'t>(&'t self, tree: &'t Tree) -> FeatureWalk<'t> {
        FeatureWalk { tree, feature: self.feature as u32, levels: self.levels }
    }

    /// How much a jump raises the score in the direction.
    fn rise(&self, tree: &Tree, jump: &LeafJump) -> f64 {
        let value = |leaf: u32| tree.leaves[leaf as usize].value;
        (value(jump.upper) - value(jump.lower)) * self.direction.sign()
    }

    fn trees(&self, trees: &[Tree]) -> MonotoneCheck {
        let mut pairs = 0;
        let mut fallen: Vec<f64> = Vec::new();
        for tree in trees {
            self.walk(tree).each_jump(&mut |threshold, jump| {
                pairs += 1;
                if self.rise(tree, &jump) < 0.0 {
                    fallen.push(threshold);
                }
            });
        }
        fallen.sort_by(f64::total_cmp);
        fallen.dedup();

        let mut undecided = None;
        for threshold in fallen {
            match self.at(threshold, trees) {
                Ok(None) => {}
                Ok(Some(example)) => return example,
                Err(()) => undecided = undecided.or(Some(threshold)),
            }
        }
        match undecided {
            Some(threshold) => MonotoneCheck::Undecided { threshold },
            None => MonotoneCheck::Proven { pairs },
        }
    }

    /// Looks for a counterexample at a threshold where some tree falls; an error if there are too many
    /// combinations.
    fn at(&self, threshold: f64, trees: &[Tree]) -> Result<Option<MonotoneCheck>, ()> {
        let with_threshold =
            trees.iter().filter(|tree| self.walk(tree).thresholds().contains(&threshold));
        let mut jumps: Vec<TreeJumps> = with_threshold
            .map(|tree| {
                let cells = self.walk(tree).cells(threshold).into_iter();
                let mut cells: Vec<(f64, RowRegion)> =
                    cells.map(|cell| (self.rise(tree, &cell), cell.region)).collect();
                cells.sort_by(|a, b| a.0.total_cmp(&b.0));
                let least = cells.first().map_or(0.0, |cell| cell.0);
                TreeJumps { cells, least }
            })
            .collect();
        // Trees that fall deepest are combined first: others can only be bounded.
        jumps.sort_by(|a, b| a.least.total_cmp(&b.least));
        let mut rest = vec![0.0; jumps.len() + 1];
        for (at, tree) in jumps.iter().enumerate().rev() {
            rest[at] = rest[at + 1] + tree.least;
        }

        // The greatest number that is no threshold of the model stands for all up to the next one.
        let next = trees.iter().flat_map(|tree| self.walk(tree).thresholds());
        let next = next.filter(|&other| other > threshold).fold(f64::MAX, f64::min);
        let upper = number_in(threshold, next);
        let mut open = vec![(0, 0.0, RowRegion::default())];
        let mut tried = 0;
        while let Some((at, sum, region)) = open.pop() {
            if sum + rest[at] >= 0.0 {
                continue;
            }
            let Some(tree) = jumps.get(at) else {
                match self.confirmed(threshold, upper, &region) {
                    Some(example) => return Ok(Some(example)),
                    None => continue,
                }
            };
            for (rise, cell) in tree.cells.iter().rev() {
                tried += 1;
                if tried > MOST_COMBINATIONS {
                    return Err(());
                }
                if let Some(region) = region.intersection(cell, self.levels) {
                    open.push((at + 1, sum + rise, region));
                }
            }
        }
        Ok(None)
    }

    /// A counterexample with two values of the feature in a region, if the scores are in the wrong
    /// order.
    fn confirmed(&self, lower: f64, upper: f64, region: &RowRegion) -> Option<MonotoneCheck> {
        let start = |kind: &Kind| match kind {
            Kind::Number => FeatureValue::Number(0.0),
            Kind::Category { .. } => FeatureValue::Category(0),
        };
        let features = self.model.schema.features.iter();
        let mut row: Vec<FeatureValue> = features.map(|feature| start(&feature.kind)).collect();
        region.place(&mut row, self.levels);
        let with = |value: f64| {
            let mut row = row.clone();
            row[self.feature] = FeatureValue::Number(value);
            row
        };
        let (lower, upper) = (with(lower), with(upper));

        let raw = |row: &[FeatureValue]| Some(*self.model.raw_row(row, None).ok()?.first()?);
        let raw = [raw(&lower)?, raw(&upper)?];
        let falls = (raw[1] - raw[0]) * self.direction.sign() < 0.0;
        falls.then_some(MonotoneCheck::Violated(Counterexample { lower, upper, raw }))
    }
}
