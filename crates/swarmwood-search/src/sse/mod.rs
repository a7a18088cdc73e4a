//! The stochastic schemata exploiter as published: children are made of what good subsets have in
//! common.
//!
//! Every generation ranks its M individuals, takes the M subsets with the best mean fitness
//! ([`best_subsets`]), and makes one child of each: gene by gene it holds one of the values that
//! the subset's members hold (`schema`), and each gene is then replaced by any value with a small
//! probability, the mutation rate. The child of the best subset, {best}, is not mutated, so the
//! best individual stays. The children are the next generation. Makino and Kita, "Stochastic
//! schemata exploiter-based optimization of hyper-parameters for XGBoost", 2024, algorithm 1; after
//! Aizawa 1994. Equation numbers are theirs.
//!
//! As in the paper a configuration that comes up again is a trial again, the unmutated best of
//! every generation first of all: of 100 trials a good part are repeats.
//! [`schemata`](crate::schemata) is what became of the method without them.
//!
//! Deviations, all where the paper is silent. Fitness is the negated loss. An individual whose
//! trial failed is in no subset; if all failed the generation is drawn anew; if there are fewer
//! subsets than children they take turns. Values are drawn evenly over the scale of a parameter.
//! Real parameters are cut into 64 steps for the schema, while mutation draws from all of the
//! range. An individual has a gene for every parameter, and those whose condition does not hold are
//! handed on silently. A start position is one more individual of the first generation.

pub(crate) mod schema;
mod subsets;
#[cfg(test)]
mod tests;

pub use schema::STEPS;
pub use subsets::best_subsets;

use crate::error::Error;
use crate::generational::{Faults, Generational, Method, Round, Told, unsound};
use crate::point::Point;
use crate::rng::Stream;
use crate::rows::Rows;
use crate::snapshot::Datum;
use crate::space::Space;

/// How likely a gene is replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mutation {
    /// With the same probability in all children but that of the best subset.
    Normal(f64),
    /// With a probability that grows with the rank of the subset up to nearly this one (eq. 28).
    Ranked(f64),
}

impl Mutation {
    /// The mutation rate of the child of the subset with this rank, counted from 0, of `count`.
    fn rate(self, rank: usize, count: usize) -> f64 {
        match self {
            _ if rank == 0 => 0.0,
            Mutation::Normal(rate) => rate,
            Mutation::Ranked(most) => rank as f64 / count as f64 * most, // eq. 28
        }
    }

    fn most(self) -> f64 {
        match self {
            Mutation::Normal(rate) | Mutation::Ranked(rate) => rate,
        }
    }
}

/// The settings of the exploiter.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// M, how many individuals a generation has; 20. The paper does not say; among 8 to 32 this was
    /// best in our trials.
    pub population: usize,
    /// How likely a gene is replaced; normal with 0.15, the best of the paper's rates in our
    /// trials.
    pub mutation: Mutation,
    /// After how many generations the search ends, the initial population being the first; endless
    /// if `None`.
    pub generations: Option<u64>,
    /// A position that is evaluated first and joins the first generation.
    pub start: Option<Point>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            population: 20,
            mutation: Mutation::Normal(0.15),
            generations: None,
            start: None,
        }
    }
}

impl Settings {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut faults = Faults::default();
        let start = self.start.as_ref().map(|start| (start, space));
        faults.check_run(Some(self.population), 1, self.generations, start);
        faults.check_within("mutation", self.mutation.most(), 0.0, 1.0);
        faults.report(Exploiter::NAME)
    }
}

/// The stochastic schemata exploiter.
///
/// ```
/// use swarmwood_search::sse::{Mutation, Settings};
/// use swarmwood_search::{Engine, Outcome, Param, Space, Sse};
/// let space = Space::new((0..5).map(|i| Param::integer(&format!("g{i}"), 0, 9)).collect())?;
/// let settings = Settings { mutation: Mutation::Ranked(0.2), generations: Some(20), ..Settings::default() };
/// let mut engine = Sse::new(&space, settings, 7)?;
/// loop {
///     let trials = engine.ask(20);
///     if trials.is_empty() {
///         break; // every answer was told, so the search is over
///     }
///     for trial in trials {
///         let far = (0..5).map(|i| (space.number(i, trial.point[i]).unwrap() - 3.0).abs()).sum();
///         engine.tell(&[Outcome::Value { id: trial.id, loss: far }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 3.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Sse = Generational<Exploiter>;

/// The method of [`Sse`].
#[derive(Debug, Clone, PartialEq)]
pub struct Exploiter {
    space: Space,
    /// Without the start, which was used up at the start.
    settings: Settings,
    generation: u64,
    individuals: Rows,
}

impl Exploiter {
    /// Eq. 13.
    fn draw(&mut self, round: Round) {
        for i in 0..self.individuals.len() {
            let mut stream = round.stream(i);
            self.individuals.row_mut(i).fill_with(|| stream.unit());
        }
    }

    /// Makes a child of every good subset of the individuals that have a loss.
    fn breed(&mut self, told: Told<'_>, next: Round) {
        let known = self
            .individuals
            .iter()
            .zip(told.losses)
            .filter_map(|(row, loss)| Some((row, (*loss)?)));
        let mut ranked: Vec<(&[f64], f64)> = told.start.into_iter().chain(known).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (rows, losses): (Vec<&[f64]>, Vec<f64>) = ranked.into_iter().unzip();
        let subsets = best_subsets(&losses, self.settings.population);
        if subsets.is_empty() {
            return self.draw(next);
        }
        let mut children = Rows::new(self.space.len());
        let mut child = vec![0.5; self.space.len()];
        for i in 0..self.settings.population {
            let members: Vec<&[f64]> =
                subsets[i % subsets.len()].iter().map(|&rank| rows[rank]).collect();
            let rate = self.settings.mutation.rate(i, self.settings.population);
            exploit(&self.space, &members, rate, &mut next.stream(i), &mut child);
            children.push(&child);
        }
        self.individuals = children;
    }
}

/// Makes a child of what the members hold.
fn exploit(space: &Space, members: &[&[f64]], rate: f64, stream: &mut Stream, child: &mut [f64]) {
    for (j, u) in child.iter_mut().enumerate() {
        let holders = schema::gene(space, j, members.iter().map(|row| row[j]));
        let holder = holders.get(stream.below(holders.len() as u64) as usize).copied().unwrap_or(0); // eq. 12
        *u = members[holder][j];
        if rate > 0.0 && stream.unit() < rate {
            *u = stream.unit(); // eq. 27
        }
    }
}

impl Method for Exploiter {
    const NAME: &'static str = "sse";
    type Settings = Settings;

    fn given(settings: &Settings) -> Option<&Point> {
        settings.start.as_ref()
    }

    fn begin(space: &Space, mut settings: Settings, round: Round) -> Result<Self, Error> {
        settings.check(space)?;
        settings.start = None;
        let individuals = Rows::fill(settings.population, space.len(), |_, _| 0.5);
        let mut exploiter =
            Exploiter { space: space.clone(), settings, generation: 0, individuals };
        exploiter.draw(round);
        Ok(exploiter)
    }

    fn positions(&self) -> &Rows {
        &self.individuals
    }

    fn advance(&mut self, told: Told<'_>, next: Round) -> bool {
        self.generation = self.generation.saturating_add(1);
        if self.settings.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        self.breed(told, next);
        true
    }

    fn ends(&self) -> bool {
        self.settings.generations.is_some()
    }

    fn save(&self) -> Datum {
        let limit = self.settings.generations.map(Datum::Natural);
        Datum::record([
            ("population", Datum::Natural(self.settings.population as u64)),
            ("ranked", Datum::flag(matches!(self.settings.mutation, Mutation::Ranked(_)))),
            ("mutation", Datum::Real(self.settings.mutation.most())),
            ("generations", Datum::List(limit.into_iter().collect())),
            ("generation", Datum::Natural(self.generation)),
            ("individuals", self.individuals.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let rate = data.field("mutation")?.real()?;
        let ranked = data.field("ranked")?.to_flag()?;
        let settings = Settings {
            population: data.field("population")?.count()?,
            mutation: if ranked { Mutation::Ranked(rate) } else { Mutation::Normal(rate) },
            generations: data
                .field("generations")?
                .list()?
                .first()
                .map(Datum::natural)
                .transpose()?,
            start: None,
        };
        settings.check(space).map_err(unsound)?;
        let individuals =
            Rows::load_exactly(data.field("individuals")?, settings.population, space.len())?;
        let generation = data.field("generation")?.natural()?;
        Ok(Exploiter { space: space.clone(), settings, generation, individuals })
    }
}
