//! What a particle gains by every replacement of one rule of a tree, from a single pass over the
//! rows.
//!
//! The derivatives before a tree do not depend on the tree, so sums of them by leaf and class of
//! code ([`crate::kernels::cells`]) tell the leaves, and with them the Newton values, of the tree
//! with any one of its levels asking anything else. What is told is by how much the second-order
//! model of the loss falls: for the squared loss and a tree of the last round that is the loss of
//! the whole particle, for other losses it is as good as the model, and after an earlier tree those
//! behind it are fitted to something else. Evaluation has the last word, therefore; this says which
//! of thousands of replacements deserve one.
//!
//! Works for oblivious trees. Elsewhere a row that changes sides would pass through nodes it was
//! never asked at.

use std::sync::Arc;

use super::classes::{self, ClassedColumn, ClassedGroup};
use super::rows::{Rows, Values};
use super::{Evaluator, Form, Frame, ParticleError};
use crate::kernels::aligned::Aligned;
use crate::kernels::cells::{CellSums, LANES, LeafRule, rule_worths};
use crate::kernels::particle::{Pair, Question};

/// Sums of second derivatives below this share of all are rounding.
const ROUNDING: f64 = 1e-13;

/// The gains of all replacements of one rule of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacements {
    /// Where the tree's rules begin in the sequence.
    first: usize,
    /// Rules of the table.
    rules: usize,
    /// What the tree is worth, level after level and rule after rule.
    worth: Vec<f64>,
    /// What the tree is worth as it is.
    own: f64,
}

/// A rule put in the place of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replacement {
    /// The place in the sequence.
    pub position: usize,
    /// The number of the new rule.
    pub rule: u32,
    /// By how much the weighted sum of losses falls by its second-order model.
    pub gain: f64,
}

impl Replacements {
    /// By how much the weighted sum of losses falls, by its second-order model, if a level of the
    /// tree asks this rule. NaN if there is no such level or rule.
    pub fn gain(&self, level: usize, rule: u32) -> f64 {
        let rule = rule as usize;
        if rule >= self.rules {
            return f64::NAN;
        }
        self.worth.get(level * self.rules + rule).map_or(f64::NAN, |worth| worth - self.own)
    }

    /// The replacements that gain most, at most so many, all of which gain; the best first, equal
    /// ones in the order of their places and rules.
    pub fn best(&self, most: usize) -> Vec<Replacement> {
        let replacement = |(at, worth): (usize, &f64)| Replacement {
            position: self.first + at / self.rules,
            rule: (at % self.rules) as u32,
            gain: worth - self.own,
        };
        let mut all: Vec<Replacement> = self.worth.iter().enumerate().map(replacement).collect();
        all.retain(|replacement| replacement.gain > 0.0);
        // The sort is stable, so equal gains keep their order.
        all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        all.truncate(most);
        all
    }
}

/// What one shard tells of a tree.
struct Told {
    leaf: Aligned<u8>,
    pairs: Aligned<Pair>,
}

impl Evaluator<'_> {
    /// The gains of replacing any one rule of a tree, counted from zero, by any rule of the table.
    ///
    /// ```
    /// use swarmwood_learn::bins::Layout;
    /// use swarmwood_learn::data::{Chunk, Column};
    /// use swarmwood_learn::particle::{Evaluator, Fitness, Form, Settings};
    /// use swarmwood_learn::{dataset::Dataset, objective::Squared, pool::Pool, rule_table::RuleTable};
    /// use swarmwood_model::{Feature, Kind};
    ///
    /// let columns = vec![Column::Number((0..10).map(f64::from).collect())];
    /// let target = (0..10).map(|row| if row > 6 { 10.0 } else { 0.0 }).collect();
    /// let chunk = Chunk { columns, target, weight: Vec::new(), rows: 10 };
    /// let features = [Feature { name: "x".into(), kind: Kind::Number }];
    /// let pool = Pool::new(1)?;
    /// let data = Dataset::from_chunk(&chunk, Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool), &pool);
    /// let table = RuleTable::bins(&data);
    /// let settings = Settings {
    ///     trees: 1,
    ///     form: Form::Oblivious,
    ///     depth: 1,
    ///     learning_rate: 1.0,
    ///     lambda: 0.0,
    ///     fitness: Fitness::Rmse,
    ///     memory: 0,
    /// };
    /// let mut evaluator = Evaluator::new(&data, &table, &Squared, settings, &pool).map_err(|e| e.to_string())?;
    /// // Rule 2 parts rows 0 to 2 from the others; rule 6 would part all tens from all zeros.
    /// let best = evaluator.replacements(&[2], 0).map_err(|e| e.to_string())?.best(1);
    /// assert_eq!((best[0].position, best[0].rule), (0, 6));
    /// # Ok::<(), String>(())
    /// ```
    pub fn replacements(
        &mut self,
        sequence: &[u32],
        tree: usize,
    ) -> Result<Replacements, ParticleError> {
        let (trees, depth) =
            (self.frame.settings.trees * self.frame.outputs(), self.frame.settings.depth);
        if self.frame.settings.form != Form::Oblivious {
            return Err(ParticleError::Replace);
        }
        if tree >= trees {
            return Err(ParticleError::Tree { tree, trees });
        }
        self.evaluate(sequence)?;
        if self.classed.is_empty() {
            self.classed = classes::groups(&self.frame.questions, &self.rows, self.frame.pool);
        }
        let (frame, rules) = (&self.frame, self.frame.questions.len());
        let (round, output) = (tree / frame.outputs(), tree % frame.outputs());
        let before: Vec<Values> =
            (0..round).map(|round| frame.values(&self.lanes[0], round)).collect();
        let shards: Vec<Told> = frame
            .pool
            .map(self.rows.len(), |at| frame.before(&self.rows[at], sequence, &before, output));
        let groups =
            frame.pool.map(self.classed.len(), |at| frame.worths(&self.classed[at], &shards));
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
        let first = tree * depth;
        let own = worth[sequence[first] as usize];
        for level in 0..depth {
            // A rule in its own place changes nothing, whatever rounding says.
            worth[level * rules + sequence[first + level] as usize] = own;
        }
        Ok(Replacements { first, rules, worth, own })
    }
}

impl Frame<'_> {
    /// Leaf numbers of a shard's rows in the tree of an output, and their derivatives, in the round
    /// after those whose values are given.
    fn before(&self, rows: &Arc<Rows>, sequence: &[u32], before: &[Values], output: usize) -> Told {
        let questions: Vec<Vec<&Question>> = sequence
            .chunks_exact(self.each_tree())
            .take((before.len() + 1) * self.outputs())
            .map(|tree| tree.iter().map(|&index| &self.questions[index as usize]).collect())
            .collect();
        let mut told = Told {
            leaf: Aligned::zeroed(rows.binned.rows),
            pairs: Aligned::zeroed(rows.binned.rows),
        };
        rows.before(&questions, before, output, self.objective, &mut told.leaf, &mut told.pairs);
        told
    }

    /// What the tree is worth with each rule of a group's columns at each level: rule after rule,
    /// level after level.
    fn worths(&self, group: &ClassedGroup, shards: &[Told]) -> Vec<f64> {
        let cells = 1 << self.settings.depth;
        let mut sums = CellSums::default();
        sums.clear(cells, group.classes);
        for (shard, class) in shards.iter().zip(&group.rows) {
            sums.add(&shard.leaf, class, &shard.pairs);
        }
        let sums = sums.merged();
        group.columns.iter().flat_map(|column| self.column_worths(column, sums, cells)).collect()
    }

    /// The same for one column, given the sums by cell and joint class.
    fn column_worths(&self, column: &ClassedColumn, joint: &[[f64; 2]], cells: usize) -> Vec<f64> {
        let (depth, rules) = (self.settings.depth, column.rules.len());
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
            lambda: self.settings.lambda,
            learning_rate: self.settings.learning_rate,
            least,
        };
        let mut worths = vec![0.0; depth * width];
        rule_worths(leaf, (&right.0, &right.1), (&all.0, &all.1), width, &mut worths);
        (0..rules).flat_map(|rule| worths[rule..].iter().step_by(width).copied()).collect()
    }
}

#[cfg(test)]
mod tests;
