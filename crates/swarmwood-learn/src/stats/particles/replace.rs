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
use crate::objective::Objective;
use crate::rule::Code;

/// Sums of second derivatives below this share of all are rounding.
const ROUNDING: f64 = 1e-13;

/// Leaf numbers and derivatives of one shard's rows before a tree.
pub(in crate::stats) struct TreeRows {
    leaf: AlignedVec<u8>,
    pairs: AlignedVec<DerivativePair>,
}

impl TreeRows {
    /// Leaf numbers in one tree of the round after those whose values are given, and derivatives of
    /// its output there. `trees` are the questions of all trees up to the end of that round.
    pub(in crate::stats) fn new<C: Code>(
        rows: &ParticleRows<C>,
        trees: &[Vec<&RuleTest<C>>],
        before: &[RoundValues],
        output: usize,
        objective: &dyn Objective,
    ) -> Self {
        let count = rows.binned.rows;
        let (mut leaf, mut pairs) = (AlignedVec::zeroed(count), AlignedVec::zeroed(count));
        rows.before(trees, before, output, objective, &mut leaf, &mut pairs);
        TreeRows { leaf, pairs }
    }

    /// The sums by cell and joint class of the group's columns; `class` are the joint classes of the
    /// rows.
    pub(in crate::stats) fn sums<C: Code>(
        &self,
        cells: usize,
        classes: usize,
        class: &[C],
    ) -> Vec<[f64; 2]> {
        let mut sums = CellSums::default();
        sums.clear(cells, classes);
        sums.add(&self.leaf, class, &self.pairs);
        sums.merged().to_vec()
    }
}

/// Adds the sums of one shard to those of the shards before.
pub(in crate::stats) fn add_sums(mut all: Vec<[f64; 2]>, part: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    for (sum, part) in all.iter_mut().zip(part) {
        *sum = [sum[0] + part[0], sum[1] + part[1]];
    }
    all
}

impl<C: Code> LocalParticles<'_, C> {
    /// What an oblivious tree gains with each level replaced by each rule: level after level, rule
    /// after rule.
    pub(super) fn replacements(&mut self, sequence: &[u32], tree: usize) -> Vec<f64> {
        self.evaluate(sequence, false);
        if self.classed.is_empty() {
            let columns = self.frame.layout.columns();
            let codes = |column: usize| columns[column].codes;
            let (questions, pool) = (&self.frame.questions, self.frame.context.pool);
            self.classed = classes::groups(questions, codes, &self.rows, pool);
        }
        let frame = &self.frame;
        let (round, output) = (tree / frame.outputs(), tree % frame.outputs());
        let before: Vec<RoundValues> =
            (0..round).map(|round| frame.values(&self.lanes[0].leaves, round)).collect();
        let shards: Vec<TreeRows> = frame
            .context
            .pool
            .map(self.rows.len(), |at| frame.before(&self.rows[at], sequence, &before, output));
        let groups = frame
            .context
            .pool
            .map(self.classed.len(), |at| frame.worths(&self.classed[at], &shards));
        frame.by_level(&self.classed, groups)
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
        TreeRows::new(rows, &questions, before, output, self.objective)
    }

    /// What the tree is worth with each rule of a group's columns at each level: rule after rule,
    /// level after level.
    fn worths(&self, group: &ClassedGroup<C>, shards: &[TreeRows]) -> Vec<f64> {
        let cells = 1 << self.config.depth;
        let of_shard =
            |(shard, class): (&TreeRows, &AlignedVec<C>)| shard.sums(cells, group.classes, class);
        let sums = shards.iter().zip(&group.rows).map(of_shard).reduce(add_sums);
        self.worths_of(group, &sums.unwrap_or_default())
    }

    /// The same, given the sums by cell and joint class.
    pub(in crate::stats) fn worths_of(
        &self,
        group: &ClassedGroup<C>,
        sums: &[[f64; 2]],
    ) -> Vec<f64> {
        let cells = 1 << self.config.depth;
        group.columns.iter().flat_map(|column| self.column_worths(column, sums, cells)).collect()
    }

    /// What the tree is worth, level after level and rule after rule, given what the rules of each
    /// group say.
    pub(in crate::stats) fn by_level(
        &self,
        classed: &[ClassedGroup<C>],
        groups: Vec<Vec<f64>>,
    ) -> Vec<f64> {
        let (depth, rules) = (self.config.depth, self.questions.len());
        let mut worth = vec![0.0; depth * rules];
        for (group, worths) in classed.iter().zip(groups) {
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
