//! A scan over group counts: rows that share a code, both leaves and the class move as one. For many
//! rows with few codes.

use swarmwood_model::monotone::Direction;

use super::{BestPosition, NodeRows, ScanPosition, direction, may_separate_missing};
use crate::leaf_loss::{RowStats, SumLeafStats};
use crate::rank_table::RankTarget;

/// Rows grouped by the leaf on either side and, for classes, by class.
pub(super) struct RowGroups {
    /// The group of each row of the node.
    group_of: Vec<u32>,
    /// Left and right leaf, and the class.
    kinds: Vec<(u16, u16, usize)>,
}

impl RowGroups {
    /// The groups of a node; `None` if there are too many for the number of rows.
    pub(super) fn new(node: &NodeRows<'_>) -> Option<Self> {
        let classes = match node.table.target() {
            RankTarget::Classes { count, .. } => *count,
            RankTarget::Numbers { .. } => 1,
        };
        let lefts = usize::from(node.leaves - node.right_leaves);
        let dense = usize::from(node.right_leaves) * lefts * classes;
        if dense * 16 > node.rows.len() {
            return None;
        }
        let mut number = vec![u32::MAX; dense];
        let mut kinds = Vec::new();
        let mut group_of = Vec::with_capacity(node.rows.len());
        for ((&row, &right), &left) in node.rows.iter().zip(&node.right).zip(&node.left) {
            let class = match node.table.target() {
                RankTarget::Classes { of_row, .. } => usize::from(of_row[row as usize]),
                RankTarget::Numbers { .. } => 0,
            };
            let pair = usize::from(right) * lefts + usize::from(left - node.right_leaves);
            let number = &mut number[pair * classes + class];
            if *number == u32::MAX {
                *number = kinds.len() as u32;
                kinds.push((left, right, class));
            }
            group_of.push(*number);
        }
        Some(RowGroups { group_of, kinds })
    }

    /// Whether counting by group is cheaper than moving row by row.
    pub(super) fn are_cheaper(&self, codes: usize, rows: usize) -> bool {
        (codes + 1) * self.kinds.len() <= rows
    }
}

/// The best cut along an order of the codes.
pub(super) fn best_position(
    node: &NodeRows<'_>,
    groups: &RowGroups,
    stats: SumLeafStats<'_>,
    feature: u32,
    order: &[u16],
) -> Option<ScanPosition> {
    let column = &node.table.columns()[feature as usize];
    let weighted = node.table.is_weighted();
    let width = groups.kinds.len();
    let cells = (usize::from(column.max_code()) + 1) * width;
    let mut rows = vec![0_u32; cells];
    let mut weights = vec![0.0_f64; if weighted { cells } else { 0 }];
    let targets = match node.table.target() {
        RankTarget::Classes { .. } => {
            for (&row, &group) in node.rows.iter().zip(&groups.group_of) {
                let cell = usize::from(column.codes()[row as usize]) * width + group as usize;
                rows[cell] += 1;
                if weighted {
                    weights[cell] += node.table.weight(row);
                }
            }
            Vec::new()
        }
        RankTarget::Numbers { of_row, .. } => {
            let mut targets = vec![0.0_f64; cells];
            for (&row, &group) in node.rows.iter().zip(&groups.group_of) {
                let cell = usize::from(column.codes()[row as usize]) * width + group as usize;
                rows[cell] += 1;
                let weight = node.table.weight(row);
                targets[cell] += weight * of_row[row as usize];
                if weighted {
                    weights[cell] += weight;
                }
            }
            targets
        }
    };
    let direction = direction(node, feature);
    GroupCounts { groups, rows, weights, targets, direction }.best_position(
        stats,
        order,
        may_separate_missing(node, feature, true),
    )
}

struct GroupCounts<'a> {
    groups: &'a RowGroups,
    /// By code, then group.
    rows: Vec<u32>,
    weights: Vec<f64>,
    targets: Vec<f64>,
    direction: Option<Direction>,
}

impl GroupCounts<'_> {
    /// Moves the rows of a code to the left; returns whether there were any.
    #[inline]
    fn move_code(&self, stats: &mut SumLeafStats<'_>, code: u16) -> bool {
        let width = self.groups.kinds.len();
        let first = usize::from(code) * width;
        let mut any = false;
        for (cell, &(left, right, class)) in (first..).zip(&self.groups.kinds) {
            let rows = self.rows[cell];
            if rows == 0 {
                continue;
            }
            any = true;
            let weight = self.weights.get(cell).copied().unwrap_or_else(|| f64::from(rows));
            let row_stats = match self.targets.get(cell) {
                Some(&target) => RowStats::Moments(weight, target),
                None => RowStats::Class(class, weight),
            };
            stats.move_rows(right, left, row_stats, rows);
        }
        any
    }

    fn best_position(
        &self,
        stats: SumLeafStats<'_>,
        order: &[u16],
        include_last: bool,
    ) -> Option<ScanPosition> {
        let mut best = BestPosition::default();
        let mut left = stats.clone();
        let missing = self.move_code(&mut left, 0);
        self.scan_order(stats, order, true, missing && include_last, &mut best);
        if missing {
            self.scan_order(left, order, false, false, &mut best);
        }
        best.0
    }

    fn scan_order(
        &self,
        mut stats: SumLeafStats<'_>,
        order: &[u16],
        missing_right: bool,
        include_last: bool,
        best: &mut BestPosition,
    ) {
        let width = self.groups.kinds.len();
        let has_rows = |code: &u16| {
            self.rows[usize::from(*code) * width..][..width].iter().any(|&rows| rows > 0)
        };
        let Some(last) = order.iter().rposition(has_rows) else { return };
        for (at, &code) in order.iter().enumerate().take(last + 1) {
            if !self.move_code(&mut stats, code) {
                continue;
            }
            if at == last && !include_last {
                break;
            }
            let loss = stats.total_loss();
            if stats.leaves_are_large_enough() && stats.is_in_order(self.direction) {
                best.offer(loss, at + 1, missing_right);
            }
        }
    }
}
