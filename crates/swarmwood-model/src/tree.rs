//! Trees: ordinary ones, where each node has its own rule, and oblivious ones, where each level has.

/// A question about one feature with a side for "yes" (right) and a side for missing values.
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

/// A set of category codes, as a bit set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelSet {
    words: Vec<u64>,
}

impl LevelSet {
    /// Whether `code` is in the set.
    pub fn contains(&self, code: u32) -> bool {
        self.words.get(code as usize / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }

    /// Adds `code`.
    pub fn insert(&mut self, code: u32) {
        let word = code as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (code % 64);
    }

    /// The codes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words.len() as u32 * 64).filter(|&code| self.contains(code))
    }
}

impl FromIterator<u32> for LevelSet {
    fn from_iter<I: IntoIterator<Item = u32>>(codes: I) -> Self {
        let mut set = LevelSet::default();
        codes.into_iter().for_each(|code| set.insert(code));
        set
    }
}

/// An ordinary binary tree. Node 0 is the root unless the tree is a single leaf; children come after their parent.
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
    /// The rule.
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

/// Where an edge leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// An inner node.
    Node(u32),
    /// A leaf.
    Leaf(u32),
}

/// A leaf.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaf {
    /// What is added to the raw score; the learning rate is already in it.
    pub value: f64,
    /// Sum of hessians of the training rows that reached the leaf.
    pub cover: f64,
}

/// An oblivious tree: all nodes of one level share a rule. Level `l` decides bit `l` of the leaf's index.
#[derive(Debug, Clone, PartialEq)]
pub struct Oblivious {
    /// The rules, first level first.
    pub levels: Vec<Level>,
    /// `1 << levels.len()` leaves.
    pub leaves: Vec<Leaf>,
}

/// One level of an oblivious tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The rule.
    pub split: Split,
    /// How much the level lowered the training objective.
    pub gain: f64,
}
