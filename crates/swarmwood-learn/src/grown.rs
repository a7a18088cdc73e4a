//! A tree over bin codes, as a learner grows it, and its translation into a model's tree.

use swarmwood_model::{Child, Leaf, Level, Node, Oblivious, Shape, Tree};

use crate::bins::layout::{Beyond, Route};
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

    /// The tree ready to walk over stored codes.
    pub fn walker(&self, layout: &Layout) -> Walker {
        let stop = |node: &GrownNode| Stop {
            question: match layout.beyond(&node.rule) {
                Some(beyond) => Question::Beyond(beyond),
                None => Question::Table(Box::new(layout.route(&node.rule))),
            },
            children: [node.left, node.right],
        };
        Walker { stops: self.nodes.iter().map(stop).collect(), oblivious: self.oblivious }
    }
}

/// Finds the leaf of a row from its stored codes.
#[derive(Debug, Clone)]
pub struct Walker {
    stops: Vec<Stop>,
    oblivious: bool,
}

/// A node on the way of a row.
#[derive(Debug, Clone)]
struct Stop {
    question: Question,
    children: [Child; 2],
}

/// What a node asks. Tables are large: a deep tree of them would not stay in the cache.
#[derive(Debug, Clone)]
enum Question {
    Beyond(Beyond),
    Table(Box<Route>),
}

impl Question {
    #[inline]
    fn side(&self, columns: &[Vec<u8>], row: usize) -> usize {
        match self {
            Question::Beyond(beyond) => usize::from(beyond.right(columns[beyond.column][row])),
            Question::Table(route) => usize::from(route.right[usize::from(columns[route.column][row])]),
        }
    }
}

impl Walker {
    /// The leaf a row falls into.
    #[inline]
    pub fn leaf(&self, columns: &[Vec<u8>], row: usize) -> usize {
        if self.oblivious {
            let levels = self.stops.iter().enumerate();
            return levels.map(|(level, stop)| stop.question.side(columns, row) << level).sum();
        }
        let mut at = if self.stops.is_empty() { Child::Leaf(0) } else { Child::Node(0) };
        loop {
            match at {
                Child::Leaf(leaf) => return leaf as usize,
                Child::Node(node) => {
                    let stop = &self.stops[node as usize];
                    at = stop.children[stop.question.side(columns, row)];
                }
            }
        }
    }
}
