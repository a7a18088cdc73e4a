//! Trees: ordinary ones, where each node has its own split, oblivious ones, where all nodes of a
//! level share one, and vector trees, whose leaves hold a value for every output.

/// A test of one feature: rows that pass go right, and missing values have a side of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Position in [`Schema::features`](crate::Schema::features).
    pub feature: u32,
    /// The test; rows that pass go right.
    pub test: Test,
    /// Whether a missing value (or a level the model never saw) goes right.
    pub missing_right: bool,
}

/// The test of a split.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Passes if the number is greater than the threshold.
    Above(f64),
    /// Passes if the level is in the set.
    In(LevelSet),
}

/// A set of category codes.
///
/// The codes are stored as a sorted list, so that memory grows with the number of codes, never with
/// the largest code: a file cannot make its reader allocate much with one large number.
///
/// ```
/// use swarmwood_model::LevelSet;
/// let set: LevelSet = [5, 2, 5].into_iter().collect();
/// assert!(set.contains(2) && !set.contains(3));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [2, 5]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LevelSet {
    codes: Vec<u32>,
}

impl LevelSet {
    /// Whether `code` is in the set.
    pub fn contains(&self, code: u32) -> bool {
        self.codes.binary_search(&code).is_ok()
    }

    /// Adds `code`.
    pub fn insert(&mut self, code: u32) {
        if let Err(position) = self.codes.binary_search(&code) {
            self.codes.insert(position, code);
        }
    }

    /// The codes in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
        self.codes.iter().copied()
    }

    /// How many codes there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether no code is in the set.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

impl FromIterator<u32> for LevelSet {
    fn from_iter<I: IntoIterator<Item = u32>>(codes: I) -> Self {
        let mut codes: Vec<u32> = codes.into_iter().collect();
        codes.sort_unstable();
        codes.dedup();
        LevelSet { codes }
    }
}

/// An ordinary binary tree. Node 0 is the root unless the tree is a single leaf; children come
/// after their parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Inner nodes; empty if the tree is one leaf.
    pub nodes: Vec<Node>,
    /// Leaves, at least one.
    pub leaves: Vec<Leaf>,
}

/// An inner node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Decides which child a row goes to.
    pub split: Split,
    /// Where rows that fail the test go.
    pub left: Child,
    /// Where rows that pass the test go.
    pub right: Child,
    /// How much the split lowered the training objective.
    pub gain: f64,
    /// Sum of hessians of the training rows that reached the node.
    pub cover: f64,
}

/// The child that an edge leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// An inner node.
    Node(u32),
    /// A leaf.
    Leaf(u32),
}

/// A leaf.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Leaf {
    /// Added to the raw score; the learning rate is already applied.
    pub value: f64,
    /// Sum of hessians of the training rows that reached the leaf.
    pub cover: f64,
}

/// An oblivious tree: all nodes of one level share a split. Level `l` decides bit `l` of the leaf's
/// index.
#[derive(Debug, Clone, PartialEq)]
pub struct ObliviousTree {
    /// The splits, first level first.
    pub levels: Vec<Level>,
    /// `1 << levels.len()` leaves.
    pub leaves: Vec<Leaf>,
}

/// One level of an oblivious tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The split that all nodes of the level share.
    pub split: Split,
    /// How much the level lowered the training objective.
    pub gain: f64,
}

/// An ordinary tree whose leaves hold one value per output: one structure for all classes.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorTree {
    /// The splits, and the covers of the leaves. The values of its leaves are not used; they are 0.
    pub tree: Tree,
    /// One value per output for each leaf, leaf after leaf.
    pub values: Vec<f64>,
}

/// Maximum number of levels of an oblivious tree.
pub(crate) const MAX_LEVELS: usize = 16;

impl Tree {
    /// A tree that is one leaf.
    pub fn leaf(leaf: Leaf) -> Self {
        Tree { nodes: Vec::new(), leaves: vec![leaf] }
    }

    /// Where every row starts.
    pub fn root(&self) -> Child {
        if self.nodes.is_empty() { Child::Leaf(0) } else { Child::Node(0) }
    }

    /// The number of splits on the longest path from the root to a leaf.
    pub fn depth(&self) -> usize {
        // Children come after their parent, so one backward pass sees every child first.
        let mut depths = vec![0_usize; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let below = |child| match child {
                Child::Node(node) => depths[node as usize],
                Child::Leaf(_) => 0,
            };
            depths[index] = 1 + below(node.left).max(below(node.right));
        }
        depths.first().copied().unwrap_or(0)
    }

    /// The leaves from left to right, as a drawing shows them.
    pub(crate) fn leaves_left_to_right(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.leaves.len());
        let mut open = vec![self.root()];
        while let Some(at) = open.pop() {
            match at {
                Child::Leaf(leaf) => order.push(leaf as usize),
                Child::Node(node) => {
                    let node = &self.nodes[node as usize];
                    open.extend([node.right, node.left]);
                }
            }
        }
        order
    }
}

impl VectorTree {
    /// The values of a leaf, one per output.
    pub fn leaf_values(&self, leaf: usize) -> &[f64] {
        let outputs = self.outputs();
        &self.values[leaf * outputs..(leaf + 1) * outputs]
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.values.len() / self.tree.leaves.len().max(1)
    }

    /// What the tree adds to one output, as an ordinary tree.
    pub fn to_tree(&self, output: usize) -> Tree {
        let leaves = self.tree.leaves.iter().enumerate();
        let leaf = |(at, leaf): (usize, &Leaf)| Leaf {
            value: self.leaf_values(at)[output],
            cover: leaf.cover,
        };
        Tree { nodes: self.tree.nodes.clone(), leaves: leaves.map(leaf).collect() }
    }
}

impl ObliviousTree {
    /// The same function as an ordinary tree: leaf `i` stays leaf `i`, the nodes of a level share
    /// its gain equally, and a node's cover is the sum over its leaves.
    pub fn to_tree(&self) -> Tree {
        let depth = self.levels.len();
        let mut nodes = Vec::with_capacity((1 << depth) - 1);
        for (level, rule) in self.levels.iter().enumerate() {
            for path in 0..1_u32 << level {
                // The node is reached with the leaf index bits of `path`; level by level the nodes
                // lie one after the other.
                let child = |side: u32| {
                    let path = path | side << level;
                    if level + 1 == depth {
                        Child::Leaf(path)
                    } else {
                        Child::Node((1 << (level + 1)) - 1 + path)
                    }
                };
                let cover = self
                    .leaves
                    .iter()
                    .skip(path as usize)
                    .step_by(1 << level)
                    .map(|leaf| leaf.cover)
                    .sum();
                let gain = rule.gain / f64::from(1_u32 << level);
                nodes.push(Node {
                    split: rule.split.clone(),
                    left: child(0),
                    right: child(1),
                    gain,
                    cover,
                });
            }
        }
        Tree { nodes, leaves: self.leaves.clone() }
    }
}
