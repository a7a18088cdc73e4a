//! The discrete particle swarm: positions are sequences of symbols, and particles copy symbols from
//! better ones.
//!
//! Every particle remembers its own best position, and all know the global best. In each generation
//! every particle takes each differing value of its own best with probability α, then each value of
//! the global best that its starting position lacks with probability β ([`velocity`]). All
//! particles are evaluated before any moves again. Rao, "Gradient boosting decision tree training
//! with swarm intelligence", 2022, sections 5.3 and 5.4, algorithms 2 to 4, equation 24.
//!
//! Deviations, all where the paper is silent. A position must be better, not as good, to become a
//! best. A particle whose trials all failed follows the global best alone; while there is no global
//! best, positions are drawn anew. The paper's limitation 2, early convergence, can be met with
//! options that are off by default: mutation, adaptive weights ([`Settings::adaptive`]) and given
//! starting positions. Spaces that the paper does not know: real parameters are cut into 64 steps,
//! and parameters whose condition does not hold are moved along unseen (`indices`).
//!
//! A converged swarm asks for the same positions again and again. [`PsoDiscrete::repeats`] counts
//! them, and with [`Settings::memo`] they are not asked but take the value that is known. A failure
//! is not remembered, since a lost trial counts as one. With the memo the search ends when no
//! particle can move any more, or when a thousand generations in a row brought nothing new; up to
//! there every step is the one it would make without.
//!
//! Random numbers come from the stream `(seed, generation, particle)`, those of adaptive weights
//! from the one after the last possible particle.

mod adapt;
mod groups;
mod indices;
mod settings;
pub mod size;
mod spread;
mod state;
#[cfg(test)]
mod tests;
pub mod velocity;

use std::collections::{BTreeMap, BTreeSet};

pub use groups::Groups;
pub use indices::{point_of, sequence, sequence_space};
pub use settings::Settings;

use crate::engine::{Best, Capabilities, Engine};
use crate::error::Error;
use crate::evolution::Control;
use crate::ledger::Ledger;
use crate::point::Value;
use crate::rng::Stream;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::trial::{Adopted, Outcome, Trial};
use indices::{decode, encode, index};
use spread::Spread;
use velocity::Operator;

/// With the memo, so many generations in a row without a single new position count as the end.
const PATIENCE: usize = 1000;

/// What happened in a generation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// The generation; the initial swarm is number 0.
    pub generation: u64,
    /// The smallest loss so far; `None` while all trials failed.
    pub best: Option<f64>,
    /// The mean loss of this generation's particles that have one.
    pub mean: Option<f64>,
    /// The mean Hamming distance between two particles: in how many dimensions they differ.
    pub diversity: f64,
    /// The evolutionary factor: 0 where the global best stands amid the swarm, 1 where it stands
    /// apart.
    pub factor: Option<f64>,
    /// The α of the move that led here.
    pub alpha: f64,
    /// The β of the move that led here.
    pub beta: f64,
    /// How many trials were asked so far.
    pub evaluations: u64,
    /// How many positions so far had been held before, in an earlier generation or by another
    /// particle of the same.
    pub repeats: u64,
    /// How many particles of this generation have no loss, because their trials failed.
    pub failures: u64,
}

/// The discrete particle swarm.
///
/// ```
/// use swarmwood_search::pso_discrete::{PsoDiscrete, Settings, sequence, sequence_space};
/// use swarmwood_search::{Engine, Outcome};
/// let space = sequence_space(8, 20)?; // eight indices into a table of twenty entries
/// let wanted = [3, 1, 4, 1, 5, 9, 2, 6];
/// let settings = Settings { generations: Some(60), mutation: 0.02, memo: true, ..Settings::default() };
/// let mut swarm = PsoDiscrete::new(&space, settings, 7)?;
/// loop {
///     let trials = swarm.ask(50);
///     if trials.is_empty() {
///         break; // every answer was told, so the search is over
///     }
///     for trial in trials {
///         let indices = sequence(&trial.point).unwrap_or_default();
///         let wrong = indices.iter().zip(&wanted).filter(|(a, b)| a != b).count();
///         swarm.tell(&[Outcome::Value { id: trial.id, loss: wrong as f64 }]);
///     }
/// }
/// assert_eq!(sequence(swarm.best().unwrap().point), Some(wanted.to_vec()));
/// let history = swarm.take_statistics();
/// assert!(history[0].diversity > history.last().unwrap().diversity);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PsoDiscrete {
    space: Space,
    /// Without the given positions, which were used up at the start.
    settings: Settings,
    seed: u64,
    ledger: Ledger,
    generation: u64,
    /// The positions of this generation, as indices of values.
    positions: Vec<Vec<u64>>,
    /// What came of them: nothing yet, a failure, or a loss.
    answers: Vec<Option<Option<f64>>>,
    /// The best position of each particle, of the generations before this one.
    own: Vec<Option<(f64, Vec<u64>)>>,
    /// The first trial of this generation; the others follow in the order of `queue`.
    first: u64,
    /// How many of `queue` were asked.
    asked: usize,
    /// Losses by fingerprint, of the generations before this one; empty without the memo.
    memo: BTreeMap<u128, f64>,
    control: Control,
    repeats: u64,
    statistics: Vec<Statistics>,
    over: bool,
    /// The fingerprints of the positions. They, `sources` and `queue` follow from the positions and
    /// the memo.
    prints: Vec<u128>,
    /// Where each particle's loss comes from.
    sources: Vec<Source>,
    /// The particles to ask.
    queue: Vec<usize>,
}

/// Where the loss of a position comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    /// A trial of its own.
    Trial,
    /// The trial of an earlier particle at the same position.
    Shared(usize),
    /// The memo.
    Known(f64),
}

impl PsoDiscrete {
    /// The name in registries and snapshots.
    pub const NAME: &str = "pso-discrete";

    /// A new swarm. Given positions are moved to the middle of their step where parameters are
    /// real.
    pub fn new(space: &Space, mut settings: Settings, seed: u64) -> Result<Self, Error> {
        abilities(&settings).check(Self::NAME, space)?;
        settings.check(Self::NAME, space)?;
        let given: Vec<Vec<u64>> =
            settings.given.drain(..).map(|point| encode(space, &point)).collect();
        let population = settings.population;
        let mut swarm = PsoDiscrete {
            space: space.clone(),
            settings,
            seed,
            ledger: Ledger::new(),
            generation: 0,
            positions: given,
            answers: Vec::new(),
            own: vec![None; population],
            first: 0,
            asked: 0,
            memo: BTreeMap::new(),
            control: Control::default(),
            repeats: 0,
            statistics: Vec::new(),
            over: false,
            prints: Vec::new(),
            sources: Vec::new(),
            queue: Vec::new(),
        };
        for particle in swarm.positions.len()..population {
            let position = swarm.draw(&mut swarm.stream(particle));
            swarm.positions.push(position);
        }
        swarm.prints = swarm.positions.iter().map(|position| swarm.fingerprint(position)).collect();
        swarm.begin();
        Ok(swarm)
    }

    /// The swarm that wrote the snapshot.
    pub fn resume(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        state::load(space, snapshot)
    }

    /// How many generations are complete.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// How many positions had been held before, in an earlier generation or by another particle of
    /// the same. Without the memo all of them are evaluated again, as published.
    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// The statistics of generations completed since the last call. A generation is completed by
    /// the first ask after its last answer.
    pub fn take_statistics(&mut self) -> Vec<Statistics> {
        std::mem::take(&mut self.statistics)
    }

    /// The random numbers of a particle in this generation.
    fn stream(&self, particle: usize) -> Stream {
        Stream::new(self.seed, self.generation, particle as u64)
    }

    /// A random position: algorithm 4 with groups, uniform without.
    fn draw(&self, stream: &mut Stream) -> Vec<u64> {
        match &self.settings.groups {
            Some(groups) => (0..self.space.len()).map(|_| groups.draw(stream)).collect(),
            None => {
                let point = self.space.draw(stream);
                let mut indices = encode(&self.space, &point);
                for j in (0..indices.len()).filter(|&j| point[j] == Value::Absent) {
                    indices[j] = index(&self.space, j, self.space.draw_value(j, stream));
                }
                indices
            }
        }
    }

    /// The global best. Indices of its inactive parameters are those of the particle that found it.
    fn global(&self) -> Option<Vec<u64>> {
        let best = self.ledger.best()?;
        let found = |own: &&(f64, Vec<u64>)| {
            own.0 == best.loss && decode(&self.space, &own.1) == *best.point
        };
        let own = self.own.iter().flatten().find(found).map(|(_, own)| own.clone());
        Some(own.unwrap_or_else(|| encode(&self.space, best.point)))
    }

    /// The α and β in force.
    fn weights(&self) -> (f64, f64) {
        adapt::weights(&self.control, self.settings.alpha, self.settings.beta)
    }

    /// Starts a generation at the present positions.
    fn begin(&mut self) {
        self.answers = vec![None; self.positions.len()];
        self.arrange();
        let mut held = BTreeSet::new();
        for &print in &self.prints {
            let repeat = !held.insert(print) || self.ledger.has_seen_print(print);
            self.repeats = self.repeats.saturating_add(u64::from(repeat));
        }
    }

    /// Finds out which particles need a trial; none after the end.
    fn arrange(&mut self) {
        self.first = self.ledger.next_id();
        self.asked = 0;
        let mut leaders = BTreeMap::new();
        let source = |(i, print): (usize, &u128)| {
            if !self.settings.memo {
                return Source::Trial;
            }
            match (self.memo.get(print), *leaders.entry(*print).or_insert(i)) {
                (Some(loss), _) => Source::Known(*loss),
                (None, leader) if leader != i => Source::Shared(leader),
                _ => Source::Trial,
            }
        };
        let sources: Vec<Source> = self.prints.iter().enumerate().map(source).collect();
        self.queue =
            (0..sources.len()).filter(|&i| !self.over && sources[i] == Source::Trial).collect();
        self.sources = sources;
    }

    /// Takes what was told, and goes on to the next generation once all of this one is known.
    fn learn(&mut self) {
        for settled in self.ledger.settle() {
            let turn =
                settled.id.checked_sub(self.first).and_then(|turn| usize::try_from(turn).ok());
            if let Some(&particle) = turn.and_then(|turn| self.queue.get(turn)) {
                self.answers[particle] = Some(settled.loss);
            }
        }
        // With the memo there are generations without a trial, so one ask may pass through several.
        let mut silent = 0;
        while !self.over && self.asked == self.queue.len() && self.ledger.open() == 0 {
            self.complete();
            silent += 1;
            self.over |= silent > PATIENCE;
        }
    }

    /// Learns from a generation whose losses are all known, and moves.
    fn complete(&mut self) {
        self.take_losses();
        let global = self.global();
        let spread = self.spread(global.as_deref());
        self.record(&spread);
        if let Some(factor) = spread.factor.filter(|_| self.settings.adaptive) {
            self.control.step(factor, &mut Stream::new(self.seed, self.generation, u64::MAX));
        }
        self.generation = self.generation.saturating_add(1);
        let enough = self.settings.generations.is_some_and(|limit| self.generation >= limit);
        self.over = enough || (self.settings.memo && self.is_frozen(global.as_deref()));
        if self.over {
            self.arrange();
        } else {
            self.fly(global.as_deref());
            self.begin();
        }
    }

    /// Gives every particle its loss, and keeps what is best of each and what is new.
    fn take_losses(&mut self) {
        let answered = |i: usize| self.answers[i].flatten();
        let losses: Vec<Option<f64>> = (0..self.positions.len())
            .map(|i| match self.sources[i] {
                Source::Trial => answered(i),
                Source::Shared(leader) => answered(leader),
                Source::Known(loss) => Some(loss),
            })
            .collect();
        for (i, loss) in losses.iter().enumerate() {
            let Some(loss) = *loss else { continue };
            if self.own[i].as_ref().is_none_or(|(least, _)| loss < *least) {
                self.own[i] = Some((loss, self.positions[i].clone()));
            }
            if self.settings.memo && self.sources[i] == Source::Trial {
                self.memo.insert(self.prints[i], loss);
            }
        }
        self.answers = losses.into_iter().map(Some).collect();
    }

    fn spread(&self, global: Option<&[u64]>) -> Spread {
        let finder = |best: &[u64]| {
            self.own.iter().position(|own| own.as_ref().is_some_and(|(_, own)| own == best))
        };
        Spread::of(&self.positions, global.map(|best| (best, finder(best))))
    }

    fn record(&mut self, spread: &Spread) {
        let losses: Vec<f64> = self.answers.iter().filter_map(|answer| answer.flatten()).collect();
        let (alpha, beta) = self.weights();
        self.statistics.push(Statistics {
            generation: self.generation,
            best: self.ledger.best().map(|best| best.loss),
            mean: (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64),
            diversity: spread.mean,
            factor: spread.factor,
            alpha,
            beta,
            evaluations: self.ledger.next_id(),
            repeats: self.repeats,
            failures: (self.positions.len() - losses.len()) as u64,
        });
    }

    /// Equation 24; a particle that never had a loss has nothing of its own to go to.
    fn velocity(&self, particle: usize, global: &[u64]) -> Vec<Operator<u64>> {
        let position = &self.positions[particle];
        let own = self.own[particle].as_ref().map_or(position, |(_, own)| own);
        let (alpha, beta) = self.weights();
        velocity::velocity(position, own, global, alpha, beta)
    }

    /// Moves every particle. Those that stay, in the end nearly all, keep their fingerprints.
    fn fly(&mut self, global: Option<&[u64]>) {
        for i in 0..self.positions.len() {
            let position = self.moved(i, global);
            if position != self.positions[i] {
                self.prints[i] = self.fingerprint(&position);
                self.positions[i] = position;
            }
        }
    }

    fn fingerprint(&self, position: &[u64]) -> u128 {
        decode(&self.space, position).fingerprint()
    }

    /// Where a particle goes.
    fn moved(&self, particle: usize, global: Option<&[u64]>) -> Vec<u64> {
        let mut stream = self.stream(particle);
        let Some(global) = global else { return self.draw(&mut stream) };
        let mut position = self.positions[particle].clone();
        velocity::apply(&mut position, &self.velocity(particle, global), || stream.unit());
        if self.settings.mutation > 0.0 {
            let fresh = self.draw(&mut stream);
            for (value, new) in position.iter_mut().zip(fresh) {
                if stream.unit() < self.settings.mutation {
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
        self.settings.mutation <= 0.0 && global.is_some_and(all)
    }
}

fn abilities(settings: &Settings) -> Capabilities {
    Capabilities {
        batch: false,
        distinct: false,
        ends: settings.memo || settings.generations.is_some(),
        ..Capabilities::ALL
    }
}

impl Engine for PsoDiscrete {
    fn capabilities(&self) -> Capabilities {
        abilities(&self.settings)
    }

    fn ask(&mut self, at_most: usize) -> Vec<Trial> {
        if at_most == 0 {
            return Vec::new();
        }
        self.learn();
        let from = self.asked;
        self.asked = from.saturating_add(at_most).min(self.queue.len());
        let (queue, ledger) = (&self.queue[from..self.asked], &mut self.ledger);
        let issue = |&i: &usize| {
            ledger.issue_print(decode(&self.space, &self.positions[i]), self.prints[i])
        };
        queue.iter().map(issue).collect()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.ledger.tell(outcomes);
    }

    fn adopt(&mut self, trial: Adopted) {
        self.ledger.adopt(&self.space, trial);
    }

    fn best(&self) -> Option<Best<'_>> {
        self.ledger.best()
    }

    fn snapshot(&self) -> Snapshot {
        state::save(self)
    }
}
