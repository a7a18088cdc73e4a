//! Evaluates particles: from a sequence of rule numbers to leaf values and a fitness.
//!
//! A particle's position is `trees × depth` numbers of rules in a [`RuleTable`], tree after tree
//! and level after level. Trees whose nodes have rules of their own ([`TreeForm::Free`], the paper's
//! future work) take `2^depth - 1` numbers each, in heap order: breadth first, as the tree of
//! section 5.1. Decoding it is boosting with the structure given (Rao 2022, section 5.4): each
//! tree's leaf values are Newton steps on what the trees before it left, `-G / (H + λ)` (eq. 9 for
//! the squared loss), the sum of all trees is the score (eq. 6), and the fitness is taken on the
//! training rows.
//!
//! Where this differs from the paper: with three or more classes a round is one tree per class, one
//! after the other in the position, all fitted to the derivatives before the round; the learning
//! rate (one there) and λ (zero there) can be chosen; losses without a useful second derivative get
//! quantiles as leaf values; and what the last particle shares with the next, its first trees, is
//! not computed again, which changes no bit of a result. The paper names the cost of computing
//! gradients for every particle as its limit; this is one way round it.
//!
//! All sums are taken in the order of the shards, so a result does not depend on the number of
//! threads either.

mod members;
mod replace;
#[cfg(test)]
mod tests;

use swarmwood_learn::budget::Budget;
use swarmwood_learn::context::Context;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::metric::EvalMetric;
use swarmwood_learn::objective::Objective;
use swarmwood_learn::stats::{
    Backend, BackendError, BackendFactory, DataDescription, LEVELS, LocalBackends, ParticleCode,
    ParticleData, ParticleFitness, ParticleSet, Reply, Work,
};
pub use swarmwood_learn::stats::{ParticleConfig, TreeForm};
use swarmwood_model::{Leaf, Member};

use crate::rule_table::RuleTable;
pub use replace::{Replacement, Replacements};

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
    /// The rows could not be worked on.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// What a particle is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The fitness in the units of its metric: mean loss, accuracy, or RMSE. NaN if no row has weight.
    pub fitness: f64,
    /// The value that is minimised: the misclassification rate where the fitness is the accuracy, the
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
/// use swarmwood_learn::metric::EvalMetric;
/// use swarmwood_papers::particle::{Evaluator, TreeForm, ParticleConfig};
/// use swarmwood_learn::{budget::Budget, context::Context, dataset::Dataset};
/// use swarmwood_learn::{objective::Squared, pool::Pool};
/// use swarmwood_papers::rule_table::RuleTable;
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
/// let config = ParticleConfig {
///     trees: 1,
///     form: TreeForm::Oblivious,
///     depth: 1,
///     learning_rate: 1.0,
///     lambda: 0.0,
///     fitness: EvalMetric::Rmse,
///     memory: 1 << 20,
/// };
/// let context = Context { pool: &pool, budget: &Budget::unlimited() };
/// let mut evaluator = Evaluator::new(&data, &table, &Squared, config, context).map_err(|e| e.to_string())?;
/// assert_eq!(evaluator.base(), [292.5]);
/// // Rule 1 is "Ind above 150", midway between 100 and 200.
/// let leaves = evaluator.evaluate(&[1]).map_err(|e| e.to_string())?.leaves;
/// assert_eq!([leaves[0].value, leaves[1].value], [-195.0, 97.5]);
/// # Ok::<(), String>(())
/// ```
pub struct Evaluator<'a> {
    backend: Box<dyn Backend + 'a>,
    objective: &'a dyn Objective,
    rows: ParticleData<'a>,
    config: ParticleConfig,
    data: DataDescription,
    budget: &'a Budget,
}

/// What was found of each particle; nothing where there was no time.
pub type Evaluations = Vec<Option<Evaluation>>;

impl<'a> Evaluator<'a> {
    /// Prepares the rows of a data set. The targets must be in the objective's domain, and the
    /// table be made from this data set or one with the same layout.
    pub fn new<C: ParticleCode>(
        data: &'a Dataset<C>,
        table: &'a RuleTable<C>,
        objective: &'a dyn Objective,
        config: ParticleConfig,
        context: Context<'a>,
    ) -> Result<Self, ParticleError> {
        let set = ParticleSet::new(data, table.rules(), objective, config);
        Evaluator::with_backends(set, context, &LocalBackends)
    }

    /// The same with rows wherever the backends have them.
    pub fn with_backends(
        set: ParticleSet<'a>,
        context: Context<'a>,
        backends: &'a dyn BackendFactory,
    ) -> Result<Self, ParticleError> {
        check(set.objective, &set.config)?;
        let set = ParticleSet { backends, ..set };
        let mut backend = backends.open_particles(set, context)?;
        let data = match backend.run(&[Work::Describe {}])?.pop() {
            Some(Reply::Description { data }) => data,
            _ => return Err(BackendError::Reply { work: "Describe" }.into()),
        };
        let ParticleSet { data: rows, objective, config, .. } = set;
        Ok(Evaluator { backend, objective, rows, config, data, budget: context.budget })
    }

    /// Whether the run was cancelled, its deadline has passed, or no evaluation is left.
    pub fn is_interrupted(&self) -> bool {
        self.budget.is_exhausted()
    }

    /// Counts evaluations of an earlier part of the run.
    pub fn spend(&self, evaluations: u64) {
        self.budget.spend(evaluations);
    }

    /// The start value of each raw output.
    pub fn base(&self) -> &[f64] {
        &self.data.base
    }

    /// What is measured.
    pub fn fitness(&self) -> EvalMetric {
        self.config.fitness
    }

    /// How many trees a particle has, those of all outputs counted.
    pub fn trees(&self) -> usize {
        self.config.trees * self.outputs()
    }

    /// How many rules there are to choose from.
    pub fn rules(&self) -> usize {
        self.rows.rules()
    }

    /// How many numbers a particle has.
    pub fn length(&self) -> usize {
        self.trees() * self.each_tree()
    }

    /// What to add to a training score to get the raw score (see [`Objective::shift_invariant`]).
    pub fn shift(&self) -> f64 {
        self.data.shift
    }

    fn outputs(&self) -> usize {
        self.data.base.len()
    }

    /// Rules of a tree.
    fn each_tree(&self) -> usize {
        self.config.form.rules(self.config.depth)
    }

    /// Sends one request; its reply.
    fn ask(&mut self, work: Work) -> Result<Reply, BackendError> {
        let name = work.name();
        self.backend.run(&[work])?.pop().ok_or(BackendError::Reply { work: name })
    }

    /// Evaluates one particle, all threads working on its rows. The first trees that it shares with
    /// the particle before are not computed again.
    pub fn evaluate(&mut self, sequence: &[u32]) -> Result<Evaluation, ParticleError> {
        Ok(self.evaluate_with_sums(sequence)?.0)
    }

    /// The same with the sums of derivatives of every leaf.
    fn evaluate_with_sums(
        &mut self,
        sequence: &[u32],
    ) -> Result<(Evaluation, Vec<[f64; 2]>), ParticleError> {
        self.check_sequence(sequence)?;
        match self.ask(Work::EvaluateParticle { sequence: sequence.to_vec() })? {
            Reply::Particle { particle, sums } => Ok((self.evaluation(particle), sums)),
            _ => Err(BackendError::Reply { work: "EvaluateParticle" }.into()),
        }
    }

    fn evaluation(&self, particle: ParticleFitness) -> Evaluation {
        let ParticleFitness { fitness, leaves, reused } = particle;
        Evaluation { fitness, cost: self.config.fitness.cost(fitness), leaves, reused }
    }

    /// Evaluates several particles, every thread working on particles of its own: faster for small
    /// data sets, the same for all. Particles that begin alike should be neighbours. Interrupted,
    /// every thread ends after the particle that it has; the first of each is always evaluated.
    pub fn evaluate_all<S: AsRef<[u32]>>(
        &mut self,
        sequences: &[S],
    ) -> Result<Evaluations, ParticleError> {
        self.evaluate_batch(sequences, true)
    }

    /// The same without the leaves, which a search does not need.
    pub fn fitness_of_all<S: AsRef<[u32]>>(
        &mut self,
        sequences: &[S],
    ) -> Result<Evaluations, ParticleError> {
        self.evaluate_batch(sequences, false)
    }

    fn evaluate_batch<S: AsRef<[u32]>>(
        &mut self,
        sequences: &[S],
        with_leaves: bool,
    ) -> Result<Evaluations, ParticleError> {
        sequences.iter().try_for_each(|sequence| self.check_sequence(sequence.as_ref()))?;
        // A work limit is never exceeded: what is beyond it is not evaluated.
        let left = self.budget.remaining().map_or(usize::MAX, |left| left as usize);
        let affordable = &sequences[..sequences.len().min(left)];
        let work = affordable.iter().map(|sequence| sequence.as_ref().to_vec()).collect();
        match self.ask(Work::EvaluateParticles { sequences: work, with_leaves })? {
            Reply::Particles { particles } => {
                self.budget.spend(particles.iter().flatten().count() as u64);
                let evaluation = |particle: Option<ParticleFitness>| {
                    particle.map(|found| self.evaluation(found))
                };
                let mut found: Evaluations = particles.into_iter().map(evaluation).collect();
                found.resize(sequences.len(), None);
                Ok(found)
            }
            _ => Err(BackendError::Reply { work: "EvaluateParticles" }.into()),
        }
    }

    /// Another fitness of a particle.
    pub fn measure(&mut self, sequence: &[u32], fitness: EvalMetric) -> Result<f64, ParticleError> {
        suits(fitness, self.objective)?;
        self.check_sequence(sequence)?;
        match self.ask(Work::MeasureParticle { sequence: sequence.to_vec(), fitness })? {
            Reply::Value { value: Some(value) } => Ok(value),
            _ => Err(BackendError::Reply { work: "MeasureParticle" }.into()),
        }
    }

    /// Scores of a particle for the training rows, in row order, one vector per output;
    /// [`Evaluator::shift`] makes them raw scores.
    pub fn training_scores(&mut self, sequence: &[u32]) -> Result<Vec<Vec<f32>>, ParticleError> {
        self.check_sequence(sequence)?;
        match self.ask(Work::ParticleScores { sequence: sequence.to_vec() })? {
            Reply::Scores { scores } => Ok(scores),
            _ => Err(BackendError::Reply { work: "ParticleScores" }.into()),
        }
    }

    /// The trees of a particle as members of a model whose start values are [`Evaluator::base`].
    pub fn to_members(&mut self, sequence: &[u32]) -> Result<Vec<Member>, ParticleError> {
        let (evaluation, sums) = self.evaluate_with_sums(sequence)?;
        Ok(self.members(sequence, &evaluation.leaves, &sums))
    }

    fn check_sequence(&self, sequence: &[u32]) -> Result<(), ParticleError> {
        let (trees, each) = (self.trees(), self.each_tree());
        if sequence.len() != trees * each {
            return Err(ParticleError::Length { found: sequence.len(), trees, each });
        }
        let rules = self.rules();
        match sequence.iter().position(|&index| index as usize >= rules) {
            Some(position) => {
                Err(ParticleError::Rule { index: sequence[position], position, rules })
            }
            None => Ok(()),
        }
    }
}

fn check(objective: &dyn Objective, config: &ParticleConfig) -> Result<(), ParticleError> {
    let ParticleConfig { trees, depth, fitness, .. } = *config;
    if trees == 0 || !(1..=LEVELS).contains(&depth) {
        return Err(ParticleError::Shape { trees, depth });
    }
    suits(fitness, objective)
}

fn suits(fitness: EvalMetric, objective: &dyn Objective) -> Result<(), ParticleError> {
    let fault = |reason| ParticleError::Fitness { fitness: fitness.name(), reason };
    fitness.suits(objective).map_err(fault)
}
