//! A tree over bin codes, as a learner grows it, and its translation into a model's tree.

use swarmwood_model::{Child, Leaf, Level, Node, Oblivious, Shape, Tree};

use crate::bins::layout::Route;
use crate::bins::{Layout, Rule};

/// A grown tree. Children come after their parent; leaf values hold the learning rate.
#[derive(Debug, Clone, Default)]
pub struct Grown {
    /// Inner nodes; empty if the tree is one leaf.
    pub nodes: Vec<GrownNode>,
    /// Leaf values with the hessian sum of their rows.
    pub leaves: Vec<Leaf>,
    /// Whether all nodes of a level share their rule; `nodes` then holds one node a level, whose children are not used.
    pub oblivious: bool,
}

/// An inner node of a grown tree.
#[derive(Debug, Clone)]
pub struct GrownNode {
    /// The rule.
    pub rule: Rule,
    /// Where failing rows go.
    pub left: Child,
    /// Where passing rows go.
    pub right: Child,
    /// Gain of the rule.
    pub gain: f64,
    /// Hessian sum of the rows.
    pub cover: f64,
}

impl Grown {
    /// The same tree over values.
    pub fn to_shape(&self, layout: &Layout) -> Shape {
        let leaves = self.leaves.clone();
        if self.oblivious {
            let level = |node: &GrownNode| Level { split: layout.split(&node.rule), gain: node.gain };
            return Shape::Oblivious(Oblivious { levels: self.nodes.iter().map(level).collect(), leaves });
        }
        let node = |node: &GrownNode| Node {
            split: layout.split(&node.rule),
            left: node.left,
            right: node.right,
            gain: node.gain,
            cover: node.cover,
        };
        Shape::Ordinary(Tree { nodes: self.nodes.iter().map(node).collect(), leaves })
    }

    /// The tree with a routing table a node, ready to walk over stored codes.
    pub fn walker(&self, layout: &Layout) -> Walker {
        let routes = self.nodes.iter().map(|node| layout.route(&node.rule)).collect();
        let children = self.nodes.iter().map(|node| [node.left, node.right]).collect();
        Walker { routes, children, oblivious: self.oblivious }
    }
}

/// Finds the leaf of a row from its stored codes.
#[derive(Debug, Clone)]
pub struct Walker {
    routes: Vec<Route>,
    children: Vec<[Child; 2]>,
    oblivious: bool,
}

impl Walker {
    /// The leaf a row falls into.
    #[inline]
    pub fn leaf(&self, columns: &[Vec<u8>], row: usize) -> usize {
        let side = |route: &Route| usize::from(route.right[usize::from(columns[route.column][row])]);
        if self.oblivious {
            return self.routes.iter().enumerate().map(|(level, route)| side(route) << level).sum();
        }
        let mut at = if self.routes.is_empty() { Child::Leaf(0) } else { Child::Node(0) };
        loop {
            match at {
                Child::Leaf(leaf) => return leaf as usize,
                Child::Node(node) => at = self.children[node as usize][side(&self.routes[node as usize])],
            }
        }
    }
}
