//! The boxes of a simplified grid as one tree.
//!
//! "Based on this simplified rule, a new decision tree can be drawn" (Jun, Cho, Lee 2012, section
//! 3). A part of the grid whose boxes have one class is a leaf; any other is cut at the threshold
//! that leaves its two sides purest by the number of cells (Gini). If the boxes are all of the grid,
//! the tree gives every row, seen or not, the class of its cell; if they are only the cells with
//! rows, an empty cell has the class of the leaf that it falls into.

use super::{CellBox, CellGrid};
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rank_tree::{ClassifierTree, RankTree, Subtree};
use swarmwood_learn::rule::{Cut, RankRule};

/// The tree while it is made.
struct GridTreeBuilder<'a> {
    grid: &'a CellGrid,
    table: &'a RankTable,
    kinds: usize,
    tree: ClassifierTree,
}

impl CellGrid {
    /// The tree that decides as the grid does.
    pub fn to_tree(&self, table: &RankTable) -> ClassifierTree {
        let kinds = self.boxes.iter().map(|one| usize::from(one.class) + 1).max().unwrap_or(1);
        let tree =
            ClassifierTree { rules: RankTree::default(), splits: Vec::new(), classes: Vec::new() };
        let mut builder = GridTreeBuilder { grid: self, table, kinds, tree };
        let subtree = builder.part(self.boxes.clone());
        ClassifierTree { rules: RankTree::new(&subtree), ..builder.tree }
    }
}

impl GridTreeBuilder<'_> {
    /// The subtree of a part of the grid, given by its boxes.
    fn part(&mut self, boxes: Vec<CellBox>) -> Subtree {
        let class = boxes.first().map_or(0, |one| one.class);
        let cut =
            if boxes.iter().all(|one| one.class == class) { None } else { self.purest(&boxes) };
        let Some((axis, at)) = cut else {
            self.tree.classes.push(class);
            return Subtree::Leaf;
        };
        let cut = self.grid.cuts[axis][usize::from(at) - 1];
        let of = &self.grid.axes[axis];
        let column = &self.table.columns()[of.feature as usize];
        let rule =
            RankRule { feature: of.feature, cut: Cut::Above(cut), missing_right: of.missing_right };
        self.tree.splits.push(rule.to_split(column, [cut, cut + 1]));

        let (mut left, mut right) = (Vec::new(), Vec::new());
        for one in boxes {
            let [from, to] = one.ranges[axis];
            if from < at {
                let mut part = one.clone();
                part.ranges[axis][1] = to.min(at);
                left.push(part);
            }
            if at < to {
                let mut part = one;
                part.ranges[axis][0] = from.max(at);
                right.push(part);
            }
        }
        let left = self.part(left);
        let right = self.part(right);
        Subtree::split(rule, left, right)
    }

    /// The axis and the first interval above the best cut; of equals the first.
    fn purest(&self, boxes: &[CellBox]) -> Option<(usize, u16)> {
        let volumes: Vec<f64> = boxes.iter().map(volume).collect();
        let mut totals = vec![0.0; self.kinds];
        for (one, volume) in boxes.iter().zip(&volumes) {
            totals[usize::from(one.class)] += volume;
        }

        let mut best: Option<(f64, usize, u16)> = None;
        for axis in 0..self.grid.axes.len() {
            let [from, to] = hull(boxes, axis);
            let counts = self.counts_along(boxes, &volumes, axis, [from, to]);
            let (mut left, mut right) = (vec![0.0; self.kinds], totals.clone());
            for (at, counts) in (from..to - 1).zip(counts.chunks(self.kinds)) {
                for (class, count) in counts.iter().enumerate() {
                    left[class] += count;
                    right[class] -= count;
                }
                let impurity = LeafLoss::Gini.of(&left) + LeafLoss::Gini.of(&right);
                if best.is_none_or(|(least, ..)| impurity < least) {
                    best = Some((impurity, axis, at + 1));
                }
            }
        }
        best.map(|(_, axis, at)| (axis, at))
    }

    /// How many cells of each class lie at each interval of an axis.
    fn counts_along(
        &self,
        boxes: &[CellBox],
        volumes: &[f64],
        axis: usize,
        [from, to]: [u16; 2],
    ) -> Vec<f64> {
        let mut counts = vec![0.0; usize::from(to - from) * self.kinds];
        for (one, volume) in boxes.iter().zip(volumes) {
            let [low, high] = one.ranges[axis];
            let share = volume / f64::from(high - low);
            for at in low..high {
                counts[usize::from(at - from) * self.kinds + usize::from(one.class)] += share;
            }
        }
        counts
    }
}

/// Number of cells of a box.
fn volume(of: &CellBox) -> f64 {
    of.ranges.iter().map(|range| f64::from(range[1] - range[0])).product()
}

/// From the first to after the last interval of an axis that a box lies at.
fn hull(boxes: &[CellBox], axis: usize) -> [u16; 2] {
    let ranges = boxes.iter().map(|one| one.ranges[axis]);
    ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or([0, 1])
}
