//! The best rule of one node of a tree while everything below the node stays as it is.
//!
//! Every row of the node knows the leaf it reaches if it goes right, and the leaf if it goes left.
//! A scan starts with all rows on the right and moves them to the left in the order of one
//! feature's codes; after each code the incremental leaf statistics give the loss of the tree with
//! the cut at that position, every leaf at its optimal value. So one pass over the rows evaluates
//! all cuts of a feature exactly. With two new leaves below the node this is the split search of
//! CART (Breiman et al. 1984).
//!
//! Levels of a category are first put into orders along which cuts are tried; cuts along an order
//! are exact, the choice among all subsets of levels is not. For two classes or the squared loss
//! over two new leaves one order suffices to find the best subset (Breiman et al. 1984, theorem
//! 4.5).

mod by_row;
mod grouped;
mod level_order;
#[cfg(test)]
mod tests;

use swarmwood_model::monotone::Direction;

use crate::context::Context;
use crate::leaf_loss::{LeafLoss, SumLeafStats};
use crate::rank_table::RankTable;
use crate::rule::{Cut, RankRule, RankSet};

/// Rows times features from which on the features are shared between threads.
const PARALLEL_WORK: usize = 1 << 15;

/// The rows of a node, each with its leaf on either side.
#[derive(Debug, Clone)]
pub struct NodeRows<'a> {
    /// The table that holds the rows.
    pub table: &'a RankTable,
    /// The rows of the node.
    pub rows: Vec<u32>,
    /// The leaf of each row if it goes right: below `right_leaves`.
    pub right: Vec<u16>,
    /// The leaf of each row if it goes left: from `right_leaves` on.
    pub left: Vec<u16>,
    /// Number of leaves on the right side.
    pub right_leaves: u16,
    /// Number of leaves on both sides.
    pub leaves: u16,
}

/// What rules are compared by, and what they must satisfy.
#[derive(Debug, Clone, Copy)]
pub struct SplitCriterion<'a> {
    /// The loss of the leaves.
    pub loss: &'a LeafLoss,
    /// Minimum number of rows of a leaf that is not empty.
    pub min_leaf: usize,
}

/// A rule and the loss of the leaves below the node with it.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleCandidate {
    /// The rule.
    pub rule: RankRule,
    /// The loss of all leaves below the node.
    pub loss: f64,
}

/// A cut along an order of codes: the first `codes` of them go left.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ScanPosition {
    loss: f64,
    /// Number of codes that go left, at least one.
    codes: usize,
    missing_right: bool,
}

impl<'a> NodeRows<'a> {
    /// Rows above two new leaves: leaf 0 on the right, leaf 1 on the left.
    pub fn above_new_leaves(table: &'a RankTable, rows: Vec<u32>) -> Self {
        let (right, left) = (vec![0; rows.len()], vec![1; rows.len()]);
        NodeRows { table, rows, right, left, right_leaves: 1, leaves: 2 }
    }

    /// The best rule over the given features; the first of equals. `None` if no rule is allowed.
    /// When the budget is interrupted, the best rule of the features scanned so far.
    pub fn best_rule(
        &self,
        criterion: SplitCriterion<'_>,
        features: &[u32],
        context: Context<'_>,
    ) -> Option<RuleCandidate> {
        let better = |best: RuleCandidate, other: RuleCandidate| {
            if other.loss < best.loss { other } else { best }
        };
        self.rules_of_features(criterion, features, context).into_iter().reduce(better)
    }

    /// The best rule of each feature that has an allowed one, in the order of the features. When
    /// the budget is interrupted, those of the features scanned so far.
    pub fn rules_of_features(
        &self,
        criterion: SplitCriterion<'_>,
        features: &[u32],
        context: Context<'_>,
    ) -> Vec<RuleCandidate> {
        let scan = NodeScan::new(self, criterion);
        let search = |at: usize| scan.best_of_feature(features[at]);

        let candidates: Vec<Option<RuleCandidate>> =
            if self.rows.len() * features.len() < PARALLEL_WORK {
                // Done in about a millisecond, so that the budget need not be asked.
                (0..features.len()).map(search).collect()
            } else {
                let interrupted = || context.budget.is_interrupted();
                context.pool.map(features.len(), |at| if interrupted() { None } else { search(at) })
            };
        candidates.into_iter().flatten().collect()
    }
}

/// The rows of a node with the statistics that the scans of all features share.
struct NodeScan<'a> {
    node: &'a NodeRows<'a>,
    criterion: SplitCriterion<'a>,
    /// The statistics with every row on the right; `None` for the absolute loss.
    start: Option<SumLeafStats<'a>>,
    groups: Option<grouped::RowGroups>,
}

impl<'a> NodeScan<'a> {
    fn new(node: &'a NodeRows<'a>, criterion: SplitCriterion<'a>) -> Self {
        let start = (*criterion.loss != LeafLoss::Absolute).then(|| {
            let leaves = usize::from(node.leaves);
            let mut stats =
                SumLeafStats::new(node.table, criterion.loss, leaves, criterion.min_leaf);
            for (&row, &leaf) in node.rows.iter().zip(&node.right) {
                stats.add(leaf, stats.row_stats(row), 1);
            }
            stats.total_loss();
            stats
        });
        let groups = start.is_some().then(|| grouped::RowGroups::new(node)).flatten();
        NodeScan { node, criterion, start, groups }
    }

    fn best_of_feature(&self, feature: u32) -> Option<RuleCandidate> {
        let column = &self.node.table.columns()[feature as usize];
        if column.max_code() == 0 {
            return None;
        }

        let orders = if column.is_category() {
            level_order::orders(self, feature)
        } else {
            vec![(1..=column.max_code()).collect()]
        };

        let mut best: Option<RuleCandidate> = None;
        for order in &orders {
            let position = match (&self.groups, &self.start) {
                (Some(groups), Some(start))
                    if groups.are_cheaper(order.len(), self.node.rows.len()) =>
                {
                    grouped::best_position(self.node, groups, start.clone(), feature, order)
                }
                _ => by_row::best_position(self, feature, order),
            };
            let better = |position: &ScanPosition| {
                best.as_ref().is_none_or(|best| position.loss < best.loss)
            };
            if let Some(position) = position.filter(better) {
                let rule = self.rule(feature, order, position);
                best = Some(RuleCandidate { rule, loss: position.loss });
            }
        }
        best
    }

    fn rule(&self, feature: u32, order: &[u16], position: ScanPosition) -> RankRule {
        let column = &self.node.table.columns()[feature as usize];
        let cut = if column.is_category() {
            let right = order[position.codes..].iter().copied();
            Cut::In(RankSet::from_iter(right))
        } else {
            Cut::Above(order[position.codes - 1])
        };
        RankRule { feature, cut, missing_right: position.missing_right }
    }
}

/// The direction of a feature, where a scan can tell whether a cut satisfies it: above two leaves.
fn direction(node: &NodeRows<'_>, feature: u32) -> Option<Direction> {
    let direction = node.table.constraints().direction(feature as usize)?;
    (node.leaves == 2).then_some(direction)
}

/// Whether a rule over the feature may send all known values left and missing ones right. No
/// finite threshold lies above an infinite value.
fn may_separate_missing(node: &NodeRows<'_>, feature: u32, any_missing: bool) -> bool {
    any_missing && node.table.columns()[feature as usize].is_bounded()
}

/// The best position of a scan so far; the first of equals.
#[derive(Debug, Default)]
struct BestPosition(Option<ScanPosition>);

impl BestPosition {
    #[inline]
    fn offer(&mut self, loss: f64, codes: usize, missing_right: bool) {
        if self.0.is_none_or(|best| loss < best.loss) {
            self.0 = Some(ScanPosition { loss, codes, missing_right });
        }
    }
}
