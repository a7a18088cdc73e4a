//! A sum of trees as a score card: the trees that test one feature are added up to the points of
//! its values, and what remains are groups of rules as in the table of points.
//!
//! A feature on its card line by line: neighbouring intervals, or levels, with different points.
//! Whole points are shifted to begin at 0 for each feature, and the intercept makes up for it.
//!
//! **Invariant:** points add up to the raw score of the model on every input, up to the rounding of
//! sums; whole points add up exactly.

use std::collections::BTreeMap;

use super::additive::OutputTree;
use super::space::{Region, TreeSpace};
use super::{AdditiveGroup, AdditiveRule, AdditiveRules, AdditiveRulesError};
use crate::ensemble::Model;
use crate::schema::Kind;
use crate::tree::Split;

impl Model {
    /// The model as a score card for readers, if it is a sum of trees with few leaves: like
    /// [`Model::additive_rules`], but with one group for all trees that test the same feature and
    /// no other. These groups come first, those that change the score most at the top.
    pub fn score_card(&self) -> Result<AdditiveRules<'_>, AdditiveRulesError> {
        let mut of_features: BTreeMap<u32, Vec<OutputTree<'_>>> = BTreeMap::new();
        let mut others = Vec::new();
        for tree in self.output_trees()? {
            match only_feature(&tree) {
                Some(feature) => of_features.entry(feature).or_default().push(tree),
                None => others.push(tree),
            }
        }

        let mut card = self.rules_of_trees(&others);
        let mut features: Vec<(f64, AdditiveGroup)> = Vec::new();
        for (feature, trees) in of_features {
            let mut group = FeaturePoints::new(self, feature, &trees).group(self, feature);
            if self.calibration.points_unit.is_some() || group.rules.len() == 1 {
                card.shift_to_zero(&mut group);
            }
            if group.rules.len() > 1 {
                features.push((group.largest_range(), group));
            }
        }
        // The sort keeps the order of features with equal ranges.
        features.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rest = std::mem::take(&mut card.groups);
        card.groups = features.into_iter().map(|(_, group)| group).chain(rest).collect();
        Ok(card)
    }
}

/// The feature of a tree that tests no other.
fn only_feature(tree: &OutputTree<'_>) -> Option<u32> {
    let (first, rest) = tree.tree.nodes.split_first()?;
    let feature = first.split.feature;
    rest.iter().all(|node| node.split.feature == feature).then_some(feature)
}

/// What the trees of one feature add for each of its atoms: intervals or levels that none of them
/// tells apart.
struct FeaturePoints {
    space: TreeSpace,
    outputs: Vec<u32>,
    /// One entry per atom, each with one number per output.
    points: Vec<Vec<f64>>,
    /// The share of the training rows by atom, if it is known.
    shares: Option<Vec<f64>>,
}

impl FeaturePoints {
    fn new(model: &Model, feature: u32, trees: &[OutputTree<'_>]) -> FeaturePoints {
        let splits: Vec<&Split> =
            trees.iter().flat_map(|tree| tree.tree.nodes.iter().map(|node| &node.split)).collect();
        let space = TreeSpace::of_feature(feature, &model.schema, &splits);
        let mut outputs: Vec<u32> = trees.iter().map(|tree| tree.output).collect();
        outputs.sort_unstable();
        outputs.dedup();

        let atoms = space.sizes()[0];
        let mut points = vec![vec![0.0; outputs.len()]; atoms];
        let mut leaf_shares = Vec::new();
        for tree in trees {
            let at = outputs.partition_point(|&output| output < tree.output);
            let shares = model.leaf_shares(tree.at, &tree.tree);
            let leaves: Vec<(Region, f64)> = space
                .leaves(&tree.tree)
                .into_iter()
                .enumerate()
                .filter_map(|(leaf, region)| {
                    let region = region?;
                    for atom in (0..atoms).filter(|&atom| space.has_atom(&region, atom)) {
                        points[atom][at] += tree.tree.leaves[leaf].value;
                    }
                    Some((region, shares[leaf]))
                })
                .collect();
            leaf_shares.push(leaves);
        }
        if let Some(unit) = model.calibration.points_unit {
            points.iter_mut().flatten().for_each(|sum| *sum = unit * (*sum / unit).round());
        }

        let is_counted = trees.iter().all(|tree| model.leaf_rows(tree.at, 0).is_some());
        let shares = match is_counted {
            true => atom_shares(model, feature, &space, &leaf_shares),
            false => None,
        };
        FeaturePoints { space, outputs, points, shares }
    }

    /// Neighbouring atoms with the same points as one rule each, in ascending order.
    fn group(&self, model: &Model, feature: u32) -> AdditiveGroup {
        let is_number = matches!(model.schema.features[feature as usize].kind, Kind::Number);
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for atom in 0..self.points.len() {
            let is_interval = atom < self.space.interval_count();
            let same = |run: &&mut Vec<usize>| self.points[run[0]] == self.points[atom];
            // Any levels with the same points belong together, and missing values to any interval.
            let run = match is_number && is_interval {
                true => runs.last_mut().filter(same),
                false => runs.iter_mut().find(same),
            };
            match run {
                Some(run) => run.push(atom),
                None => runs.push(vec![atom]),
            }
        }

        let rule = |run: &Vec<usize>| AdditiveRule {
            conditions: self.space.describe(&self.space.region_of(run)),
            points: self.points[run[0]].clone(),
            support: self.shares.as_ref().map(|shares| run.iter().map(|&atom| shares[atom]).sum()),
        };
        AdditiveGroup {
            feature: Some(feature),
            outputs: self.outputs.clone(),
            rules: runs.iter().map(rule).collect(),
        }
    }
}

/// The share of the training rows of each atom of a feature, from the rows of the leaves of its
/// trees and the distribution of its values.
fn atom_shares(
    model: &Model,
    feature: u32,
    space: &TreeSpace,
    trees: &[Vec<(Region, f64)>],
) -> Option<Vec<f64>> {
    let known =
        model.provenance.stats.distributions.iter().find(|known| known.feature == feature)?;
    let rows = (known.counts.iter().sum::<u64>() + known.missing) as f64;
    let missing = known.missing as f64 / rows.max(1.0);
    let atoms = space.sizes()[0];
    let mut shares = vec![0.0; atoms];
    if let Some(sets) = space.level_sets() {
        for (share, set) in shares.iter_mut().zip(sets) {
            let count = |code: u32| known.counts.get(code as usize).copied().unwrap_or(0);
            *share = set.iter().map(count).sum::<u64>() as f64 / rows.max(1.0);
        }
    } else {
        // Rows up to the end of each interval: every threshold is the end of a leaf of some tree.
        let mut up_to = vec![0.0; space.interval_count()];
        for leaves in trees {
            let mut ends: Vec<(usize, f64)> = leaves
                .iter()
                .filter_map(|(region, share)| {
                    let inside = |atom: &usize| space.has_atom(region, *atom);
                    let last = (0..space.interval_count()).rev().find(inside)?;
                    let holds_missing = space.has_atom(region, space.missing_atom());
                    Some((last, if holds_missing { share - missing } else { *share }))
                })
                .collect();
            ends.sort_by_key(|&(last, _)| last);
            let mut sum = 0.0;
            for (last, share) in ends {
                sum += share;
                up_to[last] = sum;
            }
        }
        let mut before = 0.0;
        for (share, end) in shares.iter_mut().zip(up_to) {
            *share = f64::max(0.0, end - before);
            before = end;
        }
    }
    shares[space.missing_atom()] += missing;
    Some(shares)
}

impl AdditiveRules<'_> {
    /// Moves the least points of each output to the intercept.
    fn shift_to_zero(&mut self, group: &mut AdditiveGroup) {
        for (at, &output) in group.outputs.iter().enumerate() {
            let least =
                group.rules.iter().map(|rule| rule.points[at]).fold(f64::INFINITY, f64::min);
            group.rules.iter_mut().for_each(|rule| rule.points[at] -= least);
            self.intercept[output as usize] += least;
        }
    }
}

impl AdditiveGroup {
    /// The largest difference of two rules in one output.
    fn largest_range(&self) -> f64 {
        let range = |at: usize| {
            let points = || self.rules.iter().map(|rule| rule.points[at]);
            points().fold(f64::NEG_INFINITY, f64::max) - points().fold(f64::INFINITY, f64::min)
        };
        (0..self.outputs.len()).map(range).fold(0.0, f64::max)
    }
}
