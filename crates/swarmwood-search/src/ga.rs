//! A genetic algorithm: children of two good configurations, each value from one of the parents,
//! now and then changed.
//!
//! The population is the best configurations so far. Two parents win a tournament each; their child
//! takes every value from either with equal chance (uniform crossover: Syswerda, ICGA 1989), and
//! each value takes a random step with a small probability. The child joins the population if it is
//! better than the worst, which leaves (steady state: Whitley, "The GENITOR algorithm and selection
//! pressure", ICGA 1989).
//!
//! Deviations. No configuration is asked twice: a child that was asked is made again with more
//! mutation. A parameter that is active in the child but in neither parent is drawn. Failed trials
//! join nothing.

use crate::archive::Archive;
use crate::error::Error;
use crate::generational::{Faults, unsound};
use crate::ledger::Settled;
use crate::point::{Point, Value};
use crate::rng::Stream;
use crate::snapshot::Datum;
use crate::space::Space;
use crate::steady::{Method, Place, Steady};
use crate::steps::{WIDTH, vary};

/// A child that was asked before is made again so often before a random configuration takes its
/// place.
const TRIES: usize = 60;
/// By how much each such time raises the mutation rate.
const MORE: f64 = 0.05;
const MOST: usize = 10_000;

/// The settings of the genetic algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many configurations may be parents, and how many are spread over the space at first; 20.
    pub population: usize,
    /// How many of them meet in a tournament; 2.
    pub tournament: usize,
    /// The probability that a child has two parents rather than one; 0.9.
    pub crossover: f64,
    /// The probability that a value takes a random step; one value a child on average if `None`.
    pub mutation: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { population: 20, tournament: 2, crossover: 0.9, mutation: None }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let mut faults = Faults::default();
        for (name, value) in [("population", self.population), ("tournament", self.tournament)] {
            if !(1..=MOST).contains(&value) {
                faults.add(name, format!("must lie within 1 and {MOST}, not {value}"));
            }
        }
        faults.check_within("crossover", self.crossover, 0.0, 1.0);
        faults.check_within("mutation", self.mutation.unwrap_or(0.0), 0.0, 1.0);
        faults.report(Genetic::NAME)
    }
}

/// The genetic algorithm.
///
/// ```
/// use swarmwood_search::ga::Settings;
/// use swarmwood_search::{Engine, Ga, Outcome, Param, Space};
/// let space = Space::new((0..5).map(|i| Param::integer(&format!("g{i}"), 0, 9)).collect())?;
/// let mut engine = Ga::new(&space, Settings::default(), 7)?;
/// for _ in 0..300 {
///     for trial in engine.ask(1) {
///         let far = (0..5).map(|i| (space.number(i, trial.point[i]).unwrap() - 3.0).abs()).sum();
///         engine.tell(&[Outcome::Value { id: trial.id, loss: far }]);
///     }
/// }
/// assert!(engine.best().unwrap().loss <= 2.0);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Ga = Steady<Genetic>;

/// The method of [`Ga`].
#[derive(Debug, Clone, PartialEq)]
pub struct Genetic {
    settings: Settings,
    archive: Archive,
}

impl Genetic {
    /// The winner of a tournament: the best of a few of the population, drawn with replacement.
    fn parent(&self, stream: &mut Stream) -> &Point {
        let ranked = self.archive.ranked();
        let population = ranked.len().min(self.settings.population) as u64;
        let rank =
            (0..self.settings.tournament).map(|_| stream.below(population)).min().unwrap_or(0);
        self.archive.point(ranked[rank as usize])
    }

    fn child(&self, space: &Space, more: f64, stream: &mut Stream) -> Point {
        let (mother, father) = (self.parent(stream), self.parent(stream));
        let child = if stream.unit() < self.settings.crossover {
            cross(mother, father, stream)
        } else {
            mother.clone()
        };
        let rate = self.settings.mutation.unwrap_or(1.0 / space.len().max(1) as f64);
        vary(space, &child, None, rate + more, WIDTH, stream)
    }
}

/// Every value from one of the parents; from the one that has it if only one does.
fn cross(mother: &Point, father: &Point, stream: &mut Stream) -> Point {
    let either = |(a, b): (&Value, &Value)| match (stream.unit() < 0.5, a, b) {
        (_, a, Value::Absent) => *a,
        (_, Value::Absent, b) => *b,
        (true, a, _) => *a,
        (false, _, b) => *b,
    };
    Point(mother.0.iter().zip(&father.0).map(either).collect())
}

impl Method for Genetic {
    const NAME: &'static str = "ga";
    type Settings = Settings;

    fn begin(space: &Space, settings: Settings, _seed: u64) -> Result<Self, Error> {
        settings.check()?;
        Ok(Genetic { settings, archive: Archive::new(space) })
    }

    fn learn(&mut self, space: &Space, _seed: u64, settled: Settled) {
        self.archive.push(space, settled);
    }

    fn propose(&mut self, place: Place<'_>) -> Option<Point> {
        let mut stream = place.stream();
        if let Some(point) = place.opening(self.settings.population, &mut stream) {
            return Some(point);
        }
        if self.archive.ranked().is_empty() || place.is_used_up() {
            return place.fresh(&mut stream);
        }
        place.first_new(TRIES, &mut stream, |before, stream| {
            self.child(place.space, MORE * before as f64, stream)
        })
    }

    fn save(&self) -> Datum {
        Datum::record([
            ("population", Datum::Natural(self.settings.population as u64)),
            ("tournament", Datum::Natural(self.settings.tournament as u64)),
            ("crossover", Datum::Real(self.settings.crossover)),
            ("mutation", Datum::optional(self.settings.mutation)),
            ("archive", self.archive.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let settings = Settings {
            population: data.field("population")?.count()?,
            tournament: data.field("tournament")?.count()?,
            crossover: data.field("crossover")?.real()?,
            mutation: data.field("mutation")?.to_optional()?,
        };
        settings.check().map_err(unsound)?;
        Ok(Genetic { settings, archive: Archive::load(space, data.field("archive")?)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;
    use crate::steady::tests::{abides, harness};

    #[test]
    fn every_rule_is_kept() {
        abides::<Genetic>(&Settings::default);
        let small =
            || Settings { population: 4, tournament: 3, crossover: 0.5, mutation: Some(0.3) };
        abides::<Genetic>(&small);
        harness::<Genetic>(&small);
    }

    #[test]
    fn faults_are_reported_together() {
        let settings =
            Settings { population: 0, tournament: 0, crossover: 2.0, mutation: Some(-1.0) };
        assert_eq!(settings.check().unwrap_err().to_string().lines().count(), 4);
    }

    #[test]
    fn children_have_the_values_of_their_parents() {
        let point = |values: [i64; 3]| Point(values.map(Value::Integer).to_vec());
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..100 {
            let child = cross(&point([1, 2, 3]), &point([1, 7, 8]), &mut Stream::new(1, i, 0));
            assert!(
                child[0] == Value::Integer(1) && [2, 7].map(Value::Integer).contains(&child[1])
            );
            seen.insert(format!("{child:?}"));
        }
        assert_eq!(seen.len(), 4, "every mixture comes");
        let (some, none) = (Point(vec![Value::Integer(4)]), Point(vec![Value::Absent]));
        assert_eq!(
            (
                cross(&some, &none, &mut Stream::new(1, 0, 0)),
                cross(&none, &some, &mut Stream::new(1, 0, 0))
            ),
            (some.clone(), some)
        );
    }

    /// Parents are of the population, and better ones more often.
    #[test]
    fn tournaments_favour_the_better() {
        let space = Space::new(vec![Param::integer("i", 0, 99)]).unwrap();
        let mut ga =
            Genetic::begin(&space, Settings { population: 4, ..Settings::default() }, 0).unwrap();
        for i in 0..10 {
            ga.learn(
                &space,
                0,
                Settled {
                    id: i,
                    point: Point(vec![Value::Integer(i as i64)]),
                    loss: Some(i as f64),
                },
            );
        }
        let mut counts = [0; 10];
        for i in 0..4000 {
            let Value::Integer(parent) = ga.parent(&mut Stream::new(1, i, 0))[0] else { panic!() };
            counts[parent as usize] += 1;
        }
        // Of two draws from four the best has rank 0 with chance 7/16, then 5/16, 3/16 and 1/16.
        let expected = [1750.0, 1250.0, 750.0, 250.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(
            counts
                .iter()
                .zip(expected)
                .all(|(count, share)| (f64::from(*count) - share).abs() < 120.0),
            "{counts:?}"
        );
    }
}
