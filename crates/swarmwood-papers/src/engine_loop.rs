//! The loop between a swarm engine and the evaluation of its points.
//!
//! Methods that search for one tree with an engine differ in the engine and in what a point means;
//! asking, evaluating on all threads, telling and reporting are the same. An engine completes an
//! iteration when it is asked for the next.

use swarmwood_search::{
    Apso, Datum, DiscretePso, Engine, Error, Point, Pso, Snapshot, Space, Trial, TrialResult,
    registry,
};

use swarmwood_learn::context::Context;
use swarmwood_learn::event::{Event, SearchStatus, Stage};
use swarmwood_learn::plan::TaskLog;

/// The state of a swarm after an iteration. A loss is 1 minus the fitness.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IterationStats {
    /// Iterations done, the initial swarm being the first.
    pub iteration: usize,
    /// The least loss so far.
    pub best: Option<f64>,
    /// The mean loss of this iteration.
    pub mean: Option<f64>,
    /// The mean distance between particles, if the engine reports it.
    pub diversity: Option<f64>,
    /// The evolutionary factor, if the engine has one.
    pub factor: Option<f64>,
    /// The probabilities of moving to the personal and to the global best, if the engine has them.
    pub pulls: Option<[f64; 2]>,
    /// Points evaluated so far.
    pub evaluations: u64,
    /// Points that were evaluated before.
    pub repeats: u64,
}

impl IterationStats {
    /// The event for observers: losses as fitness, except the RMSE, which is itself what users
    /// know; the iterations as part of a longer run.
    pub fn event(&self, measure: &'static str, before: EarlierSwarms, steps: usize) -> Event {
        let is_error = measure == "rmse";
        let fitness = |loss: Option<f64>| loss.map(|loss| if is_error { loss } else { 1.0 - loss });
        let better = if is_error { f64::min } else { f64::max };
        let best = [fitness(self.best), before.best].into_iter().flatten().reduce(better);
        let search = SearchStatus {
            measure,
            best,
            gain: None,
            mean: fitness(self.mean),
            diversity: self.diversity,
            factor: self.factor,
            alpha: self.pulls.map(|pulls| pulls[0]),
            beta: self.pulls.map(|pulls| pulls[1]),
            evaluations: before.evaluations + self.evaluations,
            repeats: self.repeats,
        };
        Event {
            search: Some(search),
            ..Event::new(Stage::SWARM, before.iterations + self.iteration, steps)
        }
    }
}

/// Totals of the earlier swarms of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EarlierSwarms {
    /// Their iterations.
    pub iterations: usize,
    /// Their evaluations.
    pub evaluations: u64,
    /// Their best fitness.
    pub best: Option<f64>,
}

/// An engine that reports the iterations it has completed.
pub trait IterativeEngine: Engine + Clone {
    /// The iterations completed since there were `done` of them.
    fn completed(&mut self, done: usize) -> Vec<IterationStats>;

    /// The engine that wrote a snapshot.
    fn restore(space: &Space, snapshot: &Snapshot) -> Result<Self, Error>;
}

impl IterativeEngine for Apso {
    fn completed(&mut self, done: usize) -> Vec<IterationStats> {
        let status = self.method().status();
        // A trial of elitist learning is a round of its own, but no iteration.
        let step = IterationStats {
            iteration: status.generation as usize,
            factor: status.factor,
            ..IterationStats::default()
        };
        if step.iteration > done { vec![step] } else { Vec::new() }
    }

    fn restore(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        Apso::resume(space, snapshot)
    }
}

impl IterativeEngine for Pso {
    fn completed(&mut self, done: usize) -> Vec<IterationStats> {
        let step =
            IterationStats { iteration: self.rounds() as usize, ..IterationStats::default() };
        if step.iteration > done { vec![step] } else { Vec::new() }
    }

    fn restore(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        Pso::resume(space, snapshot)
    }
}

impl IterativeEngine for DiscretePso {
    fn completed(&mut self, done: usize) -> Vec<IterationStats> {
        let step = |of: swarmwood_search::discrete_pso::GenerationStats| IterationStats {
            iteration: of.generation as usize + 1,
            best: of.best,
            mean: of.mean,
            diversity: Some(of.diversity),
            factor: of.factor,
            pulls: Some([of.alpha, of.beta]),
            evaluations: of.evaluations,
            repeats: of.repeats,
        };
        let all = self.take_statistics().into_iter().map(step);
        all.filter(|stats| stats.iteration > done).collect()
    }

    fn restore(space: &Space, snapshot: &Snapshot) -> Result<Self, Error> {
        DiscretePso::resume(space, snapshot)
    }
}

/// A swarm as one task of a log.
#[derive(Debug, Clone)]
pub struct SwarmTask<'t> {
    /// The stable key of the task.
    pub key: &'t str,
    /// The name of the fitness for users.
    pub measure: &'static str,
    /// What earlier swarms of the same run did.
    pub earlier: EarlierSwarms,
    /// Iterations of all swarms of the run.
    pub steps: usize,
    /// The space that the engine searches.
    pub space: &'t Space,
}

/// The result of a swarm.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmResult {
    /// The best point.
    pub best: Option<Point>,
    /// The state after the last iteration.
    pub last: IterationStats,
}

/// A swarm between two iterations.
struct SwarmState<E> {
    engine: E,
    last: IterationStats,
    evaluations: u64,
    /// The mean loss of the points evaluated last.
    mean: Option<f64>,
}

/// Runs the engine until it ends or the budget is interrupted; the log stores the state after every
/// iteration. `loss` is called on all threads and must depend on the point alone. An interruption
/// may end it within an iteration, which is then not reported.
pub fn run_engine<E: IterativeEngine>(
    engine: E,
    task: &SwarmTask<'_>,
    context: Context<'_>,
    log: &mut TaskLog<'_>,
    loss: impl Fn(&Point) -> f64 + Sync,
) -> Result<SwarmResult, Error> {
    if let Some((stored, _)) = log.recall(task.key)? {
        return SwarmResult::from_datum(&stored, task.space);
    }
    let mut state = match log.take_partial(task.key) {
        Some(stored) => SwarmState::from_datum(&stored, task.space)?,
        None => SwarmState { engine, last: IterationStats::default(), evaluations: 0, mean: None },
    };
    while state.advance(task, context, log, &loss) {}

    let best = state.engine.best().map(|best| best.point.clone());
    let result = SwarmResult { best, last: state.last };
    if !context.budget.is_interrupted() {
        log.record(task.key, state.evaluations, result.to_datum());
    }
    Ok(result)
}

impl<E: IterativeEngine> SwarmState<E> {
    /// Evaluates the next points; whether the search goes on.
    fn advance(
        &mut self,
        task: &SwarmTask<'_>,
        context: Context<'_>,
        log: &mut TaskLog<'_>,
        loss: &(impl Fn(&Point) -> f64 + Sync),
    ) -> bool {
        // An iteration is completed by asking for the next one, whose open trials no stored state
        // may have: the state to resume from is the one before.
        let settled = self.engine.clone();
        let trials = self.engine.ask(usize::MAX);
        for stats in self.engine.completed(self.last.iteration) {
            let best = stats.best.or(self.engine.best().map(|best| best.loss));
            let (mean, evaluations) = (stats.mean.or(self.mean), self.evaluations);
            self.last = IterationStats { best, mean, evaluations, ..stats };
            let event = self.last.event(task.measure, task.earlier, task.steps);
            log.notify_partial(&event, task.key, &|| self.to_datum(&settled));
        }

        // There is a result as soon as one point was evaluated.
        let has_best = self.engine.best().is_some();
        if trials.is_empty() || (has_best && context.budget.is_interrupted()) {
            return false;
        }
        let losses = context.pool.map(trials.len(), |at| {
            let needed = at == 0 && !has_best;
            (needed || !context.budget.is_interrupted()).then(|| loss(&trials[at].point))
        });

        let known: Vec<f64> = losses.iter().copied().flatten().collect();
        self.evaluations += known.len() as u64;
        self.mean = Some(known.iter().sum::<f64>() / known.len() as f64);
        let outcome = |(trial, loss): (&Trial, &Option<f64>)| match *loss {
            Some(loss) => TrialResult::Complete { id: trial.id, loss },
            None => TrialResult::Failed { id: trial.id },
        };
        self.engine.tell(&trials.iter().zip(&losses).map(outcome).collect::<Vec<_>>());
        if known.len() < trials.len() {
            let best = self.engine.best().map(|best| best.loss);
            self.last = IterationStats { best, evaluations: self.evaluations, ..self.last };
            return false;
        }
        true
    }

    /// The state with the engine before its next points were asked for.
    fn to_datum(&self, settled: &E) -> Datum {
        Datum::record([
            ("engine", save_engine(settled)),
            ("last", self.last.to_datum()),
            ("evaluations", Datum::Natural(self.evaluations)),
            ("mean", Datum::optional(self.mean)),
        ])
    }

    fn from_datum(datum: &Datum, space: &Space) -> Result<Self, Error> {
        Ok(SwarmState {
            engine: E::restore(space, &load_snapshot(datum.field("engine")?)?)?,
            last: IterationStats::from_datum(datum.field("last")?)?,
            evaluations: datum.field("evaluations")?.counter()?,
            mean: datum.field("mean")?.to_optional()?,
        })
    }
}

fn save_engine(engine: &(impl Engine + ?Sized)) -> Datum {
    let Snapshot { engine, version, space, state } = engine.snapshot();
    Datum::List(vec![Datum::Text(engine), Datum::Natural(version), Datum::wide(space), state])
}

fn load_snapshot(datum: &Datum) -> Result<Snapshot, Error> {
    let [engine, version, print, state] = datum.tuple()?;
    let Datum::Text(engine) = engine else {
        return Err(Error::Snapshot("names no engine; it is damaged".to_string()));
    };
    Ok(Snapshot {
        engine: engine.clone(),
        version: version.natural()?,
        space: print.to_wide()?,
        state: state.clone(),
    })
}

/// How long an engine without a limit of its own runs: `iterations` of `population` evaluations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationLimit {
    /// Evaluations that count as an iteration.
    pub population: u64,
    /// Number of iterations.
    pub iterations: u64,
}

/// Runs any engine for a number of evaluations, otherwise like [`run_engine`]. An engine that never
/// waits is asked for one point at a time, so that it learns from every result; any other for a
/// whole generation. The engine is built by `build` unless there is a state to resume from.
pub fn run_evaluations(
    build: impl FnOnce() -> Result<Box<dyn Engine>, Error>,
    limit: EvaluationLimit,
    task: &SwarmTask<'_>,
    (context, log): (Context<'_>, &mut TaskLog<'_>),
    loss: impl Fn(&Point) -> f64 + Sync,
) -> Result<SwarmResult, Error> {
    if let Some((stored, _)) = log.recall(task.key)? {
        return SwarmResult::from_datum(&stored, task.space);
    }
    let (mut engine, mut last) = match log.take_partial(task.key) {
        None => (build()?, IterationStats::default()),
        Some(stored) => {
            let [engine, last] = stored.tuple()?;
            let snapshot = load_snapshot(engine)?;
            let engine = registry::resume(registry::ENGINES, task.space, &snapshot)?;
            (engine, IterationStats::from_datum(last)?)
        }
    };

    let total = limit.population.saturating_mul(limit.iterations);
    let (mut evaluations, mut sum) = (last.evaluations, 0.0);
    while evaluations < total && !(context.budget.is_interrupted() && engine.best().is_some()) {
        let rest = usize::try_from(total - evaluations).unwrap_or(usize::MAX);
        let trials = engine.ask(if engine.capabilities().batch { 1 } else { rest });
        if trials.is_empty() {
            break;
        }
        let losses = context.pool.map(trials.len(), |at| loss(&trials[at].point));
        let outcome = |(trial, &loss): (&Trial, &f64)| TrialResult::Complete { id: trial.id, loss };
        engine.tell(&trials.iter().zip(&losses).map(outcome).collect::<Vec<_>>());
        evaluations += losses.len() as u64;
        sum += losses.iter().sum::<f64>();

        let iteration = (evaluations / limit.population) as usize;
        if iteration > last.iteration {
            let mean = Some(sum / (evaluations - last.evaluations) as f64);
            let best = engine.best().map(|best| best.loss);
            last = IterationStats { iteration, best, mean, evaluations, ..last };
            sum = 0.0;
            let event = last.event(task.measure, task.earlier, task.steps);
            let state = || Datum::List(vec![save_engine(&*engine), last.to_datum()]);
            log.notify_partial(&event, task.key, &state);
        }
    }

    let best = engine.best();
    last = IterationStats { best: best.map(|best| best.loss), evaluations, ..last };
    let result = SwarmResult { best: best.map(|best| best.point.clone()), last };
    if !context.budget.is_interrupted() {
        log.record(task.key, evaluations, result.to_datum());
    }
    Ok(result)
}

impl SwarmResult {
    fn to_datum(&self) -> Datum {
        let best = self.best.iter().map(Datum::point).collect();
        Datum::List(vec![Datum::List(best), self.last.to_datum()])
    }

    fn from_datum(datum: &Datum, space: &Space) -> Result<Self, Error> {
        let [best, last] = datum.tuple()?;
        let best = best.list()?.first().map(|point| point.to_point(space)).transpose()?;
        Ok(SwarmResult { best, last: IterationStats::from_datum(last)? })
    }
}

impl IterationStats {
    fn to_datum(self) -> Datum {
        let [alpha, beta] = self.pulls.map_or([None; 2], |pulls| pulls.map(Some));
        let counts = [self.iteration as u64, self.evaluations, self.repeats].map(Datum::Natural);
        let values = [self.best, self.mean, self.diversity, self.factor, alpha, beta];
        Datum::List(counts.into_iter().chain(values.map(Datum::optional)).collect())
    }

    fn from_datum(datum: &Datum) -> Result<Self, Error> {
        let [iteration, evaluations, repeats, values @ ..] = datum.list()? else {
            return Err(Error::Snapshot("holds half of an iteration; it is damaged".to_string()));
        };
        let values = values.iter().map(Datum::to_optional).collect::<Result<Vec<_>, _>>()?;
        let [best, mean, diversity, factor, alpha, beta] = values[..] else {
            return Err(Error::Snapshot("holds half of an iteration; it is damaged".to_string()));
        };
        Ok(IterationStats {
            iteration: iteration.count()?,
            best,
            mean,
            diversity,
            factor,
            pulls: alpha.zip(beta).map(|(alpha, beta)| [alpha, beta]),
            evaluations: evaluations.counter()?,
            repeats: repeats.counter()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context::TestContext;
    use swarmwood_learn::budget::Budget;
    use swarmwood_search::discrete_pso::{self, sequence, sequence_space};
    use swarmwood_search::{Param, apso, pso};

    /// The distance from 0.3 in every dimension.
    fn far(point: &Point) -> f64 {
        let number = |value: &swarmwood_search::PointValue| match *value {
            swarmwood_search::PointValue::Real(x) => (x - 0.3).abs(),
            _ => f64::NAN,
        };
        point.0.iter().map(number).sum()
    }

    fn space() -> Space {
        Space::new(vec![Param::real("x", 0.0, 1.0), Param::real("y", 0.0, 1.0)]).unwrap()
    }

    /// Runs an engine with a log; also returns the events, and the state after each.
    fn run<E: IterativeEngine>(
        engine: E,
        space: &Space,
        loss: impl Fn(&Point) -> f64 + Sync,
        past: Option<&Datum>,
        on_event: &dyn Fn(&Event, &Budget),
    ) -> (SwarmResult, Vec<Event>, Vec<Datum>) {
        let limits = TestContext::new(2);
        let (mut events, mut states) = (Vec::new(), Vec::new());
        let mut observer = |event: &Event, state: &dyn Fn() -> Datum| {
            events.push(event.clone());
            states.push(state());
            on_event(event, &limits.budget);
        };
        let mut log = TaskLog::new(past, &mut observer).unwrap();
        let earlier = EarlierSwarms { iterations: 10, evaluations: 7, best: None };
        let task = SwarmTask { key: "swarm", measure: "accuracy", earlier, steps: 60, space };
        let result = run_engine(engine, &task, limits.context(), &mut log, loss).unwrap();
        (result, events, states)
    }

    #[test]
    fn every_iteration_is_reported_once_and_can_be_resumed_from() {
        let settings = apso::ApsoConfig {
            population: 8,
            generations: Some(40),
            ..apso::ApsoConfig::default()
        };
        let start = || Apso::new(&space(), settings.clone(), 1).unwrap();
        let (result, events, states) = run(start(), &space(), far, None, &|_, _| ());
        assert_eq!(
            events.iter().map(|event| (event.step, event.steps)).collect::<Vec<_>>(),
            (11..=50).map(|step| (step, 60)).collect::<Vec<_>>()
        );
        let searches: Vec<SearchStatus> = events.iter().filter_map(|event| event.search).collect();
        assert!(
            searches.iter().all(|search| search.factor.is_some() && search.mean <= search.best)
        );
        assert!(searches.windows(2).all(|pair| pair[1].best >= pair[0].best), "{searches:?}");
        assert!(result.last.best.is_some_and(|best| best < 0.01), "{result:?}");
        for (at, state) in states.iter().enumerate() {
            let (again, later, _) = run(start(), &space(), far, Some(state), &|_, _| ());
            assert_eq!((again, later), (result.clone(), events[at + 1..].to_vec()), "{at}");
        }

        let settings =
            pso::PsoConfig { population: 8, generations: Some(5), ..pso::PsoConfig::default() };
        let start = || Pso::new(&space(), settings.clone(), 1).unwrap();
        let (result, _, states) = run(start(), &space(), far, None, &|_, _| ());
        assert_eq!((result.last.iteration, result.last.evaluations), (5, 40));
        for state in &states {
            assert_eq!(run(start(), &space(), far, Some(state), &|_, _| ()).0, result);
        }
    }

    #[test]
    fn cancelling_ends_it_and_a_discrete_swarm_reports_its_probabilities() {
        let settings = discrete_pso::DiscretePsoConfig {
            generations: Some(20),
            ..discrete_pso::DiscretePsoConfig::default()
        };
        let space = sequence_space(3, 9).unwrap();
        let start = || DiscretePso::new(&space, settings.clone(), 2).unwrap();
        let sum = |point: &Point| f64::from(sequence(point).unwrap().iter().sum::<u32>());
        let cancel = |event: &Event, budget: &Budget| {
            if event.step == 13 {
                budget.cancel();
            }
        };
        let (result, events, _) = run(start(), &space, sum, None, &cancel);
        let last = result.last;
        assert_eq!((last.iteration, last.pulls, last.evaluations), (3, Some([0.45; 2]), 150));
        let event = events.last().unwrap();
        assert_eq!((event.step, event.steps), (13, 60));
        assert_eq!(event.search.map(|search| search.evaluations), Some(157));

        let (whole, _, states) = run(start(), &space, sum, None, &|_, _| ());
        for state in &states {
            assert_eq!(run(start(), &space, sum, Some(state), &|_, _| ()).0, whole);
        }
    }
}
