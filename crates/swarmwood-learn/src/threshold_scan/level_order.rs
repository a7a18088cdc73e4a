//! Orders of the levels of a category along which cuts are tried.

use super::NodeScan;
use crate::rank_table::RankTarget;

/// Maximum number of classes that get an order of their own.
const MAX_CLASS_ORDERS: usize = 8;

/// The orders: by mean target, or by the share of each class (one order for two classes), and, if
/// the subtree below the node has further rules, by the mean benefit of going left. Levels without a
/// row at the node come last, so that they go right.
pub(super) fn orders(scan: &NodeScan<'_>, feature: u32) -> Vec<Vec<u16>> {
    let node = scan.node;
    let mut scores: Vec<Box<dyn Fn(usize) -> f64>> = Vec::new();
    match node.table.target() {
        RankTarget::Numbers { of_row, .. } => {
            scores.push(Box::new(|at| of_row[node.rows[at] as usize]))
        }
        RankTarget::Classes { of_row, count } => {
            let orders = if *count == 2 { 1 } else { (*count).min(MAX_CLASS_ORDERS) };
            for class in 0..orders as u16 {
                scores.push(Box::new(move |at| {
                    f64::from(u8::from(of_row[node.rows[at] as usize] == class))
                }));
            }
        }
    }
    if node.leaves > 2 {
        scores.extend(advantage(scan));
    }
    scores.iter().map(|score| node.table.levels_by_mean(feature, &node.rows, score)).collect()
}

/// The loss of a row on the left minus its loss on the right, each leaf fitted to all rows of the
/// node that would reach it (Carreira-Perpiñán and Tavallali 2018 choose a node's rule by this
/// alone).
fn advantage<'v>(scan: &'v NodeScan<'_>) -> Option<Box<dyn Fn(usize) -> f64 + 'v>> {
    let node = scan.node;
    let mut stats = scan.start.clone()?;
    for (&row, &leaf) in node.rows.iter().zip(&node.left) {
        stats.add(leaf, stats.row_stats(row), 1);
    }
    match node.table.target() {
        RankTarget::Numbers { of_row, .. } => {
            let value = move |leaf: u16| match stats.of(usize::from(leaf)) {
                &[weight, sum] if weight > 0.0 => sum / weight,
                _ => 0.0,
            };
            Some(Box::new(move |at| {
                let error = |leaf: u16| (of_row[node.rows[at] as usize] - value(leaf)).powi(2);
                error(node.left[at]) - error(node.right[at])
            }))
        }
        RankTarget::Classes { of_row, .. } => Some(Box::new(move |at| {
            let class = usize::from(of_row[node.rows[at] as usize]);
            let share = |leaf: u16| {
                let counts = stats.of(usize::from(leaf));
                counts[class] / counts.iter().sum::<f64>()
            };
            share(node.right[at]) - share(node.left[at])
        })),
    }
}
