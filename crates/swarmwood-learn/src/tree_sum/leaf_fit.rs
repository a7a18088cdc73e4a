//! A sum of trees with all its leaf values fitted together: ridge regression for numbers and class
//! indicators, ridge-penalised logistic regression by Newton steps for two classes.
//!
//! The unknowns are the intercept, without a penalty, and the leaves of all trees. A row takes part
//! in one leaf of each tree, so the normal equations are sums over pairs of trees. For fixed weights
//! (numbers, class indicators) the sums of a pair change only if one of its trees does, and are
//! stored; for two classes every Newton step has other weights.

use crate::rank_tree::{NodeRef, RankTree};

use super::normal_equations::NormalMatrix;
use super::rows::SumRows;

/// Newton steps of a fit that is compared with others; it starts from the values before the last
/// change.
const SEARCH_STEPS: usize = 3;

/// Relative decrease of the loss below which Newton steps end.
const TOLERANCE: f64 = 1e-5;

/// Curvature of a row, at least, in units of its weight.
const MIN_CURVATURE: f64 = 1e-6;

/// Penalty of the intercept, which keeps it finite where all rows have one class.
const INTERCEPT_RIDGE: f64 = 1e-6;

/// Trees, the leaf of each row, and fitted values.
#[derive(Debug, Clone)]
pub(super) struct SumFit {
    /// The trees; each has at least one split.
    pub(super) trees: Vec<RankTree>,
    /// The leaf of each row, tree by tree.
    pub(super) leaf_of: Vec<Vec<u16>>,
    /// The intercept of each output.
    pub(super) intercept: Vec<f64>,
    /// The values of each tree's leaves, output by output for each leaf.
    pub(super) values: Vec<Vec<f64>>,
    /// The score of each row, output by output.
    pub(super) scores: Vec<Vec<f64>>,
    /// The training loss with its penalty.
    pub(super) loss: f64,
    /// Sums of weights by pairs of leaves of two trees, the second not after the first.
    pair_weights: Vec<Vec<Vec<f64>>>,
    /// Sums of weighted targets by leaf, output by output for each leaf.
    target_sums: Vec<Vec<f64>>,
}

/// First and second derivatives of the loss by the score of each row.
pub(super) struct Derivatives {
    /// Output by output.
    pub(super) g: Vec<Vec<f64>>,
    /// The same for all outputs.
    pub(super) h: Vec<f64>,
}

impl SumFit {
    /// The best constant.
    pub(super) fn constant(rows: &SumRows<'_>) -> Self {
        let outputs = rows.outputs();
        let total: f64 = rows.weight.iter().sum();
        let mean = |target: &Vec<f64>| {
            target.iter().zip(&rows.weight).map(|(y, w)| y * w).sum::<f64>() / total.max(1e-12)
        };
        let start = |mean: f64| match rows.is_logistic {
            true => (mean.clamp(1e-6, 1.0 - 1e-6) / (1.0 - mean.clamp(1e-6, 1.0 - 1e-6))).ln(),
            false => mean,
        };
        let intercept: Vec<f64> = rows.targets.iter().map(|target| start(mean(target))).collect();
        let scores = intercept.iter().map(|&value| vec![value; rows.len()]).collect();
        let mut fit = SumFit {
            trees: Vec::new(),
            leaf_of: Vec::new(),
            intercept,
            values: Vec::new(),
            scores,
            loss: 0.0,
            pair_weights: Vec::new(),
            target_sums: Vec::new(),
        };
        debug_assert_eq!(fit.scores.len(), outputs);
        fit.loss = fit.penalised_loss(rows, 0.0);
        fit
    }

    /// The fit of given trees; those without a split are left out.
    pub(super) fn of_trees(rows: &SumRows<'_>, trees: &[RankTree], ridge: f64) -> Self {
        let mut fit = SumFit::constant(rows);
        for tree in trees.iter().filter(|tree| !tree.nodes().is_empty()) {
            fit.set_tree(rows, fit.trees.len(), tree.clone());
        }
        fit.refit_with(rows, ridge, 30, 1e-9);
        fit
    }

    /// Number of splits of all trees.
    pub(super) fn splits(&self) -> usize {
        self.trees.iter().map(|tree| tree.nodes().len()).sum()
    }

    /// Whether every leaf has so many rows.
    pub(super) fn has_large_leaves(&self, tree: usize, min_leaf: usize) -> bool {
        let mut counts = vec![0_usize; self.trees[tree].leaves()];
        self.leaf_of[tree].iter().for_each(|&leaf| counts[usize::from(leaf)] += 1);
        counts.iter().all(|&count| count >= min_leaf)
    }

    /// Replaces a tree, adds one at the end, or removes one, which then has no split. Values are a
    /// start for [`SumFit::refit`].
    pub(super) fn set_tree(&mut self, rows: &SumRows<'_>, at: usize, tree: RankTree) {
        let outputs = rows.outputs();
        if tree.nodes().is_empty() {
            self.trees.remove(at);
            self.leaf_of.remove(at);
            self.values.remove(at);
            self.target_sums.remove(at);
            self.pair_weights.remove(at);
            self.pair_weights[at..].iter_mut().for_each(|pairs| drop(pairs.remove(at)));
            return;
        }

        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let leaf_of = tree.assign_leaves(rows.table, tree.root(), &all);
        let leaf_of: Vec<u16> = leaf_of.into_iter().map(|leaf| leaf as u16).collect();
        let leaves = tree.leaves();
        let mut values = vec![0.0; leaves * outputs];
        if at < self.trees.len() {
            // A leaf starts from the mean of what the old tree gave to its rows.
            let mut counts = vec![0.0; leaves];
            for (&new, &old) in leaf_of.iter().zip(&self.leaf_of[at]) {
                counts[usize::from(new)] += 1.0;
                for output in 0..outputs {
                    values[usize::from(new) * outputs + output] +=
                        self.values[at][usize::from(old) * outputs + output];
                }
            }
            for (leaf, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0.0) {
                values[leaf * outputs..][..outputs].iter_mut().for_each(|value| *value /= count);
            }
            self.trees[at] = tree;
            self.leaf_of[at] = leaf_of;
            self.values[at] = values;
        } else {
            self.trees.push(tree);
            self.leaf_of.push(leaf_of);
            self.values.push(values);
            self.target_sums.push(Vec::new());
            self.pair_weights.push(vec![Vec::new(); at + 1]);
        }
        if !rows.is_logistic {
            self.count_pairs(rows, at);
        }
    }

    /// The sums of weights and targets of one tree's leaves.
    fn count_pairs(&mut self, rows: &SumRows<'_>, at: usize) {
        let (outputs, own, leaves) = (rows.outputs(), &self.leaf_of[at], self.trees[at].leaves());
        let mut sums = vec![0.0; leaves * outputs];
        for (output, target) in rows.targets.iter().enumerate() {
            for ((&leaf, y), w) in own.iter().zip(target).zip(&rows.weight) {
                sums[usize::from(leaf) * outputs + output] += w * y;
            }
        }
        self.target_sums[at] = sums;

        for other in 0..self.trees.len() {
            let (first, second) = (at.max(other), at.min(other));
            let width = self.trees[second].leaves();
            let mut pairs = vec![0.0; self.trees[first].leaves() * width];
            let leaves = self.leaf_of[first].iter().zip(&self.leaf_of[second]);
            for ((&one, &two), w) in leaves.zip(&rows.weight) {
                pairs[usize::from(one) * width + usize::from(two)] += w;
            }
            self.pair_weights[first][second] = pairs;
        }
    }

    /// The first unknown of each tree, and the number of unknowns.
    pub(super) fn offsets(&self) -> (Vec<usize>, usize) {
        let mut next = 1;
        let first = |tree: &RankTree| {
            next += tree.leaves();
            next - tree.leaves()
        };
        let offsets = self.trees.iter().map(first).collect();
        (offsets, next)
    }

    /// Fits all values from where they are.
    pub(super) fn refit(&mut self, rows: &SumRows<'_>, ridge: f64) {
        self.refit_with(rows, ridge, SEARCH_STEPS, TOLERANCE);
    }

    /// Fits all values roughly, where more changes follow.
    pub(super) fn refit_once(&mut self, rows: &SumRows<'_>, ridge: f64) {
        self.refit_with(rows, ridge, 1, TOLERANCE);
    }

    fn refit_with(&mut self, rows: &SumRows<'_>, ridge: f64, steps: usize, tolerance: f64) {
        if !rows.is_logistic {
            self.solve(rows, ridge);
            return;
        }
        self.update_scores(rows);
        self.loss = self.penalised_loss(rows, ridge);
        for _ in 0..steps {
            let before = self.loss;
            self.newton_step(rows, ridge);
            if before - self.loss <= tolerance * before {
                break;
            }
        }
    }

    /// Least squares with a ridge.
    fn solve(&mut self, rows: &SumRows<'_>, ridge: f64) {
        let outputs = rows.outputs();
        let (offsets, size) = self.offsets();
        let factor = self.normal_matrix(rows, &rows.weight, ridge).factor();
        let mut loss = 0.0;
        for output in 0..outputs {
            let products =
                rows.targets[output].iter().zip(&rows.weight).map(|(y, w)| [w * y, w * y * y]);
            let [sum, squares] = products
                .fold([0.0; 2], |sums, product| [sums[0] + product[0], sums[1] + product[1]]);
            let mut right = vec![0.0; size];
            right[0] = sum;
            for (sums, &offset) in self.target_sums.iter().zip(&offsets) {
                let own = right[offset..].iter_mut().zip(sums.iter().skip(output).step_by(outputs));
                own.for_each(|(right, sum)| *right = *sum);
            }
            let wanted = right.clone();
            factor.solve(&mut right);

            loss += 0.5 * (squares - wanted.iter().zip(&right).map(|(b, x)| b * x).sum::<f64>());
            self.intercept[output] = right[0];
            for (values, &offset) in self.values.iter_mut().zip(&offsets) {
                let own = values.iter_mut().skip(output).step_by(outputs).zip(&right[offset..]);
                own.for_each(|(value, solved)| *value = *solved);
            }
        }
        self.loss = loss;
        self.update_scores(rows);
    }

    /// One Newton step of logistic regression, halved until the loss falls.
    fn newton_step(&mut self, rows: &SumRows<'_>, ridge: f64) {
        let (offsets, size) = self.offsets();
        let Derivatives { g, h } = self.derivatives(rows);
        let mut step = vec![0.0; size];
        step[0] = -g[0].iter().sum::<f64>() - INTERCEPT_RIDGE * self.intercept[0];
        for ((leaf_of, values), &offset) in self.leaf_of.iter().zip(&self.values).zip(&offsets) {
            leaf_of.iter().zip(&g[0]).for_each(|(&leaf, g)| step[offset + usize::from(leaf)] -= g);
            step[offset..].iter_mut().zip(values).for_each(|(step, value)| *step -= ridge * value);
        }
        self.normal_matrix(rows, &h, ridge).factor().solve(&mut step);

        let before = (self.intercept.clone(), self.values.clone(), self.loss);
        let mut share = 1.0;
        loop {
            self.intercept[0] = before.0[0] + share * step[0];
            for ((values, old), &offset) in self.values.iter_mut().zip(&before.1).zip(&offsets) {
                let new = old.iter().zip(&step[offset..]).map(|(old, step)| old + share * step);
                values.iter_mut().zip(new).for_each(|(value, new)| *value = new);
            }
            self.update_scores(rows);
            self.loss = self.penalised_loss(rows, ridge);
            if self.loss <= before.2 {
                return;
            }
            share *= 0.5;
            if share < 0.1 {
                (self.intercept, self.values, self.loss) = before;
                self.update_scores(rows);
                return;
            }
        }
    }

    /// The matrix of the normal equations for weights of rows.
    pub(super) fn normal_matrix(
        &self,
        rows: &SumRows<'_>,
        weight: &[f64],
        ridge: f64,
    ) -> NormalMatrix {
        if rows.is_logistic {
            return self.weighted_matrix(weight, ridge);
        }
        let (mut matrix, offsets) = self.penalties(weight, ridge);
        for (first, pairs) in self.pair_weights.iter().enumerate() {
            for (second, pairs) in pairs.iter().enumerate() {
                let width = self.trees[second].leaves();
                for (at, &sum) in pairs.iter().enumerate() {
                    let (one, two) = (at / width, at % width);
                    if first != second {
                        *matrix.entry(offsets[second] + two, offsets[first] + one) = sum;
                    } else if one == two {
                        *matrix.entry(offsets[first] + one, offsets[first] + one) += sum;
                        *matrix.entry(0, offsets[first] + one) = sum;
                    }
                }
            }
        }
        matrix
    }

    /// The same for weights that are not those of the rows.
    pub(super) fn weighted_matrix(&self, weight: &[f64], ridge: f64) -> NormalMatrix {
        let (mut matrix, offsets) = self.penalties(weight, ridge);
        let mut unknowns = vec![0_usize; offsets.len()];
        for (row, &w) in weight.iter().enumerate() {
            let own = unknowns.iter_mut().zip(&offsets).zip(&self.leaf_of);
            own.for_each(|((unknown, offset), leaf_of)| {
                *unknown = offset + usize::from(leaf_of[row]);
            });
            for (at, &one) in unknowns.iter().enumerate() {
                *matrix.entry(0, one) += w;
                unknowns[at..].iter().for_each(|&other| *matrix.entry(one, other) += w);
            }
        }
        matrix
    }

    /// The matrix with penalties and the intercept alone, and the first unknown of each tree.
    fn penalties(&self, weight: &[f64], ridge: f64) -> (NormalMatrix, Vec<usize>) {
        let (offsets, size) = self.offsets();
        let mut matrix = NormalMatrix::zeros(size);
        *matrix.entry(0, 0) = weight.iter().sum::<f64>() + INTERCEPT_RIDGE;
        (1..size).for_each(|unknown| *matrix.entry(unknown, unknown) = ridge);
        (matrix, offsets)
    }

    /// The derivatives at the present scores.
    pub(super) fn derivatives(&self, rows: &SumRows<'_>) -> Derivatives {
        if !rows.is_logistic {
            let g = |(score, target): (&Vec<f64>, &Vec<f64>)| {
                let rows = score.iter().zip(target).zip(&rows.weight);
                rows.map(|((s, y), w)| w * (s - y)).collect()
            };
            let g = self.scores.iter().zip(&rows.targets).map(g).collect();
            return Derivatives { g, h: rows.weight.clone() };
        }
        let mut g = Vec::with_capacity(rows.len());
        let mut h = Vec::with_capacity(rows.len());
        for ((s, y), w) in self.scores[0].iter().zip(&rows.targets[0]).zip(&rows.weight) {
            let p = 1.0 / (1.0 + (-s).exp());
            g.push(w * (p - y));
            h.push(w * (p * (1.0 - p)).max(MIN_CURVATURE));
        }
        Derivatives { g: vec![g], h }
    }

    /// Scores from values.
    pub(super) fn update_scores(&mut self, rows: &SumRows<'_>) {
        let outputs = rows.outputs();
        for (output, scores) in self.scores.iter_mut().enumerate() {
            scores.fill(self.intercept[output]);
            for (leaf_of, values) in self.leaf_of.iter().zip(&self.values) {
                for (score, &leaf) in scores.iter_mut().zip(leaf_of) {
                    *score += values[usize::from(leaf) * outputs + output];
                }
            }
        }
    }

    fn penalised_loss(&self, rows: &SumRows<'_>, ridge: f64) -> f64 {
        let squares: f64 = self.values.iter().flatten().map(|value| value * value).sum();
        let of_intercept: f64 = self.intercept.iter().map(|value| value * value).sum();
        let of_rows = |(scores, target): (&Vec<f64>, &Vec<f64>)| {
            let rows_of = scores.iter().zip(target).zip(&rows.weight);
            rows_of.map(|((&s, &y), w)| w * row_loss(s, y, rows.is_logistic)).sum::<f64>()
        };
        let total: f64 = self.scores.iter().zip(&rows.targets).map(of_rows).sum();
        total + 0.5 * (ridge * squares + INTERCEPT_RIDGE * of_intercept)
    }
}

/// The loss of one row and output.
#[inline]
pub(super) fn row_loss(score: f64, target: f64, is_logistic: bool) -> f64 {
    if !is_logistic {
        return 0.5 * (score - target) * (score - target);
    }
    // log(1 + exp(s)) - y s, without overflow.
    score.max(0.0) - score * target + (-score.abs()).exp().ln_1p()
}

/// The positions of a tree's nodes whose children are both leaves.
pub(super) fn bottom_nodes(tree: &RankTree) -> Vec<u32> {
    let is_leaf = |at: NodeRef| matches!(at, NodeRef::Leaf(_));
    let nodes = (0..).zip(tree.nodes());
    nodes.filter(|(_, node)| is_leaf(node.left) && is_leaf(node.right)).map(|(at, _)| at).collect()
}
