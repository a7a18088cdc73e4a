//! Discrete particle swarm optimisation: positions are sequences of symbols, and particles copy
//! symbols from better positions.
//!
//! In each generation every particle takes each differing value of its personal best with
//! probability α, then each value of the global best that differs from its starting position with
//! probability β (`velocity`). All particles are evaluated before any of them moves again. Rao,
//! "Gradient boosting decision tree training with swarm intelligence", 2022, sections 5.3 and 5.4,
//! algorithms 2 to 4, equation 24.
//!
//! Deviations, all where the paper is silent. A position must be strictly better to become a best.
//! A particle whose trials all failed follows the global best alone; while there is no global best,
//! positions are drawn at random. Options against the paper's limitation 2, premature convergence,
//! are off by default: mutation, adaptive weights ([`DiscretePsoConfig::adaptive`]) and initial
//! points. For spaces beyond the paper's, real parameters are discretised into 64 steps, and
//! inactive parameters move along invisibly (`indices`).
//!
//! A converged swarm asks for the same positions again and again. [`DiscretePso::repeats`] counts
//! them, and with [`DiscretePsoConfig::memo`] they are not evaluated again but take the known loss.
//! Failures are not memoised, because a lost trial is reported as failed. With the memo the search
//! ends when no particle can move any more, or when a thousand consecutive generations had no new
//! position; until then every move is the same as without the memo.
//!
//! Random numbers come from the stream `(seed, generation, particle)`, those of adaptive weights
//! from the stream after the last possible particle.

mod adaptive_weights;
mod config;
mod diversity;
mod groups;
mod indices;
pub mod size;
mod state;
#[cfg(test)]
mod tests;
mod velocity;

use std::collections::{BTreeMap, BTreeSet};

pub use config::DiscretePsoConfig;
pub use groups::TableGroups;
pub use indices::{point_of, sequence, sequence_space};

use crate::engine::{BestTrial, Capabilities, Engine, EngineSpec, boxed};
use crate::error::Error;
use crate::evolutionary_state::AdaptiveCoefficients;
use crate::point::PointValue;
use crate::rng::Stream;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::trial::{ExternalTrial, Trial, TrialResult};
use crate::trial_log::TrialLog;
use diversity::SwarmDiversity;
use indices::{decode, encode, index};
use velocity::SwapOperator;

/// With the memo the search ends after this many consecutive generations without a new position.
const MAX_IDLE_GENERATIONS: usize = 1000;

/// The registration of [`DiscretePso`].
pub(crate) const SPEC: EngineSpec = EngineSpec {
    name: DiscretePso::NAME,
    summary: "discrete particle swarm: particles copy values from better ones",
    options: config::OPTIONS,
    build: |space, seed, options| {
        boxed(DiscretePso::new(space, DiscretePsoConfig::of(options), seed))
    },
    resume: |space, snapshot| boxed(DiscretePso::resume(space, snapshot)),
};

/// Statistics of a generation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GenerationStats {
    /// The generation; the initial swarm is number 0.
    pub generation: u64,
    /// The smallest loss so far; `None` while all trials failed.
    pub best: Option<f64>,
    /// The mean loss of this generation, without failed trials.
    pub mean: Option<f64>,
    /// The mean Hamming distance between two particles.
    pub diversity: f64,
    /// The evolutionary factor: 0 if the global best lies inside the swarm, 1 if it lies apart.
    pub factor: Option<f64>,
    /// The α of the move that led here.
    pub alpha: f64,
    /// The β of the move that led here.
    pub beta: f64,
    /// Number of trials so far.
    pub evaluations: u64,
    /// Number of positions so far that had occurred before, in an earlier generation or at another
    /// particle of the same one.
    pub repeats: u64,
    /// Number of particles of this generation whose trials failed.
    pub failures: u64,
}

/// Discrete particle swarm optimisation.
///
/// ```
/// use swarmwood_search::discrete_pso::{DiscretePso, DiscretePsoConfig, sequence, sequence_space};
/// use swarmwood_search::{Engine, TrialResult};
/// let space = sequence_space(8, 20)?; // eight indices into a table of twenty entries
/// let wanted = [3, 1, 4, 1, 5, 9, 2, 6];
/// let config = DiscretePsoConfig {
///     generations: Some(60),
///     mutation: 0.02,
///     memo: true,
///     ..DiscretePsoConfig::default()
/// };
/// let mut swarm = DiscretePso::new(&space, config, 7)?;
/// loop {
///     let trials = swarm.ask(50);
///     if trials.is_empty() {
///         break; // all results are known, so the search has ended
///     }
///     for trial in trials {
///         let indices = sequence(&trial.point).unwrap_or_default();
///         let wrong = indices.iter().zip(&wanted).filter(|(a, b)| a != b).count();
///         swarm.tell(&[TrialResult::Complete { id: trial.id, loss: wrong as f64 }]);
///     }
/// }
/// assert_eq!(sequence(swarm.best().unwrap().point), Some(wanted.to_vec()));
/// let history = swarm.take_statistics();
/// assert!(history[0].diversity > history.last().unwrap().diversity);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscretePso {
    space: Space,
    /// Without the initial points.
    config: DiscretePsoConfig,
    seed: u64,
    trial_log: TrialLog,
    generation: u64,
    /// The positions of this generation, as indices of values.
    positions: Vec<Vec<u64>>,
    /// Their results: missing, failed, or a loss.
    losses: Vec<Option<Option<f64>>>,
    /// The best position of each particle, of the generations before this one.
    personal_bests: Vec<Option<(f64, Vec<u64>)>>,
    /// Id of the first trial of this generation; the others follow in the order of `queue`.
    first: u64,
    /// Number of trials of `queue` that were asked.
    asked: usize,
    /// Losses by fingerprint, of the generations before this one; empty without the memo.
    memo: BTreeMap<u128, f64>,
    coefficients: AdaptiveCoefficients,
    repeats: u64,
    statistics: Vec<GenerationStats>,
    finished: bool,
    /// The fingerprints of the positions. They, `sources` and `queue` follow from the positions and
    /// the memo.
    fingerprints: Vec<u128>,
    /// Where each particle's loss comes from.
    sources: Vec<LossSource>,
    /// The particles to ask.
    queue: Vec<usize>,
}

/// Where the loss of a position comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LossSource {
    /// A trial of its own.
    Trial,
    /// The trial of an earlier particle at the same position.
    Shared(usize),
    /// The memo.
    Known(f64),
}

impl DiscretePso {
    /// The name in the registry and in snapshots.
    pub const NAME: &str = "pso-discrete";

    /// A new swarm. Real parameters of initial points are rounded to the middle of their step.
    pub fn new(space: &Space, mut config: DiscretePsoConfig, seed: u64) -> Result<Self, Error> {
        capabilities_of(&config).check(Self::NAME, space)?;
        config.check(Self::NAME, space)?;
        let initial_points: Vec<Vec<u64>> =
            config.initial_points.drain(..).map(|point| encode(space, &point)).collect();
        let population = config.population;
        let mut swarm = DiscretePso {
            space: space.clone(),
            config,
            seed,
            trial_log: TrialLog::new(),
            generation: 0,
            positions: initial_points,
            losses: Vec::new(),
            personal_bests: vec![None; population],
            first: 0,
            asked: 0,
            memo: BTreeMap::new(),
            coefficients: AdaptiveCoefficients::default(),
            repeats: 0,
            statistics: Vec::new(),
            finished: false,
            fingerprints: Vec::new(),
            sources: Vec::new(),
            queue: Vec::new(),
        };
        for particle in swarm.positions.len()..population {
            let position = swarm.draw(&mut swarm.stream(particle));
            swarm.positions.push(position);
        }
        swarm.fingerprints =
            swarm.positions.iter().map(|position| swarm.fingerprint(position)).collect();
        swarm.start_generation();
        Ok(swarm)
    }

    /// Resumes the swarm that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        state::load(space, snapshot)
    }

    /// Number of completed generations.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of positions that had occurred before, in an earlier generation or at another
    /// particle of the same one. Without the memo all of them are evaluated again, as published.
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// The statistics of the generations completed since the last call. The first ask after the
    /// last result completes a generation.
    pub fn take_statistics(&mut self) -> Vec<GenerationStats> {
        std::mem::take(&mut self.statistics)
    }

    /// The random stream of a particle in this generation.
    fn stream(&self, particle: usize) -> Stream {
        Stream::new(self.seed, self.generation, particle as u64)
    }

    /// A random position: algorithm 4 with groups, uniform without.
    fn draw(&self, stream: &mut Stream) -> Vec<u64> {
        match &self.config.groups {
            Some(groups) => (0..self.space.len()).map(|_| groups.draw(stream)).collect(),
            None => {
                let point = self.space.draw(stream);
                let mut indices = encode(&self.space, &point);
                for j in (0..indices.len()).filter(|&j| point[j] == PointValue::Absent) {
                    indices[j] = index(&self.space, j, self.space.draw_value(j, stream));
                }
                indices
            }
        }
    }

    /// The global best. Indices of its inactive parameters are those of the particle that found it.
    fn global_best(&self) -> Option<Vec<u64>> {
        let best = self.trial_log.best()?;
        let is_best = |(loss, position): &&(f64, Vec<u64>)| {
            *loss == best.loss && decode(&self.space, position) == *best.point
        };
        let found = self.personal_bests.iter().flatten().find(is_best);
        let position = found.map(|(_, position)| position.clone());
        Some(position.unwrap_or_else(|| encode(&self.space, best.point)))
    }

    /// The current α and β.
    fn weights(&self) -> (f64, f64) {
        adaptive_weights::weights(&self.coefficients, self.config.alpha, self.config.beta)
    }

    /// Starts a generation at the current positions.
    fn start_generation(&mut self) {
        self.losses = vec![None; self.positions.len()];
        self.plan_trials();

        let mut seen = BTreeSet::new();
        for &fingerprint in &self.fingerprints {
            let repeat =
                !seen.insert(fingerprint) || self.trial_log.has_seen_fingerprint(fingerprint);
            self.repeats = self.repeats.saturating_add(u64::from(repeat));
        }
    }

    /// Determines which particles need a trial; none after the end.
    fn plan_trials(&mut self) {
        self.first = self.trial_log.next_id();
        self.asked = 0;

        let mut leaders = BTreeMap::new();
        let source = |(i, fingerprint): (usize, &u128)| {
            if !self.config.memo {
                return LossSource::Trial;
            }
            match (self.memo.get(fingerprint), *leaders.entry(*fingerprint).or_insert(i)) {
                (Some(loss), _) => LossSource::Known(*loss),
                (None, leader) if leader != i => LossSource::Shared(leader),
                _ => LossSource::Trial,
            }
        };
        let sources: Vec<LossSource> = self.fingerprints.iter().enumerate().map(source).collect();

        self.queue = (0..sources.len())
            .filter(|&i| !self.finished && sources[i] == LossSource::Trial)
            .collect();
        self.sources = sources;
    }

    /// Collects the results that arrived, and starts the next generation once this one is complete.
    fn collect_results(&mut self) {
        for finished in self.trial_log.take_finished() {
            let index =
                finished.id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
            if let Some(&particle) = index.and_then(|index| self.queue.get(index)) {
                self.losses[particle] = Some(finished.loss);
            }
        }

        // With the memo there are generations without a trial, so one ask may complete several.
        let mut idle = 0;
        while !self.finished && self.asked == self.queue.len() && self.trial_log.running() == 0 {
            self.finish_generation();
            idle += 1;
            self.finished |= idle > MAX_IDLE_GENERATIONS;
        }
    }

    /// Learns from a complete generation, and moves the particles.
    fn finish_generation(&mut self) {
        self.assign_losses();
        let global = self.global_best();
        let diversity = self.diversity(global.as_deref());
        self.record(&diversity);
        if let Some(factor) = diversity.factor.filter(|_| self.config.adaptive) {
            self.coefficients.adapt(factor, &mut Stream::new(self.seed, self.generation, u64::MAX));
        }

        self.generation = self.generation.saturating_add(1);
        let limit_reached = self.config.generations.is_some_and(|limit| self.generation >= limit);
        self.finished = limit_reached || (self.config.memo && self.is_frozen(global.as_deref()));
        if self.finished {
            self.plan_trials();
        } else {
            self.move_particles(global.as_deref());
            self.start_generation();
        }
    }

    /// Assigns the losses to the particles, and updates personal bests and the memo.
    fn assign_losses(&mut self) {
        let loss_of = |i: usize| self.losses[i].flatten();
        let losses: Vec<Option<f64>> = (0..self.positions.len())
            .map(|i| match self.sources[i] {
                LossSource::Trial => loss_of(i),
                LossSource::Shared(leader) => loss_of(leader),
                LossSource::Known(loss) => Some(loss),
            })
            .collect();

        for (i, loss) in losses.iter().enumerate() {
            let Some(loss) = *loss else { continue };
            if self.personal_bests[i].as_ref().is_none_or(|(least, _)| loss < *least) {
                self.personal_bests[i] = Some((loss, self.positions[i].clone()));
            }
            if self.config.memo && self.sources[i] == LossSource::Trial {
                self.memo.insert(self.fingerprints[i], loss);
            }
        }
        self.losses = losses.into_iter().map(Some).collect();
    }

    fn diversity(&self, global: Option<&[u64]>) -> SwarmDiversity {
        let finder = |best: &[u64]| {
            let is_best = |(_, position): &(f64, Vec<u64>)| position == best;
            self.personal_bests.iter().position(|best| best.as_ref().is_some_and(is_best))
        };
        SwarmDiversity::of(&self.positions, global.map(|best| (best, finder(best))))
    }

    fn record(&mut self, diversity: &SwarmDiversity) {
        let losses: Vec<f64> = self.losses.iter().filter_map(|loss| loss.flatten()).collect();
        let (alpha, beta) = self.weights();
        self.statistics.push(GenerationStats {
            generation: self.generation,
            best: self.trial_log.best().map(|best| best.loss),
            mean: (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64),
            diversity: diversity.mean,
            factor: diversity.factor,
            alpha,
            beta,
            evaluations: self.trial_log.next_id(),
            repeats: self.repeats,
            failures: (self.positions.len() - losses.len()) as u64,
        });
    }

    /// Equation 24; a particle without a personal best moves toward the global best only.
    fn velocity(&self, particle: usize, global: &[u64]) -> Vec<SwapOperator<u64>> {
        let position = &self.positions[particle];
        let personal_best = self.personal_bests[particle].as_ref();
        let personal_best = personal_best.map_or(position, |(_, position)| position);
        let (alpha, beta) = self.weights();
        velocity::velocity(position, personal_best, global, alpha, beta)
    }

    /// Moves all particles. Those that stay, toward the end nearly all, keep their fingerprints.
    fn move_particles(&mut self, global: Option<&[u64]>) {
        for i in 0..self.positions.len() {
            let position = self.next_position(i, global);
            if position != self.positions[i] {
                self.fingerprints[i] = self.fingerprint(&position);
                self.positions[i] = position;
            }
        }
    }

    fn fingerprint(&self, position: &[u64]) -> u128 {
        decode(&self.space, position).fingerprint()
    }

    /// The next position of a particle.
    fn next_position(&self, particle: usize, global: Option<&[u64]>) -> Vec<u64> {
        let mut stream = self.stream(particle);
        let Some(global) = global else { return self.draw(&mut stream) };
        let mut position = self.positions[particle].clone();
        velocity::apply(&mut position, &self.velocity(particle, global), || stream.unit());
        if self.config.mutation > 0.0 {
            let drawn = self.draw(&mut stream);
            for (value, new) in position.iter_mut().zip(drawn) {
                if stream.unit() < self.config.mutation {
                    *value = new;
                }
            }
        }
        position
    }

    /// Whether no particle can ever move again.
    fn is_frozen(&self, global: Option<&[u64]>) -> bool {
        let stuck = |i: usize, best: &[u64]| {
            self.velocity(i, best).iter().all(|operator| operator.weight <= 0.0)
        };
        let all = |best: &[u64]| (0..self.positions.len()).all(|i| stuck(i, best));
        self.config.mutation <= 0.0 && global.is_some_and(all)
    }
}

fn capabilities_of(config: &DiscretePsoConfig) -> Capabilities {
    Capabilities {
        batch: false,
        distinct: false,
        terminates: config.memo || config.generations.is_some(),
        ..Capabilities::ALL
    }
}

impl Engine for DiscretePso {
    fn capabilities(&self) -> Capabilities {
        capabilities_of(&self.config)
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.collect_results();

        let from = self.asked;
        self.asked = from.saturating_add(at_most).min(self.queue.len());
        let (queue, trial_log) = (&self.queue[from..self.asked], &mut self.trial_log);
        let create_trial = |&i: &usize| {
            trial_log
                .create_trial_with(decode(&self.space, &self.positions[i]), self.fingerprints[i])
        };
        queue.iter().map(create_trial).collect()
    }

    fn tell(&mut self, results: &[TrialResult]) {
        self.trial_log.tell(results);
    }

    fn add_trial(&mut self, trial: ExternalTrial) {
        self.trial_log.add_external(&self.space, trial);
    }

    fn best(&self) -> Option<BestTrial<'_>> {
        self.trial_log.best()
    }

    fn snapshot(&self) -> Snapshot {
        state::save(self)
    }
}
