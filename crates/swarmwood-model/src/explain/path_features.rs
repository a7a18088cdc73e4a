//! Which features stand together on a path: what interaction constraints are about.

use std::collections::BTreeSet;

use crate::ensemble::{Body, Model, Shape};
use crate::tree::{Child, Tree};

impl Model {
    /// The sets of features on the paths of all trees from the root to a leaf, each ascending. A
    /// linear function has none.
    pub fn path_features(&self) -> BTreeSet<Vec<u32>> {
        let mut sets = BTreeSet::new();
        let Body::Trees(members) = &self.body else { return sets };
        for member in members {
            match &member.shape {
                Shape::Ordinary(tree) => add_paths(tree, &mut sets),
                Shape::Vector(vector) => add_paths(&vector.tree, &mut sets),
                Shape::Oblivious(tree) => {
                    let features = tree.levels.iter().map(|level| level.split.feature);
                    sets.insert(features.collect::<BTreeSet<u32>>().into_iter().collect());
                }
            }
        }
        sets
    }
}

/// Adds the features of every path of a tree; nodes come after their parents.
fn add_paths(tree: &Tree, sets: &mut BTreeSet<Vec<u32>>) {
    let mut above: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        let mut path = std::mem::take(&mut above[at]);
        path.insert(node.split.feature);
        for child in [node.left, node.right] {
            match child {
                Child::Node(child) => above[child as usize].clone_from(&path),
                Child::Leaf(_) => {
                    sets.insert(path.iter().copied().collect());
                }
            }
        }
    }
}
