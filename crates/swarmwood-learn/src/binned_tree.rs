//! A tree over bin codes, as a learner grows it, and its translation into a model's tree.

use swarmwood_model::{Child, Leaf, Level, Node, ObliviousTree, Shape, Tree};

use crate::bins::Layout;
use crate::bins::layout::{CodeThreshold, Route};
use crate::kernels::partition::partition_by;
use crate::rule::BinRule;

/// A grown tree. Children come after their parent; leaf values hold the learning rate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BinnedTree {
    /// Inner nodes; empty if the tree is one leaf.
    pub nodes: Vec<BinnedSplit>,
    /// Leaf values with the hessian sum of their rows.
    pub leaves: Vec<Leaf>,
    /// Whether all nodes of a level share their rule; `nodes` then holds one node a level, whose
    /// children are not used.
    pub oblivious: bool,
}

/// An inner node of a grown tree.
#[derive(Debug, Clone, PartialEq)]
pub struct BinnedSplit {
    /// The rule.
    pub rule: BinRule,
    /// Where failing rows go.
    pub left: Child,
    /// Where passing rows go.
    pub right: Child,
    /// Gain of the rule.
    pub gain: f64,
    /// Hessian sum of the rows.
    pub cover: f64,
}

impl BinnedTree {
    /// The same tree over values.
    pub(crate) fn to_shape(&self, layout: &Layout) -> Shape {
        let leaves = self.leaves.clone();
        if self.oblivious {
            let level =
                |node: &BinnedSplit| Level { split: layout.split(&node.rule), gain: node.gain };
            return Shape::Oblivious(ObliviousTree {
                levels: self.nodes.iter().map(level).collect(),
                leaves,
            });
        }
        let node = |node: &BinnedSplit| Node {
            split: layout.split(&node.rule),
            left: node.left,
            right: node.right,
            gain: node.gain,
            cover: node.cover,
        };
        Shape::Ordinary(Tree { nodes: self.nodes.iter().map(node).collect(), leaves })
    }

    /// The tree ready to walk over stored codes.
    pub(crate) fn traversal(&self, layout: &Layout) -> Traversal {
        let node = |node: &BinnedSplit| TraversalNode {
            test: match layout.beyond(&node.rule) {
                Some(beyond) => NodeTest::CodeThreshold(beyond),
                None => NodeTest::Table(Box::new(layout.route(&node.rule))),
            },
            children: [node.left, node.right],
        };
        Traversal { nodes: self.nodes.iter().map(node).collect(), oblivious: self.oblivious }
    }
}

/// Finds the leaf of a row from its stored codes.
#[derive(Debug, Clone)]
pub(crate) struct Traversal {
    nodes: Vec<TraversalNode>,
    oblivious: bool,
}

/// A node on the way of a row.
#[derive(Debug, Clone)]
struct TraversalNode {
    test: NodeTest,
    children: [Child; 2],
}

/// What a node asks. Tables are large: a deep tree of them would not stay in the cache.
#[derive(Debug, Clone)]
enum NodeTest {
    CodeThreshold(CodeThreshold),
    Table(Box<Route>),
}

impl NodeTest {
    #[inline]
    fn side(&self, columns: &[Vec<u8>], row: usize) -> usize {
        match self {
            NodeTest::CodeThreshold(beyond) => {
                usize::from(beyond.goes_right(columns[beyond.column][row]))
            }
            NodeTest::Table(route) => {
                usize::from(route.right[usize::from(columns[route.column][row])])
            }
        }
    }

    /// Parts rows, given from `start` on: those that go left come first, in order; answers how many
    /// they are.
    fn part(
        &self,
        columns: &[Vec<u8>],
        start: usize,
        rows: &mut [u16],
        aside: &mut [u16],
    ) -> usize {
        match self {
            NodeTest::CodeThreshold(beyond) => {
                let codes = &columns[beyond.column][start..];
                partition_by(rows, aside, |row| {
                    usize::from(beyond.goes_right(codes[usize::from(row)]))
                })
            }
            NodeTest::Table(route) => {
                let codes = &columns[route.column][start..];
                partition_by(rows, aside, |row| {
                    usize::from(route.right[usize::from(codes[usize::from(row)])])
                })
            }
        }
    }
}

impl Traversal {
    /// The leaf a row falls into.
    #[inline]
    pub fn leaf(&self, columns: &[Vec<u8>], row: usize) -> usize {
        if self.oblivious {
            let levels = self.nodes.iter().enumerate();
            return levels.map(|(level, node)| node.test.side(columns, row) << level).sum();
        }
        let mut at = if self.nodes.is_empty() { Child::Leaf(0) } else { Child::Node(0) };
        loop {
            match at {
                Child::Leaf(leaf) => return leaf as usize,
                Child::Node(node) => {
                    let node = &self.nodes[node as usize];
                    at = node.children[node.test.side(columns, row)];
                }
            }
        }
    }

    /// Calls `put(row, leaf)` once for every row. Blocks of rows go down the tree together: a node
    /// parts all its rows in a loop without a branch that depends on them, which takes a fraction
    /// of the time of single walks.
    pub(crate) fn each_leaf(
        &self,
        columns: &[Vec<u8>],
        rows: usize,
        mut put: impl FnMut(usize, usize),
    ) {
        if self.oblivious || self.nodes.is_empty() || self.nodes.len() > MOST_NODES {
            (0..rows).for_each(|row| put(row, self.leaf(columns, row)));
            return;
        }
        let (mut order, mut aside) = (vec![0u16; TOGETHER], vec![0u16; TOGETHER]);
        let mut open = Vec::new();
        for start in (0..rows).step_by(TOGETHER) {
            let count = TOGETHER.min(rows - start);
            (0..count).for_each(|at| order[at] = at as u16);
            open.push((Child::Node(0), 0..count));
            while let Some((child, span)) = open.pop() {
                let node = match child {
                    Child::Node(node) if !span.is_empty() => node,
                    Child::Node(_) => continue,
                    Child::Leaf(leaf) => {
                        order[span]
                            .iter()
                            .for_each(|&row| put(start + usize::from(row), leaf as usize));
                        continue;
                    }
                };
                let node = &self.nodes[node as usize];
                let middle = span.start
                    + node.test.part(columns, start, &mut order[span.clone()], &mut aside);
                open.push((node.children[0], span.start..middle));
                open.push((node.children[1], middle..span.end));
            }
        }
    }
}

/// Rows that go down a tree together: their codes of a column stay in the cache.
const TOGETHER: usize = 4096;

/// Trees with more nodes leave too few rows at each for going together.
const MOST_NODES: usize = TOGETHER / 16;

#[cfg(test)]
mod tests {
    use swarmwood_model::{Feature, Kind};
    use swarmwood_search::rng::Stream;

    use super::*;
    use crate::data::{Chunk, Column};
    use crate::dataset::Dataset;
    use crate::pool::Pool;
    use crate::rule::Cut;

    /// A tree of random rules, grown by splitting a random leaf again and again.
    fn random_tree(splits: usize, layout: &Layout, stream: &mut Stream) -> BinnedTree {
        let mut grown = BinnedTree { leaves: vec![Leaf::default()], ..BinnedTree::default() };
        let mut below = |count: usize| stream.below(count as u64) as usize;
        for node in 0..splits {
            let feature = below(layout.features().len());
            let code = 1 + below(layout.features()[feature].bins() - 1) as u8;
            let rule = BinRule {
                feature: feature as u32,
                cut: Cut::Above(code),
                missing_right: below(2) == 1,
            };
            let split = Child::Leaf(below(grown.leaves.len()) as u32);
            for other in &mut grown.nodes {
                for child in [&mut other.left, &mut other.right] {
                    if *child == split {
                        *child = Child::Node(node as u32);
                    }
                }
            }
            let right = Child::Leaf(grown.leaves.len() as u32);
            grown.nodes.push(BinnedSplit { rule, left: split, right, gain: 0.0, cover: 0.0 });
            grown.leaves.push(Leaf::default());
        }
        grown
    }

    #[test]
    fn rows_that_go_together_come_where_each_goes_alone() {
        let rows = TOGETHER + 700;
        let mut stream = Stream::new(3, 0, 0);
        let flag = |at: usize| {
            Column::Number((0..rows).map(|row| f64::from(u8::from(row % 5 == at))).collect())
        };
        let free = (0..rows)
            .map(|_| if stream.unit() < 0.1 { f64::NAN } else { stream.normal() })
            .collect();
        // Flags share a column and are asked by tables; the number is asked by a comparison.
        let columns = vec![flag(0), Column::Number(free), flag(1), flag(2)];
        let features =
            ["a", "b", "c", "d"].map(|name| Feature { name: name.into(), kind: Kind::Number });
        let chunk = Chunk { columns, target: vec![0.0; rows], weight: Vec::new(), rows };
        let pool = Pool::new(1).unwrap();
        let layout = Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool);
        let data = Dataset::from_chunk(&chunk, layout, &pool);
        let shard = &data.shards[0];
        for splits in [0, 1, 30, MOST_NODES, MOST_NODES + 1] {
            let traversal = random_tree(splits, &data.layout, &mut stream).traversal(&data.layout);
            let mut leaves = vec![usize::MAX; shard.rows];
            traversal.each_leaf(&shard.columns, shard.rows, |row, leaf| {
                assert_eq!(leaves[row], usize::MAX, "a row has one leaf");
                leaves[row] = leaf;
            });
            let alone: Vec<usize> =
                (0..shard.rows).map(|row| traversal.leaf(&shard.columns, row)).collect();
            assert_eq!(leaves, alone, "{splits}");
        }
    }
}
