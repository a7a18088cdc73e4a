//! Swarm boosting as published: SGBDT, SGBDT-bins and PSGBDT (Rao 2022, sections 5 and 6).
//!
//! The three differ in their table of rules alone ([`RuleTable`]). A particle is a sequence of rule
//! numbers, decoded and measured by [`Evaluator`]; the discrete swarm of
//! [`swarmwood_search::discrete_pso`] moves it. This module lets the two work together, one
//! iteration at a time, so that whoever runs it can tell, stop and store between iterations. Other
//! engines over sequences ([`crate::policy_gradient`]) are run in the same way.
//!
//! All particles of an iteration are evaluated before the bests are updated (synchronous bests).
//! Algorithm 2 of the paper updates them while it walks through the particles, so that a particle
//! may follow a best of its own iteration; results would then depend on the order of evaluation,
//! and particles could not be evaluated in parallel.
//!
//! Where this differs from the paper: a position that was evaluated before is not evaluated again,
//! which changes no step of the swarm, and the search ends before its last iteration once no
//! particle can move any more. Options that the paper does not have (adaptive weights, mutation,
//! [`seeds`], local search by [`SwarmRun::descend`]) are off unless asked for.

mod descent;
pub mod seeds;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use swarmwood_learn::ensemble_fit::EnsembleFit;
use swarmwood_learn::event::SearchStatus;
use swarmwood_learn::rule::Code;
use swarmwood_search::discrete_pso::{
    self, DiscretePso, TableGroups, point_of, sequence, sequence_space,
};
use swarmwood_search::{Snapshot, Space, Trial, TrialResult};

use crate::engine_loop::IterationStats;
pub use crate::engine_loop::IterativeEngine;
use crate::particle::{Evaluation, Evaluator, ParticleError};
use crate::rule_table::RuleTable;
use descent::LocalSearch;

/// How the swarm is made. The default is what the paper tells of SGBDT for classes, and a hundred
/// iterations.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmConfig {
    /// Particles.
    pub population: usize,
    /// Iterations, the initial swarm being the first.
    pub iterations: usize,
    /// The chance that a dimension takes the value of the particle's own best.
    pub alpha: f64,
    /// The chance that a dimension takes the value of the global best.
    pub beta: f64,
    /// Whether α and β follow the state of the swarm.
    pub adaptive: bool,
    /// The chance that a dimension is drawn anew after a move.
    pub mutation: f64,
    /// Whether particles start with a feature drawn first and one of its rules then (algorithm 4,
    /// SGBDT), or with rules drawn from the whole table (PSGBDT).
    pub by_feature: bool,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for SwarmConfig {
    fn default() -> Self {
        SwarmConfig {
            population: 50,
            iterations: 100,
            alpha: 0.45,
            beta: 0.45,
            adaptive: false,
            mutation: 0.0,
            by_feature: true,
            seed: 0,
        }
    }
}

/// Why a swarm cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SwarmError {
    /// No rule to choose.
    #[error(
        "there is no rule to choose from: every feature has one value, or the model to take rules from has no split"
    )]
    NoRules,
    /// The swarm itself.
    #[error("{0}")]
    Engine(#[from] swarmwood_search::Error),
    /// A particle.
    #[error("{0}")]
    Particle(#[from] ParticleError),
    /// Nothing was found.
    #[error("no particle has a fitness that is a number; are targets or weights too large?")]
    NoBest,
}

/// A swarm at work.
///
/// ```
/// use swarmwood_learn::bins::Layout;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::metric::EvalMetric;
/// use swarmwood_papers::particle::{Evaluator, TreeForm, ParticleConfig};
/// use swarmwood_papers::swarm_boosting::{SwarmConfig, SwarmRun};
/// use swarmwood_learn::{budget::Budget, context::Context, dataset::Dataset};
/// use swarmwood_learn::{objective::Squared, pool::Pool};
/// use swarmwood_papers::rule_table::RuleTable;
/// use swarmwood_model::{Feature, Kind};
///
/// let columns = vec![Column::Number((0..40).map(f64::from).collect())];
/// let target = (0..40).map(|row| f64::from(u8::from(row > 12)) + f64::from(u8::from(row > 30))).collect();
/// let chunk = Chunk { columns, target, weight: Vec::new(), rows: 40 };
/// let features = [Feature { name: "x".into(), kind: Kind::Number }];
/// let pool = Pool::new(1)?;
/// let data = Dataset::from_chunk(&chunk, Layout::fit(|at| chunk.columns[at].clone(), &features, 255, &pool), &pool);
/// let table = RuleTable::distinct(&data);
/// let trees = ParticleConfig {
///     trees: 1,
///     form: TreeForm::Oblivious,
///     depth: 2,
///     learning_rate: 1.0,
///     lambda: 0.0,
///     fitness: EvalMetric::Rmse,
///     memory: 0,
/// };
/// let context = Context { pool: &pool, budget: &Budget::unlimited() };
/// let evaluator = Evaluator::new(&data, &table, &Squared, trees, context).map_err(|e| e.to_string())?;
/// let swarm = SwarmConfig { population: 40, mutation: 0.1, ..SwarmConfig::default() };
/// let mut run = SwarmRun::new(evaluator, &table, &swarm, &[]).map_err(|e| e.to_string())?;
/// while run.step(false).map_err(|e| e.to_string())?.is_some() {}
/// assert!(run.finish().map_err(|e| e.to_string())?.fitness < 1e-6);
/// # Ok::<(), String>(())
/// ```
pub struct SwarmRun<'a, E = DiscretePso> {
    evaluator: Evaluator<'a>,
    engine: E,
    /// Trials that the engine proposed and that are not evaluated yet.
    open: Vec<Trial>,
    /// Finished iterations that were not reported yet.
    done: VecDeque<IterationStats>,
    /// The last iteration that the engine completed.
    iteration: usize,
    over: bool,
    /// Whether the run was interrupted.
    interrupted: bool,
    /// The engine after the results of an iteration and before the next proposals: the state to
    /// resume from.
    settled: Option<E>,
    /// The status that was reported last.
    last_status: Option<SearchStatus>,
    /// Particles evaluated so far, those of earlier parts of a resumed run included.
    evaluations: u64,
    /// The local search after the swarm, if it was asked for.
    descent: Option<LocalSearch>,
}

/// The result of a run.
#[derive(Debug)]
pub struct SwarmFit {
    /// The best particle.
    pub sequence: Vec<u32>,
    /// Its fitness, in the units of the metric.
    pub fitness: f64,
    /// Its trees, and the scores of the training rows.
    pub ensemble: EnsembleFit,
    /// Particles evaluated, those of the local search not counted.
    pub evaluations: u64,
    /// Statistics of the local search, if there was one.
    pub local_search: Option<LocalSearchStats>,
}

/// Statistics of a local search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalSearchStats {
    /// Rules that it replaced.
    pub replaced: usize,
    /// Particles that it evaluated.
    pub evaluations: u64,
    /// The fitness that it began with, in the units of the metric.
    pub before: f64,
}

impl<'a> SwarmRun<'a> {
    /// A new swarm. `given` are positions that the first particles start at.
    pub fn new<C: Code>(
        evaluator: Evaluator<'a>,
        table: &RuleTable<C>,
        settings: &SwarmConfig,
        given: &[Vec<u32>],
    ) -> Result<Self, SwarmError> {
        let sizes: Vec<usize> = table.groups().iter().map(|group| group.rules.len()).collect();
        let swarm = discrete_pso::DiscretePsoConfig {
            population: settings.population,
            alpha: settings.alpha,
            beta: settings.beta,
            generations: Some(settings.iterations as u64),
            groups: settings.by_feature.then(|| TableGroups::of_sizes(&sizes)),
            initial_points: given
                .iter()
                .take(settings.population)
                .map(|sequence| point_of(sequence))
                .collect(),
            mutation: settings.mutation,
            adaptive: settings.adaptive,
            memo: true,
        };
        let seed = settings.seed;
        SwarmRun::start(evaluator, |space| DiscretePso::new(space, swarm, seed))
    }
}

impl<'a, E: IterativeEngine> SwarmRun<'a, E> {
    /// A new run of an engine over the sequences of the evaluator's rules.
    pub fn start(
        evaluator: Evaluator<'a>,
        engine: impl FnOnce(&Space) -> Result<E, swarmwood_search::Error>,
    ) -> Result<Self, SwarmError> {
        if evaluator.rules() == 0 {
            return Err(SwarmError::NoRules);
        }
        let space = sequence_space(evaluator.length(), evaluator.rules() as u32)?;
        Ok(SwarmRun::of(evaluator, engine(&space)?))
    }

    /// The run whose [`SwarmRun::snapshot`] this is, with the number of particles that it had
    /// evaluated. The evaluator must be the one it had.
    pub fn resume(
        evaluator: Evaluator<'a>,
        snapshot: &Snapshot,
        evaluations: u64,
    ) -> Result<Self, SwarmError> {
        evaluator.spend(evaluations);
        let run = SwarmRun::start(evaluator, |space| E::restore(space, snapshot))?;
        Ok(SwarmRun { evaluations, ..run })
    }

    fn of(evaluator: Evaluator<'a>, engine: E) -> Self {
        SwarmRun {
            evaluator,
            engine,
            open: Vec::new(),
            done: VecDeque::new(),
            iteration: 0,
            over: false,
            interrupted: false,
            settled: None,
            last_status: None,
            evaluations: 0,
            descent: None,
        }
    }

    /// One iteration: its number, counted from one, and how the search stands after it; `None`
    /// after the last one. With `keep`, [`SwarmRun::snapshot`] has a state to tell afterwards, which
    /// costs a copy of the swarm.
    pub fn step(&mut self, keep: bool) -> Result<Option<(usize, SearchStatus)>, SwarmError> {
        loop {
            if let Some(done) = self.done.pop_front() {
                let search = self.search(&done);
                self.last_status = Some(search);
                return Ok(Some((done.iteration, search)));
            }
            // The first iteration is begun even in an interrupted run, so that there is a best.
            if self.last_status.is_some() && self.evaluator.is_interrupted() {
                (self.interrupted, self.over) = (true, true);
            }
            if self.over {
                return Ok(None);
            }
            if !self.open.is_empty() {
                self.evaluate()?;
                if self.interrupted {
                    // The state that was kept is that of the iteration before, from which a run can
                    // go on.
                    self.over = true;
                    return Ok(None);
                }
                self.settled = keep.then(|| self.engine.clone());
            }
            // The question completes the iteration before it, and others after that whose positions
            // are all known.
            self.open = self.engine.ask(usize::MAX);
            self.over = self.open.is_empty();
            self.done.extend(self.engine.completed(self.iteration));
            self.iteration = self.done.back().map_or(self.iteration, |stats| stats.iteration);
        }
    }

    /// Evaluates all open trials; those that there is no time for are told as failed, and the run
    /// is over.
    fn evaluate(&mut self) -> Result<(), SwarmError> {
        let mut trials: Vec<(Vec<u32>, u64)> = std::mem::take(&mut self.open)
            .into_iter()
            .map(|trial| (sequence(&trial.point).unwrap_or_default(), trial.id))
            .collect();
        // Particles that begin alike share work where they stand beside each other; results are the
        // same in any order.
        trials.sort();
        let (sequences, ids): (Vec<Vec<u32>>, Vec<u64>) = trials.into_iter().unzip();
        let found = self.evaluator.fitness_of_all(&sequences)?;
        self.interrupted = found.iter().any(Option::is_none);
        self.evaluations += found.iter().flatten().count() as u64;
        let outcome = |(&id, found): (&u64, Option<Evaluation>)| match found {
            Some(found) => TrialResult::Complete { id, loss: found.cost },
            None => TrialResult::Failed { id },
        };
        let outcomes: Vec<TrialResult> = ids.iter().zip(found).map(outcome).collect();
        self.engine.tell(&outcomes);
        Ok(())
    }

    fn search(&self, done: &IterationStats) -> SearchStatus {
        let fitness = self.evaluator.fitness();
        // The cost is its own inverse: a share of wrong rows, or the value itself.
        let said = |cost: Option<f64>| cost.map(|cost| fitness.cost(cost));
        SearchStatus {
            measure: fitness.name(),
            best: said(done.best),
            gain: None,
            mean: said(done.mean),
            diversity: done.diversity,
            factor: done.factor,
            alpha: done.pulls.map(|pulls| pulls[0]),
            beta: done.pulls.map(|pulls| pulls[1]),
            evaluations: done.evaluations,
            repeats: done.repeats,
        }
    }

    /// One visit of the local search that starts at the best particle of the swarm: its number,
    /// counted from one, and how the search stands after it; `None` after the last one. Trees must
    /// be oblivious.
    pub fn descend(&mut self) -> Result<Option<(usize, SearchStatus)>, SwarmError> {
        let mut descent = match self.descent.take() {
            Some(descent) => descent,
            None => {
                let best =
                    self.engine.best().and_then(|best| Some((sequence(best.point)?, best.loss)));
                let (best, cost) = best.ok_or(SwarmError::NoBest)?;
                LocalSearch::from(best, cost)
            }
        };
        let visited = descent.visit(&mut self.evaluator);
        let fitness = self.evaluator.fitness();
        let status = self.last_status.unwrap_or_default();
        let search = SearchStatus {
            measure: fitness.name(),
            best: Some(fitness.cost(descent.cost)),
            evaluations: status.evaluations + descent.evaluations,
            repeats: status.repeats,
            ..SearchStatus::default()
        };
        let step = descent.visits;
        self.descent = Some(descent);
        Ok(visited?.then_some((step, search)))
    }

    /// Everything that [`SwarmRun::resume`] needs to go on from the last iteration that was evaluated,
    /// if it was kept. A resumed run tells that iteration, and those completed with it, again.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.settled.as_ref().map(|engine| engine.snapshot())
    }

    /// Whether an interruption ended the run, perhaps amid an iteration: its best counts, but it is
    /// not reported.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The best particle as a model.
    pub fn finish(mut self) -> Result<SwarmFit, SwarmError> {
        let found = self.engine.best().and_then(|best| Some((sequence(best.point)?, best.loss)));
        let (mut best, cost) = found.ok_or(SwarmError::NoBest)?;
        let before = self.evaluator.fitness().cost(cost);
        let local_search = self.descent.map(|descent| {
            best = descent.sequence;
            LocalSearchStats {
                replaced: descent.replaced,
                evaluations: descent.evaluations,
                before,
            }
        });
        Ok(SwarmFit {
            local_search,
            evaluations: self.evaluations,
            fitness: self.evaluator.evaluate(&best)?.fitness,
            ensemble: EnsembleFit {
                base: self.evaluator.base().to_vec(),
                members: self.evaluator.to_members(&best)?,
                train_scores: self.evaluator.training_scores(&best)?,
                valid_scores: Vec::new(),
                shift: self.evaluator.shift(),
            },
            sequence: best,
        })
    }
}
