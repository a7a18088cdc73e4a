//! A particle's trees as members of a model, with the gain of every rule.
//!
//! Gains are differences of `½ Σ G² / (H + λ)` between the nodes below a rule and those above it. A
//! rule may lose something where λ is positive: it was not chosen for its gain.

use swarmwood_model::{Child, Leaf, Level, Member, Node, ObliviousTree, Shape, Split, Tree};

use super::{Evaluator, TreeForm};

impl Evaluator<'_> {
    /// The trees of a particle, given its leaves and the sums of their derivatives.
    pub(super) fn members(
        &self,
        sequence: &[u32],
        leaves: &[Leaf],
        sums: &[[f64; 2]],
    ) -> Vec<Member> {
        let (depth, lambda, outputs) = (self.config.depth, self.config.lambda, self.outputs());
        let member = |(tree, rules): (usize, &[u32])| {
            let own = tree << depth..(tree + 1) << depth;
            let (sums, leaves) = (&sums[own.clone()], &leaves[own]);
            // The numbers were checked when the particle was evaluated.
            let splits: Vec<Split> =
                rules.iter().filter_map(|&index| self.rows.split(index)).collect();
            let splits = splits.into_iter();
            let shape = match self.config.form {
                TreeForm::Oblivious => Shape::Oblivious(oblivious(splits, sums, leaves, lambda)),
                TreeForm::Free => Shape::Ordinary(free(splits, sums, leaves, lambda)),
            };
            Member { output: (tree % outputs) as u32, shape }
        };
        sequence.chunks_exact(self.each_tree()).enumerate().map(member).collect()
    }
}

fn oblivious(
    splits: impl ExactSizeIterator<Item = Split>,
    sums: &[[f64; 2]],
    leaves: &[Leaf],
    lambda: f64,
) -> ObliviousTree {
    let score = |level: usize| -> f64 {
        (0..1 << level).map(|path| worth(node(sums, path, level), lambda)).sum()
    };
    let scores: Vec<f64> = (0..=splits.len()).map(score).collect();
    let gains = scores.windows(2).map(|pair| finite(pair[1] - pair[0]));
    let levels = splits.zip(gains).map(|(split, gain)| Level { split, gain }).collect();
    ObliviousTree { levels, leaves: leaves.to_vec() }
}

fn free(
    splits: impl Iterator<Item = Split>,
    sums: &[[f64; 2]],
    leaves: &[Leaf],
    lambda: f64,
) -> Tree {
    let depth = sums.len().ilog2() as usize;
    let nodes = splits.enumerate().map(|(at, split)| {
        let level = (at + 1).ilog2() as usize;
        let path = usize::from(swarmwood_learn::stats::path_to(at));
        let [left, right] = [path, path | 1 << level];
        let child = |path: usize, next: usize| {
            if level + 1 == depth { Child::Leaf(path as u32) } else { Child::Node(next as u32) }
        };
        let below = worth(node(sums, left, level + 1), lambda)
            + worth(node(sums, right, level + 1), lambda);
        let own = node(sums, path, level);
        let gain = finite(below - worth(own, lambda));
        Node {
            split,
            left: child(left, 2 * at + 1),
            right: child(right, 2 * at + 2),
            gain,
            cover: finite(own[1]),
        }
    });
    Tree { nodes: nodes.collect(), leaves: leaves.to_vec() }
}

/// The sums of all leaves below a node that is reached with these answers.
fn node(sums: &[[f64; 2]], path: usize, level: usize) -> [f64; 2] {
    let leaves = sums.iter().skip(path).step_by(1 << level);
    leaves.fold([0.0; 2], |sum, leaf| [sum[0] + leaf[0], sum[1] + leaf[1]])
}

/// `½ G² / (H + λ)`
fn worth([g, h]: [f64; 2], lambda: f64) -> f64 {
    if h + lambda > 0.0 { 0.5 * g * g / (h + lambda) } else { 0.0 }
}

/// Sums beyond all numbers say nothing.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
