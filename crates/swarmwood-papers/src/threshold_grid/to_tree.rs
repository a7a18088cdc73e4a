//! Phase 3: the cells of a grid as one tree.
//!
//! "Based on this simplified rule, a new decision tree can be drawn" (Jun, Cho, Lee 2012, section
//! 3). A box of cells of one class is a leaf; any other box is cut at the threshold that leaves its
//! two parts purest by the number of cells (Gini). The tree gives every row, seen or not, the class
//! of its cell. The paper's merging of neighbouring cells into rules is not made here: rules are
//! read from trees.

use super::CellGrid;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::rank_table::{RankCut, RankRule, RankTable};
use swarmwood_learn::rank_tree::{ClassifierTree, RankTree, Subtree};

/// The tree while it is made.
struct GridTreeBuilder<'a> {
    grid: &'a CellGrid,
    table: &'a RankTable,
    shape: Vec<usize>,
    strides: Vec<usize>,
    kinds: usize,
    tree: ClassifierTree,
}

impl CellGrid {
    /// The tree that decides as the grid does.
    pub fn to_tree(&self, table: &RankTable) -> ClassifierTree {
        let shape: Vec<usize> = self.cuts.iter().map(|cuts| cuts.len() + 1).collect();
        let mut strides = vec![1; shape.len()];
        for at in (1..shape.len()).rev() {
            strides[at - 1] = strides[at] * shape[at];
        }
        let kinds = self.classes.iter().max().map_or(1, |&class| usize::from(class) + 1);
        let whole = shape.iter().map(|&intervals| [0, intervals]).collect();
        let tree =
            ClassifierTree { rules: RankTree::default(), splits: Vec::new(), classes: Vec::new() };
        let mut builder = GridTreeBuilder { grid: self, table, shape, strides, kinds, tree };
        let subtree = builder.part(whole);
        ClassifierTree { rules: RankTree::new(&subtree), ..builder.tree }
    }

    /// The class of a row with these codes.
    pub fn class(&self, code: impl Fn(u32) -> u16) -> u16 {
        let mut cell = 0;
        for (axis, cuts) in self.axes.iter().zip(&self.cuts) {
            let interval = match code(axis.feature) {
                0 if axis.missing_right => cuts.len(),
                0 => 0,
                code => cuts.partition_point(|&cut| cut < code),
            };
            cell = cell * (cuts.len() + 1) + interval;
        }
        self.classes[cell]
    }
}

impl GridTreeBuilder<'_> {
    /// The subtree of a box: from which interval to before which, axis by axis.
    fn part(&mut self, bounds: Vec<[usize; 2]>) -> Subtree {
        let counts = self.count(&bounds);
        if let Some(class) = self.only_class(&bounds, &counts) {
            self.tree.classes.push(class as u16);
            return Subtree::Leaf;
        }
        let (axis, at) = self.purest(&bounds, &counts);
        let cut = self.grid.cuts[axis][at - 1];
        let of = &self.grid.axes[axis];
        let column = &self.table.columns()[of.feature as usize];
        let rule = RankRule {
            feature: of.feature,
            cut: RankCut::Above(cut),
            missing_right: of.missing_right,
        };
        self.tree.splits.push(rule.to_split(column, [cut, cut + 1]));
        let side = |from: usize, to: usize| {
            let mut part = bounds.clone();
            part[axis] = [from, to];
            part
        };
        let left = self.part(side(bounds[axis][0], at));
        let right = self.part(side(at, bounds[axis][1]));
        Subtree::split(rule, left, right)
    }

    /// How many cells of each class lie at each interval of each axis, in one walk over the box.
    fn count(&self, bounds: &[[usize; 2]]) -> Vec<Vec<f64>> {
        let mut counts: Vec<Vec<f64>> =
            self.shape.iter().map(|intervals| vec![0.0; intervals * self.kinds]).collect();
        let mut at: Vec<usize> = bounds.iter().map(|bound| bound[0]).collect();
        loop {
            let cell: usize = at.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum();
            let class = usize::from(self.grid.classes[cell]);
            for (axis, &interval) in at.iter().enumerate() {
                counts[axis][interval * self.kinds + class] += 1.0;
            }
            // The next cell, the last axis running fastest.
            let Some(axis) = (0..at.len()).rev().find(|&axis| at[axis] + 1 < bounds[axis][1])
            else {
                return counts;
            };
            at[axis] += 1;
            (axis + 1..at.len()).for_each(|later| at[later] = bounds[later][0]);
        }
    }

    /// The class of a box that has but one; a grid without axes is a single cell.
    fn only_class(&self, bounds: &[[usize; 2]], counts: &[Vec<f64>]) -> Option<usize> {
        let (Some(counts), Some(bound)) = (counts.first(), bounds.first()) else {
            return self.grid.classes.first().map(|&class| usize::from(class));
        };
        let held =
            |class: &usize| (bound[0]..bound[1]).any(|at| counts[at * self.kinds + class] > 0.0);
        let mut classes = (0..self.kinds).filter(held);
        let first = classes.next();
        if classes.next().is_none() { first } else { None }
    }

    /// The axis and the first interval above the best cut; of equals the first.
    fn purest(&self, bounds: &[[usize; 2]], counts: &[Vec<f64>]) -> (usize, usize) {
        let mut best = (f64::INFINITY, 0, 1);
        for (axis, counts) in counts.iter().enumerate() {
            let interval = |at: usize| &counts[at * self.kinds..(at + 1) * self.kinds];
            let (mut left, mut right) = (vec![0.0; self.kinds], vec![0.0; self.kinds]);
            let [from, to] = bounds[axis];
            (from..to).for_each(|at| {
                right.iter_mut().zip(interval(at)).for_each(|(sum, count)| *sum += count)
            });
            for at in from..to - 1 {
                for (class, count) in interval(at).iter().enumerate() {
                    left[class] += count;
                    right[class] -= count;
                }
                let impurity = LeafLoss::Gini.of(&left) + LeafLoss::Gini.of(&right);
                if impurity < best.0 {
                    best = (impurity, axis, at + 1);
                }
            }
        }
        (best.1, best.2)
    }
}
