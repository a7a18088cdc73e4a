//! Plain particle swarm optimisation.
//!
//! A swarm (`particles`) with fixed coefficients. The default inertia and acceleration are the
//! constriction of Clerc and Kennedy, "The particle swarm: explosion, stability and convergence in
//! a multidimensional complex space", 2002 (w = 0.7298, c1 = c2 = 1.49618). With a limit of
//! generations the inertia may fall linearly from one value to another, as in Shi and Eberhart, "A
//! modified particle swarm optimizer", 1998 (0.9 to 0.4 with c1 = c2 = 2): that is the global swarm
//! that Zhan et al. 2009 compare the adaptive one with ([`Settings::falling`]).

use crate::error::Error;
use crate::generational::{Faults, Generational, Method, Round, Told, unsound};
use crate::particles::{Flight, Particles};
use crate::point::Point;
use crate::rows::Rows;
use crate::snapshot::Datum;
use crate::space::Space;

/// The settings of a plain swarm.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many particles there are; 30.
    pub population: usize,
    /// After how many generations the search ends, the initial swarm being the first; endless if
    /// `None`.
    pub generations: Option<u64>,
    /// A position that is evaluated first and is the global best until a better one is found.
    pub start: Option<Point>,
    /// How much of its velocity a particle keeps at first, and at the end; 0.7298 both. Without a
    /// limit of generations the first one stays.
    pub inertia: (f64, f64),
    /// c1, the acceleration toward the own best; 1.49618.
    pub own: f64,
    /// c2, the acceleration toward the global best; 1.49618.
    pub global: f64,
    /// The largest step of a dimension, as a share of its range; 0.2.
    pub velocity: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            population: 30,
            generations: None,
            start: None,
            inertia: (0.7298, 0.7298),
            own: 1.49618,
            global: 1.49618,
            velocity: 0.2,
        }
    }
}

impl Settings {
    /// Inertia falling from 0.9 to 0.4, c1 = c2 = 2 (Shi and Eberhart 1998).
    pub fn falling(population: usize, generations: u64) -> Self {
        let generations = Some(generations);
        Settings {
            population,
            generations,
            inertia: (0.9, 0.4),
            own: 2.0,
            global: 2.0,
            ..Settings::default()
        }
    }

    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut faults = Faults::default();
        let start = self.start.as_ref().map(|start| (start, space));
        faults.check_run(Some(self.population), 1, self.generations, start);
        for (name, value) in [("inertia", self.inertia.0), ("inertia", self.inertia.1)] {
            faults.check_within(name, value, 0.0, 1.0);
        }
        faults.check_within("own", self.own, 0.0, 4.0);
        faults.check_within("global", self.global, 0.0, 4.0);
        faults.check_within("velocity", self.velocity, 1e-9, 1.0);
        faults.report(Plain::NAME)
    }
}

/// The plain particle swarm.
///
/// ```
/// use swarmwood_search::pso::Settings;
/// use swarmwood_search::{Engine, Outcome, Param, Pso, Space};
/// let space = Space::new(vec![Param::real("x", -5.0, 5.0), Param::real("y", -5.0, 5.0)])?;
/// let mut swarm = Pso::new(&space, Settings { generations: Some(60), ..Settings::default() }, 7)?;
/// loop {
///     let trials = swarm.ask(8);
///     if trials.is_empty() {
///         break; // every answer was told, so the search is over
///     }
///     for trial in trials {
///         let x = space.number(0, trial.point[0]).unwrap();
///         let y = space.number(1, trial.point[1]).unwrap();
///         swarm.tell(&[Outcome::Value { id: trial.id, loss: (x - 1.0).powi(2) + (y + 2.0).powi(2) }]);
///     }
/// }
/// assert!(swarm.best().unwrap().loss < 1e-6);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Pso = Generational<Plain>;

/// The method of [`Pso`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plain {
    /// Without the start, which was used up at the start.
    settings: Settings,
    particles: Particles,
    generation: u64,
}

impl Plain {
    /// The inertia of this generation: linear from the first value to the last.
    fn inertia(&self) -> f64 {
        let (first, last) = self.settings.inertia;
        match self.settings.generations {
            Some(limit) => {
                first + (last - first) * (self.generation as f64 / limit as f64).min(1.0)
            }
            None => first,
        }
    }
}

impl Method for Plain {
    const NAME: &'static str = "pso";
    type Settings = Settings;

    fn given(settings: &Settings) -> Option<&Point> {
        settings.start.as_ref()
    }

    fn begin(space: &Space, mut settings: Settings, round: Round) -> Result<Self, Error> {
        settings.check(space)?;
        settings.start = None;
        let particles =
            Particles::scatter(settings.population, space.len(), settings.velocity, round);
        Ok(Plain { settings, particles, generation: 0 })
    }

    fn positions(&self) -> &Rows {
        &self.particles.positions
    }

    fn advance(&mut self, told: Told<'_>, next: Round) -> bool {
        self.particles.take(told);
        self.generation = self.generation.saturating_add(1);
        if self.settings.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        let Settings { own, global, velocity: limit, .. } = self.settings;
        self.particles.fly(Flight { inertia: self.inertia(), own, global, limit }, next);
        true
    }

    fn ends(&self) -> bool {
        self.settings.generations.is_some()
    }

    fn save(&self) -> Datum {
        let settings = &self.settings;
        let limit = settings.generations.map(Datum::Natural);
        Datum::record([
            ("population", Datum::Natural(settings.population as u64)),
            ("generations", Datum::List(limit.into_iter().collect())),
            (
                "coefficients",
                Datum::reals(&[
                    settings.inertia.0,
                    settings.inertia.1,
                    settings.own,
                    settings.global,
                ]),
            ),
            ("velocity", Datum::Real(settings.velocity)),
            ("generation", Datum::Natural(self.generation)),
            ("particles", self.particles.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let coefficients = data.field("coefficients")?.to_reals(4)?;
        let settings = Settings {
            population: data.field("population")?.count()?,
            generations: data
                .field("generations")?
                .list()?
                .first()
                .map(Datum::natural)
                .transpose()?,
            start: None,
            inertia: (coefficients[0], coefficients[1]),
            own: coefficients[2],
            global: coefficients[3],
            velocity: data.field("velocity")?.real()?,
        };
        settings.check(space).map_err(unsound)?;
        let particles =
            Particles::load(data.field("particles")?, settings.population, space.len())?;
        Ok(Plain { settings, particles, generation: data.field("generation")?.natural()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generational::tests::{abides, harness, plain_start};

    #[test]
    fn the_plain_swarm_keeps_every_rule() {
        for population in [1, 3, 5] {
            abides::<Plain>(&|_| Settings { population, ..Settings::default() });
        }
        abides::<Plain>(&|space| Settings { start: plain_start(space), ..Settings::falling(4, 6) });
    }

    #[test]
    fn snapshots_and_batches() {
        harness::<Plain>(&|space| Settings {
            population: 5,
            start: plain_start(space),
            ..Settings::default()
        });
    }

    #[test]
    fn all_faults_are_reported_at_once() {
        let space = Space::new(vec![crate::Param::real("x", 0.0, 1.0)]).unwrap();
        let settings = Settings {
            population: 0,
            generations: Some(0),
            start: Some(Point(Vec::new())),
            inertia: (f64::NAN, 2.0),
            own: -1.0,
            global: 5.0,
            velocity: 0.0,
        };
        let text = settings.check(&space).unwrap_err().to_string();
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(text.starts_with(
            "setting 'population' of engine 'pso': must lie within 1 and 1000000, not 0\n"
        ));
        assert!(text.contains("'start' of engine 'pso': lies outside the space"), "{text}");
    }

    #[test]
    fn inertia_falls_along_the_run() {
        let space = Space::new(vec![crate::Param::real("x", 0.0, 1.0)]).unwrap();
        let mut plain =
            Plain::begin(&space, Settings::falling(2, 10), Round { seed: 1, number: 0 }).unwrap();
        let at = |plain: &mut Plain, generation| {
            plain.generation = generation;
            plain.inertia()
        };
        assert_eq!(at(&mut plain, 0), 0.9);
        assert!(
            (at(&mut plain, 5) - 0.65).abs() < 1e-12 && (at(&mut plain, 10) - 0.4).abs() < 1e-12
        );
    }
}
