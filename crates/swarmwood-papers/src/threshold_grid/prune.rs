//! Pruning the tree of a grid to a size that a user gives.
//!
//! "We may … prune the decision tree to get the user-specific size of tree" (Jun, Cho, Lee 2012,
//! section 5): by cost-complexity with the Gini impurity of the training rows, as the preliminary
//! tree. A node that becomes a leaf predicts the class of most of its rows; the other leaves keep theirs.

use swarmwood_learn::cart::PruningPath;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rank_tree::{ClassifierTree, NodeFit, NodeRef, RankTree, fit_nodes};

/// The largest tree of the pruning path with at most so many leaves.
pub fn prune_to_size(tree: ClassifierTree, table: &RankTable, leaves: usize) -> ClassifierTree {
    if tree.rules.leaves() <= leaves {
        return tree;
    }
    let path = PruningPath::new(tree.rules.clone(), table, &LeafLoss::Gini);
    let step = path.steps().iter().find(|step| step.leaves <= leaves);
    let rules = path.tree(step.map_or(f64::INFINITY, |step| step.alpha));

    let (fits, _) = fit_nodes(&tree.rules, table, &LeafLoss::Error);
    let pruned = ClassifierTree { rules, splits: Vec::new(), classes: Vec::new() };
    let mut copy = PrunedCopy { tree: &tree, fits: &fits, pruned };
    let (from, to) = (tree.rules.root(), copy.pruned.rules.root());
    copy.follow(from, to);
    copy.pruned
}

/// Takes splits and classes over from the whole tree.
struct PrunedCopy<'a> {
    tree: &'a ClassifierTree,
    fits: &'a [NodeFit],
    pruned: ClassifierTree,
}

impl PrunedCopy<'_> {
    /// Follows both trees down from the same place, left sides first.
    fn follow(&mut self, from: NodeRef, to: NodeRef) {
        let children = |tree: &RankTree, node: u32| {
            let node = &tree.nodes()[node as usize];
            [node.left, node.right]
        };
        match (from, to) {
            (NodeRef::Node(node), NodeRef::Node(same)) => {
                self.pruned.splits.push(self.tree.splits[node as usize].clone());
                let [left, right] = children(&self.tree.rules, node);
                let [pruned_left, pruned_right] = children(&self.pruned.rules, same);
                self.follow(left, pruned_left);
                self.follow(right, pruned_right);
            }
            (NodeRef::Node(node), NodeRef::Leaf(_)) => {
                let class = self.fits[node as usize].class(&LeafLoss::Error);
                self.pruned.classes.push(class as u16);
            }
            (NodeRef::Leaf(leaf), _) => {
                self.pruned.classes.push(self.tree.classes[leaf as usize]);
            }
        }
    }
}
