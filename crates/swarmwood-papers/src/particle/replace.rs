//! What a particle gains by every replacement of one rule of a tree, from a single pass over the
//! rows.
//!
//! The derivatives before a tree do not depend on the tree, so sums of them by leaf and class of
//! code (`learn::kernels::cells`) tell the leaves, and with them the Newton values, of the tree
//! with any one of its levels asking anything else. What is told is by how much the second-order
//! model of the loss falls: for the squared loss and a tree of the last round that is the loss of
//! the whole particle, for other losses it is as good as the model, and after an earlier tree those
//! behind it are fitted to something else. Evaluation has the last word, therefore; this says which
//! of thousands of replacements deserve one.
//!
//! Works for oblivious trees. Elsewhere a row that changes sides would pass through nodes it was
//! never asked at.

use swarmwood_learn::stats::{BackendError, Reply, Work};

use super::{Evaluator, ParticleError, TreeForm};

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

impl Evaluator<'_> {
    /// The gains of replacing any one rule of a tree, counted from zero, by any rule of the table.
    ///
    /// ```
    /// use swarmwood_learn::bins::Layout;
    /// use swarmwood_learn::data::{Chunk, Column};
    /// use swarmwood_learn::metric::EvalMetric;
    /// use swarmwood_papers::particle::{Evaluator, TreeForm, ParticleConfig};
    /// use swarmwood_learn::{budget::Budget, context::Context, dataset::Dataset};
    /// use swarmwood_learn::{objective::Squared, pool::Pool};
    /// use swarmwood_papers::rule_table::RuleTable;
    /// use swarmwood_model::{Feature, Kind};
    ///
    /// let columns = vec![Column::Number((0..10).map(f64::from).collect())];
    /// let target = (0..10).map(|row| if row > 6 { 10.0 } else { 0.0 }).collect();
    /// let chunk = Chunk { columns, target, weight: Vec::new(), rows: 10 };
    /// let features = [Feature { name: "x".into(), kind: Kind::Number }];
    /// let pool = Pool::new(1)?;
    /// let data = Dataset::from_chunk(&chunk, Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool), &pool);
    /// let table = RuleTable::bins(&data);
    /// let config = ParticleConfig {
    ///     trees: 1,
    ///     form: TreeForm::Oblivious,
    ///     depth: 1,
    ///     learning_rate: 1.0,
    ///     lambda: 0.0,
    ///     fitness: EvalMetric::Rmse,
    ///     memory: 0,
    /// };
    /// let context = Context { pool: &pool, budget: &Budget::unlimited() };
    /// let mut evaluator = Evaluator::new(&data, &table, &Squared, config, context).map_err(|e| e.to_string())?;
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
        let (trees, depth, rules) = (self.trees(), self.config.depth, self.rules());
        if self.config.form != TreeForm::Oblivious {
            return Err(ParticleError::Replace);
        }
        if tree >= trees {
            return Err(ParticleError::Tree { tree, trees });
        }
        self.check_sequence(sequence)?;
        let work = Work::ParticleReplacements { sequence: sequence.to_vec(), tree };
        let mut worth = match self.ask(work)? {
            Reply::Replacements { gains } if gains.len() == depth * rules => gains,
            _ => return Err(BackendError::Reply { work: "ParticleReplacements" }.into()),
        };

        let first = tree * depth;
        let own = worth[sequence[first] as usize];
        for level in 0..depth {
            // A rule in its own place changes nothing, whatever rounding says.
            worth[level * rules + sequence[first + level] as usize] = own;
        }
        Ok(Replacements { first, rules, worth, own })
    }
}

#[cfg(test)]
mod tests;
