//! Where a tree jumps when one feature passes one of its thresholds.

use super::region::RowRegion;
use crate::tree::{Child, Split, Test, Tree};

/// Two leaves on both sides of a threshold, and the rows that pass from one to the other.
#[derive(Debug, Clone)]
pub(super) struct LeafJump {
    /// The leaf of values up to the threshold.
    pub(super) lower: u32,
    /// The leaf of values right above it.
    pub(super) upper: u32,
    /// The other features.
    pub(super) region: RowRegion,
}

/// One feature of one tree.
#[derive(Clone, Copy)]
pub(super) struct FeatureWalk<'a> {
    pub(super) tree: &'a Tree,
    pub(super) feature: u32,
    /// The number of levels of each feature, where it is known.
    pub(super) levels: &'a [Option<u32>],
}

/// Two rows that differ in one feature alone, on both sides of a threshold, on their way down.
#[derive(Clone, Copy)]
struct RowPair {
    lower: Child,
    upper: Child,
    threshold: f64,
}

impl FeatureWalk<'_> {
    /// The threshold of a split of the feature; the test for missing values has none, because no
    /// finite number lies above it.
    fn threshold(&self, split: &Split) -> Option<f64> {
        match split.test {
            Test::Above(at) if split.feature == self.feature && at < f64::MAX => Some(at),
            _ => None,
        }
    }

    /// The thresholds of the feature, ascending.
    pub(super) fn thresholds(&self) -> Vec<f64> {
        let splits = self.tree.nodes.iter().map(|node| &node.split);
        let mut all: Vec<f64> = splits.filter_map(|split| self.threshold(split)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        all
    }

    /// Calls with every threshold and every jump at it between two different leaves.
    pub(super) fn each_jump(&self, call: &mut dyn FnMut(f64, LeafJump)) {
        let mut open = vec![(self.tree.root(), RowRegion::default())];
        while let Some((child, region)) = open.pop() {
            let Child::Node(node) = child else { continue };
            let node = &self.tree.nodes[node as usize];

            // A threshold outside of what reaches the node parts nothing.
            let (above, upto) = region.numbers(self.feature);
            if let Some(threshold) = self.threshold(&node.split)
                && above < threshold
                && threshold < upto
            {
                let pair = RowPair { lower: node.left, upper: node.right, threshold };
                let others = region.clone().without(self.feature);
                self.descend(pair, others, &mut |jump| call(threshold, jump));
            }

            for (child, right) in [(node.right, true), (node.left, false)] {
                let side = region.side(&node.split, right, self.levels);
                open.extend(side.map(|region| (child, region)));
            }
        }
    }

    /// All ways of a row that passes a threshold; those that end in one leaf do not jump.
    pub(super) fn cells(&self, threshold: f64) -> Vec<LeafJump> {
        let root = self.tree.root();
        let mut cells = Vec::new();
        let pair = RowPair { lower: root, upper: root, threshold };
        self.descend(pair, RowRegion::default(), &mut |cell| cells.push(cell));
        cells
    }

    /// Calls with every pair of leaves that two rows reach.
    fn descend(&self, pair: RowPair, region: RowRegion, call: &mut dyn FnMut(LeafJump)) {
        let mut open = vec![(pair, region)];
        while let Some((pair, region)) = open.pop() {
            let RowPair { lower, upper, threshold } = pair;
            let (at, together) = match (lower, upper) {
                (Child::Leaf(lower), Child::Leaf(upper)) => {
                    call(LeafJump { lower, upper, region });
                    continue;
                }
                (Child::Node(node), _) => (node, lower == upper),
                (Child::Leaf(_), Child::Node(node)) => (node, false),
            };
            let node = &self.tree.nodes[at as usize];
            let moves_lower = matches!(lower, Child::Node(_));
            let moves_upper = together || !moves_lower;
            let child = |right: bool| if right { node.right } else { node.left };

            match node.split.test {
                Test::Above(split) if node.split.feature == self.feature => {
                    let pair = RowPair {
                        lower: if moves_lower { child(threshold > split) } else { lower },
                        upper: if moves_upper { child(threshold >= split) } else { upper },
                        threshold,
                    };
                    open.push((pair, region));
                }
                _ => {
                    for right in [true, false] {
                        let Some(region) = region.side(&node.split, right, self.levels) else {
                            continue;
                        };
                        let pair = RowPair {
                            lower: if moves_lower { child(right) } else { lower },
                            upper: if moves_upper { child(right) } else { upper },
                            threshold,
                        };
                        open.push((pair, region));
                    }
                }
            }
        }
    }
}
