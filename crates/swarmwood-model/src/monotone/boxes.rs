//! The boxes of the leaves of a small tree, and which of them are neighbours.

use super::region::Values;
use crate::tree::{Child, Tree};

/// Trees with more leaves are walked: all pairs of their leaves are too many.
pub(super) const MOST_LEAVES: usize = 64;

/// What reaches each leaf of a tree, by the features that its splits ask about.
pub(super) struct LeafBoxes {
    features: Vec<u32>,
    /// Leaf after leaf, one entry per feature; nothing for a leaf that no row reaches.
    values: Vec<Option<Values>>,
}

impl LeafBoxes {
    pub(super) fn new(tree: &Tree) -> LeafBoxes {
        let mut features: Vec<u32> = tree.nodes.iter().map(|node| node.split.feature).collect();
        features.sort_unstable();
        features.dedup();

        let mut current: Vec<Values> = features
            .iter()
            .map(|feature| {
                let mut splits = tree.nodes.iter().map(|node| &node.split);
                let split = splits.find(|split| split.feature == *feature);
                split.map_or(Values::NUMBERS, |split| Values::all(&split.test))
            })
            .collect();
        let values = vec![None; features.len() * tree.leaves.len()];
        let mut boxes = LeafBoxes { features, values };
        boxes.descend(tree, tree.root(), &mut current);
        boxes
    }

    /// Writes the boxes of the leaves below a position, whose own box is `current`.
    fn descend(&mut self, tree: &Tree, at: Child, current: &mut [Values]) {
        let node = match at {
            Child::Node(node) => &tree.nodes[node as usize],
            Child::Leaf(leaf) => {
                let width = self.features.len();
                let place = &mut self.values[leaf as usize * width..][..width];
                place.iter_mut().zip(current).for_each(|(to, from)| *to = Some(from.clone()));
                return;
            }
        };
        let Ok(feature) = self.features.binary_search(&node.split.feature) else { return };
        for (child, right) in [(node.left, false), (node.right, true)] {
            let side = current[feature].side(&node.split, right);
            if side.is_empty(None) {
                continue;
            }
            let before = std::mem::replace(&mut current[feature], side);
            self.descend(tree, child, current);
            current[feature] = before;
        }
    }

    /// Pairs of leaves that a row passes between when a feature grows over a threshold, ascending.
    pub(super) fn neighbours(&self, feature: u32) -> Vec<(u32, u32)> {
        let Ok(of_feature) = self.features.binary_search(&feature) else { return Vec::new() };
        let width = self.features.len();
        let leaves: Vec<&[Option<Values>]> = self.values.chunks_exact(width).collect();
        let range = |leaf: usize| match leaves[leaf][of_feature] {
            Some(Values::Numbers { above, upto, .. }) if above < upto => Some((above, upto)),
            _ => None,
        };
        let ranges: Vec<Option<(f64, f64)>> = (0..leaves.len()).map(range).collect();

        let meet = |a: &Option<Values>, b: &Option<Values>| match (a, b) {
            (Some(a), Some(b)) => a.meets(b),
            _ => false,
        };
        let mut pairs = Vec::new();
        for (lower, below) in ranges.iter().enumerate() {
            let Some((_, threshold)) = *below else { continue };
            for (upper, above) in ranges.iter().enumerate() {
                let is_next = above.is_some_and(|(above, _)| above == threshold);
                let others = (0..width).filter(|&at| at != of_feature);
                if is_next
                    && others.into_iter().all(|at| meet(&leaves[lower][at], &leaves[upper][at]))
                {
                    pairs.push((lower as u32, upper as u32));
                }
            }
        }
        pairs
    }
}
