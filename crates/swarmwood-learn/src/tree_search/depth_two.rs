//! The best of all trees of two levels, over all features and cuts, for the misclassification rate
//! or a cost matrix.
//!
//! Given the predictions of a rule's two sides, every row has a cost on the left and a cost on the
//! right, so the best cut is where the sum of the differences along the codes is greatest: a
//! maximum prefix sum. It is maintained in a segment tree, where adding or removing a row updates
//! one path to the root. So while the cut of the first rule moves through the rows of one feature,
//! each of which moves from the right side to the left, the best second rule of either side over
//! all features is always known: `O(features² rows log rows)` for the provably best tree, where
//! trying all pairs of cuts would be quadratic in the rows.
//!
//! Levels of a category are ordered by the share of the first class, and the result is exact only
//! along that order. Missing values lie below all codes or above all of them; both are tried.

use super::feature_screen;
use crate::context::Context;
use crate::leaf_loss::LeafLoss;
use crate::rank_table::{RankTable, RankTarget};
use crate::rank_tree::Subtree;
use crate::rule::{Cut, RankRule, RankSet};
use crate::threshold_scan::{NodeRows, SplitCriterion};

/// Rows that are moved between two checks of the budget.
const ROWS_PER_CHECK: usize = 1 << 14;

/// Maximum number of classes for which all pairs of predictions are tried.
const MAX_CLASSES: usize = 4;

/// Whether all features are searched, so that the result is provably the best.
pub(super) fn is_exhaustive(table: &RankTable, features: &[u32]) -> bool {
    feature_screen::varying(table, features).len() <= feature_screen::MAX_PAIR_FEATURES
}

/// Whether the best tree of two levels can be computed for the loss.
pub(super) fn can_solve(table: &RankTable, loss: &LeafLoss) -> bool {
    let few = matches!(table.target(), RankTarget::Classes { count, .. } if (2..=MAX_CLASSES).contains(count));
    few && matches!(loss, LeafLoss::Error | LeafLoss::Costs(_))
}

/// The best subtree with at most two levels and `max_leaves` (3 or 4) leaves over those of some
/// features that are searched in pairs; `None` if no first
/// rule is allowed, or when the budget is interrupted.
pub(super) fn best(
    table: &RankTable,
    all_features: &[u32],
    rows: &[u32],
    criterion: SplitCriterion<'_>,
    max_leaves: usize,
    context: Context<'_>,
) -> Option<Subtree> {
    let features = feature_screen::pair_features(table, all_features, rows, context);
    let search = DepthTwoSearch::new(table, rows, criterion, &features, context)?;
    let found = context.pool.map(features.len(), |at| search.best_root(at, max_leaves));
    if context.budget.is_interrupted() {
        // Roots that were not tried with every second rule may look better than they are.
        return None;
    }

    let best = found
        .into_iter()
        .flatten()
        .reduce(|best, other| if other.loss < best.loss { other } else { best })?;

    // The second rules are searched once more, among all features, now that only one pair of sides
    // is left.
    let features = feature_screen::varying(table, all_features);
    let codes = table.columns()[best.rule.feature as usize].codes();
    let (right, left): (Vec<u32>, Vec<u32>) =
        rows.iter().partition(|&&row| best.rule.goes_right(codes[row as usize]));
    let side = |rows: Vec<u32>, split: bool| {
        let found = if split {
            NodeRows::above_new_leaves(table, rows).best_rule(criterion, &features, context)
        } else {
            None
        };
        found
            .map_or(Subtree::Leaf, |found| Subtree::split(found.rule, Subtree::Leaf, Subtree::Leaf))
    };
    Some(Subtree::split(best.rule, side(left, best.split[0]), side(right, best.split[1])))
}

/// A first rule with the loss of the best tree below it.
struct RootSplit {
    loss: f64,
    rule: RankRule,
    /// Whether the left and the right side are split again.
    split: [bool; 2],
}

/// A feature as positions along which prefix sums are computed.
struct ScanAxis {
    feature: u32,
    /// The position of each row of the node.
    position_of: Vec<u16>,
    positions: usize,
    /// The code at each position, from 1 on; 0 for the position of missing values.
    codes: Vec<u16>,
    missing_right: bool,
}

/// The rows of a node and what the search over all pairs of features shares.
struct DepthTwoSearch<'a> {
    context: Context<'a>,
    table: &'a RankTable,
    /// The cost of each prediction for each class: by truth, then prediction.
    cost: Vec<Vec<f64>>,
    classes: Vec<u16>,
    weights: Vec<f64>,
    min_leaf: usize,
    axes: Vec<ScanAxis>,
    features: Vec<u32>,
}

/// The rows in the order of a first axis, with the positions where a rule can cut.
struct RootOrder {
    rows: Vec<u32>,
    /// Number of rows left of each cut, and the position on the axis that the cut comes after.
    cuts: Vec<(usize, u16)>,
}

impl<'a> DepthTwoSearch<'a> {
    fn new(
        table: &'a RankTable,
        rows: &[u32],
        criterion: SplitCriterion<'_>,
        features: &[u32],
        context: Context<'a>,
    ) -> Option<Self> {
        let RankTarget::Classes { of_row, count } = table.target() else {
            unreachable!("only called for classes")
        };
        let cost = |truth: usize, prediction: usize| match criterion.loss {
            LeafLoss::Costs(costs) => {
                let mut one = vec![0.0; *count];
                one[truth] = 1.0;
                costs.of(&one, prediction)
            }
            _ => f64::from(u8::from(truth != prediction)),
        };
        let cost = (0..*count)
            .map(|truth| (0..*count).map(|prediction| cost(truth, prediction)).collect())
            .collect();
        let classes: Vec<u16> = rows.iter().map(|&row| of_row[row as usize]).collect();
        let weights: Vec<f64> = rows.iter().map(|&row| table.weight(row)).collect();
        let mut axes = Vec::new();
        for &feature in features {
            if context.budget.is_interrupted() {
                return None;
            }
            axes.extend(ScanAxis::for_feature(table, rows, feature));
        }
        Some(DepthTwoSearch {
            context,
            table,
            cost,
            classes,
            weights,
            min_leaf: criterion.min_leaf.max(1),
            axes,
            features: features.to_vec(),
        })
    }

    /// The best tree whose first rule uses one feature.
    fn best_root(&self, at: usize, max_leaves: usize) -> Option<RootSplit> {
        let feature = self.features[at];
        let mut best: Option<RootSplit> = None;
        for axis in self.axes.iter().filter(|axis| axis.feature == feature) {
            let order = self.order(axis);
            let mut sides = self.leaves(&order);
            let leaves = sides.clone();
            for second in &self.axes {
                if self.context.budget.is_interrupted() {
                    return None;
                }
                self.add_second_rules(&order, second, &mut sides);
            }
            for ((&(_, position), leaf), split_loss) in order.cuts.iter().zip(&leaves).zip(&sides) {
                let (loss, split) = cheapest(*leaf, *split_loss, max_leaves);
                if best.as_ref().is_none_or(|best| loss < best.loss) {
                    best = Some(RootSplit { loss, rule: axis.rule(position, self.table), split });
                }
            }
        }
        best
    }

    fn order(&self, axis: &ScanAxis) -> RootOrder {
        let mut rows: Vec<u32> = (0..axis.position_of.len() as u32).collect();
        rows.sort_by_key(|&row| axis.position_of[row as usize]);
        let mut cuts = Vec::new();
        for left in self.min_leaf..(rows.len() + 1).saturating_sub(self.min_leaf) {
            let (before, after) =
                (axis.position_of[rows[left - 1] as usize], axis.position_of[rows[left] as usize]);
            if before != after && axis.may_cut_after(before, self.table) {
                cuts.push((left, before));
            }
        }
        RootOrder { rows, cuts }
    }

    /// The loss of the two sides of each cut as leaves.
    fn leaves(&self, order: &RootOrder) -> Vec<[f64; 2]> {
        let classes = self.cost.len();
        let (mut left, mut right) = (vec![0.0; classes], vec![0.0; classes]);
        order.rows.iter().for_each(|&row| {
            right[usize::from(self.classes[row as usize])] += self.weights[row as usize]
        });
        let mut done = 0;
        let mut sides = Vec::with_capacity(order.cuts.len());
        for &(to, _) in &order.cuts {
            for &row in &order.rows[done..to] {
                let (class, weight) =
                    (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                left[class] += weight;
                right[class] -= weight;
            }
            done = to;
            sides.push([self.leaf(&left), self.leaf(&right)]);
        }
        sides
    }

    fn leaf(&self, counts: &[f64]) -> f64 {
        (0..counts.len())
            .map(|prediction| self.cost_of(counts, prediction))
            .fold(f64::INFINITY, f64::min)
    }

    fn cost_of(&self, counts: &[f64], prediction: usize) -> f64 {
        counts.iter().zip(&self.cost).map(|(count, cost)| count * cost[prediction]).sum()
    }

    /// Lowers the loss of the sides of each cut to their loss with a second rule of one axis. Ends
    /// early when the budget is interrupted.
    fn add_second_rules(&self, order: &RootOrder, second: &ScanAxis, sides: &mut [[f64; 2]]) {
        let classes = self.cost.len();
        for (one, other) in
            (0..classes).flat_map(|one| (one + 1..classes).map(move |other| (one, other)))
        {
            // What a row saves if the prediction changes from `other` to `one`.
            let saved: Vec<f64> = self.cost.iter().map(|cost| cost[other] - cost[one]).collect();
            let mut trees = [PrefixTree::new(second.positions), PrefixTree::new(second.positions)];
            let mut counts = [vec![0.0; classes], vec![0.0; classes]];
            for &row in &order.rows {
                let (class, weight) =
                    (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                trees[1].put(
                    usize::from(second.position_of[row as usize]),
                    weight * saved[class],
                    1,
                );
                counts[1][class] += weight;
            }
            trees[1].build();
            let (mut done, mut unchecked) = (0, 0);
            for (&(to, _), side) in order.cuts.iter().zip(sides.iter_mut()) {
                for &row in &order.rows[done..to] {
                    let (class, weight) =
                        (usize::from(self.classes[row as usize]), self.weights[row as usize]);
                    let position = usize::from(second.position_of[row as usize]);
                    trees[0].add(position, weight * saved[class], 1);
                    trees[1].add(position, -weight * saved[class], -1);
                    counts[0][class] += weight;
                    counts[1][class] -= weight;
                }
                unchecked += to - done;
                done = to;
                if unchecked >= ROWS_PER_CHECK {
                    unchecked = 0;
                    if self.context.budget.is_interrupted() {
                        return;
                    }
                }
                for (at, rows) in [(0, to), (1, order.rows.len() - to)] {
                    // One prediction on the left and the other on the right, and vice versa.
                    let [most, least] = trees[at].ends(self.min_leaf, rows);
                    let first = self.cost_of(&counts[at], other) - most;
                    let second = self.cost_of(&counts[at], one) + least;
                    side[at] = side[at].min(first).min(second);
                }
            }
        }
    }
}

/// The loss of both sides with the second rules that `max_leaves` allows, and which of them are
/// used.
fn cheapest(leaf: [f64; 2], split_loss: [f64; 2], max_leaves: usize) -> (f64, [bool; 2]) {
    let used = [split_loss[0] < leaf[0], split_loss[1] < leaf[1]];
    if max_leaves >= 4 {
        return (split_loss[0] + split_loss[1], used);
    }
    let (left, right) = (split_loss[0] + leaf[1], leaf[0] + split_loss[1]);
    if left <= right { (left, [used[0], false]) } else { (right, [false, used[1]]) }
}

impl ScanAxis {
    /// The axis of a feature; two if values are missing, which lie first on one and last on the
    /// other.
    fn for_feature(table: &RankTable, rows: &[u32], feature: u32) -> Vec<ScanAxis> {
        let column = &table.columns()[feature as usize];
        let codes = |at: usize| column.codes()[rows[at] as usize];
        let mut seen: Vec<u16> = (0..rows.len()).map(codes).filter(|&code| code > 0).collect();
        seen.sort_unstable();
        seen.dedup();
        if column.is_category() {
            let held = |code: &u16| seen.binary_search(code).is_ok();
            seen = table.levels_by_target(feature, rows).into_iter().filter(held).collect();
        }
        let any_missing = (0..rows.len()).any(|at| codes(at) == 0);
        let mut position = vec![0_u16; usize::from(column.max_code()) + 1];
        let axis = |missing_right: bool| {
            let shift = u16::from(any_missing && !missing_right);
            (0..).zip(&seen).for_each(|(at, &code)| position[usize::from(code)] = at + shift);
            position[0] = if missing_right { seen.len() as u16 } else { 0 };
            let of = (0..rows.len()).map(|at| position[usize::from(codes(at))]).collect();
            let mut by_position = seen.clone();
            if any_missing {
                by_position.insert(usize::from(position[0]), 0);
            }
            ScanAxis {
                feature,
                position_of: of,
                positions: by_position.len().max(1),
                codes: by_position,
                missing_right,
            }
        };
        let sides: &[bool] = if any_missing { &[true, false] } else { &[true] };
        sides.iter().copied().map(axis).collect()
    }

    /// Whether a rule can cut after a position: none can send missing values alone left, or all
    /// known ones left if one of them is infinite.
    fn may_cut_after(&self, position: u16, table: &RankTable) -> bool {
        let (left, right) = self.codes.split_at(usize::from(position) + 1);
        let column = &table.columns()[self.feature as usize];
        left.iter().any(|&code| code > 0)
            && (right.iter().any(|&code| code > 0) || column.is_bounded())
    }

    fn rule(&self, position: u16, table: &RankTable) -> RankRule {
        let (left, right) = self.codes.split_at(usize::from(position) + 1);
        let cut = if table.columns()[self.feature as usize].is_category() {
            Cut::In(RankSet::from_iter(right.iter().copied().filter(|&code| code > 0)))
        } else {
            Cut::Above(left.iter().copied().max().unwrap_or(1))
        };
        RankRule { feature: self.feature, cut, missing_right: self.missing_right }
    }
}

/// SumLeafStats along the positions of an axis with their greatest and least prefix.
struct PrefixTree {
    /// A power of two.
    size: usize,
    nodes: Vec<PrefixNode>,
}

/// A range of positions: their sum, and the greatest and the least of its prefix sums that are not
/// empty.
#[derive(Clone, Copy, Default)]
struct PrefixNode {
    sum: f64,
    most: f64,
    least: f64,
    rows: u32,
}

impl PrefixNode {
    #[inline]
    fn join(left: PrefixNode, right: PrefixNode) -> PrefixNode {
        PrefixNode {
            sum: left.sum + right.sum,
            most: left.most.max(left.sum + right.most),
            least: left.least.min(left.sum + right.least),
            rows: left.rows + right.rows,
        }
    }
}

impl PrefixTree {
    fn new(positions: usize) -> Self {
        let size = positions.next_power_of_two();
        PrefixTree { size, nodes: vec![PrefixNode::default(); 2 * size] }
    }

    /// Changes one position and nothing above it.
    #[inline]
    fn put(&mut self, position: usize, change: f64, rows: i32) -> usize {
        let at = self.size + position;
        let span = &mut self.nodes[at];
        span.rows = span.rows.wrapping_add_signed(rows);
        // A position without rows keeps no rounding residue.
        let sum = if span.rows == 0 { 0.0 } else { span.sum + change };
        (span.sum, span.most, span.least) = (sum, sum, sum);
        at
    }

    #[inline]
    fn add(&mut self, position: usize, change: f64, rows: i32) {
        let mut at = self.put(position, change, rows) / 2;
        while at > 0 {
            self.nodes[at] = PrefixNode::join(self.nodes[2 * at], self.nodes[2 * at + 1]);
            at /= 2;
        }
    }

    /// Everything above the positions.
    fn build(&mut self) {
        for at in (1..self.size).rev() {
            self.nodes[at] = PrefixNode::join(self.nodes[2 * at], self.nodes[2 * at + 1]);
        }
    }

    /// The greatest and the least prefix with at least `min_leaf` rows in it and as many after it.
    #[inline]
    fn ends(&self, min_leaf: usize, rows: usize) -> [f64; 2] {
        const NONE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
        if rows < 2 * min_leaf {
            return NONE;
        }
        if min_leaf <= 1 {
            // A prefix without rows, or with all of them, is a leaf, which is in the comparison
            // anyway.
            return [self.nodes[1].most, self.nodes[1].least];
        }
        self.within(1, 0, 0.0, (min_leaf, rows - min_leaf))
    }

    /// The ends of prefixes that stop in a node's positions with a number of rows in the range.
    fn within(&self, at: usize, before: usize, sum: f64, range: (usize, usize)) -> [f64; 2] {
        let span = self.nodes[at];
        let rows = span.rows as usize;
        let whole = before >= range.0 && before + rows <= range.1;
        let stops = at >= self.size && (range.0..=range.1).contains(&(before + rows));
        if whole || stops {
            return [sum + span.most, sum + span.least];
        }
        if at >= self.size || before + rows < range.0 || before > range.1 {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        let left = self.nodes[2 * at];
        let a = self.within(2 * at, before, sum, range);
        let b = self.within(2 * at + 1, before + left.rows as usize, sum + left.sum, range);
        [a[0].max(b[0]), a[1].min(b[1])]
    }
}
