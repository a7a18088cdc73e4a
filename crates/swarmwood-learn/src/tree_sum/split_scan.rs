//! The best splits to add to a sum of trees: one scan over all leaves of all trees and a new root,
//! then the joint gain of the most promising ones.
//!
//! A scan takes all other values as fixed. The joint gain is that of a Newton step of all values
//! together; for numbers it is exact.

use crate::rule::{Cut, RankRule};

use super::leaf_fit::{Derivatives, SumFit};
use super::normal_equations::NormalMatrix;
use super::rows::{CoarseRanks, SumRows};

/// A split that could be added.
#[derive(Debug, Clone)]
pub(super) struct SumSplit {
    /// How much it lowers the loss.
    pub(super) gain: f64,
    /// The tree; one more than there are for a new one.
    pub(super) tree: usize,
    /// The leaf to split.
    pub(super) leaf: u16,
    /// The rule.
    pub(super) rule: RankRule,
}

/// What a scan reads.
pub(super) struct SplitScan<'a> {
    pub(super) rows: &'a SumRows<'a>,
    pub(super) fit: &'a SumFit,
    pub(super) derivatives: &'a Derivatives,
    pub(super) ridge: f64,
    pub(super) min_leaf: usize,
}

/// Sums over the rows of one leaf and one code, or of one side.
#[derive(Debug, Clone, Default)]
struct SideSums {
    g: Vec<f64>,
    h: f64,
    count: f64,
}

/// Sums by leaf and code of one column.
#[derive(Default)]
struct ScanHistogram {
    width: usize,
    /// First output's derivative, curvature, and number of rows.
    sums: Vec<[f64; 3]>,
    /// Derivatives of the other outputs.
    more: Vec<Vec<f64>>,
}

impl SplitScan<'_> {
    /// The best split of every leaf and feature.
    pub(super) fn candidates(&self, features: &[u32]) -> Vec<SumSplit> {
        let mut candidates = Vec::new();
        let mut histogram = ScanHistogram::default();
        let root = vec![0_u16; self.rows.len()];
        for tree in 0..=self.fit.trees.len() {
            let (leaf_of, leaves) = match self.fit.trees.get(tree) {
                Some(own) => (&self.fit.leaf_of[tree], own.leaves()),
                None => (&root, 1),
            };
            for &feature in features {
                let column = &self.rows.columns[feature as usize];
                histogram.fill(leaf_of, leaves, column, self.derivatives);
                for leaf in 0..leaves {
                    let value = self.leaf_value(tree, leaf);
                    let best = self.best_cut(&histogram, leaf, column, &value);
                    candidates.extend(best.map(|(gain, cut, missing_right)| SumSplit {
                        gain,
                        tree,
                        leaf: leaf as u16,
                        rule: RankRule { feature, cut, missing_right },
                    }));
                }
            }
        }
        candidates
    }

    /// The value of a leaf, output by output; zero in a new tree.
    fn leaf_value(&self, tree: usize, leaf: usize) -> Vec<f64> {
        let outputs = self.rows.outputs();
        match self.fit.values.get(tree) {
            Some(values) => values[leaf * outputs..][..outputs].to_vec(),
            None => vec![0.0; outputs],
        }
    }

    /// The best cut of one leaf by one column.
    fn best_cut(
        &self,
        histogram: &ScanHistogram,
        leaf: usize,
        column: &CoarseRanks,
        value: &[f64],
    ) -> Option<(f64, Cut<u16>, bool)> {
        let total = histogram.side(leaf, 0..histogram.width);
        if total.count < 2.0 * self.min_leaf as f64 {
            return None;
        }
        let missing = histogram.side(leaf, 0..1);
        let order: Vec<usize> = match column.is_category {
            true => histogram.levels_by_mean(leaf),
            false => (1..histogram.width).collect(),
        };

        // `below` are the codes of the left side; missing values join either side.
        let mut best: Option<(f64, usize, bool)> = None;
        let mut below = SideSums { g: vec![0.0; value.len()], ..SideSums::default() };
        let last = order.len() - usize::from(!column.parts_missing && !order.is_empty());
        for (at, &code) in order.iter().enumerate().take(last) {
            let entry = leaf * histogram.width + code;
            let is_empty = histogram.sums[entry][2] == 0.0;
            histogram.add_to(&mut below, entry);
            if is_empty && at + 1 < order.len() {
                continue;
            }
            for missing_right in [true, false] {
                if missing.count == 0.0 && missing_right {
                    continue;
                }
                let left = if missing_right { below.clone() } else { below.plus(&missing, 1.0) };
                let gain = self.gain(&left, &total, value);
                if gain.is_some_and(|gain| best.is_none_or(|best| gain > best.0)) {
                    best = gain.map(|gain| (gain, at, missing_right));
                }
            }
        }
        let (gain, at, missing_right) = best?;
        let cut = match column.is_category {
            true => Cut::In(order[at + 1..].iter().map(|&code| code as u16).collect()),
            false => Cut::Above(column.last_rank[order[at] - 1]),
        };
        Some((gain, cut, missing_right))
    }

    /// By how much a split lowers the loss if all other values stay; `None` if a side is too small.
    fn gain(&self, left: &SideSums, total: &SideSums, value: &[f64]) -> Option<f64> {
        let min_leaf = self.min_leaf as f64;
        if left.count < min_leaf || total.count - left.count < min_leaf {
            return None;
        }
        let ridge = self.ridge;
        let (below, above) = (left.h + ridge, total.h - left.h + ridge);
        let mut gain = 0.0;
        for ((g_left, g), value) in left.g.iter().zip(&total.g).zip(value) {
            // The penalty pulls both new leaves, and one leaf more is penalised.
            let (one, two) = (g_left + ridge * value, g - g_left + ridge * value);
            gain += one * one / below + two * two / above - ridge * value * value;
        }
        Some(0.5 * gain)
    }
}

impl ScanHistogram {
    fn fill(
        &mut self,
        leaf_of: &[u16],
        leaves: usize,
        column: &CoarseRanks,
        derivatives: &Derivatives,
    ) {
        self.width = column.max_code() + 1;
        self.sums.clear();
        self.sums.resize(leaves * self.width, [0.0; 3]);
        let (g, h) = (&derivatives.g[0], &derivatives.h);
        for (((&leaf, &code), g), h) in leaf_of.iter().zip(&column.codes).zip(g).zip(h) {
            let entry = &mut self.sums[usize::from(leaf) * self.width + usize::from(code)];
            *entry = [entry[0] + g, entry[1] + h, entry[2] + 1.0];
        }

        self.more.resize_with(derivatives.g.len() - 1, Vec::new);
        for (sums, g) in self.more.iter_mut().zip(&derivatives.g[1..]) {
            sums.clear();
            sums.resize(leaves * self.width, 0.0);
            for ((&leaf, &code), g) in leaf_of.iter().zip(&column.codes).zip(g) {
                sums[usize::from(leaf) * self.width + usize::from(code)] += g;
            }
        }
    }

    fn add_to(&self, side: &mut SideSums, entry: usize) {
        let [g, h, count] = self.sums[entry];
        side.g[0] += g;
        side.h += h;
        side.count += count;
        let others = side.g[1..].iter_mut().zip(&self.more);
        others.for_each(|(sum, more)| *sum += more[entry]);
    }

    /// The sums of some codes of a leaf.
    fn side(&self, leaf: usize, codes: std::ops::Range<usize>) -> SideSums {
        let mut side = SideSums { g: vec![0.0; self.more.len() + 1], ..SideSums::default() };
        codes.for_each(|code| self.add_to(&mut side, leaf * self.width + code));
        side
    }

    /// The levels with rows in a leaf by their mean derivative: of the output whose means differ
    /// most.
    fn levels_by_mean(&self, leaf: usize) -> Vec<usize> {
        let entry = |code: usize| leaf * self.width + code;
        let of_output = |output: usize, code: usize| match output {
            0 => self.sums[entry(code)][0],
            _ => self.more[output - 1][entry(code)],
        };
        let mut levels: Vec<usize> =
            (1..self.width).filter(|&code| self.sums[entry(code)][2] > 0.0).collect();
        let mean = |output: usize, code: usize| of_output(output, code) / self.sums[entry(code)][1];
        let spread = |output: usize| {
            let squares = |&code: &usize| of_output(output, code) * mean(output, code);
            levels.iter().map(squares).sum::<f64>()
        };
        let outputs = 0..self.more.len() + 1;
        let widest = outputs.reduce(|a, b| if spread(b) > spread(a) { b } else { a }).unwrap_or(0);
        levels.sort_by(|&a, &b| mean(widest, a).total_cmp(&mean(widest, b)));
        levels
    }
}

impl SideSums {
    fn plus(&self, other: &SideSums, sign: f64) -> SideSums {
        let g = self.g.iter().zip(&other.g).map(|(a, b)| a + sign * b).collect();
        SideSums { g, h: self.h + sign * other.h, count: self.count + sign * other.count }
    }
}

/// The second-order model of the loss in all values together.
pub(super) struct JointGain<'a> {
    scan: &'a SplitScan<'a>,
    matrix: NormalMatrix,
    offsets: Vec<usize>,
}

impl<'a> JointGain<'a> {
    pub(super) fn new(scan: &'a SplitScan<'a>) -> Self {
        let matrix = scan.fit.normal_matrix(scan.rows, &scan.derivatives.h, scan.ridge);
        JointGain { scan, matrix, offsets: scan.fit.offsets().0 }
    }

    /// By how much a split lowers the loss if all values are fitted again.
    pub(super) fn of(&self, candidate: &SumSplit) -> f64 {
        let SplitScan { rows, fit, derivatives, ridge, .. } = *self.scan;
        let outputs = rows.outputs();
        let is_new = candidate.tree == fit.trees.len();
        let known = self.matrix.size();
        let mut matrix = self.matrix.extended(1 + usize::from(is_new));
        // The left side keeps the unknown of the leaf, in a new tree one that all rows share.
        let left = match is_new {
            false => self.offsets[candidate.tree] + usize::from(candidate.leaf),
            true => known,
        };
        let right = matrix.size() - 1;

        let mut sums = vec![0.0; known];
        let mut pulls = vec![[0.0; 2]; outputs];
        let codes = rows.table.columns()[candidate.rule.feature as usize].codes();
        let mut all = vec![0.0; if is_new { known } else { 0 }];
        for row in 0..rows.len() {
            if !is_new && fit.leaf_of[candidate.tree][row] != candidate.leaf {
                continue;
            }
            let h = derivatives.h[row];
            let goes_right = candidate.rule.goes_right(codes[row]);
            for (pulls, g) in pulls.iter_mut().zip(&derivatives.g) {
                pulls[usize::from(goes_right)] += g[row];
            }
            let unknowns = || {
                let of_tree = self.offsets.iter().zip(&fit.leaf_of);
                of_tree.map(|(offset, leaf_of)| offset + usize::from(leaf_of[row]))
            };
            if is_new {
                all[0] += h;
                unknowns().for_each(|unknown| all[unknown] += h);
            }
            if goes_right {
                sums[0] += h;
                unknowns().for_each(|unknown| sums[unknown] += h);
            }
        }
        if is_new {
            all.iter().enumerate().for_each(|(at, sum)| *matrix.entry(at, left) = *sum);
            *matrix.entry(left, left) = all[0] + ridge;
        }

        // The right side's rows leave the unknown of the leaf for one of their own.
        for (unknown, &sum) in sums.iter().enumerate() {
            if unknown != left {
                *matrix.entry(unknown, left) -= sum;
                *matrix.entry(unknown, right) = sum;
            }
        }
        *matrix.entry(left, left) -= sums[0];
        *matrix.entry(right, right) = sums[0] + ridge;
        let factor = matrix.factor();
        let value = self.scan.leaf_value(candidate.tree, usize::from(candidate.leaf));
        let mut gain = 0.0;
        for (pulls, value) in pulls.iter().zip(value) {
            let mut slope = vec![0.0; right + 1];
            slope[left] = pulls[0] + ridge * value;
            slope[right] = pulls[1] + ridge * value;
            factor.forward(&mut slope);
            gain += slope.iter().map(|part| part * part).sum::<f64>() - ridge * value * value;
        }
        0.5 * gain
    }
}
