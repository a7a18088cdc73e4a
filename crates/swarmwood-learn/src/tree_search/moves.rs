//! Kicks: what a tree of the swarm is given before it descends again.

use swarmwood_search::rng::Stream;

use super::{Problem, Tried};
use crate::cart;
use crate::ranked::{CodeSet, Cut, Rule};
use crate::sketch::{Edge, Sketch, Twig};

impl Problem<'_> {
    /// A changed copy of a tree of the swarm: a random rule, a twig regrown on half of the
    /// features, or a twig of another tree in place of one of its own.
    pub(super) fn kick(&self, swarm: &[Tried], own: usize, stream: &mut Stream) -> Tried {
        let sketch = &swarm[own].sketch;
        if sketch.nodes().is_empty() {
            return swarm[own].clone();
        }
        let node = stream.below(sketch.nodes().len() as u64) as u32;
        let kicked = match stream.below(if swarm.len() > 1 { 5 } else { 4 }) {
            0 | 1 => self.random_rule(sketch, node, stream),
            2 | 3 => self.regrown(sketch, node, stream),
            _ => self.exchanged(swarm, own, node, stream),
        };
        let fitting = self.fitting(self.tidy(kicked));
        Tried { loss: self.loss(&fitting), sketch: fitting }
    }

    /// A rule at the value of a random row of the node.
    fn random_rule(&self, sketch: &Sketch, node: u32, stream: &mut Stream) -> Sketch {
        let rows = self.rows_at(sketch, node);
        let feature = self.features[stream.below(self.features.len() as u64) as usize];
        let column = &self.table.columns()[feature as usize];
        let mut kicked = sketch.clone();
        if rows.is_empty() || column.top() == 0 {
            return kicked;
        }
        let code = column.codes()[rows[stream.below(rows.len() as u64) as usize] as usize].max(1);
        let cut = if column.is_category() {
            let picked = |_: &u16| stream.below(2) == 1;
            Cut::In(CodeSet::new((1..=column.top()).filter(picked)))
        } else {
            Cut::Above(code)
        };
        kicked.set_rule(node, Rule { feature, cut, missing_right: false });
        kicked
    }

    /// The twig of a node grown again on half of the features.
    fn regrown(&self, sketch: &Sketch, node: u32, stream: &mut Stream) -> Sketch {
        let rows = self.rows_at(sketch, node);
        let half = self.features.len().div_ceil(2);
        let mut features: Vec<u32> = stream
            .sample_without(self.features.len(), half)
            .into_iter()
            .map(|at| self.features[at])
            .collect();
        features.sort_unstable();
        let leaves = sketch.leaves_below(Edge::Node(node)).len();
        let depth = sketch.depths()[node as usize];
        let twig =
            cart::from_rows(&self.growing(&features, self.greedy_loss()), rows, depth, leaves);
        sketch.replace(Edge::Node(node), &twig)
    }

    /// A twig of another tree of the swarm in place of the node's.
    fn exchanged(&self, swarm: &[Tried], own: usize, node: u32, stream: &mut Stream) -> Sketch {
        let sketch = &swarm[own].sketch;
        let other = (own + 1 + stream.below(swarm.len() as u64 - 1) as usize) % swarm.len();
        let giver = &swarm[other].sketch;
        if giver.nodes().is_empty() {
            return sketch.clone();
        }
        let given = giver.twig(Edge::Node(stream.below(giver.nodes().len() as u64) as u32));
        sketch.replace(Edge::Node(node), &given)
    }

    /// The tree cut back to its limits: rules that lie too deep go, then pairs of leaves that help
    /// least.
    pub(super) fn fitting(&self, mut sketch: Sketch) -> Sketch {
        let limits = self.settings.limits;
        if limits.depth > 0 {
            let depths = sketch.depths();
            let too_deep = |edge: Edge| matches!(edge, Edge::Node(node) if depths[node as usize] >= limits.depth);
            sketch = Sketch::new(
                &sketch.twig_but(sketch.root(), &mut |edge| too_deep(edge).then_some(Twig::Leaf)),
            );
        }
        while limits.leaves > 0 && sketch.leaves() > limits.leaves {
            let Some(weakest) = self.weakest_fork(&sketch) else { break };
            sketch = sketch.replace(weakest, &Twig::Leaf);
        }
        sketch
    }
}
