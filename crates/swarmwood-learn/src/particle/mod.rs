//! Evaluates particles: from a sequence of rule numbers to leaf values and a fitness.
//!
//! A particle's position is `trees × depth` numbers of rules in a [`RuleTable`], tree after tree
//! and level after level. Trees whose nodes have rules of their own ([`Form::Free`], the paper's
//! future work) take `2^depth - 1` numbers each, in heap order: breadth first, as the tree of
//! section 5.1. Decoding it is boosting with the structure given (Rao 2022, section 5.4): each
//! tree's leaf values are Newton steps on what the trees before it left, `-G / (H + λ)` (eq. 9 for
//! the squared loss), the sum of all trees is the score (eq. 6), and the fitness is taken on the
//! training rows.
//!
//! Where this differs from the paper: with three or more classes a round is one tree a class, one
//! after the other in the position, all fitted to the derivatives before the round; the learning
//! rate (one there) and λ (zero there) can be chosen; losses without a useful second derivative get
//! quantiles as leaf values; and what the last particle shares with the next, its first trees, is
//! not computed again, which changes no bit of a result. The paper names the cost of computing
//! gradients for every particle as its limit; this is one way round it.
//!
//! All sums are taken in the order of the shards, so a result does not depend on the number of
//! threads either.

mod classes;
mod fitness;
mod members;
mod replace;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use swarmwood_model::{Leaf, Member};

use crate::bins::Layout;
use crate::dataset::{Dataset, Plan};
use crate::kernels::leaf_values::LeafValues;
use crate::kernels::particle::{LEVELS, Question};
use crate::objective::Objective;
use crate::objective::order::weighted_quantile;
use crate::pool::{Pool, even_ranges};
use crate::rule_table::RuleTable;
use classes::ClassedGroup;
pub use fitness::Fitness;
pub use replace::{Replacement, Replacements};
use rows::{Part, Rows, Step, Values};

/// The shape of a particle's trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// All nodes of a level share a rule, as published.
    #[default]
    Oblivious,
    /// Every node has its own rule.
    Free,
}

impl Form {
    /// The numbers that a tree of so many levels takes.
    ///
    /// ```
    /// use swarmwood_learn::particle::Form;
    /// assert_eq!([Form::Oblivious.rules(5), Form::Free.rules(5)], [5, 31]);
    /// ```
    pub fn rules(self, depth: usize) -> usize {
        match self {
            Form::Oblivious => depth,
            Form::Free => (1 << depth) - 1,
        }
    }
}

/// What the evaluation of particles can be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Rounds of a particle, at least one; each has a tree an output.
    pub trees: usize,
    /// The shape of the trees.
    pub form: Form,
    /// Levels of each tree, from 1 to 8.
    pub depth: usize,
    /// Share of each leaf value that is added.
    pub learning_rate: f64,
    /// L2 penalty on leaf values.
    pub lambda: f64,
    /// What is measured.
    pub fitness: Fitness,
    /// Bytes of leaf numbers that may be kept for particles that begin alike; less makes it slower,
    /// never different.
    pub memory: usize,
}

/// Why particles cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParticleError {
    /// Trees that cannot be.
    #[error(
        "a particle of {trees} trees with {depth} levels each; it must have at least one tree, and 1 to 8 levels"
    )]
    Shape {
        /// Trees asked for.
        trees: usize,
        /// Levels asked for.
        depth: usize,
    },
    /// The fitness does not suit the objective.
    #[error("the fitness {fitness} {reason}")]
    Fitness {
        /// Its name.
        fitness: &'static str,
        /// Why, and what to choose.
        reason: &'static str,
    },
    /// A sequence of the wrong length.
    #[error("a sequence of {found} rules; {trees} trees with {each} rules each need {}", trees * each)]
    Length {
        /// Its length.
        found: usize,
        /// Trees of a particle.
        trees: usize,
        /// Rules of a tree.
        each: usize,
    },
    /// A number without a rule.
    #[error("rule {index} at position {position}; the table has {rules} rules, numbered from 0")]
    Rule {
        /// The number.
        index: u32,
        /// Where it stands in the sequence.
        position: usize,
        /// Rules of the table.
        rules: usize,
    },
    /// Trees whose rules cannot be replaced one at a time.
    #[error("rules can be replaced one at a time in oblivious trees only")]
    Replace,
    /// A tree that is not there.
    #[error("tree {tree}; a particle has {trees}, counted from 0")]
    Tree {
        /// Its number.
        tree: usize,
        /// Trees of a particle.
        trees: usize,
    },
}

/// What a particle is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The fitness as people say it: mean loss, accuracy, or RMSE. NaN if no row has weight.
    pub fitness: f64,
    /// The number to make small: the share of wrong rows where the fitness is the accuracy, the
    /// fitness otherwise.
    pub cost: f64,
    /// The leaves, tree after tree, `1 << depth` each, level `l` deciding bit `l` of a leaf's
    /// number; the learning rate is in their values.
    pub leaves: Vec<Leaf>,
    /// How many rounds were taken over from the particle before.
    pub reused: usize,
}

/// Evaluates particles on the rows of one data set.
///
/// ```
/// use swarmwood_learn::bins::Layout;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::particle::{Evaluator, Fitness, Form, Settings};
/// use swarmwood_learn::{dataset::Dataset, objective::Squared, pool::Pool, rule_table::RuleTable};
/// use swarmwood_model::{Feature, Kind};
///
/// // The worked example of the paper, in thousands: table 1 and the tree of figure 1.
/// let columns = vec![Column::Number(vec![100.0, 200.0, 600.0, 80.0, 1200.0, 1011.0])];
/// let target = vec![15.0, 90.0, 110.0, 180.0, 580.0, 780.0];
/// let chunk = Chunk { columns, target, weight: Vec::new(), rows: 6 };
/// let features = [Feature { name: "Ind".into(), kind: Kind::Number }];
/// let pool = Pool::new(1)?;
/// let data = Dataset::from_chunk(&chunk, Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool), &pool);
/// let table = RuleTable::distinct(&data);
///
/// let settings = Settings {
///     trees: 1,
///     form: Form::Oblivious,
///     depth: 1,
///     learning_rate: 1.0,
///     lambda: 0.0,
///     fitness: Fitness::Rmse,
///     memory: 1 << 20,
/// };
/// let mut evaluator = Evaluator::new(&data, &table, &Squared, settings, &pool).map_err(|e| e.to_string())?;
/// assert_eq!(evaluator.base(), [292.5]);
/// // Rule 1 is "Ind above 150", midway between 100 and 200.
/// let leaves = evaluator.evaluate(&[1]).map_err(|e| e.to_string())?.leaves;
/// assert_eq!([leaves[0].value, leaves[1].value], [-195.0, 97.5]);
/// # Ok::<(), String>(())
/// ```
pub struct Evaluator<'a> {
    frame: Frame<'a>,
    rows: Vec<Arc<Rows>>,
    /// Evaluations that can run beside each other; the first one is always there.
    lanes: Vec<Lane>,
    /// Columns as the rules see them; made when replacements are asked for.
    classed: Vec<ClassedGroup>,
}

/// What all evaluations share.
struct Frame<'a> {
    pool: &'a Pool,
    objective: &'a dyn Objective,
    table: &'a RuleTable,
    layout: Arc<Layout>,
    plan: Plan,
    questions: Vec<Question>,
    settings: Settings,
    base: Vec<f64>,
    shift: f64,
}

/// Memory of one evaluation, and what the last particle left there.
#[derive(Debug)]
struct Lane {
    parts: Vec<Part>,
    /// The last particle; empty before the first.
    last: Vec<u32>,
    /// Its sums of derivatives by leaf, tree after tree.
    sums: Vec<[f64; 2]>,
    /// Its leaves.
    leaves: Vec<Leaf>,
    /// Its fitness.
    fitness: f64,
    /// The leaf numbers of how many rounds are still there.
    kept: usize,
}

/// What was found of each particle; nothing where there was no time.
pub type Evaluations = Vec<Option<Evaluation>>;

impl<'a> Evaluator<'a> {
    /// Prepares the rows of a data set. The targets must be in the objective's domain, and the
    /// table be made from this data set or one with the same layout.
    pub fn new(
        data: &Dataset,
        table: &'a RuleTable,
        objective: &'a dyn Objective,
        settings: Settings,
        pool: &'a Pool,
    ) -> Result<Self, ParticleError> {
        check(objective, &settings)?;
        let target: Vec<f64> =
            data.target.iter().map(|target| objective.transform_target(target)).collect();
        let base = objective.start(&target, &data.weight.to_vec());
        // Losses of the difference alone are learnt around zero, where `f32` is finest.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let target: Vec<f32> = target.iter().map(|&y| (y - shift) as f32).collect();
        let weight: Vec<f32> = data.weight.iter().map(|weight| weight as f32).collect();
        let questions =
            table.rules().iter().map(|rule| Question::new(&data.layout.route(rule))).collect();
        let frame = Frame {
            pool,
            objective,
            table,
            layout: data.layout.clone(),
            plan: data.plan,
            questions,
            settings,
            base,
            shift,
        };
        let (targets, weights) = (data.plan.deal(&target), data.plan.deal(&weight));
        let start: Vec<f32> = (0..frame.outputs()).map(|output| frame.start(output)).collect();
        let rows = pool.map(data.plan.shards, |shard| {
            let (target, weight) = (targets[shard].clone(), weights[shard].clone());
            Arc::new(Rows::new(data.shards[shard].clone(), target, weight, &start, objective))
        });
        let mut evaluator = Evaluator { frame, rows, lanes: Vec::new(), classed: Vec::new() };
        evaluator.open_lane();
        Ok(evaluator)
    }

    fn open_lane(&mut self) {
        let settings = &self.frame.settings;
        let outputs = self.frame.outputs();
        let each = self.frame.plan.rows.max(1) * outputs * self.frame.pool.threads();
        let layers = (settings.memory / each).clamp(1, settings.trees);
        let leaves = (settings.trees * outputs) << settings.depth;
        self.lanes.push(Lane {
            parts: self.rows.iter().map(|rows| Part::new(rows.clone(), outputs, layers)).collect(),
            last: Vec::new(),
            sums: vec![[0.0; 2]; leaves],
            leaves: vec![Leaf { value: 0.0, cover: 0.0 }; leaves],
            fitness: f64::NAN,
            kept: if layers < settings.trees { layers - 1 } else { layers },
        });
    }

    /// The start value of each raw output.
    pub fn base(&self) -> &[f64] {
        &self.frame.base
    }

    /// What is measured.
    pub fn fitness(&self) -> Fitness {
        self.frame.settings.fitness
    }

    /// How many trees a particle has, those of all outputs counted.
    pub fn trees(&self) -> usize {
        self.frame.settings.trees * self.frame.outputs()
    }

    /// How many numbers a particle has.
    pub fn length(&self) -> usize {
        self.frame.settings.trees * self.frame.each_round()
    }

    /// What to add to a training score to get the raw score (see [`Objective::shift_invariant`]).
    pub fn shift(&self) -> f64 {
        self.frame.shift
    }

    /// Evaluates one particle, all threads working on its rows. The first trees that it shares with
    /// the particle before are not computed again.
    pub fn evaluate(&mut self, sequence: &[u32]) -> Result<Evaluation, ParticleError> {
        self.frame.check_sequence(sequence)?;
        Ok(self.frame.evaluate(&mut self.lanes[0], sequence))
    }

    /// Evaluates several particles, every thread working on particles of its own: faster for small
    /// data sets, the same for all. Particles that begin alike should stand beside each other.
    pub fn evaluate_all<S: AsRef<[u32]> + Sync>(
        &mut self,
        sequences: &[S],
    ) -> Result<Vec<Evaluation>, ParticleError> {
        Ok(self.evaluate_while(sequences, || true)?.into_iter().flatten().collect())
    }

    /// The same as far as there is time: in a hurry every thread ends after the particle that it
    /// has. The first of each thread is always evaluated.
    pub fn evaluate_in_time<S: AsRef<[u32]> + Sync>(
        &mut self,
        sequences: &[S],
    ) -> Result<Evaluations, ParticleError> {
        let pool = self.frame.pool;
        self.evaluate_while(sequences, || !pool.hurried())
    }

    fn evaluate_while<S: AsRef<[u32]> + Sync>(
        &mut self,
        sequences: &[S],
        go_on: impl Fn() -> bool + Sync,
    ) -> Result<Evaluations, ParticleError> {
        sequences.iter().try_for_each(|sequence| self.frame.check_sequence(sequence.as_ref()))?;
        let lanes = self.frame.pool.threads().min(sequences.len());
        while self.lanes.len() < lanes {
            self.open_lane();
        }
        let frame = &self.frame;
        let ranges = even_ranges(sequences.len(), lanes.max(1));
        let mut work: Vec<(&mut Lane, &[S], Evaluations)> = self
            .lanes
            .iter_mut()
            .zip(ranges)
            .map(|(lane, range)| (lane, &sequences[range], Vec::new()))
            .collect();
        frame.pool.each(&mut work, |_, (lane, sequences, done)| {
            for sequence in *sequences {
                let wanted = done.is_empty() || go_on();
                done.push(wanted.then(|| frame.evaluate(lane, sequence.as_ref())));
            }
        });
        Ok(work.into_iter().flat_map(|(_, _, done)| done).collect())
    }

    /// Another fitness of a particle.
    pub fn measure(&mut self, sequence: &[u32], fitness: Fitness) -> Result<f64, ParticleError> {
        suits(fitness, self.frame.objective)?;
        self.evaluate(sequence)?;
        let (frame, lane) = (&self.frame, &self.lanes[0]);
        let measure = |at: usize| lane.parts[at].measure(fitness, frame.objective);
        let sum = frame.pool.map(lane.parts.len(), measure).into_iter().sum();
        Ok(fitness.of_sum(sum, self.rows.iter().map(|rows| rows.total).sum()))
    }

    /// Scores of a particle for the training rows, in row order, output after output;
    /// [`Evaluator::shift`] makes them raw scores.
    pub fn training_scores(&mut self, sequence: &[u32]) -> Result<Vec<Vec<f32>>, ParticleError> {
        self.evaluate(sequence)?;
        let (frame, lane) = (&self.frame, &self.lanes[0]);
        let of_output = |output: usize| {
            let shard = |part: &'_ usize| {
                let (scores, rows) = (lane.parts[*part].scores(), self.rows[*part].binned.rows);
                scores[output * rows..(output + 1) * rows].to_vec()
            };
            let parts: Vec<Vec<f32>> = (0..lane.parts.len()).map(|part| shard(&part)).collect();
            frame.plan.gather(&parts.iter().map(Vec::as_slice).collect::<Vec<&[f32]>>())
        };
        Ok((0..frame.outputs()).map(of_output).collect())
    }

    /// The trees of a particle as members of a model whose start values are [`Evaluator::base`].
    pub fn to_members(&mut self, sequence: &[u32]) -> Result<Vec<Member>, ParticleError> {
        self.evaluate(sequence)?;
        Ok(members::members(&self.frame, &self.lanes[0], sequence))
    }
}

impl Frame<'_> {
    fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Rules of a tree.
    fn each_tree(&self) -> usize {
        self.settings.form.rules(self.settings.depth)
    }

    /// Rules of a round.
    fn each_round(&self) -> usize {
        self.outputs() * self.each_tree()
    }

    /// The score of an output that every row starts from.
    fn start(&self, output: usize) -> f32 {
        (self.base[output] - self.shift) as f32
    }

    fn check_sequence(&self, sequence: &[u32]) -> Result<(), ParticleError> {
        let (trees, each) = (self.settings.trees * self.outputs(), self.each_tree());
        if sequence.len() != trees * each {
            return Err(ParticleError::Length { found: sequence.len(), trees, each });
        }
        let rules = self.questions.len();
        match sequence.iter().position(|&index| index as usize >= rules) {
            Some(position) => {
                Err(ParticleError::Rule { index: sequence[position], position, rules })
            }
            None => Ok(()),
        }
    }

    /// Evaluates a checked particle.
    fn evaluate(&self, lane: &mut Lane, sequence: &[u32]) -> Evaluation {
        let Settings { trees: rounds, fitness, form, depth, .. } = self.settings;
        let each = self.each_round();
        let reused = lane.shared_rounds(sequence, each);
        if reused < rounds {
            for round in reused..rounds {
                // The scores are those of the last particle's end: what is shared with it is added
                // up from the start.
                let missing = if round == reused { 0..round } else { round - 1..round };
                let pending: Vec<(usize, Values)> =
                    missing.map(|round| (round, self.values(lane, round))).collect();
                let question = |&index: &u32| &self.questions[index as usize];
                let trees =
                    sequence[round * each..(round + 1) * each].chunks_exact(self.each_tree());
                let questions: Vec<Vec<&Question>> =
                    trees.map(|tree| tree.iter().map(question).collect()).collect();
                let leaves = 1 << depth;
                let step = Step { round, form, leaves, questions: &questions, pending: &pending };
                self.pool.each(&mut lane.parts, |_, part| part.pass(&step, self.objective));
                self.settle(lane, round);
            }
            let values = self.values(lane, rounds - 1);
            self.pool.each(&mut lane.parts, |_, part| {
                part.finish(rounds - 1, &values, fitness, self.objective)
            });
            let sum = lane.parts.iter().map(|part| part.measured).sum();
            lane.fitness = fitness.of_sum(sum, lane.parts.iter().map(Part::total).sum());
            lane.last.clear();
            lane.last.extend_from_slice(sequence);
        }
        Evaluation {
            fitness: lane.fitness,
            cost: fitness.cost(lane.fitness),
            leaves: lane.leaves.clone(),
            reused,
        }
    }

    /// Where the leaves of a round's trees stand.
    fn leaves_of(&self, round: usize) -> std::ops::Range<usize> {
        let (outputs, depth) = (self.outputs(), self.settings.depth);
        (round * outputs) << depth..((round + 1) * outputs) << depth
    }

    /// Leaf values of a round as scores are added: with the start value in those of the first.
    fn values(&self, lane: &Lane, round: usize) -> Values {
        let trees =
            lane.leaves[self.leaves_of(round)].chunks_exact(1 << self.settings.depth).enumerate();
        let tree = |(output, leaves): (usize, &[Leaf])| {
            let start = if round == 0 { self.start(output) } else { 0.0 };
            LeafValues::new(leaves.iter().map(|leaf| start + leaf.value as f32))
        };
        trees.map(tree).collect()
    }

    /// Merges the sums of a round in shard order and sets its leaves.
    fn settle(&self, lane: &mut Lane, round: usize) {
        let Settings { learning_rate, lambda, .. } = self.settings;
        let own = self.leaves_of(round);
        let sums = &mut lane.sums[own.clone()];
        sums.fill([0.0; 2]);
        for part in &lane.parts {
            sums.iter_mut()
                .zip(&part.sums)
                .for_each(|(sum, part)| *sum = [sum[0] + part[0], sum[1] + part[1]]);
        }
        for (leaf, sums) in lane.leaves[own.clone()].iter_mut().zip(sums.iter()) {
            *leaf = newton(sums, lambda);
        }
        if let Some(alpha) = self.objective.leaf_quantile() {
            self.settle_quantiles(lane, round, alpha);
        }
        lane.leaves[own].iter_mut().for_each(|leaf| leaf.value *= learning_rate);
    }

    /// Leaf values of losses whose Newton step is a poor one; all of them have a single output.
    fn settle_quantiles(&self, lane: &mut Lane, round: usize, alpha: f64) {
        let own = self.leaves_of(round);
        let mut residuals: Vec<Vec<(f32, f32)>> = vec![Vec::new(); own.len()];
        lane.parts.iter().for_each(|part| part.residuals(round, self.start(0), &mut residuals));
        for (leaf, residuals) in lane.leaves[own].iter_mut().zip(&mut residuals) {
            leaf.value = weighted_quantile(residuals, alpha).unwrap_or(0.0);
        }
    }
}

impl Lane {
    /// How many of its first rounds a particle shares with the last one and need not be computed
    /// again.
    fn shared_rounds(&self, sequence: &[u32], each: usize) -> usize {
        if self.last == sequence {
            return sequence.len() / each;
        }
        let pairs = self.last.chunks_exact(each).zip(sequence.chunks_exact(each));
        pairs.take(self.kept).take_while(|(last, new)| last == new).count()
    }
}

/// A leaf's Newton value `-G / (H + λ)`. A leaf without rows, or with derivatives beyond all
/// numbers, adds nothing.
fn newton(&[g, h]: &[f64; 2], lambda: f64) -> Leaf {
    let divisor = h + lambda;
    let value = -g / divisor;
    if divisor > 0.0 && value.is_finite() && h.is_finite() {
        Leaf { value, cover: h }
    } else {
        Leaf { value: 0.0, cover: 0.0 }
    }
}

fn check(objective: &dyn Objective, settings: &Settings) -> Result<(), ParticleError> {
    let Settings { trees, depth, fitness, .. } = *settings;
    if trees == 0 || !(1..=LEVELS).contains(&depth) {
        return Err(ParticleError::Shape { trees, depth });
    }
    suits(fitness, objective)
}

fn suits(fitness: Fitness, objective: &dyn Objective) -> Result<(), ParticleError> {
    let fault = |reason| ParticleError::Fitness { fitness: fitness.name(), reason };
    fitness.watch().suits(objective).map_err(fault)
}
