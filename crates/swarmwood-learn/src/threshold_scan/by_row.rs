//! A scan row by row, in the order of the codes: for few rows, many codes or many leaves.

use swarmwood_model::monotone::Direction;

use super::{BestPosition, NodeRows, NodeScan, ScanPosition, direction, may_separate_missing};
use crate::leaf_loss::{MedianLeafStats, SumLeafStats};
use crate::rank_table::{RankTable, RankTarget};

/// Leaf statistics that single rows can move in.
trait IncrementalStats: Clone {
    fn move_rows(&mut self, row: u32, from: u16, to: u16);
    fn total_loss(&mut self) -> f64;
    fn leaves_are_large_enough(&self) -> bool;
    /// Whether the left leaf of two, which is the second, is not above the right one in a direction.
    fn is_in_order(&self, direction: Option<Direction>) -> bool;
}

impl IncrementalStats for SumLeafStats<'_> {
    #[inline]
    fn move_rows(&mut self, row: u32, from: u16, to: u16) {
        let row_stats = self.row_stats(row);
        SumLeafStats::move_rows(self, from, to, row_stats, 1);
    }
    #[inline]
    fn total_loss(&mut self) -> f64 {
        SumLeafStats::total_loss(self)
    }
    #[inline]
    fn leaves_are_large_enough(&self) -> bool {
        SumLeafStats::leaves_are_large_enough(self)
    }
    #[inline]
    fn is_in_order(&self, direction: Option<Direction>) -> bool {
        SumLeafStats::is_in_order(self, direction)
    }
}

#[derive(Clone)]
struct MedianStats<'a> {
    table: &'a RankTable,
    stats: MedianLeafStats,
}

impl MedianStats<'_> {
    fn target(&self, row: u32) -> f64 {
        match self.table.target() {
            RankTarget::Numbers { of_row, .. } => of_row[row as usize],
            RankTarget::Classes { .. } => 0.0,
        }
    }
}

impl IncrementalStats for MedianStats<'_> {
    fn move_rows(&mut self, row: u32, from: u16, to: u16) {
        let (weight, target) = (self.table.weight(row), self.target(row));
        self.stats.move_rows(from, to, weight, target);
    }
    fn total_loss(&mut self) -> f64 {
        self.stats.total_loss()
    }
    fn leaves_are_large_enough(&self) -> bool {
        self.stats.leaves_are_large_enough()
    }
    fn is_in_order(&self, direction: Option<Direction>) -> bool {
        direction.is_none_or(|direction| {
            (self.stats.median(0) - self.stats.median(1)) * direction.sign() >= 0.0
        })
    }
}

/// The best cut along an order of the codes.
pub(super) fn best_position(
    scan: &NodeScan<'_>,
    feature: u32,
    order: &[u16],
) -> Option<ScanPosition> {
    let node = scan.node;
    match &scan.start {
        Some(start) => run(node, start.clone(), feature, order),
        None => {
            let leaves = usize::from(node.leaves);
            let stats =
                MedianLeafStats::new(node.table, &node.rows, leaves, scan.criterion.min_leaf);
            let mut stats = MedianStats { table: node.table, stats };
            for (&row, &leaf) in node.rows.iter().zip(&node.right) {
                let (weight, target) = (node.table.weight(row), stats.target(row));
                stats.stats.add(leaf, weight, target);
            }
            run(node, stats, feature, order)
        }
    }
}

fn run(
    node: &NodeRows<'_>,
    stats: impl IncrementalStats,
    feature: u32,
    order: &[u16],
) -> Option<ScanPosition> {
    let (missing, sorted) = sort(node, feature, order);
    let mut best = BestPosition::default();
    let node_and_direction = (node, direction(node, feature));
    scan_order(
        node_and_direction,
        stats.clone(),
        &sorted,
        true,
        may_separate_missing(node, feature, !missing.is_empty()),
        &mut best,
    );
    if !missing.is_empty() {
        let mut stats = stats;
        missing.iter().for_each(|&at| {
            stats.move_rows(node.rows[at as usize], node.right[at as usize], node.left[at as usize])
        });
        scan_order(node_and_direction, stats, &sorted, false, false, &mut best);
    }
    best.0
}

/// Moves rows to the left, code by code. The last code is no cut unless the rule may separate
/// known values from missing ones (`include_last`).
fn scan_order(
    (node, direction): (&NodeRows<'_>, Option<Direction>),
    mut stats: impl IncrementalStats,
    sorted: &[(u16, u32)],
    missing_right: bool,
    include_last: bool,
    best: &mut BestPosition,
) {
    let mut at = 0;
    while at < sorted.len() {
        let code = sorted[at].0;
        while let Some(&(_, position)) = sorted.get(at).filter(|next| next.0 == code) {
            let position = position as usize;
            stats.move_rows(node.rows[position], node.right[position], node.left[position]);
            at += 1;
        }
        if at == sorted.len() && !include_last {
            break;
        }
        let loss = stats.total_loss();
        if stats.leaves_are_large_enough() && stats.is_in_order(direction) {
            best.offer(loss, usize::from(code) + 1, missing_right);
        }
    }
}

/// Positions of rows with a missing value, and the other positions with the rank of their code in
/// the order, sorted by that rank.
fn sort(node: &NodeRows<'_>, feature: u32, order: &[u16]) -> (Vec<u32>, Vec<(u16, u32)>) {
    let column = &node.table.columns()[feature as usize];
    // Numbers are scanned in the order of their codes; a table of ranks would cost more than a small
    // node has rows.
    let ranks = column.is_category().then(|| {
        let mut ranks = vec![0_u16; usize::from(column.max_code()) + 1];
        (0..).zip(order).for_each(|(at, &code)| ranks[usize::from(code)] = at);
        ranks
    });
    let rank = |code: u16| ranks.as_ref().map_or(code - 1, |ranks| ranks[usize::from(code)]);

    let mut missing = Vec::new();
    let mut sorted = Vec::with_capacity(node.rows.len());
    for (at, &row) in (0..).zip(&node.rows) {
        match column.codes()[row as usize] {
            0 => missing.push(at),
            code => sorted.push((rank(code), at)),
        }
    }
    if sorted.len() * 8 > order.len() {
        sorted = by_counting(&sorted, order.len());
    } else {
        sorted.sort_unstable();
    }
    (missing, sorted)
}

fn by_counting(pairs: &[(u16, u32)], codes: usize) -> Vec<(u16, u32)> {
    let mut starts = vec![0_u32; codes + 1];
    pairs.iter().for_each(|pair| starts[usize::from(pair.0) + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut sorted = vec![(0, 0); pairs.len()];
    for &pair in pairs {
        let position = &mut starts[usize::from(pair.0)];
        sorted[*position as usize] = pair;
        *position += 1;
    }
    sorted
}
