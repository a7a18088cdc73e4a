//! The variables of a grid and how many thresholds each has, from the preliminary tree (end of
//! phase 1).

use swarmwood_learn::rank_table::{RankColumn, RankTable};
use swarmwood_learn::rank_tree::RankTree;
use swarmwood_learn::rule::Cut;

/// A variable of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GridAxis {
    /// Which column.
    pub feature: u32,
    /// `J_k`, how many thresholds it has.
    pub thresholds: usize,
    /// Where thresholds may lie.
    pub range: [f64; 2],
    /// Whether a missing value lies above all thresholds, or below.
    pub missing_right: bool,
}

impl GridAxis {
    /// The interval of a code between ascending cuts.
    pub(super) fn interval(&self, cuts: &[u16], code: u16) -> u16 {
        match code {
            0 if self.missing_right => cuts.len() as u16,
            0 => 0,
            code => cuts.partition_point(|&cut| cut < code) as u16,
        }
    }
}

/// The variables that the rules of a tree ask about, by column, and the thresholds of the tree on
/// them, axis after axis. A threshold that two rules share counts once. Missing values go where the
/// rule nearest to the root sends them.
pub(super) fn of_tree(tree: &RankTree, table: &RankTable) -> (Vec<GridAxis>, Vec<f64>) {
    let mut rules: Vec<(u32, u16, usize, bool)> = Vec::new();
    for (at, branch) in tree.nodes().iter().enumerate() {
        if let Cut::Above(cut) = branch.rule.cut {
            rules.push((branch.rule.feature, cut, at, branch.rule.missing_right));
        }
    }
    let depths = tree.depths();
    let mut axes: Vec<GridAxis> = Vec::new();
    let mut start = Vec::new();
    rules.sort_unstable();
    for of_feature in rules.chunk_by(|a, b| a.0 == b.0) {
        let feature = of_feature[0].0;
        let column = &table.columns()[feature as usize];
        let range = range(column);
        let mut cuts: Vec<u16> = of_feature.iter().map(|rule| rule.1).collect();
        cuts.dedup();
        let highest = of_feature.iter().min_by_key(|rule| (depths[rule.2], rule.2));
        let missing_right = highest.is_some_and(|rule| rule.3);
        axes.push(GridAxis { feature, thresholds: cuts.len(), range, missing_right });
        start.extend(
            cuts.iter()
                .map(|&cut| column.threshold_between(cut, cut + 1).0.clamp(range[0], range[1])),
        );
    }
    (axes, start)
}

/// From the least to the greatest finite value; around it if there is but one.
pub(super) fn range(column: &RankColumn) -> [f64; 2] {
    let [low, high] = column.finite_range().unwrap_or([0.0, 0.0]);
    // Half of the largest number, so that the width of the range is a number too.
    let (low, high) = (low.max(f64::MIN / 2.0), high.min(f64::MAX / 2.0));
    if low < high { [low, high] } else { [low - low.abs().max(1.0), low + low.abs().max(1.0)] }
}
