//! Positions made from trees that were grown greedily, so that a particle can start where greed
//! ends.
//!
//! The published swarm starts at random; findings of our own say that it then ends behind one
//! greedy run. A grown tree may stop early where a sequence always has all its rules: below such a
//! leaf the last rule is repeated, which parts nothing.

use swarmwood_learn::binned_tree::BinnedTree;
use swarmwood_learn::rule::BinRule;
use swarmwood_model::Child;

use crate::particle::TreeForm;

/// The rules of trees, which a table must have to hold them.
pub fn rules(trees: &[BinnedTree]) -> impl Iterator<Item = BinRule> + '_ {
    trees.iter().flat_map(|tree| tree.nodes.iter().map(|node| node.rule))
}

/// The sequence of trees that have at most `depth` levels, tree after tree; `None` if a rule has no
/// number, or if a tree is not of this form.
pub fn sequence(
    trees: &[BinnedTree],
    number: impl Fn(&BinRule) -> Option<u32>,
    form: TreeForm,
    depth: usize,
) -> Option<Vec<u32>> {
    let mut all = Vec::with_capacity(trees.len() * form.rules(depth));
    for tree in trees {
        let numbers: Vec<u32> =
            tree.nodes.iter().map(|node| number(&node.rule)).collect::<Option<_>>()?;
        match form {
            TreeForm::Oblivious if tree.oblivious => {
                let last = numbers.last().copied().unwrap_or(0);
                all.extend((0..depth).map(|level| numbers.get(level).copied().unwrap_or(last)));
            }
            TreeForm::Free if !tree.oblivious => all.extend(heap(tree, &numbers, depth)),
            _ => return None,
        }
    }
    Some(all)
}

/// The nodes in heap order.
fn heap(tree: &BinnedTree, numbers: &[u32], depth: usize) -> Vec<u32> {
    // What stands at each place: a node of the tree, or the number to repeat below a leaf.
    let mut places: Vec<Result<usize, u32>> = vec![if numbers.is_empty() { Err(0) } else { Ok(0) }];
    let mut sequence = Vec::with_capacity((1 << depth) - 1);
    for at in 0..(1 << depth) - 1 {
        let (number, below) = match places[at] {
            Ok(node) => {
                let number = numbers[node];
                let child = |child: Child| match child {
                    Child::Node(node) => Ok(node as usize),
                    Child::Leaf(_) => Err(number),
                };
                (number, [child(tree.nodes[node].left), child(tree.nodes[node].right)])
            }
            Err(number) => (number, [Err(number); 2]),
        };
        sequence.push(number);
        places.extend(below);
    }
    sequence
}
