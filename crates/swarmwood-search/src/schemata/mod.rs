//! Schemata: the exploiter of common schemata made steady-state, and without repeats.
//!
//! All trials so far stand in one ranking. The M best subsets of its head take turns; a child
//! holds, gene by gene, one of the values that the members of the subset hold, and is mutated the
//! more the later the subset's turn. A child that was asked before is made again with more
//! mutation, which turns the child of {best} into a look around the best. There are no generations:
//! every answer counts from the next ask on, and nobody waits.
//!
//! The method is that of Makino and Kita 2024 ([`sse`](crate::sse)), changed where measurements on
//! surrogates of tuning tasks said so: repeats cost it the most, then starts that are few. Mended,
//! it drew level there with Optuna's TPE at a small part of the computation; on real fits the two
//! were hard to tell apart, and from random search too. Mutation is a Cauchy step along ordered
//! parameters and another label of choices.
//!
//! [`Settings::smoothing`] ranks the head by losses averaged over neighbours, in case losses are
//! noisy (`smooth`).

mod smooth;
#[cfg(test)]
mod tests;

use crate::archive::Archive;
use crate::error::Error;
use crate::generational::{Faults, unsound};
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::sse::{best_subsets, schema};
use crate::steady::{Method, Place, Steady};
use crate::steps::{WIDTH, step};
use smooth::Neighbours;

/// A child that was asked before is made again so often before a random configuration takes its
/// place.
const TRIES: usize = 60;
/// By how much each such time raises the mutation rate.
const MORE: f64 = 0.05;
const MOST: usize = 10_000;

/// The settings of schemata.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many configurations are spread over the space before anything is learned from; 20.
    pub start: usize,
    /// M, how many subsets take turns, and how many trials they are taken from; 10.
    pub subsets: usize,
    /// The mutation rate that the last subset nearly has, the first having none (eq. 28 of the
    /// paper); 0.2.
    pub mutation: f64,
    /// Whether trials are ranked by losses averaged over neighbours; yes.
    pub smoothing: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { start: 20, subsets: 10, mutation: 0.2, smoothing: true }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        for (name, value) in [("start", self.start), ("subsets", self.subsets)] {
            if !(1..=MOST).contains(&value) {
                faults.add(name, format!("must lie within 1 and {MOST}, not {value}"));
            }
        }
        faults.check_within("mutation", self.mutation, 0.0, 1.0);
        faults.report(Breeder::NAME)
    }
}

/// The steady-state exploiter of schemata.
///
/// ```
/// use swarmwood_search::schemata::Settings;
/// use swarmwood_search::{Engine, Outcome, Param, Schemata, Space};
/// let space = Space::new(vec![
///     Param::integer("depth", 1, 12),
///     Param::real("rate", 1e-3, 1.0).log(),
///     Param::choice("growth", &["depth", "leaf"]),
/// ])?;
/// let mut engine = Schemata::new(&space, Settings::default(), 7)?;
/// for _ in 0..100 {
///     for trial in engine.ask(1) {
///         let depth = space.number(0, trial.point[0]).unwrap();
///         let rate = space.number(1, trial.point[1]).unwrap();
///         let growth = space.label(2, trial.point[2]).unwrap();
///         let loss = (depth - 7.0).abs() / 11.0 + (rate / 0.05).ln().abs() / 7.0 + f64::from(growth == "depth");
///         engine.tell(&[Outcome::Value { id: trial.id, loss }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss < 0.1);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Schemata = Steady<Breeder>;

/// The method of [`Schemata`].
#[derive(Debug, Clone, PartialEq)]
pub struct Breeder {
    settings: Settings,
    archive: Archive,
    neighbours: Neighbours,
    /// How many children were made.
    turn: u64,
}

impl Breeder {
    /// The M best trials with the losses they are ranked by.
    fn head(&self) -> Vec<(f64, usize)> {
        let count = self.settings.subsets;
        let ranked = self.archive.ranked();
        let loss = |&trial: &usize| (self.archive.loss(trial).unwrap_or(f64::MAX), trial);
        if !self.settings.smoothing {
            return ranked.iter().take(count).map(loss).collect();
        }
        let smoothed = |(loss, trial): (f64, usize)| (self.neighbours.smoothed(trial, loss), trial);
        let mut head: Vec<(f64, usize)> =
            ranked.iter().take(2 * count).map(loss).map(smoothed).collect();
        head.sort_by(|a, b| a.0.total_cmp(&b.0));
        head.truncate(count);
        head
    }

    /// A child of the subset whose turn it is.
    fn breed(&mut self, place: Place<'_>, stream: &mut Stream) -> Option<Point> {
        let count = self.settings.subsets;
        let (losses, trials): (Vec<f64>, Vec<usize>) = self.head().into_iter().unzip();
        let rank = (self.turn % count as u64) as usize;
        self.turn = self.turn.saturating_add(1);
        let subsets = best_subsets(&losses, rank + 1);
        // A few trials have fewer subsets than take turns.
        let subset = subsets.get(rank % subsets.len().max(1))?;
        let members: Vec<usize> = subset.iter().map(|&member| trials[member]).collect();
        let genes: Vec<Vec<Value>> =
            (0..place.space.len()).map(|j| self.gene(place.space, &members, j)).collect();
        let least = rank as f64 / count as f64 * self.settings.mutation; // eq. 28
        let child = |before: usize, stream: &mut Stream| {
            make(place.space, &genes, least + MORE * before as f64, stream)
        };
        place.first_new(TRIES, stream, child)
    }

    /// The values that members hold.
    fn gene(&self, space: &Space, members: &[usize], parameter: usize) -> Vec<Value> {
        let holders = schema::gene(
            space,
            parameter,
            members.iter().map(|&trial| self.archive.row(trial)[parameter]),
        );
        holders.into_iter().map(|i| self.archive.point(members[i])[parameter]).collect()
    }
}

/// Makes a child. A parameter that is active in the child and in no member is drawn.
fn make(space: &Space, genes: &[Vec<Value>], rate: f64, stream: &mut Stream) -> Point {
    let mut values = Vec::with_capacity(genes.len());
    for (j, gene) in genes.iter().enumerate() {
        if !space.is_active(j, &values) {
            values.push(Value::Absent);
            continue;
        }
        let value = match gene.get(stream.below(gene.len() as u64) as usize) {
            Some(&value) if stream.unit() >= rate => value,
            Some(&value) => step(space, j, value, WIDTH, stream),
            None => space.draw_value(j, stream),
        };
        values.push(value);
    }
    Point(values)
}

impl Method for Breeder {
    const NAME: &'static str = "schemata";
    type Settings = Settings;

    fn begin(space: &Space, settings: Settings, _seed: u64) -> Result<Self, Error> {
        settings.check()?;
        Ok(Breeder {
            settings,
            archive: Archive::new(space),
            neighbours: Neighbours::new(space),
            turn: 0,
        })
    }

    fn learn(&mut self, space: &Space, _seed: u64, settled: Settled) {
        self.archive.push(space, settled);
        if self.settings.smoothing {
            self.neighbours.meet(&self.archive);
        }
    }

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = place.opening(self.settings.start, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || place.is_used_up() {
            return place.fresh(&mut stream);
        }
        self.breed(place, &mut stream)
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("start", Datum::Natural(self.settings.start as u64)),
            ("subsets", Datum::Natural(self.settings.subsets as u64)),
            ("mutation", Datum::Real(self.settings.mutation)),
            ("smoothing", Datum::flag(self.settings.smoothing)),
            ("archive", self.archive.save()),
            ("turn", Datum::Natural(self.turn)),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let settings = Settings {
            start: data.field("start")?.count()?,
            subsets: data.field("subsets")?.count()?,
            mutation: data.field("mutation")?.real()?,
            smoothing: data.field("smoothing")?.to_flag()?,
        };
        let mut breeder = Breeder::begin(space, settings, 0).map_err(unsound)?;
        // Learned again one by one, for sums of neighbours depend on the order.
        for settled in Archive::trials(space, data.field("archive")?)? {
            breeder.learn(space, 0, settled);
        }
        breeder.turn = data.field("turn")?.natural()?;
        Ok(breeder)
    }
}
