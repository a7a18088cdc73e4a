//! Adaptive particle swarm optimisation: coefficients that follow the state of the swarm, and a
//! best that learns.
//!
//! After every generation the distances between the particles tell the evolutionary factor f and
//! the state of the swarm ([`evolution`](crate::evolution)). The inertia is a function of f, the
//! accelerations take a small step that the state decides, and in the convergence state the global
//! best tries a change of one dimension (`elite`). Zhan, Zhang, Li, Chung: "Adaptive particle swarm
//! optimization", IEEE Transactions on Systems, Man and Cybernetics B, 2009, as used by Jun, Cho,
//! Lee, "Improving tree-based classification rules using a particle swarm optimization", APMS 2012,
//! section 2, whose settings are the defaults: 100 particles, 500 generations, (w, c1, c2) starting
//! at (0.9, 2, 2).
//!
//! Deviations. Distances are measured in the unit cube and not in raw units, so that a parameter
//! with a large range does not outweigh the others. The change of the global best is evaluated in a
//! round of its own, between two generations, as in the paper: an ask then gives a single trial.
//! Without a limit of generations its width falls over 500 of them and stays at its least. Others
//! are in [`evolution`](crate::evolution) and `particles`.

mod elite;
mod spread;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::evolution::{Control, State, factor};
use crate::generational::{Faults, Generational, Method, Round, Told, unsound};
use crate::particles::{Flight, Particles};
use crate::point::Point;
use crate::rows::Rows;
use crate::snapshot::Datum;
use crate::space::Space;

/// The inertia before the first factor is known.
const FIRST_INERTIA: f64 = 0.9;
/// Over how many generations the width of elitist learning falls if the search has no limit.
const HORIZON: u64 = 500;

/// The settings of an adaptive swarm. The default is that of Jun, Cho, Lee 2012; Zhan et al. use 20
/// particles.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many particles there are; 100.
    pub population: usize,
    /// After how many generations the search ends, the initial swarm being the first; 500, endless
    /// if `None`.
    pub generations: Option<u64>,
    /// A position that is evaluated first and is the global best until a better one is found: the
    /// particles are random all the same.
    pub start: Option<Point>,
    /// The largest step of a dimension, as a share of its range; 0.2.
    pub velocity: f64,
    /// Whether the global best tries changes in the convergence state; yes.
    pub elitist: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            population: 100,
            generations: Some(500),
            start: None,
            velocity: 0.2,
            elitist: true,
        }
    }
}

impl Settings {
    fn check(&self, space: &Space) -> Result<(), Error> {
        let mut faults = Faults::default();
        let start = self.start.as_ref().map(|start| (start, space));
        faults.check_run(Some(self.population), 1, self.generations, start);
        faults.check_within("velocity", self.velocity, 1e-9, 1.0);
        faults.report(Adaptive::NAME)
    }
}

/// The adaptive particle swarm.
///
/// ```
/// use swarmwood_search::apso::Settings;
/// use swarmwood_search::{Apso, Engine, Outcome, Param, Point, Space, Value};
/// // Two thresholds, found from those of a greedy tree on.
/// let space = Space::new(vec![Param::real("age", 18.0, 90.0), Param::real("glucose", 50.0, 200.0)])?;
/// let start = Some(Point(vec![Value::Real(40.0), Value::Real(120.0)]));
/// let settings = Settings { population: 20, generations: Some(100), start, ..Settings::default() };
/// let mut swarm = Apso::new(&space, settings, 7)?;
/// loop {
///     let trials = swarm.ask(usize::MAX); // a whole generation
///     if trials.is_empty() {
///         break; // every answer was told, so the search is over
///     }
///     let loss = |point: &Point| {
///         let (age, glucose) = (space.number(0, point[0]).unwrap(), space.number(1, point[1]).unwrap());
///         (age - 33.0).abs() + (glucose - 141.0).abs()
///     };
///     let told: Vec<Outcome> =
///         trials.iter().map(|trial| Outcome::Value { id: trial.id, loss: loss(&trial.point) }).collect();
///     swarm.tell(&told);
/// }
/// assert!(swarm.best().unwrap().loss < 0.01);
/// assert_eq!(swarm.method().standing().generation, 100);
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub type Apso = Generational<Adaptive>;

/// How an adaptive swarm stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// How many generations were evaluated.
    pub generation: u64,
    /// The smallest loss so far.
    pub best: Option<f64>,
    /// The evolutionary factor of the last generation: 0 where the global best stands amid the
    /// swarm, 1 where apart.
    pub factor: Option<f64>,
    /// The state it speaks for.
    pub state: State,
    /// w, the inertia of the next move.
    pub inertia: f64,
    /// c1 of the next move, toward the own best.
    pub own: f64,
    /// c2 of the next move, toward the global best.
    pub global: f64,
}

/// The method of [`Apso`].
#[derive(Debug, Clone, PartialEq)]
pub struct Adaptive {
    /// Without the start, which was used up at the start.
    settings: Settings,
    particles: Particles,
    generation: u64,
    control: Control,
    factor: Option<f64>,
    /// The changed global best while it is evaluated: one row, or none.
    elite: Rows,
}

impl Adaptive {
    /// How the swarm stands.
    pub fn standing(&self) -> Standing {
        Standing {
            generation: self.generation,
            best: self.particles.global.as_ref().map(|global| global.loss),
            factor: self.factor,
            state: self.control.state,
            inertia: self.inertia(),
            own: self.control.own,
            global: self.control.global,
        }
    }

    /// `w = 1 / (1 + 1.5 exp(-2.6 f))`: from 0.4 amid the swarm to 0.9 apart (Zhan et al., section
    /// IV).
    fn inertia(&self) -> f64 {
        self.factor.map_or(FIRST_INERTIA, |f| 1.0 / (1.0 + 1.5 * (-2.6 * f).exp()))
    }

    /// Reads the state of the swarm and lets the coefficients follow.
    fn adapt(&mut self, next: Round) {
        let Some(global) = &self.particles.global else { return };
        let distances = spread::mean_distances(&self.particles.positions);
        let best = spread::distance_of(&global.position, global.finder, &self.particles.positions);
        let f = factor(&distances, best);
        self.factor = Some(f);
        self.control.step(f, &mut next.whole());
    }

    /// Ends a generation: the move to the next one, or `false` after the last.
    fn proceed(&mut self, next: Round) -> bool {
        if self.settings.generations.is_some_and(|limit| self.generation >= limit) {
            return false;
        }
        let Control { own, global, .. } = self.control;
        self.particles.fly(
            Flight { inertia: self.inertia(), own, global, limit: self.settings.velocity },
            next,
        );
        true
    }
}

impl Method for Adaptive {
    const NAME: &'static str = "apso";
    type Settings = Settings;

    fn given(settings: &Settings) -> Option<&Point> {
        settings.start.as_ref()
    }

    fn begin(space: &Space, mut settings: Settings, round: Round) -> Result<Self, Error> {
        settings.check(space)?;
        settings.start = None;
        let particles =
            Particles::scatter(settings.population, space.len(), settings.velocity, round);
        let elite = Rows::new(space.len());
        Ok(Adaptive {
            settings,
            particles,
            generation: 0,
            control: Control::default(),
            factor: None,
            elite,
        })
    }

    fn positions(&self) -> &Rows {
        if self.elite.is_empty() { &self.particles.positions } else { &self.elite }
    }

    fn advance(&mut self, told: Told<'_>, next: Round) -> bool {
        if !self.elite.is_empty() {
            elite::take(
                &mut self.particles,
                self.elite.row(0),
                told.losses.first().copied().flatten(),
            );
            self.elite.clear();
            return self.proceed(next);
        }
        self.particles.take(told);
        self.generation = self.generation.saturating_add(1);
        self.adapt(next);
        if let Some(global) = &self.particles.global
            && self.settings.elitist
            && self.control.state == State::Convergence
        {
            let horizon = self.settings.generations.unwrap_or(HORIZON);
            let width = elite::width(self.generation, horizon);
            self.elite.push(&elite::change(
                &global.position,
                width,
                &mut next.stream(self.particles.positions.len()),
            ));
            return true;
        }
        self.proceed(next)
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
            ("velocity", Datum::Real(settings.velocity)),
            ("elitist", Datum::flag(settings.elitist)),
            ("generation", Datum::Natural(self.generation)),
            ("control", self.control.save()),
            ("factor", Datum::optional(self.factor)),
            ("elite", self.elite.save()),
            ("particles", self.particles.save()),
        ])
    }

    fn load(space: &Space, data: &Datum) -> Result<Self, Error> {
        let settings = Settings {
            population: data.field("population")?.count()?,
            generations: data
                .field("generations")?
                .list()?
                .first()
                .map(Datum::natural)
                .transpose()?,
            start: None,
            velocity: data.field("velocity")?.real()?,
            elitist: data.field("elitist")?.to_flag()?,
        };
        settings.check(space).map_err(unsound)?;
        let particles =
            Particles::load(data.field("particles")?, settings.population, space.len())?;
        Ok(Adaptive {
            settings,
            particles,
            generation: data.field("generation")?.natural()?,
            control: Control::load(data.field("control")?)?,
            factor: data.field("factor")?.to_optional()?,
            elite: Rows::load(data.field("elite")?, space.len())?,
        })
    }
}
