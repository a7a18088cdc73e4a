//! The gain ratio of C4.5 (Quinlan 1993, section 2.2): which feature splits a node.
//!
//! `gain` is the decrease of the entropy, and `split_info = -sum_i p_i ln p_i` is the entropy of the
//! shares `p_i` of the weight that each side receives. Each feature offers the rule of greatest
//! gain. Of the rules whose gain is at least the average over all features, the one with the
//! greatest `gain / split_info` is taken: without that condition the ratio would prefer rules that
//! separate a few rows and gain almost nothing.
//!
//! What differs from C4.5: trees are binary, so that a category is split into two sets of levels
//! instead of one branch per level; rows with a missing value go to the better side as a whole
//! instead of in fractions to both; there is no penalty for the number of thresholds (release 8,
//! Quinlan 1996); and trees are pruned by cost complexity instead of by pessimistic errors.

#[cfg(test)]
mod tests;

use crate::rank_table::RankTable;
use crate::rule::RankRule;
use crate::threshold_scan::RuleCandidate;

/// Gains that differ by less than this share of the node's loss are equal: an average of equal
/// gains must not exclude all of them by rounding.
const TOLERANCE: f64 = 1e-9;

/// How the rule of a node is chosen among the best rules of its features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSelection {
    /// The least loss of the two leaves (Breiman et al. 1984).
    LeastLoss,
    /// The greatest gain ratio among gains of at least the average (Quinlan 1993); the loss must
    /// be the entropy.
    GainRatio,
}

/// The rule with the greatest gain ratio; the first of equals. `loss` is that of the node as a leaf.
pub(super) fn choose(
    table: &RankTable,
    rows: &[u32],
    loss: f64,
    candidates: Vec<RuleCandidate>,
) -> Option<RuleCandidate> {
    let gain = |candidate: &RuleCandidate| loss - candidate.loss;
    let average = candidates.iter().map(gain).sum::<f64>() / candidates.len() as f64;
    let least = average - TOLERANCE * loss.abs();

    let mut best: Option<(f64, RuleCandidate)> = None;
    for candidate in candidates.into_iter().filter(|candidate| gain(candidate) >= least) {
        let ratio = gain(&candidate) / split_info(table, rows, &candidate.rule);
        if best.as_ref().is_none_or(|(highest, _)| ratio > *highest) {
            best = Some((ratio, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The weight of the rows times the entropy of the shares that go right and left.
fn split_info(table: &RankTable, rows: &[u32], rule: &RankRule) -> f64 {
    let codes = table.columns()[rule.feature as usize].codes();
    let mut sides = [0.0_f64; 2];
    for &row in rows {
        sides[usize::from(rule.goes_right(codes[row as usize]))] += table.weight(row);
    }

    let total: f64 = sides.iter().sum();
    sides.iter().filter(|&&side| side > 0.0).map(|&side| side * (total / side).ln()).sum()
}
