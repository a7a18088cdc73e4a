//! Minimal cost-complexity pruning: the node whose rules save least per leaf goes first.
//!
//! `g(t) = (R(t) - R(T_t)) / (leaves(T_t) - 1)` with `R` the loss divided by the weight of all rows
//! (Breiman et al. 1984, section 3.3). Pruning always the node of least `g` gives every tree that
//! is best for some price per leaf, and they are nested.

use crate::leaf_loss::Loss;
use crate::ranked::Ranked;
use crate::sketch::{self, Edge, Sketch, Twig};

/// The nested trees of one grown tree.
#[derive(Debug, Clone)]
pub struct Path {
    sketch: Sketch,
    /// The price per leaf from which on each node is a leaf, or is gone with a node above it.
    price: Vec<f64>,
    steps: Vec<Step>,
}

/// One of the nested trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The least price per leaf for which it is the best tree.
    pub alpha: f64,
    /// Its leaves.
    pub leaves: usize,
    /// Its loss divided by the weight of all rows.
    pub risk: f64,
}

impl Path {
    /// Prunes a tree to its root.
    pub fn new(sketch: Sketch, table: &Ranked, loss: &Loss) -> Self {
        let total = table.total_weight();
        let (nodes, leaves) = sketch::fit(&sketch, table, loss);
        // For the squared loss a constant is left out, the same everywhere: differences are what
        // counts.
        let own: Vec<f64> = nodes.iter().map(|fitted| fitted.loss / total).collect();
        let leaf_risk: Vec<f64> = leaves.iter().map(|fitted| fitted.loss / total).collect();
        let mut state = State::new(&sketch, own, &leaf_risk);
        let mut price = vec![f64::INFINITY; sketch.nodes().len()];
        let whole = if sketch.nodes().is_empty() { leaf_risk[0] } else { state.below[0] };
        let mut steps = vec![Step { alpha: 0.0, leaves: sketch.leaves(), risk: whole }];
        while let Some((node, saved)) = state.weakest() {
            let alpha = saved.max(steps.last().map_or(0.0, |step| step.alpha));
            state.prune(&sketch, node, alpha, &mut price);
            let step = Step { alpha, leaves: state.leaves[0], risk: state.below[0] };
            steps.push(step);
        }
        // Of trees with the same price the smallest counts.
        let mut kept: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps {
            if kept.last().is_some_and(|last| step.alpha <= last.alpha) {
                kept.pop();
            }
            kept.push(step);
        }
        Path { sketch, price, steps: kept }
    }

    /// The nested trees, the largest first.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The best tree for a price per leaf.
    pub fn tree(&self, alpha: f64) -> Sketch {
        Sketch::new(&self.sketch.twig_but(self.sketch.root(), &mut |edge| match edge {
            Edge::Node(node) if self.price[node as usize] <= alpha => Some(Twig::Leaf),
            _ => None,
        }))
    }
}

/// A tree while it is pruned.
struct State {
    own: Vec<f64>,
    /// Risk and number of the leaves below each node.
    below: Vec<f64>,
    leaves: Vec<usize>,
    parents: Vec<u32>,
    gone: Vec<bool>,
}

impl State {
    fn new(sketch: &Sketch, own: Vec<f64>, leaf_risk: &[f64]) -> Self {
        let count = sketch.nodes().len();
        let (mut below, mut leaves) = (vec![0.0; count], vec![0; count]);
        // Children come after their parents.
        for (at, branch) in sketch.nodes().iter().enumerate().rev() {
            for child in [branch.left, branch.right] {
                let (risk, number) = match child {
                    Edge::Node(child) => (below[child as usize], leaves[child as usize]),
                    Edge::Leaf(leaf) => (leaf_risk[leaf as usize], 1),
                };
                below[at] += risk;
                leaves[at] += number;
            }
        }
        State { own, below, leaves, parents: sketch.parents(), gone: vec![false; count] }
    }

    /// The node that saves least per leaf; of equals the first.
    fn weakest(&self) -> Option<(usize, f64)> {
        let saved = |at: usize| (self.own[at] - self.below[at]) / (self.leaves[at] - 1) as f64;
        let nodes = (0..self.own.len()).filter(|&at| !self.gone[at]);
        nodes
            .map(|at| (at, saved(at)))
            .reduce(|best, other| if other.1 < best.1 { other } else { best })
    }

    /// Makes a leaf of a node.
    fn prune(&mut self, sketch: &Sketch, node: usize, alpha: f64, price: &mut [f64]) {
        let mut todo = vec![node];
        while let Some(at) = todo.pop() {
            if !self.gone[at] {
                self.gone[at] = true;
                price[at] = alpha;
            }
            let branch = &sketch.nodes()[at];
            for child in [branch.left, branch.right] {
                if let Edge::Node(child) = child {
                    todo.push(child as usize);
                }
            }
        }
        let (risk, leaves) = (self.own[node] - self.below[node], self.leaves[node] - 1);
        let mut at = node;
        loop {
            self.below[at] += risk;
            self.leaves[at] -= leaves;
            if at == 0 {
                break;
            }
            at = self.parents[at] as usize;
        }
    }
}
