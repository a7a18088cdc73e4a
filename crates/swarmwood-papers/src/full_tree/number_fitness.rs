//! The fitness of a full tree for a target of numbers: the root mean squared error of the training
//! rows around the mean of their leaf.

use swarmwood_learn::rank_table::{RankTable, RankTarget};

use super::{TreeArray, leaf_of};

/// The RMSE of a full tree; infinite if the target is not a number.
pub(super) fn rmse(table: &RankTable, nodes: &TreeArray<'_>) -> f64 {
    let RankTarget::Numbers { of_row, .. } = table.target() else { return f64::INFINITY };
    // Weight, weighted target and weighted square of each leaf. Targets are centred.
    let mut sums = vec![[0.0_f64; 3]; 2 * nodes.len() + 1];
    let leaf = leaf_of(table, nodes);
    for (row, &target) in of_row.iter().enumerate() {
        let weight = table.weight(row as u32);
        let [weights, targets, squares] = &mut sums[leaf(row)];
        *weights += weight;
        *targets += weight * target;
        *squares += weight * target * target;
    }

    let error = |&[weight, target, square]: &[f64; 3]| {
        if weight > 0.0 { (square - target * target / weight).max(0.0) } else { 0.0 }
    };
    (sums.iter().map(error).sum::<f64>() / table.total_weight()).sqrt()
}
