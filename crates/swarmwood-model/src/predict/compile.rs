//! Compiles trees to programs over byte columns.
//!
//! Each split becomes the test "the code of column `c` is above `cut`". An oblivious tree is the
//! list of its tests. An ordinary tree is a bottom-up program: a step takes the leaf indices that
//! the two children would give to all rows of a block and selects between them, so that after the
//! last step every row has its leaf, without a branch on data. In a tree with more than 256 leaves,
//! several rows descend in parallel.

use std::collections::HashMap;

use crate::ensemble::{Member, Shape};
use crate::predict::columns::{
    CodeColumn, ColumnCoding, MAX_BYTE_LEVELS, MAX_CUTS, ThresholdSearch,
};
use crate::predict::kernels::avx512::{Planes, planes};
use crate::tree::{Child, LevelSet, Split, Test, Tree};

/// The programs and tables of a compiled model.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelProgram {
    /// The byte columns in the order of first use.
    pub(super) columns: Vec<CodeColumn>,
    /// Tables of categorical splits: 1 for the codes that go right.
    pub(super) tables: Vec<[u8; 256]>,
    /// The tests of oblivious trees.
    pub(super) tests: Vec<CodeTest>,
    /// The steps of ordinary trees.
    pub(super) steps: Vec<SelectStep>,
    /// The nodes and then the leaves of large trees.
    pub(super) descent_nodes: Vec<DescentNode>,
    /// The trees, output after output in every round; a vector tree is one per output.
    pub(super) trees: Vec<TreeProgram>,
    /// The first of the programs of each tree of the model.
    pub(super) first_of_member: Vec<usize>,
    /// All leaf values, and 256 more numbers so that a table of 256 can start anywhere.
    pub(super) values: Vec<f64>,
    /// The leaf values of small trees again, as byte planes.
    pub(super) planes: Vec<Planes>,
    /// Number of byte blocks that the largest program needs at once.
    pub(super) slots: usize,
}

/// One compiled tree.
#[derive(Debug, Clone)]
pub(super) struct TreeProgram {
    /// How the leaves of rows are found.
    pub(super) lookup: LeafLookup,
    /// Index of the first leaf value.
    pub(super) values: usize,
    /// Index of the planes, if the tree has any.
    pub(super) planes: Option<usize>,
    /// Number of columns that the trees up to and including this one use.
    pub(super) columns: usize,
}

/// How the leaves of rows are found.
#[derive(Debug, Clone)]
pub(super) enum LeafLookup {
    /// By the tests of the levels, eight or fewer.
    Levels { first: usize, count: usize },
    /// By the tests of the levels, 9 to 16.
    ManyLevels { first: usize, count: usize },
    /// By a program, whose result is in a slot.
    Steps { first: usize, end: usize, slot: usize },
    /// By descent from node to node; leaves have the indices from `leaves` on.
    Descent { first: usize, leaves: usize, end: usize },
}

/// A node or leaf of a large tree. Rows stay at a leaf, because both of its edges lead to itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct DescentNode {
    pub(super) test: CodeTest,
    pub(super) next: [u32; 2],
}

/// A test passes where the code of a column, translated by a table if there is one, is above the
/// cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeTest {
    pub(super) column: u32,
    pub(super) cut: u8,
    pub(super) table: Option<u32>,
}

/// A step of an ordinary tree's program.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectStep {
    pub(super) test: CodeTest,
    pub(super) operands: SelectOperands,
}

/// The operands that a step selects between, and the slot of the result.
#[derive(Debug, Clone, Copy)]
pub(super) enum SelectOperands {
    /// Two leaves.
    Leaves { left: u8, right: u8, slot: u8 },
    /// The slot on the left, a leaf on the right.
    RightLeaf { slot: u8, right: u8 },
    /// A leaf on the left, the slot on the right.
    LeftLeaf { left: u8, slot: u8 },
    /// Two slots; the result replaces the left one.
    Slots { left: u8, right: u8 },
}

/// How the splits on one numeric feature use thresholds.
#[derive(Default)]
struct ThresholdUse {
    /// The thresholds, ascending and distinct.
    thresholds: Vec<f64>,
    /// Whether there are splits that send missing values left, and right.
    left: bool,
    right: bool,
}

/// A categorical split: feature, set, side of the missing values.
type Membership<'m> = (u32, &'m LevelSet, bool);

struct ProgramCompiler<'m> {
    levels: &'m [Option<u32>],
    numbers: HashMap<u32, ThresholdUse>,
    number_columns: HashMap<(u32, usize), u32>,
    level_columns: HashMap<u32, u32>,
    memberships: HashMap<Membership<'m>, u32>,
    program: ModelProgram,
}

/// Compiles the trees of a checked model; `levels` are the numbers of levels of its features.
pub(super) fn compile(members: &[Member], levels: &[Option<u32>]) -> ModelProgram {
    let mut compiler = ProgramCompiler {
        levels,
        numbers: collect_numbers(members),
        number_columns: HashMap::new(),
        level_columns: HashMap::new(),
        memberships: HashMap::new(),
        program: ModelProgram::default(),
    };
    for member in members {
        compiler.program.first_of_member.push(compiler.program.trees.len());
        compiler.tree(&member.shape);
    }
    let mut program = compiler.program;
    program.values.extend([0.0; 256]);
    program
}

/// The thresholds of each numeric feature.
fn collect_numbers(members: &[Member]) -> HashMap<u32, ThresholdUse> {
    let mut numbers: HashMap<u32, ThresholdUse> = HashMap::new();
    for split in members.iter().flat_map(|member| member.shape.splits()) {
        if let Test::Above(threshold) = split.test {
            let uses = numbers.entry(split.feature).or_default();
            uses.thresholds.push(threshold);
            *(if split.missing_right { &mut uses.right } else { &mut uses.left }) = true;
        }
    }
    for uses in numbers.values_mut() {
        uses.thresholds.sort_unstable_by(f64::total_cmp);
        // `dedup` takes -0 and 0 for the same, and so does the comparison with a value.
        uses.thresholds.dedup();
    }
    numbers
}

impl<'m> ProgramCompiler<'m> {
    fn tree(&mut self, shape: &'m Shape) {
        let lookup = match shape {
            Shape::Ordinary(tree) => self.lookup(tree),
            Shape::Vector(vector) => {
                let lookup = self.lookup(&vector.tree);
                for output in 0..vector.outputs() {
                    let values = vector.values.iter().skip(output).step_by(vector.outputs());
                    self.add_program(lookup.clone(), values.copied());
                }
                return;
            }
            Shape::Oblivious(tree) => {
                let (first, count) = (self.program.tests.len(), tree.levels.len());
                for level in &tree.levels {
                    let test = self.code_test(&level.split);
                    self.program.tests.push(test);
                }
                if count <= 8 {
                    LeafLookup::Levels { first, count }
                } else {
                    LeafLookup::ManyLevels { first, count }
                }
            }
        };

        self.add_program(lookup, shape.values());
    }

    /// How the leaves of an ordinary tree are found.
    fn lookup(&mut self, tree: &'m Tree) -> LeafLookup {
        if tree.nodes.is_empty() {
            LeafLookup::Levels { first: 0, count: 0 }
        } else if tree.leaves.len() > 256 {
            self.large(tree)
        } else {
            self.ordinary(tree)
        }
    }

    /// Adds a tree with the values of its leaves.
    fn add_program(&mut self, lookup: LeafLookup, leaf_values: impl Iterator<Item = f64>) {
        let values = self.program.values.len();
        self.program.values.extend(leaf_values);
        let planes = planes(self.program.values[values..].iter().copied()).map(|planes| {
            self.program.planes.push(planes);
            self.program.planes.len() - 1
        });

        self.program.trees.push(TreeProgram {
            lookup,
            values,
            planes,
            columns: self.program.columns.len(),
        });
    }

    fn column(&mut self, feature: u32, coding: ColumnCoding) -> u32 {
        self.program.columns.push(CodeColumn { feature, coding });
        self.program.columns.len() as u32 - 1
    }

    fn code_test(&mut self, split: &'m Split) -> CodeTest {
        let (feature, missing_right) = (split.feature, split.missing_right);
        match &split.test {
            Test::Above(threshold) => self.number_test(feature, missing_right, *threshold),
            Test::In(set) => {
                let levels = self.levels[feature as usize].unwrap_or(0);
                let key = (feature, set, missing_right);
                if levels > MAX_BYTE_LEVELS {
                    let column = self.memberships.get(&key).copied().unwrap_or_else(|| {
                        let column = self.column(
                            feature,
                            ColumnCoding::Member { levels, set: set.clone(), missing_right },
                        );
                        self.memberships.insert(key, column);
                        column
                    });
                    return CodeTest { column, cut: 0, table: None };
                }
                let column = self.level_columns.get(&feature).copied().unwrap_or_else(|| {
                    let column = self.column(feature, ColumnCoding::Levels(levels));
                    self.level_columns.insert(feature, column);
                    column
                });
                let tables = &mut self.program.tables;
                let table = *self.memberships.entry(key).or_insert_with(|| {
                    let mut table = [0; 256];
                    set.iter().for_each(|code| table[code as usize] = 1);
                    table[255] = u8::from(missing_right);
                    tables.push(table);
                    tables.len() as u32 - 1
                });
                CodeTest { column, cut: 0, table: Some(table) }
            }
        }
    }

    fn number_test(&mut self, feature: u32, missing_right: bool, threshold: f64) -> CodeTest {
        // All thresholds were collected before, so the feature and its threshold are found.
        let none = ThresholdUse::default();
        let uses = self.numbers.get(&feature).unwrap_or(&none);
        let position = uses.thresholds.partition_point(|other| *other < threshold);

        // A feature with more thresholds than a byte can count uses several columns.
        let part = position / MAX_CUTS;
        // Where missing values go left in some splits and right in others, the values are encoded
        // once and the column for the right side follows.
        let both = uses.left && uses.right;
        let column = match self.number_columns.get(&(feature, part)) {
            Some(column) => *column,
            None => {
                let end = uses.thresholds.len().min((part + 1) * MAX_CUTS);
                let cuts = ThresholdSearch::new(&uses.thresholds[part * MAX_CUTS..end]);
                let column = self.column(
                    feature,
                    ColumnCoding::Number { cuts, missing_right: missing_right && !both },
                );
                if both {
                    self.column(feature, ColumnCoding::MissingRaised);
                }
                self.number_columns.insert((feature, part), column);
                column
            }
        };

        let column = column + u32::from(both && missing_right);
        CodeTest { column, cut: (position % MAX_CUTS) as u8, table: None }
    }

    fn large(&mut self, tree: &'m Tree) -> LeafLookup {
        let (first, nodes) = (self.program.descent_nodes.len(), tree.nodes.len());
        let next = |child| match child {
            Child::Node(node) => node,
            Child::Leaf(leaf) => nodes as u32 + leaf,
        };

        let mut test = CodeTest { column: 0, cut: 0, table: None };
        for node in &tree.nodes {
            test = self.code_test(&node.split);
            self.program
                .descent_nodes
                .push(DescentNode { test, next: [next(node.left), next(node.right)] });
        }

        // The test of a leaf has no effect, but its column must exist.
        let leaf = |leaf| DescentNode { test, next: [next(Child::Leaf(leaf)); 2] };
        self.program.descent_nodes.extend((0..tree.leaves.len() as u32).map(leaf));
        LeafLookup::Descent { first, leaves: nodes, end: self.program.descent_nodes.len() }
    }

    /// Emits children before parents, and of two children first the one that needs more slots,
    /// which bounds the number of slots by the logarithm of the number of leaves (Sethi and Ullman
    /// 1970).
    fn ordinary(&mut self, tree: &'m Tree) -> LeafLookup {
        let needs = slot_needs(tree);
        let first = self.program.steps.len();
        let mut slot_of = vec![0_u8; tree.nodes.len()];
        let mut free: Vec<u8> = Vec::new();
        let mut slots = 0;
        let mut visits = vec![(0_usize, false)];
        while let Some((index, children_done)) = visits.pop() {
            let node = &tree.nodes[index];
            if !children_done {
                visits.push((index, true));
                let mut children: Vec<usize> =
                    [node.left, node.right].into_iter().filter_map(inner).collect();
                children.sort_by_key(|child| needs[*child]);
                visits.extend(children.into_iter().map(|child| (child, false)));
                continue;
            }
            let operands = match (node.left, node.right) {
                (Child::Leaf(left), Child::Leaf(right)) => {
                    let slot = free.pop().unwrap_or_else(|| {
                        slots += 1;
                        slots - 1
                    });
                    SelectOperands::Leaves { left: left as u8, right: right as u8, slot }
                }
                (Child::Node(left), Child::Leaf(right)) => {
                    SelectOperands::RightLeaf { slot: slot_of[left as usize], right: right as u8 }
                }
                (Child::Leaf(left), Child::Node(right)) => {
                    SelectOperands::LeftLeaf { left: left as u8, slot: slot_of[right as usize] }
                }
                (Child::Node(left), Child::Node(right)) => {
                    let (left, right) = (slot_of[left as usize], slot_of[right as usize]);
                    free.push(right);
                    SelectOperands::Slots { left, right }
                }
            };
            slot_of[index] = operands.result();
            let test = self.code_test(&node.split);
            self.program.steps.push(SelectStep { test, operands });
        }

        self.program.slots = self.program.slots.max(slots as usize);
        LeafLookup::Steps { first, end: self.program.steps.len(), slot: slot_of[0] as usize }
    }
}

impl SelectOperands {
    /// The slot of the result.
    fn result(self) -> u8 {
        match self {
            SelectOperands::Leaves { slot, .. }
            | SelectOperands::RightLeaf { slot, .. }
            | SelectOperands::LeftLeaf { slot, .. } => slot,
            SelectOperands::Slots { left, .. } => left,
        }
    }
}

fn inner(child: Child) -> Option<usize> {
    match child {
        Child::Node(index) => Some(index as usize),
        Child::Leaf(_) => None,
    }
}

/// Number of slots that the program of each node needs.
fn slot_needs(tree: &Tree) -> Vec<u8> {
    let mut needs = vec![0_u8; tree.nodes.len()];
    for (index, node) in tree.nodes.iter().enumerate().rev() {
        let need = |child| inner(child).map_or(0, |child| needs[child]);
        let (left, right) = (need(node.left), need(node.right));
        needs[index] = if left == right { left + 1 } else { left.max(right) };
    }
    needs
}
