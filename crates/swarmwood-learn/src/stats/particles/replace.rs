//! What a particle gains by every replacement of one rule of a tree, from a single pass over the
//! rows.
//!
//! The derivatives before a tree do not depend on the tree, so sums of them by leaf and class of
//! code ([`crate::kernels::cells`]) determine the leaves, and with them the Newton values, of the
//! tree with any one of its levels replaced.

use std::sync::Arc;

use super::classes::{self, ClassedColumn, ClassedGroup};
use super::rows::{ParticleRows, RoundValues};
use super::{LocalParticles, ParticleFrame};
use crate::kernels::aligned::AlignedVec;
use crate::kernels::cells::{CellSums, LANES, LeafRule, rule_worths};
use crate::kernels::particle::{DerivativePair, RuleTest};
use crate::rule::Code;

/// Sums of second derivatives below this share of all are rounding.
const ROUNDING: f64 = 1e-13;

/// Leaf numbers and derivatives of one shard's rows before a tree.
struct TreeRows {
    leaf: AlignedVec<u8>,
    pairs: AlignedVec<DerivativePair>,
}

impl<C: Code> LocalParticles<'_, C> {
    /// What an oblivious tree gains with each level replaced by each rule: level after level, rule
    /// after rule.
    pub(super) fn replacements(&mut self, sequence: &[u32], tree: usize) -> Vec<f64> {
        let depth = self.frame.config.depth;
        self.evaluate(sequence, false);
        if self.classed.is_empty() {
            let columns = self.frame.layout.columns();
            let codes = |column: usize| columns[column].codes;
            let (questions, pool) = (&self.frame.questions, self.frame.context.pool);
            self.classed = classes::groups(questions, codes, &self.rows, pool);
        }
        let (frame, rules) = (&self.frame, self.frame.questions.len());
        let (round, output) = (tree / frame.outputs(), tree % frame.outputs());
        let before: Vec<RoundValues> =
            (0..round).map(|round| frame.values(&self.lanes[0], round)).collect();
        let shards: Vec<TreeRows> = frame
            .context
            .pool
            .map(self.rows.len(), |at| frame.before(&self.rows[at], sequence, &before, output));
        let groups = frame
            .context
            .pool
            .map(self.classed.len(), |at| frame.worths(&self.classed[at], &shards));
        let mut worth = vec![0.0; depth * rules];
        for (group, worths) in self.classed.iter().zip(groups) {
            let numbers =
                group.columns.iter().flat_map(|column| &column.rules).map(|rule| rule.number);
            for (number, worths) in numbers.zip(worths.chunks_exact(depth)) {
                worths
                    .iter()
                    .enumerate()
                    .for_each(|(level, &value)| worth[level * rules + number] = value);
            }
        }
        worth
    }
}

impl<C: Code> ParticleFrame<'_, C> {
    /// Leaf numbers of a shard's rows in the tree of an output, and their derivatives, in the round
    /// after those whose values are given.
    fn before(
        &self,
        rows: &Arc<ParticleRows<C>>,
        sequence: &[u32],
        before: &[RoundValues],
        output: usize,
    ) -> TreeRows {
        let questions: Vec<Vec<&RuleTest<C>>> = sequence
            .chunks_exact(self.each_tree())
            .take((before.len() + 1) * self.outputs())
            .map(|tree| tree.iter().map(|&index| &self.questions[index as usize]).collect())
            .collect();
        let mut rows_of = TreeRows {
            leaf: AlignedVec::zeroed(rows.binned.rows),
            pairs: AlignedVec::zeroed(rows.binned.rows),
        };
        rows.before(
            &questions,
            before,
            output,
            self.objective,
            &mut rows_of.leaf,
            &mut rows_of.pairs,
        );
        rows_of
    }

    /// What the tree is worth with each rule of a group's columns at each level: rule after rule,
    /// level after level.
    fn worths(&self, group: &ClassedGroup<C>, shards: &[TreeRows]) -> Vec<f64> {
        let cells = 1 << self.config.depth;
        let mut sums = CellSums::default();
        sums.clear(cells, group.classes);
        for (shard, class) in shards.iter().zip(&group.rows) {
            sums.add(&shard.leaf, class, &shard.pairs);
        }
        let sums = sums.merged();
        group.columns.iter().flat_map(|column| self.column_worths(column, sums, cells)).collect()
    }

    /// The same for one column, given the sums by cell and joint class.
    fn column_worths(
        &self,
        column: &ClassedColumn<C>,
        joint: &[[f64; 2]],
        cells: usize,
    ) -> Vec<f64> {
        let (depth, rules) = (self.config.depth, column.rules.len());
        let width = rules.next_multiple_of(LANES);
        let mut all = (vec![0.0; cells], vec![0.0; cells]);
        let mut right = (vec![0.0; cells * width], vec![0.0; cells * width]);
        // The sums of all classes before one: sums of a run of classes are differences of these.
        let mut upto = vec![[0.0; 2]; column.classes + 1];
        for (cell, joint) in joint.chunks_exact(joint.len() / cells).enumerate() {
            upto.fill([0.0; 2]);
            for joint in joint.chunks_exact(column.stride * column.classes) {
                for (upto, same) in upto[1..].iter_mut().zip(joint.chunks_exact(column.stride)) {
                    let sum = same
                        .iter()
                        .fold([0.0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]]);
                    *upto = [upto[0] + sum[0], upto[1] + sum[1]];
                }
            }
            for class in 0..column.classes {
                upto[class + 1] =
                    [upto[class][0] + upto[class + 1][0], upto[class][1] + upto[class + 1][1]];
            }
            [all.0[cell], all.1[cell]] = upto[column.classes];
            for (at, rule) in column.rules.iter().enumerate() {
                for run in &rule.right {
                    right.0[cell * width + at] += upto[run.end][0] - upto[run.start][0];
                    right.1[cell * width + at] += upto[run.end][1] - upto[run.start][1];
                }
            }
        }
        let least = ROUNDING * all.1.iter().sum::<f64>();
        let leaf = LeafRule {
            lambda: self.config.lambda,
            learning_rate: self.config.learning_rate,
            least,
        };
        let mut worths = vec![0.0; depth * width];
        rule_worths(leaf, (&right.0, &right.1), (&all.0, &all.1), width, &mut worths);
        (0..rules).flat_map(|rule| worths[rule..].iter().step_by(width).copied()).collect()
    }
}
