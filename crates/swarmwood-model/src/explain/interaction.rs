//! Which features a model combines.

use std::collections::BTreeMap;

use crate::ensemble::{Body, Model, Shape};
use crate::tree::{Child, Tree};

/// Two features that a model combines: some split on one of them is below a split on the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction {
    /// Both features, by their position in the schema, the lower one first.
    pub features: (u32, u32),
    /// Sum of the gains of the splits on one of them below a split on the other.
    pub gain: f64,
    /// Number of these splits.
    pub splits: u64,
}

/// Gains and splits of pairs of features.
type Pairs = BTreeMap<(u32, u32), (f64, u64)>;

impl Model {
    /// All pairs of features with a split on one below a split on the other, the highest gain first.
    /// What a model computes is the sum of functions of one feature if there are none; a pair may
    /// be listed although its trees happen to be a sum.
    pub fn interactions(&self) -> Vec<Interaction> {
        let mut pairs = Pairs::new();
        let Body::Trees(members) = &self.body else { return Vec::new() };
        for member in members {
            match &member.shape {
                Shape::Ordinary(tree) => add_tree(tree, &mut pairs),
                Shape::Vector(vector) => add_tree(&vector.tree, &mut pairs),
                Shape::Oblivious(tree) => {
                    let mut above = Vec::new();
                    for level in &tree.levels {
                        add_split(level.split.feature, level.gain, &mut above, &mut pairs);
                    }
                }
            }
        }

        let interaction = |(features, (gain, splits))| Interaction { features, gain, splits };
        let mut found: Vec<Interaction> = pairs.into_iter().map(interaction).collect();
        found.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        found
    }
}

fn add_tree(tree: &Tree, pairs: &mut Pairs) {
    if tree.nodes.is_empty() {
        return;
    }
    let mut open: Vec<(usize, Vec<u32>)> = vec![(0, Vec::new())];
    while let Some((at, mut above)) = open.pop() {
        let node = &tree.nodes[at];
        add_split(node.split.feature, node.gain, &mut above, pairs);
        for child in [node.left, node.right] {
            if let Child::Node(at) = child {
                open.push((at as usize, above.clone()));
            }
        }
    }
}

/// Counts a split with each of the other features above it, which it then joins.
fn add_split(feature: u32, gain: f64, above: &mut Vec<u32>, pairs: &mut Pairs) {
    for &other in above.iter().filter(|&&other| other != feature) {
        let (sum, splits) = pairs.entry((feature.min(other), feature.max(other))).or_default();
        *sum += gain;
        *splits += 1;
    }
    if !above.contains(&feature) {
        above.push(feature);
    }
}
