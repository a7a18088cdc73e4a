//! Look-ahead: a split that gains nothing alone, but much together with the splits below it.
//!
//! The sums of a node's rows over the coarse bins of two or three features tell how well every tree
//! over these features fits that splits by each of them once along each path. The rows are halved:
//! the tree is chosen on one half and judged on the other, because the best of many trees fits its
//! own rows too well.

mod screen;
mod search;

pub(super) use search::{LookaheadSearch, SlotRows};

use crate::kernels::quantise::GradientSums;
use crate::rule::BinRule;
use crate::split::{Penalties, Ridge};

/// Most features of a set.
pub const MOST_FEATURES: usize = 3;

/// Coarse bins of a feature: in tables of two features, and of three.
pub(super) const PAIR_BINS: usize = 8;
pub(super) const TRIPLE_BINS: usize = 4;

/// Most cells of one side of a cut, over the features that are left.
const SIDE: usize = 16;

/// Features that are split one below the other: two or three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FeatureSet {
    features: [u32; MOST_FEATURES],
    len: usize,
}

impl FeatureSet {
    /// A set of two or three features; `None` for another number of them.
    pub fn new(features: &[u32]) -> Option<Self> {
        let mut set = FeatureSet { features: [0; MOST_FEATURES], len: features.len() };
        let fits = (2..=MOST_FEATURES).contains(&features.len());
        fits.then(|| set.features[..features.len()].copy_from_slice(features))?;
        Some(set)
    }

    /// The features.
    pub fn features(&self) -> &[u32] {
        &self.features[..self.len]
    }

    /// Splits of a full tree that splits by each feature once along each path.
    pub fn splits(&self) -> usize {
        (1 << self.len) - 1
    }

    /// The set itself, and the pairs of three features.
    pub(super) fn with_pairs(&self) -> Vec<FeatureSet> {
        let mut all = vec![*self];
        if let [a, b, c] = *self.features() {
            let pairs = [[a, b], [a, c], [b, c]];
            all.extend(pairs.iter().filter_map(|pair| FeatureSet::new(pair)));
        }
        all
    }
}

/// The first split of a tree over a few features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookaheadSplit {
    /// The rule.
    pub rule: BinRule,
    /// What each split of the tree gains on average, on rows that it was not chosen on.
    pub gain: f64,
    /// Splits of the tree.
    pub splits: usize,
    /// Levels of the tree.
    pub levels: usize,
}

/// Sums over the cells of a few features' coarse bins; the last axis is contiguous.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LookaheadTable {
    /// Bins of each axis.
    widths: Vec<usize>,
    cells: Vec<GradientSums>,
}

/// A tree over the axes of [`LookaheadTable`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CellTree {
    /// No further split.
    Leaf,
    /// Bins below `cut` go left. The axis is one of those that are left at this node.
    Split {
        /// The axis.
        axis: usize,
        /// The first bin on the right.
        cut: usize,
        /// Left and right.
        children: Box<[CellTree; 2]>,
    },
}

impl LookaheadTable {
    pub(super) fn new(widths: Vec<usize>, cells: Vec<GradientSums>) -> Self {
        LookaheadTable { widths, cells }
    }

    fn total(&self) -> GradientSums {
        self.cells.iter().fold(GradientSums::default(), |sum, &cell| plus(sum, cell))
    }

    /// The mean of two tables of the same shape.
    pub(super) fn mean(&self, other: &LookaheadTable) -> LookaheadTable {
        let half = |sum: GradientSums| GradientSums { g: 0.5 * sum.g, h: 0.5 * sum.h };
        let pairs = self.cells.iter().zip(&other.cells);
        let cells = pairs.map(|(&a, &b)| half(plus(a, b))).collect();
        LookaheadTable { widths: self.widths.clone(), cells }
    }

    /// The sums of both sides of a cut, over the axes that are left.
    fn sides(&self, axis: usize, cut: usize) -> [LookaheadTable; 2] {
        let inner: usize = self.widths[axis + 1..].iter().product();
        let width = self.widths[axis];
        let outer = self.cells.len() / (inner * width);
        let mut widths = self.widths.clone();
        widths.remove(axis);

        let side = |bins: std::ops::Range<usize>| {
            let mut cells = vec![GradientSums::default(); outer * inner];
            for block in 0..outer {
                for bin in bins.clone() {
                    let from = (block * width + bin) * inner;
                    let sums = &mut cells[block * inner..(block + 1) * inner];
                    for (sum, &cell) in sums.iter_mut().zip(&self.cells[from..from + inner]) {
                        *sum = plus(*sum, cell);
                    }
                }
            }
            LookaheadTable { widths: widths.clone(), cells }
        };
        [side(0..cut), side(cut..width)]
    }
}

fn plus(a: GradientSums, b: GradientSums) -> GradientSums {
    GradientSums { g: a.g + b.g, h: a.h + b.h }
}

fn minus(a: GradientSums, b: GradientSums) -> GradientSums {
    GradientSums { g: a.g - b.g, h: a.h - b.h }
}

/// Penalised losses of trees over cells.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellSearch {
    pub(super) penalties: Penalties,
    /// The value of the node that is split, see [`Penalties::node_value`].
    pub(super) value: f64,
}

impl CellSearch {
    /// The best tree over all axes.
    pub(super) fn best_tree(&self, cells: &LookaheadTable) -> CellTree {
        self.plan(cells, self.value, f64::INFINITY)
    }

    /// What a tree gains over the node as it is: its values follow from `chosen_on`, its loss is
    /// that of `judged_on`.
    pub(super) fn gain(
        &self,
        tree: &CellTree,
        chosen_on: &LookaheadTable,
        judged_on: &LookaheadTable,
    ) -> f64 {
        let CellTree::Split { .. } = tree else { return 0.0 };
        let whole = judged_on.total();
        let unsplit = match self.penalties.ridge {
            Ridge::Flat => self.leaf_loss(whole, self.leaf_value(chosen_on.total(), 0.0), 0.0),
            Ridge::Hierarchical => whole.g * self.value + 0.5 * whole.h * self.value * self.value,
        };
        unsplit - self.children_loss(tree, chosen_on, judged_on, self.value)
    }

    /// Losses of the children of a split, with its price.
    fn children_loss(
        &self,
        tree: &CellTree,
        chosen_on: &LookaheadTable,
        judged_on: &LookaheadTable,
        value: f64,
    ) -> f64 {
        let CellTree::Split { axis, cut, children } = tree else { return 0.0 };
        let (chosen, judged) = (chosen_on.sides(*axis, *cut), judged_on.sides(*axis, *cut));
        let side = |at: usize| self.tree_loss(&children[at], &chosen[at], &judged[at], value);
        self.penalties.gamma + side(0) + side(1)
    }

    fn tree_loss(
        &self,
        tree: &CellTree,
        chosen: &LookaheadTable,
        judged: &LookaheadTable,
        above: f64,
    ) -> f64 {
        let value = self.leaf_value(chosen.total(), above);
        match tree {
            CellTree::Leaf => self.leaf_loss(judged.total(), value, above),
            CellTree::Split { .. } => {
                self.step_loss(value, above) + self.children_loss(tree, chosen, judged, value)
            }
        }
    }

    fn leaf_value(&self, sums: GradientSums, above: f64) -> f64 {
        let divisor = sums.h + self.penalties.lambda;
        let pull = match self.penalties.ridge {
            Ridge::Flat => 0.0,
            Ridge::Hierarchical => self.penalties.lambda * above,
        };
        if divisor > 0.0 { (pull - sums.g) / divisor } else { above }
    }

    /// The penalty on an inner node's deviation from the node above it.
    fn step_loss(&self, value: f64, above: f64) -> f64 {
        match self.penalties.ridge {
            Ridge::Flat => 0.0,
            Ridge::Hierarchical => 0.5 * self.penalties.lambda * (value - above) * (value - above),
        }
    }

    fn leaf_loss(&self, sums: GradientSums, value: f64, above: f64) -> f64 {
        let from = match self.penalties.ridge {
            Ridge::Flat => 0.0,
            Ridge::Hierarchical => above,
        };
        let penalty = 0.5 * self.penalties.lambda * (value - from) * (value - from);
        sums.g * value + 0.5 * sums.h * value * value + penalty
    }

    /// The best tree below a node whose value is `value`; `loss` is that of a leaf in its place.
    fn plan(&self, cells: &LookaheadTable, value: f64, loss: f64) -> CellTree {
        let Some((axis, cut)) = self.best_cut(&cells.cells, &cells.widths, value, loss).1 else {
            return CellTree::Leaf;
        };
        let children = cells.sides(axis, cut).map(|side| {
            let (below, loss) = self.leaf(side.total(), value);
            self.plan(&side, below, loss - self.step_loss(below, value))
        });
        CellTree::Split { axis, cut, children: Box::new(children) }
    }

    /// The value and the loss of a leaf.
    fn leaf(&self, sums: GradientSums, above: f64) -> (f64, f64) {
        let value = self.leaf_value(sums, above);
        (value, self.leaf_loss(sums, value, above))
    }

    /// The loss of the best tree below a node whose value is `value`, and its first cut; `loss` if
    /// that is not less.
    fn best_cut(
        &self,
        cells: &[GradientSums],
        widths: &[usize],
        value: f64,
        loss: f64,
    ) -> (f64, Option<(usize, usize)>) {
        let mut best = (loss, None);
        for axis in 0..widths.len() {
            let inner: usize = widths[axis + 1..].iter().product();
            let (width, stride) = (widths[axis], widths[axis] * inner);
            let mut rest = [0; MOST_FEATURES];
            let others = widths.iter().enumerate().filter(|(at, _)| *at != axis);
            others.zip(&mut rest).for_each(|((_, &width), rest)| *rest = width);
            let rest = &rest[..widths.len() - 1];

            let (mut left, mut right) =
                ([GradientSums::default(); SIDE], [GradientSums::default(); SIDE]);
            let size = cells.len() / width;
            for (at, cell) in cells.iter().enumerate() {
                let place = at / stride * inner + at % inner;
                right[place] = plus(right[place], *cell);
            }
            for cut in 1..width {
                for place in 0..size {
                    let cell = cells[place / inner * stride + (cut - 1) * inner + place % inner];
                    left[place] = plus(left[place], cell);
                    right[place] = minus(right[place], cell);
                }
                let sides = [&left[..size], &right[..size]];
                let losses = sides.map(|side| self.side_loss(side, rest, value));
                let total = self.penalties.gamma + losses[0] + losses[1];
                if total < best.0 {
                    best = (total, Some((axis, cut)));
                }
            }
        }
        best
    }

    /// The loss of the best tree on one side of a cut; infinite if the side is too small.
    fn side_loss(&self, cells: &[GradientSums], widths: &[usize], above: f64) -> f64 {
        let total = cells.iter().fold(GradientSums::default(), |sum, &cell| plus(sum, cell));
        if total.h < self.penalties.min_child_weight.max(f64::MIN_POSITIVE) {
            return f64::INFINITY;
        }
        let (value, loss) = self.leaf(total, above);
        let step = self.step_loss(value, above);
        step + self.best_cut(cells, widths, value, loss - step).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::rng::Stream;

    fn random_cells(widths: &[usize], stream: &mut Stream) -> LookaheadTable {
        let cell = |_| GradientSums { g: stream.normal(), h: 0.1 + stream.unit() };
        let cells = (0..widths.iter().product()).map(cell).collect();
        LookaheadTable::new(widths.to_vec(), cells)
    }

    /// The best gain of trees over two axes, by trying all of them.
    fn best_of_all(search: &CellSearch, cells: &LookaheadTable) -> f64 {
        let leaf_or_cuts = |width: usize| {
            let cut = |cut: usize| CellTree::Split {
                axis: 0,
                cut,
                children: Box::new([CellTree::Leaf, CellTree::Leaf]),
            };
            std::iter::once(CellTree::Leaf).chain((1..width).map(cut)).collect::<Vec<_>>()
        };
        let mut best = f64::NEG_INFINITY;
        for axis in 0..2 {
            let below = leaf_or_cuts(cells.widths[1 - axis]);
            for cut in 1..cells.widths[axis] {
                for (left, right) in below.iter().flat_map(|l| below.iter().map(move |r| (l, r))) {
                    let children = Box::new([left.clone(), right.clone()]);
                    let tree = CellTree::Split { axis, cut, children };
                    best = best.max(search.gain(&tree, cells, cells));
                }
            }
        }
        best
    }

    #[test]
    fn the_best_tree_is_the_best_of_all() {
        let mut stream = Stream::new(1, 0, 0);
        for ridge in [Ridge::Flat, Ridge::Hierarchical] {
            for (lambda, gamma, value) in [(0.0, 0.0, 0.0), (1.5, 0.01, 0.3)] {
                let penalties = Penalties { lambda, ridge, gamma, min_child_weight: 0.0 };
                let search = CellSearch { penalties, value };
                for _ in 0..10 {
                    let cells = random_cells(&[4, 3], &mut stream);
                    let tree = search.best_tree(&cells);
                    let (found, best) =
                        (search.gain(&tree, &cells, &cells), best_of_all(&search, &cells));
                    assert!((found - best).abs() < 1e-9, "{found} {best}");
                }
            }
        }
    }

    #[test]
    fn a_parity_of_three_is_seen_though_no_cut_gains_before_the_last() {
        let sign = |at: usize| if at.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
        let cells = (0..8).map(|at| GradientSums { g: 3.0 * sign(at), h: 3.0 }).collect();
        let cells = LookaheadTable::new(vec![2, 2, 2], cells);
        let penalties =
            Penalties { lambda: 0.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 };
        let search = CellSearch { penalties, value: 0.0 };
        let tree = search.best_tree(&cells);
        // Every leaf explains all of its gradients: half of g²/h, eight times.
        assert!((search.gain(&tree, &cells, &cells) - 12.0).abs() < 1e-9);

        // Leaves of six rows are too small for a tree of three levels: nothing gains.
        let penalties = Penalties { min_child_weight: 4.0, ..penalties };
        let search = CellSearch { penalties, value: 0.0 };
        let tree = search.best_tree(&cells);
        assert!(search.gain(&tree, &cells, &cells).abs() < 1e-9);
    }
}
