//! Engines that model the losses seen so far with trees and ask where they expect to improve most.
//!
//! After ten points that are spread over the space, every ask fits a [`Regressor`] to all trials
//! told and takes, of a thousand random configurations, the one with the greatest expected
//! improvement (Jones, Schonlau and Welch 1998; Hutter, Hoos and Leyton-Brown 2011 for forests)
//! that was not asked yet. Losses become the normal scores of their ranks first: a few failures
//! that are a hundred times worse than the rest would otherwise be all that the trees see. Random
//! candidates were better than neighbours of good points, which chase noise.
//!
//! A trial that somebody is still working on counts as one of middling loss, so that trials asked
//! at the same time keep apart. Trials that failed are not asked again and not modelled.

pub mod forest;
pub mod gbrt;
mod improvement;
mod normal;
#[cfg(test)]
mod tests;

use swarmwood_search::ledger::Settled;
use swarmwood_search::rng::Stream;
use swarmwood_search::steady::{Method, Place, Steady};
use swarmwood_search::{Datum, Error, Point, Space};

use improvement::by_improvement;

/// Trials before the first model.
const OPENING: usize = 10;

/// Of more trials than this the latest are modelled: what is known about so many needs no older
/// ones.
const MODELLED: usize = 2000;

/// Configurations that a model chooses from, unless said otherwise.
const CANDIDATES: usize = 1000;

/// The forest as an engine.
pub type Forest = Steady<Surrogate<forest::RandomForest>>;

/// The booster as an engine.
pub type Gbrt = Steady<Surrogate<gbrt::Quantiles>>;

/// What the model learns in place of the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Targets {
    /// The normal score of its rank.
    #[default]
    Ranks,
    /// The loss itself.
    Losses,
}

/// What is expected of a configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// The middle.
    pub mean: f64,
    /// How far off it may be.
    pub deviation: f64,
}

/// Coordinates in the unit cube, parameter after parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Cube {
    /// One column a parameter.
    pub columns: Vec<Vec<f64>>,
    /// Length of each.
    pub rows: usize,
}

impl Cube {
    /// The coordinates of some points; a parameter that is not active stands in the middle.
    pub fn new<'a>(space: &Space, points: impl Iterator<Item = &'a Point>) -> Cube {
        let mut cube = Cube { columns: vec![Vec::new(); space.len()], rows: 0 };
        for point in points {
            cube.columns.iter_mut().zip(space.encode(point)).for_each(|(column, u)| column.push(u));
            cube.rows += 1;
        }
        cube
    }
}

/// A model of losses.
pub trait Regressor: Clone + Send + Default {
    /// The engine's name.
    const NAME: &'static str;
    /// A model of so many trees.
    fn of_trees(trees: usize) -> Self;
    /// How many trees it has.
    fn trees(&self) -> usize;
    /// Learns from known configurations and says what it expects of others. All randomness comes
    /// from the stream.
    fn believe(
        &self,
        known: &Cube,
        target: &[f64],
        asked: &Cube,
        stream: &mut Stream,
    ) -> Vec<Belief>;
}

/// The settings of a surrogate engine.
#[derive(Debug, Clone)]
pub struct Settings<R> {
    /// The model.
    pub regressor: R,
    /// What it learns.
    pub targets: Targets,
    /// Configurations that it chooses from.
    pub candidates: usize,
}

impl<R: Default> Default for Settings<R> {
    fn default() -> Self {
        Settings { regressor: R::default(), targets: Targets::default(), candidates: CANDIDATES }
    }
}

/// The trials told so far and the model that is fitted to them.
#[derive(Debug, Clone)]
pub struct Surrogate<R> {
    settings: Settings<R>,
    told: Vec<(Point, f64)>,
}

impl<R: Regressor> Surrogate<R> {
    /// The trials that are modelled.
    fn recent(&self) -> &[(Point, f64)] {
        &self.told[self.told.len().saturating_sub(MODELLED)..]
    }

    /// What the model learns: trials told, then one value for each trial under way.
    fn targets(&self, pending: usize) -> Vec<f64> {
        let losses: Vec<f64> = self.recent().iter().map(|&(_, loss)| loss).collect();
        let mut targets = match self.settings.targets {
            Targets::Ranks => normal::scores(&losses),
            Targets::Losses => losses,
        };
        let mut sorted = targets.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        targets.resize(targets.len() + pending, middle);
        targets
    }
}

impl<R: Regressor> Method for Surrogate<R> {
    const NAME: &'static str = R::NAME;
    type Settings = Settings<R>;

    fn begin(_: &Space, settings: Settings<R>, _: u64) -> Result<Self, Error> {
        Ok(Surrogate { settings, told: Vec::new() })
    }

    fn learn(&mut self, _: &Space, _: u64, settled: Settled) {
        if let Some(loss) = settled.loss {
            self.told.push((settled.point, loss));
        }
    }

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = place.opening(OPENING, &mut stream) {
            return Some(point);
        }
        if self.told.len() < 2 {
            return place.fresh(&mut stream);
        }
        let pending: Vec<&Point> = place.ledger.pending().collect();
        let target = self.targets(pending.len());
        let known =
            Cube::new(place.space, self.recent().iter().map(|(point, _)| point).chain(pending));
        let candidates: Vec<Point> =
            (0..self.settings.candidates).map(|_| place.space.draw(&mut stream)).collect();
        let asked = Cube::new(place.space, candidates.iter());
        let least = target[..self.recent().len()].iter().copied().fold(f64::INFINITY, f64::min);
        let beliefs = self.settings.regressor.believe(&known, &target, &asked, &mut stream);
        let new =
            by_improvement(&beliefs, least).find(|&at| !place.ledger.has_seen(&candidates[at]));
        new.map(|at| candidates[at].clone()).or_else(|| place.fresh(&mut stream))
    }

    fn save(&self) -> Datum {
        let told = self
            .told
            .iter()
            .map(|(point, loss)| Datum::List(vec![Datum::point(point), Datum::Real(*loss)]));
        Datum::record([
            ("losses", Datum::flag(self.settings.targets == Targets::Losses)),
            ("trees", Datum::Natural(self.settings.regressor.trees() as u64)),
            ("candidates", Datum::Natural(self.settings.candidates as u64)),
            ("told", Datum::List(told.collect())),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let targets =
            if data.field("losses")?.to_flag()? { Targets::Losses } else { Targets::Ranks };
        let regressor = R::of_trees(data.field("trees")?.count()?);
        let candidates = data.field("candidates")?.count()?;
        let told = data.field("told")?.list()?.iter().map(|datum| {
            let [point, loss] = datum.tuple()?;
            Ok((point.to_point(space)?, loss.real()?))
        });
        let told = told.collect::<Result<Vec<_>, Error>>()?;
        Ok(Surrogate { settings: Settings { regressor, targets, candidates }, told })
    }
}
