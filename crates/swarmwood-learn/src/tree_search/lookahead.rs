//! The best trees of two and of three levels over coarse cuts, for any loss that is a function of
//! sums.
//!
//! Every feature is divided into a few bins of equal size. For each pair of features a table sums
//! the rows by both bins, and from these tables the best pair of second rules below every first
//! rule is computed without another pass over the rows. While the cut of a root above moves through
//! the bins of its feature, rows move from the tables of the right side to those of the left, so
//! that every root is scored with the best two levels below each of its sides.
//!
//! The result is exact for the coarse cuts, and a start for descents, which use all cuts. Missing
//! values lie below all others here; levels of a category are ordered by their mean target.

use super::{SearchContext, error_counts, feature_screen};
use crate::context::Context;
use crate::leaf_loss::LeafLoss;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::Subtree;
use crate::rule::{Cut, RankRule, RankSet};

/// Maximum number of sums per leaf, the number of its rows among them.
const MAX_SUMS: usize = 8;

/// Maximum number of bins for two levels.
const PAIR_BINS: usize = 32;

/// Maximum number of bins for three levels.
const ROOT_BINS: usize = 16;

/// Cells that are updated between two checks of the budget.
const CELLS_PER_CHECK: usize = 1 << 20;

/// Rows between two checks of the budget, if a row updates so many cells.
pub(super) fn rows_per_check(cells_per_row: usize) -> usize {
    (CELLS_PER_CHECK / cells_per_row.max(1)).max(1)
}

/// A feature divided into bins.
struct BinnedAxis {
    feature: u32,
    /// The bin of each row.
    bin_of: Vec<u8>,
    /// The codes of each bin, in order.
    codes: Vec<Vec<u16>>,
}

/// A rule: the axis and the last bin that goes left.
type BinSplit = (u8, u8);

/// A tree of two levels with its loss.
#[derive(Clone, Copy, Debug)]
struct DepthTwoTree {
    loss: f64,
    first: BinSplit,
    second: [Option<BinSplit>; 2],
}

impl SearchContext<'_> {
    /// The best subtree of two levels of some features for some rows over coarse cuts; `None` if the loss does
    /// not allow it, or when the budget is interrupted.
    pub(super) fn best_of_two_levels(
        &self,
        features: &[u32],
        rows: &[u32],
        max_leaves: usize,
    ) -> Option<Subtree> {
        let axes = self.axes(features, rows, PAIR_BINS.min(bins_for(rows.len()) * 2))?;
        let two = self.dispatch(&axes, rows, |work| work.two_levels(max_leaves))??;
        // Tables that were not filled to the end are wrong.
        (!self.is_interrupted()).then(|| two.subtree(self.table, &axes))
    }

    /// The best subtrees of three levels for each of the `count` best roots, the best first. Empty
    /// when the budget is interrupted.
    pub(super) fn best_of_three_levels(&self, count: usize) -> Vec<Subtree> {
        let rows: Vec<u32> = (0..self.table.rows() as u32).collect();
        let bins = bins_for(rows.len());
        let Some(axes) = self.axes(&self.features, &rows, bins) else { return Vec::new() };
        let quick = self.errors_of_roots(&axes);
        let roots = self.dispatch(&axes, &rows, |work| match &quick {
            Some(quick) => work.score_roots(quick.iter().take(count).copied().collect()),
            None => work.three_levels(),
        });
        let subtree = |(root, below, _): &RootCandidate| {
            let side = |two: &Option<DepthTwoTree>| {
                two.as_ref().map_or(Subtree::Leaf, |two| two.subtree(self.table, &axes))
            };
            Subtree::split(rule(self.table, &axes, *root), side(&below[0]), side(&below[1]))
        };
        let roots = roots.filter(|_| !self.is_interrupted());
        roots.unwrap_or_default().iter().take(count).map(subtree).collect()
    }

    /// All roots of three levels, the best first, for losses that error counts suffice for; equals
    /// stay in order.
    fn errors_of_roots(&self, axes: &[BinnedAxis]) -> Option<Vec<BinSplit>> {
        let RankTarget::Classes { of_row, count: 2 } = self.table.target() else { return None };
        let few = self.table.rows() < error_counts::MAX_ROWS
            && axes.iter().all(|axis| axis.codes.len() <= ROOT_BINS);
        if self.config.loss != LeafLoss::Error || self.table.is_weighted() || !few {
            return None;
        }
        let binned = error_counts::BinnedClasses {
            axes: axes.iter().map(|axis| (&axis.bin_of[..], axis.codes.len())).collect(),
            second_class: of_row.iter().map(|&class| class == 1).collect(),
            min_leaf: self.config.limits.min_leaf.max(1),
        };
        let mut found = error_counts::errors(&binned, self.context);
        found.sort_by(|a, b| a.2.total_cmp(&b.2));
        Some(found.into_iter().map(|(axis, bin, _)| (axis as u8, bin as u8)).collect())
    }

    /// Those of some features to search in pairs, divided into bins; `None` if there are none.
    fn axes(&self, features: &[u32], rows: &[u32], bins: usize) -> Option<Vec<BinnedAxis>> {
        let mut axes = Vec::new();
        for feature in feature_screen::pair_features(self.table, features, rows, self.context) {
            axes.extend(BinnedAxis::new(self.table, rows, feature, bins));
            if self.is_interrupted() {
                return None;
            }
        }
        (!axes.is_empty()).then_some(axes)
    }

    /// Calls `call` with tables whose cells have as many sums as the target needs.
    fn dispatch<R>(
        &self,
        axes: &[BinnedAxis],
        rows: &[u32],
        call: impl Fn(&dyn LookaheadLevels) -> R,
    ) -> Option<R> {
        let loss = &self.config.loss;
        if *loss == LeafLoss::Absolute {
            return None;
        }
        let width = match self.table.target() {
            RankTarget::Classes { count, .. } => *count,
            RankTarget::Numbers { .. } => 2,
        };
        let min_leaf = self.config.limits.min_leaf.max(1);
        macro_rules! widths {
            ($($width:literal)*) => {
                match width {
                    $($width => Some(call(&PairCounts::<$width, { $width + 1 }>::new(self, axes, rows, loss, min_leaf))),)*
                    _ => None,
                }
            };
        }
        const { assert!(MAX_SUMS == 8) };
        widths!(2 3 4 5 6 7)
    }
}

/// Enough bins to distinguish good roots from bad ones, few enough to try all of them.
fn bins_for(rows: usize) -> usize {
    ((rows as f64).sqrt() / 2.0).clamp(6.0, ROOT_BINS as f64) as usize
}

/// A root with the best two levels on each of its sides and the loss of the whole tree.
type RootCandidate = (BinSplit, [Option<DepthTwoTree>; 2], f64);

/// The searches, independent of the number of sums per cell.
trait LookaheadLevels {
    fn two_levels(&self, max_leaves: usize) -> Option<DepthTwoTree>;
    /// All roots, the best first.
    fn three_levels(&self) -> Vec<RootCandidate>;
    /// Some roots, in the order given.
    fn score_roots(&self, roots: Vec<BinSplit>) -> Vec<RootCandidate>;
}

/// Rows with their contributions: `W` sums for the loss, and one for the number of rows.
struct PairCounts<'a, const W: usize, const V: usize> {
    context: Context<'a>,
    axes: &'a [BinnedAxis],
    loss: &'a LeafLoss,
    min_leaf: f64,
    contributions: Vec<[f64; V]>,
    /// Where the table of each pair of axes starts, and its length.
    starts: Vec<usize>,
    cells: usize,
}

/// The tables of all pairs of axes.
#[derive(Clone)]
struct PairTables<const V: usize> {
    cells: Vec<[f64; V]>,
    total: [f64; V],
}

impl<'a, const W: usize, const V: usize> PairCounts<'a, W, V> {
    fn new(
        search: &'a SearchContext<'_>,
        axes: &'a [BinnedAxis],
        rows: &[u32],
        loss: &'a LeafLoss,
        min_leaf: usize,
    ) -> Self {
        let (table, context) = (search.table, search.context);
        let contribution = |&row: &u32| {
            let mut sums = [0.0; V];
            let weight = table.weight(row);
            match table.target() {
                RankTarget::Classes { of_row, .. } => {
                    sums[usize::from(of_row[row as usize])] = weight
                }
                RankTarget::Numbers { of_row, .. } => {
                    sums[0] = weight;
                    sums[1] = weight * of_row[row as usize];
                }
            }
            sums[W] = 1.0;
            sums
        };
        let mut starts = Vec::new();
        let mut cells = 0;
        for (first, axis) in axes.iter().enumerate() {
            for other in &axes[first..] {
                starts.push(cells);
                cells += axis.codes.len() * other.codes.len();
            }
        }
        PairCounts {
            context,
            axes,
            loss,
            min_leaf: min_leaf as f64,
            contributions: rows.iter().map(contribution).collect(),
            starts,
            cells,
        }
    }

    fn empty(&self) -> PairTables<V> {
        PairTables { cells: vec![[0.0; V]; self.cells], total: [0.0; V] }
    }

    /// Adds a row to all tables.
    fn add(&self, tables: &mut PairTables<V>, row: usize) {
        let sums = &self.contributions[row];
        let mut starts = self.starts.iter();
        for (first, axis) in self.axes.iter().enumerate() {
            let bin = usize::from(axis.bin_of[row]);
            for (other, &start) in self.axes[first..].iter().zip(&mut starts) {
                let cell = &mut tables.cells
                    [start + bin * other.codes.len() + usize::from(other.bin_of[row])];
                (0..V).for_each(|at| cell[at] += sums[at]);
            }
        }
        (0..V).for_each(|at| tables.total[at] += sums[at]);
    }

    /// Adds rows to all tables, until the budget is interrupted.
    fn add_all(&self, tables: &mut PairTables<V>, rows: impl Iterator<Item = usize>) {
        let every = rows_per_check(self.starts.len());
        for (count, row) in rows.enumerate() {
            if count % every == 0 && self.context.budget.is_interrupted() {
                return;
            }
            self.add(tables, row);
        }
    }

    fn all(&self) -> PairTables<V> {
        let mut tables = self.empty();
        self.add_all(&mut tables, 0..self.contributions.len());
        tables
    }

    #[inline(always)]
    fn leaf(&self, sums: &[f64; V]) -> f64 {
        match self.loss {
            LeafLoss::Mix { share } => {
                let (mut total, mut most, mut squares) = (0.0, 0.0_f64, 0.0);
                for &count in &sums[..W] {
                    total += count;
                    most = most.max(count);
                    squares += count * count;
                }
                let gini = if total > 0.0 { total - squares / total } else { 0.0 };
                (1.0 - share) * (total - most) + share * gini
            }
            loss => loss.of(&sums[..W]),
        }
    }

    /// The best tree of two levels for the rows of some tables; `None` also when the budget is
    /// interrupted.
    fn two(&self, tables: &PairTables<V>, max_leaves: usize) -> Option<DepthTwoTree> {
        let count = self.axes.len();
        let mut firsts: Vec<Vec<CutSides>> = self
            .axes
            .iter()
            .enumerate()
            .map(|(at, axis)| self.leaves(tables, at, axis.codes.len()))
            .collect();
        let mut pair = 0;
        for first in 0..count {
            if self.context.budget.is_interrupted() {
                return None;
            }
            for second in first..count {
                let (wide, narrow) = (self.axes[first].codes.len(), self.axes[second].codes.len());
                let cells = &tables.cells[self.starts[pair]..][..wide * narrow];
                self.improve_sides(
                    cells,
                    (wide, narrow),
                    (narrow, 1),
                    second,
                    &mut firsts[first],
                    &tables.total,
                );
                if first != second {
                    self.improve_sides(
                        cells,
                        (narrow, wide),
                        (1, narrow),
                        first,
                        &mut firsts[second],
                        &tables.total,
                    );
                }
                pair += 1;
            }
        }
        let mut best: Option<DepthTwoTree> = None;
        for (axis, cuts) in firsts.iter().enumerate() {
            for (cut, sides) in cuts.iter().enumerate().filter(|(_, sides)| sides.allowed) {
                let (loss, second) = sides.cheapest(max_leaves);
                if best.is_none_or(|best| loss < best.loss) {
                    best = Some(DepthTwoTree { loss, first: (axis as u8, cut as u8), second });
                }
            }
        }
        best
    }

    /// A root, given the tables of the rows on its left; `None` if a side has too few rows.
    fn root(
        &self,
        root: BinSplit,
        left: &PairTables<V>,
        all: &PairTables<V>,
    ) -> Option<RootCandidate> {
        let mut right = all.clone();
        for (cell, gone) in right.cells.iter_mut().zip(&left.cells) {
            (0..V).for_each(|at| cell[at] -= gone[at]);
        }
        (0..V).for_each(|at| right.total[at] -= left.total[at]);
        if left.total[W] < self.min_leaf || right.total[W] < self.min_leaf {
            return None;
        }
        let sides = [self.two(left, 4), self.two(&right, 4)];
        let cost = |two: &Option<DepthTwoTree>, total: &[f64; V]| {
            two.as_ref().map_or(f64::INFINITY, |two| two.loss).min(self.leaf(total))
        };
        let loss = cost(&sides[0], &left.total) + cost(&sides[1], &right.total);
        Some((root, sides, loss))
    }

    /// The loss of both sides of each cut of an axis as leaves.
    fn leaves(&self, tables: &PairTables<V>, axis: usize, bins: usize) -> Vec<CutSides> {
        // The table of an axis with itself has its rows on the diagonal.
        let start = self.starts[(0..axis).map(|before| self.axes.len() - before).sum::<usize>()];
        let mut left = [0.0; V];
        let mut cuts = Vec::with_capacity(bins.saturating_sub(1));
        for bin in 0..bins.saturating_sub(1) {
            let cell = &tables.cells[start + bin * bins + bin];
            (0..V).for_each(|at| left[at] += cell[at]);
            let right: [f64; V] = std::array::from_fn(|at| tables.total[at] - left[at]);
            let leaf = [self.leaf(&left), self.leaf(&right)];
            let allowed = left[W] >= self.min_leaf && right[W] >= self.min_leaf;
            cuts.push(CutSides { leaf, split: leaf, rule: [None; 2], allowed });
        }
        cuts
    }

    /// Improves the sides of each cut of a first axis by rules of a second one. The table has its
    /// bins at `first * stride.0 + second * stride.1`.
    fn improve_sides(
        &self,
        cells: &[[f64; V]],
        (firsts, seconds): (usize, usize),
        stride: (usize, usize),
        second: usize,
        cuts: &mut [CutSides],
        total: &[f64; V],
    ) {
        // SumLeafStats over the bins of the first axis on either side of the cut, by bin of the second.
        let mut left = [[0.0; V]; PAIR_BINS];
        let mut right = [[0.0; V]; PAIR_BINS];
        for first in 0..firsts {
            for (bin, sums) in right.iter_mut().enumerate().take(seconds) {
                let cell = &cells[first * stride.0 + bin * stride.1];
                (0..V).for_each(|at| sums[at] += cell[at]);
            }
        }
        let (mut in_left, mut in_right) = ([0.0; V], *total);
        for (first, cut) in cuts.iter_mut().enumerate() {
            for bin in 0..seconds {
                let cell = &cells[first * stride.0 + bin * stride.1];
                for at in 0..V {
                    left[bin][at] += cell[at];
                    right[bin][at] -= cell[at];
                    in_left[at] += cell[at];
                    in_right[at] -= cell[at];
                }
            }
            if cut.allowed {
                self.improve_side(&left[..seconds], &in_left, second, 0, cut);
                self.improve_side(&right[..seconds], &in_right, second, 1, cut);
            }
        }
    }

    /// Tries all cuts of a second axis on one side.
    #[inline]
    fn improve_side(
        &self,
        bins: &[[f64; V]],
        total: &[f64; V],
        second: usize,
        side: usize,
        cut: &mut CutSides,
    ) {
        if cut.split[side] <= 0.0 && *self.loss != LeafLoss::Squared {
            return;
        }
        let mut low = [0.0; V];
        for (bin, sums) in bins[..bins.len() - 1].iter().enumerate() {
            (0..V).for_each(|at| low[at] += sums[at]);
            let high: [f64; V] = std::array::from_fn(|at| total[at] - low[at]);
            if low[W] < self.min_leaf || high[W] < self.min_leaf || sums[W] == 0.0 {
                continue;
            }
            let loss = self.leaf(&low) + self.leaf(&high);
            if loss < cut.split[side] {
                cut.split[side] = loss;
                cut.rule[side] = Some((second as u8, bin as u8));
            }
        }
    }
}

impl<const W: usize, const V: usize> LookaheadLevels for PairCounts<'_, W, V> {
    fn two_levels(&self, max_leaves: usize) -> Option<DepthTwoTree> {
        self.two(&self.all(), max_leaves)
    }

    fn three_levels(&self) -> Vec<RootCandidate> {
        let all = self.all();
        let mut roots: Vec<RootCandidate> = self
            .context
            .pool
            .map(self.axes.len(), |axis| {
                let bins = self.axes[axis].codes.len();
                let mut of_bin = vec![Vec::new(); bins];
                self.axes[axis]
                    .bin_of
                    .iter()
                    .enumerate()
                    .for_each(|(row, &bin)| of_bin[usize::from(bin)].push(row));
                let mut left = self.empty();
                let mut found = Vec::new();
                for (bin, rows) in of_bin.iter().enumerate().take(bins - 1) {
                    self.add_all(&mut left, rows.iter().copied());
                    if self.context.budget.is_interrupted() {
                        break;
                    }
                    found.extend(self.root((axis as u8, bin as u8), &left, &all));
                }
                found
            })
            .into_iter()
            .flatten()
            .collect();
        roots.sort_by(|a, b| a.2.total_cmp(&b.2));
        roots
    }

    fn score_roots(&self, roots: Vec<BinSplit>) -> Vec<RootCandidate> {
        let all = self.all();
        let score = |root: BinSplit| {
            let bin_of = &self.axes[usize::from(root.0)].bin_of;
            let mut left = self.empty();
            self.add_all(&mut left, (0..bin_of.len()).filter(|&row| bin_of[row] <= root.1));
            self.root(root, &left, &all)
        };
        roots.into_iter().filter_map(score).collect()
    }
}

/// The two sides of a first cut: their loss as leaves, and with the best second rule.
#[derive(Clone, Copy)]
struct CutSides {
    leaf: [f64; 2],
    split: [f64; 2],
    rule: [Option<BinSplit>; 2],
    allowed: bool,
}

impl CutSides {
    fn cheapest(&self, max_leaves: usize) -> (f64, [Option<BinSplit>; 2]) {
        let [left, right] = self.rule;
        if max_leaves >= 4 {
            return (self.split[0] + self.split[1], [left, right]);
        }
        let (by_left, by_right) = (self.split[0] + self.leaf[1], self.leaf[0] + self.split[1]);
        if by_left <= by_right { (by_left, [left, None]) } else { (by_right, [None, right]) }
    }
}

impl DepthTwoTree {
    fn subtree(&self, table: &RankTable, axes: &[BinnedAxis]) -> Subtree {
        let side = |split: Option<BinSplit>| {
            split.map_or(Subtree::Leaf, |split| {
                Subtree::split(rule(table, axes, split), Subtree::Leaf, Subtree::Leaf)
            })
        };
        Subtree::split(rule(table, axes, self.first), side(self.second[0]), side(self.second[1]))
    }
}

fn rule(table: &RankTable, axes: &[BinnedAxis], (axis, bin): BinSplit) -> RankRule {
    let axis = &axes[usize::from(axis)];
    let (left, right) = axis.codes.split_at(usize::from(bin) + 1);
    let cut = if table.columns()[axis.feature as usize].is_category() {
        Cut::In(RankSet::from_iter(right.iter().flatten().copied().filter(|&code| code > 0)))
    } else {
        Cut::Above(left.iter().flatten().copied().max().unwrap_or(0))
    };
    RankRule { feature: axis.feature, cut, missing_right: false }
}

impl BinnedAxis {
    /// Bins of nearly equal size along the codes; `None` if all rows have one code.
    fn new(table: &RankTable, rows: &[u32], feature: u32, bins: usize) -> Option<BinnedAxis> {
        let column = &table.columns()[feature as usize];
        let mut counts = vec![0_usize; usize::from(column.max_code()) + 1];
        rows.iter().for_each(|&row| counts[usize::from(column.codes()[row as usize])] += 1);
        let mut seen: Vec<u16> =
            (0..=column.max_code()).filter(|&code| counts[usize::from(code)] > 0).collect();
        if seen.len() < 2 || seen == [0] {
            return None;
        }
        if column.is_category() {
            // Missing values stay in front.
            let levels = table.levels_by_target(feature, rows);
            let held = |code: &u16| counts[usize::from(*code)] > 0;
            seen = std::iter::once(0).chain(levels).filter(held).collect();
        }
        let mut bin_of = vec![0_u8; counts.len()];
        let mut codes: Vec<Vec<u16>> = vec![Vec::new()];
        let (mut held, mut left) = (0, rows.len());
        for &code in &seen {
            let here = counts[usize::from(code)];
            let open = bins - codes.len() + 1;
            // A bin is full at its share of the remaining rows, or at one code if there are enough
            // bins for one per code. Missing values share a bin with the least numbers: no
            // threshold lies between them.
            let full = seen.len() <= bins || held * open >= left;
            let full = full && codes.last().is_some_and(|last| last != &[0]);
            if held > 0 && full && codes.len() < bins {
                left -= held;
                held = 0;
                codes.push(Vec::new());
            }
            held += here;
            bin_of[usize::from(code)] = codes.len() as u8 - 1;
            if let Some(last) = codes.last_mut() {
                last.push(code);
            }
        }
        let of =
            rows.iter().map(|&row| bin_of[usize::from(column.codes()[row as usize])]).collect();
        (codes.len() > 1).then_some(BinnedAxis { feature, bin_of: of, codes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use swarmwood_model::{Feature, Kind};

    use super::*;
    use crate::cart::TreeLimits;
    use crate::context::TestContext;
    use crate::data::{Chunk, Column};
    use crate::tree_search::TreeSearchConfig;

    proptest! {
        /// Error counts order roots as the tables of sums do.
        #[test]
        fn roots_by_lanes_equal_roots_by_tables(
            cells in prop::collection::vec((0u8..14, 0u8..14, 0u8..3, any::<bool>()), 8..80),
            min_leaf in 1usize..4,
            bins in prop_oneof![Just(6_usize), Just(8), Just(13)],
        ) {
            let number = |of: fn(&(u8, u8, u8, bool)) -> u8| Column::Number(cells.iter().map(|cell| f64::from(of(cell))).collect());
            let columns = vec![number(|cell| cell.0), number(|cell| cell.1), number(|cell| cell.2)];
            let target = cells.iter().map(|cell| f64::from(u8::from(cell.3))).collect();
            let chunk = Chunk { columns, target, rows: cells.len(), ..Chunk::default() };
            let features = ["x", "y", "z"].map(|name| Feature { name: name.into(), kind: Kind::Number });
            let table = RankTable::new(&chunk, &features, Some(2), 100);
            let limits = TreeLimits { leaves: 0, depth: 3, min_leaf };
            let config = TreeSearchConfig { loss: LeafLoss::Error, limits, population: 1, descents: 0, seed: 0 };
            let run = TestContext::new(1);
            let search = SearchContext::new(&table, &config, run.context());
            let rows: Vec<u32> = (0..table.rows() as u32).collect();
            if let Some(axes) = search.axes(&search.features, &rows, bins) {
                let slow = search.dispatch(&axes, &rows, |work| work.three_levels()).unwrap();
                let quick = search.errors_of_roots(&axes).unwrap();
                prop_assert_eq!(&quick, &slow.iter().map(|root| root.0).collect::<Vec<_>>());
                let again = search.dispatch(&axes, &rows, |work| work.score_roots(quick.clone())).unwrap();
                for (one, other) in again.iter().zip(&slow) {
                    prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
                }
            }
        }
    }
}
