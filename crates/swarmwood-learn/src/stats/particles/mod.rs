//! The rows of the papers' particles: from a sequence of rule numbers to leaf values and a fitness.
//!
//! What consecutive particles share, their first trees, is not computed again, which changes no
//! bit of a result. All sums are taken in the order of the shards, so a result does not depend on
//! the number of threads either. Everything is generic in the code of a value: how many bytes it
//! takes follows from the number of distinct values and is hidden behind [`ParticleData`].

mod classes;
mod fitness;
mod frame;
mod replace;
mod rows;

use std::sync::Arc;

use swarmwood_model::Split;

use super::backend::{Backend, BackendError};
use super::factory::{BackendFactory, LocalBackends};
use super::message::{ParticleFitness, Reply, Work};
use crate::context::Context;
use crate::dataset::Dataset;
use crate::kernels::particle::RuleTest;
use crate::metric::{EvalMetric, Partial};
use crate::objective::Objective;
use crate::pool::even_ranges;
use crate::rule::{Code, Rule};
pub(super) use classes::{ClassedGroup, groups};
pub(super) use frame::{ParticleFrame, ParticleLeaves, question};
pub(super) use replace::{TreeRows, add_sums};
pub(super) use rows::{ParticleRows, ParticleShard, RoundPass, RoundValues};

/// The shape of a particle's trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TreeForm {
    /// All nodes of a level share a rule, as published.
    #[default]
    Oblivious,
    /// Every node has its own rule.
    Free,
}

impl TreeForm {
    /// The numbers that a tree of so many levels takes.
    ///
    /// ```
    /// use swarmwood_learn::stats::TreeForm;
    /// assert_eq!([TreeForm::Oblivious.rules(5), TreeForm::Free.rules(5)], [5, 31]);
    /// ```
    pub fn rules(self, depth: usize) -> usize {
        match self {
            TreeForm::Oblivious => depth,
            TreeForm::Free => (1 << depth) - 1,
        }
    }
}

/// How particles are evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParticleConfig {
    /// Rounds of a particle, at least one; each has one tree per output.
    pub trees: usize,
    /// The shape of the trees.
    pub form: TreeForm,
    /// Levels of each tree, from 1 to 8.
    pub depth: usize,
    /// Share of each leaf value that is added.
    pub learning_rate: f64,
    /// L2 penalty on leaf values.
    pub lambda: f64,
    /// What is measured.
    pub fitness: EvalMetric,
    /// Bytes of leaf numbers that may be kept for particles that begin alike; less makes it slower,
    /// never different.
    pub memory: usize,
}

/// What particles are evaluated on: a handle to rows, for backends to open.
#[derive(Clone, Copy)]
pub struct ParticleSet<'a> {
    /// The rows. Their targets must be in the objective's domain.
    pub data: ParticleData<'a>,
    /// What leaf values minimise.
    pub objective: &'a dyn Objective,
    /// How particles are evaluated.
    pub config: ParticleConfig,
    /// Who makes backends for them.
    pub backends: &'a dyn BackendFactory,
}

impl<'a> ParticleSet<'a> {
    /// Rows in this process, and the rules by number.
    pub fn new<C: ParticleCode>(
        data: &'a Dataset<C>,
        rules: &'a [Rule<C>],
        objective: &'a dyn Objective,
        config: ParticleConfig,
    ) -> Self {
        let data = C::particle_data(CodedData { data, rules });
        ParticleSet { data, objective, config, backends: &LocalBackends }
    }
}

/// Rows with codes of one width, and rules over them by number.
#[derive(Debug)]
pub struct CodedData<'a, C: Code> {
    /// The rows.
    pub data: &'a Dataset<C>,
    /// The rules by number.
    pub rules: &'a [Rule<C>],
}

impl<C: Code> Clone for CodedData<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Code> Copy for CodedData<'_, C> {}

impl<C: Code> CodedData<'_, C> {
    /// The split of a rule.
    fn split(&self, rule: u32) -> Option<Split> {
        self.rules.get(rule as usize).map(|rule| self.data.layout.split(rule))
    }
}

/// Rows with codes of any width.
#[derive(Debug, Clone, Copy)]
pub enum ParticleData<'a> {
    /// At most 255 values per feature.
    OneByte(CodedData<'a, u8>),
    /// At most 65,535 values per feature.
    TwoBytes(CodedData<'a, u16>),
    /// More values.
    FourBytes(CodedData<'a, u32>),
}

impl ParticleData<'_> {
    /// How many rules there are.
    pub fn rules(&self) -> usize {
        match self {
            ParticleData::OneByte(coded) => coded.rules.len(),
            ParticleData::TwoBytes(coded) => coded.rules.len(),
            ParticleData::FourBytes(coded) => coded.rules.len(),
        }
    }

    /// The rule of a number as a split over values.
    pub fn split(&self, rule: u32) -> Option<Split> {
        match self {
            ParticleData::OneByte(coded) => coded.split(rule),
            ParticleData::TwoBytes(coded) => coded.split(rule),
            ParticleData::FourBytes(coded) => coded.split(rule),
        }
    }
}

/// A code that particles can be evaluated with.
pub trait ParticleCode: Code {
    /// Rows with these codes.
    fn particle_data(coded: CodedData<'_, Self>) -> ParticleData<'_>;
}

impl ParticleCode for u8 {
    fn particle_data(coded: CodedData<'_, Self>) -> ParticleData<'_> {
        ParticleData::OneByte(coded)
    }
}

impl ParticleCode for u16 {
    fn particle_data(coded: CodedData<'_, Self>) -> ParticleData<'_> {
        ParticleData::TwoBytes(coded)
    }
}

impl ParticleCode for u32 {
    fn particle_data(coded: CodedData<'_, Self>) -> ParticleData<'_> {
        ParticleData::FourBytes(coded)
    }
}

/// A backend of this process.
pub(super) fn open_local<'a>(set: ParticleSet<'a>, context: Context<'a>) -> Box<dyn Backend + 'a> {
    match set.data {
        ParticleData::OneByte(coded) => Box::new(LocalParticles::new(coded, set, context)),
        ParticleData::TwoBytes(coded) => Box::new(LocalParticles::new(coded, set, context)),
        ParticleData::FourBytes(coded) => Box::new(LocalParticles::new(coded, set, context)),
    }
}

/// The backend of this process for particles.
struct LocalParticles<'a, C> {
    frame: ParticleFrame<'a, C>,
    rows: Vec<Arc<ParticleRows<C>>>,
    /// Evaluations that can run beside each other; the first one is always there.
    lanes: Vec<EvaluationLane<C>>,
    /// Columns as the rules see them; made when replacements are asked for.
    classed: Vec<ClassedGroup<C>>,
}

/// Memory of one evaluation, and what the last particle left there.
#[derive(Debug)]
struct EvaluationLane<C> {
    parts: Vec<ParticleShard<C>>,
    /// The last particle; empty before the first.
    last: Vec<u32>,
    /// Its leaves.
    leaves: ParticleLeaves,
    /// Its fitness.
    fitness: f64,
    /// The leaf numbers of how many rounds are still there.
    kept: usize,
}

impl<'a, C: Code> LocalParticles<'a, C> {
    /// Prepares the rows of a data set.
    fn new(coded: CodedData<'a, C>, set: ParticleSet<'a>, context: Context<'a>) -> Self {
        let frame = ParticleFrame::new(coded, set, context);
        let (data, objective) = (coded.data, set.objective);
        let (targets, weights) = frame.dealt(&data.target, &data.weight);
        let start = frame.starts();
        let rows = context.pool.map(data.plan.shards, |shard| {
            let (target, weight) = (targets[shard].clone(), weights[shard].clone());
            let binned = data.shards[shard].clone();
            Arc::new(ParticleRows::new(binned, target, weight, &start, objective))
        });
        let mut local = LocalParticles { frame, rows, lanes: Vec::new(), classed: Vec::new() };
        local.open_lane();
        local
    }

    fn open_lane(&mut self) {
        let config = &self.frame.config;
        let outputs = self.frame.outputs();
        let each = self.frame.plan.rows.max(1) * outputs * self.frame.context.pool.threads();
        let layers = (config.memory / each).clamp(1, config.trees);
        let part = |rows: &Arc<ParticleRows<C>>| ParticleShard::new(rows.clone(), outputs, layers);
        self.lanes.push(EvaluationLane {
            parts: self.rows.iter().map(part).collect(),
            last: Vec::new(),
            leaves: self.frame.no_leaves(),
            fitness: f64::NAN,
            kept: if layers < config.trees { layers - 1 } else { layers },
        });
    }

    /// Evaluates several particles, every thread working on particles of its own. Interrupted,
    /// every thread ends after the particle that it has; the first of each thread is always
    /// evaluated.
    fn evaluate_all(
        &mut self,
        sequences: &[Vec<u32>],
        with_leaves: bool,
    ) -> Vec<Option<ParticleFitness>> {
        let (pool, budget) = (self.frame.context.pool, self.frame.context.budget);
        let lanes = pool.threads().min(sequences.len());
        while self.lanes.len() < lanes {
            self.open_lane();
        }
        let frame = &self.frame;
        let ranges = even_ranges(sequences.len(), lanes.max(1));
        let mut work: Vec<LaneWork<'_, C>> = self
            .lanes
            .iter_mut()
            .zip(ranges)
            .map(|(lane, range)| (lane, &sequences[range], Vec::new()))
            .collect();
        pool.each(&mut work, |_, (lane, sequences, done)| {
            for sequence in *sequences {
                let wanted = done.is_empty() || !budget.is_interrupted();
                done.push(wanted.then(|| frame.evaluate(lane, sequence, with_leaves)));
            }
        });
        work.into_iter().flat_map(|(_, _, done)| done).collect()
    }

    /// Evaluates one particle, all threads working on its rows.
    fn evaluate(&mut self, sequence: &[u32], with_leaves: bool) -> ParticleFitness {
        self.frame.evaluate(&mut self.lanes[0], sequence, with_leaves)
    }

    /// Another fitness of a particle.
    fn measure(&mut self, sequence: &[u32], fitness: EvalMetric) -> f64 {
        self.evaluate(sequence, false);
        let (frame, lane) = (&self.frame, &self.lanes[0]);
        let measure = |at: usize| lane.parts[at].measure(fitness, frame.objective);
        let sum = frame.context.pool.map(lane.parts.len(), measure).into_iter().sum();
        let weight = self.rows.iter().map(|rows| rows.total).sum();
        fitness.finish(Partial { sum, weight })
    }

    /// Scores of a particle for the training rows, in row order, one vector per output.
    fn scores(&mut self, sequence: &[u32]) -> Vec<Vec<f32>> {
        self.evaluate(sequence, false);
        let (frame, lane) = (&self.frame, &self.lanes[0]);
        let of_output = |output: usize| {
            let shard = |part: usize| {
                let (scores, rows) = (lane.parts[part].scores(), self.rows[part].binned.rows);
                &scores[output * rows..(output + 1) * rows]
            };
            let parts: Vec<&[f32]> = (0..lane.parts.len()).map(shard).collect();
            frame.plan.gather(&parts)
        };
        (0..frame.outputs()).map(of_output).collect()
    }

    fn execute(&mut self, work: &Work) -> Result<Reply, BackendError> {
        match work {
            Work::Describe {} => Ok(Reply::Description { data: self.frame.description() }),
            Work::EvaluateParticles { sequences, with_leaves } => {
                sequences.iter().try_for_each(|sequence| self.frame.check(work, sequence))?;
                Ok(Reply::Particles { particles: self.evaluate_all(sequences, *with_leaves) })
            }
            Work::EvaluateParticle { sequence } => {
                self.frame.check(work, sequence)?;
                let particle = self.evaluate(sequence, true);
                Ok(Reply::Particle { particle, sums: self.lanes[0].leaves.sums.clone() })
            }
            Work::MeasureParticle { sequence, fitness } => {
                self.frame.check(work, sequence)?;
                Ok(Reply::Value { value: Some(self.measure(sequence, *fitness)) })
            }
            Work::ParticleScores { sequence } => {
                self.frame.check(work, sequence)?;
                Ok(Reply::Scores { scores: self.scores(sequence) })
            }
            Work::ParticleReplacements { sequence, tree } => {
                self.frame.check(work, sequence)?;
                self.frame.check_tree(work, *tree)?;
                Ok(Reply::Replacements { gains: self.replacements(sequence, *tree) })
            }
            _ => Err(BackendError::Unsupported { work: work.name() }),
        }
    }
}

/// A lane, the particles that it evaluates, and what was found.
type LaneWork<'l, C> = (&'l mut EvaluationLane<C>, &'l [Vec<u32>], Vec<Option<ParticleFitness>>);

impl<C: Code> Backend for LocalParticles<'_, C> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        work.iter().map(|work| self.execute(work)).collect()
    }
}

impl<C: Code> ParticleFrame<'_, C> {
    /// Evaluates a checked particle.
    fn evaluate(
        &self,
        lane: &mut EvaluationLane<C>,
        sequence: &[u32],
        with_leaves: bool,
    ) -> ParticleFitness {
        let ParticleConfig { trees: rounds, fitness, form, depth, .. } = self.config;
        let each = self.each_round();
        let reused = lane.shared_rounds(sequence, each);
        if reused < rounds {
            for round in reused..rounds {
                // The scores are those of the last particle's end: what is shared with it is added
                // up from the start.
                let missing = if round == reused { 0..round } else { round - 1..round };
                let pending: Vec<(usize, RoundValues)> =
                    missing.map(|round| (round, self.values(&lane.leaves, round))).collect();
                let question = |&index: &u32| &self.questions[index as usize];
                let trees =
                    sequence[round * each..(round + 1) * each].chunks_exact(self.each_tree());
                let questions: Vec<Vec<&RuleTest<C>>> =
                    trees.map(|tree| tree.iter().map(question).collect()).collect();
                let leaves = 1 << depth;
                let step =
                    RoundPass { round, form, leaves, questions: &questions, pending: &pending };
                self.context.pool.each(&mut lane.parts, |_, part| part.pass(&step, self.objective));
                self.settle_lane(lane, round);
            }
            let values = self.values(&lane.leaves, rounds - 1);
            self.context.pool.each(&mut lane.parts, |_, part| {
                part.finish(rounds - 1, &values, fitness, self.objective)
            });
            let sum = lane.parts.iter().map(|part| part.measured).sum();
            let weight = lane.parts.iter().map(ParticleShard::total).sum();
            lane.fitness = fitness.finish(Partial { sum, weight });
            lane.last.clear();
            lane.last.extend_from_slice(sequence);
        }
        let leaves = if with_leaves { lane.leaves.leaves.clone() } else { Vec::new() };
        ParticleFitness { fitness: lane.fitness, leaves, reused }
    }

    /// Merges the sums of a round in shard order and sets its leaves.
    fn settle_lane(&self, lane: &mut EvaluationLane<C>, round: usize) {
        let EvaluationLane { parts, leaves, .. } = lane;
        self.settle(leaves, round, parts.iter().map(|part| &part.sums[..]), || {
            let mut residuals = self.no_residuals(round);
            parts.iter().for_each(|part| part.residuals(round, self.start(0), &mut residuals));
            residuals
        });
    }
}

impl<C> EvaluationLane<C> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::BinnedShard;
    use crate::objective::Squared;

    #[test]
    fn the_first_residuals_are_those_of_the_papers_table() {
        let target = [15.0, 90.0, 110.0, 180.0, 580.0, 780.0].map(|y: f32| y - 292.5);
        let binned = Arc::new(BinnedShard::<u8> { rows: 6, ..BinnedShard::default() });
        let rows = ParticleRows::new(binned, target.to_vec(), Vec::new(), &[0.0], &Squared);
        let residuals: Vec<f32> = rows.first.iter().map(|pair| -pair[0]).collect();
        assert_eq!(residuals, [-277.5, -202.5, -182.5, -112.5, 287.5, 487.5], "table 2");
    }
}
