//! A swarm and whoever evaluates its points, iteration after iteration.
//!
//! Methods that let an engine search for one tree differ in the engine and in what a point means;
//! asking, evaluating on all threads, telling, and saying how it stands are the same. An engine
//! completes an iteration when it is asked for the next.

use swarmwood_search::{Apso, Engine, Outcome, Point, Pso, PsoDiscrete, Trial};

use crate::event::{Event, Flow, Search, Stage};
use crate::pool::Pool;

/// How a swarm stands after an iteration. Losses are what the fitness falls short of 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Iterations done, the initial swarm being the first.
    pub iteration: usize,
    /// The least loss so far.
    pub best: Option<f64>,
    /// The mean loss of this iteration.
    pub mean: Option<f64>,
    /// How far particles differ, where the engine tells it.
    pub diversity: Option<f64>,
    /// The evolutionary factor, where the engine has one.
    pub factor: Option<f64>,
    /// The pull of the own and of the global best, where they are chances.
    pub pulls: Option<[f64; 2]>,
    /// Points evaluated so far.
    pub evaluations: u64,
    /// Points that were known already.
    pub repeats: u64,
}

impl Step {
    /// What a listener is told: losses as the fitness that users know, the iterations as part of a
    /// longer run.
    pub fn event(&self, measure: &'static str, before: Before, steps: usize) -> Event {
        let fitness = |loss: Option<f64>| loss.map(|loss| 1.0 - loss);
        let best = [fitness(self.best), before.best].into_iter().flatten().reduce(f64::max);
        let search = Search {
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

/// What earlier swarms of the same run did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Before {
    /// Their iterations.
    pub iterations: usize,
    /// Their evaluations.
    pub evaluations: u64,
    /// Their best fitness.
    pub best: Option<f64>,
}

/// An engine that can say which iterations a question completed.
pub trait Iterated: Engine {
    /// The iterations completed since there were `done` of them.
    fn completed(&mut self, done: usize) -> Vec<Step>;
}

impl Iterated for Apso {
    fn completed(&mut self, done: usize) -> Vec<Step> {
        let standing = self.method().standing();
        // A trial of elitist learning is a round of its own, but no iteration.
        let step = Step {
            iteration: standing.generation as usize,
            factor: standing.factor,
            ..Step::default()
        };
        if step.iteration > done { vec![step] } else { Vec::new() }
    }
}

impl Iterated for Pso {
    fn completed(&mut self, done: usize) -> Vec<Step> {
        let step = Step { iteration: self.rounds() as usize, ..Step::default() };
        if step.iteration > done { vec![step] } else { Vec::new() }
    }
}

impl Iterated for PsoDiscrete {
    fn completed(&mut self, _: usize) -> Vec<Step> {
        let step = |done: swarmwood_search::pso_discrete::Statistics| Step {
            iteration: done.generation as usize + 1,
            best: done.best,
            mean: done.mean,
            diversity: Some(done.diversity),
            factor: done.factor,
            pulls: Some([done.alpha, done.beta]),
            evaluations: done.evaluations,
            repeats: done.repeats,
        };
        self.take_statistics().into_iter().map(step).collect()
    }
}

/// Lets the engine search until it ends or the listener stops it, and tells how it stood at last.
/// `loss` is asked on all threads; what it says must depend on the point alone. A hurry ends it
/// amid an iteration, which is then not told.
pub fn iterate<E: Iterated>(
    engine: &mut E,
    pool: &Pool,
    loss: impl Fn(&Point) -> f64 + Sync,
    watch: &mut dyn FnMut(&Step) -> Flow,
) -> Step {
    let mut last = Step::default();
    let (mut evaluations, mut mean) = (0, None);
    loop {
        let trials = engine.ask(usize::MAX);
        for step in engine.completed(last.iteration) {
            let best = step.best.or(engine.best().map(|best| best.loss));
            last = Step { best, mean: step.mean.or(mean), evaluations, ..step };
            if watch(&last) == Flow::Stop {
                return last;
            }
        }
        if trials.is_empty() {
            return last;
        }
        // In a hurry the first alone is enough to have a best.
        let losses = pool
            .map(trials.len(), |at| (at == 0 || !pool.hurried()).then(|| loss(&trials[at].point)));
        let known: Vec<f64> = losses.iter().copied().flatten().collect();
        evaluations += known.len() as u64;
        mean = Some(known.iter().sum::<f64>() / known.len() as f64);
        let outcome = |(trial, loss): (&Trial, &Option<f64>)| match *loss {
            Some(loss) => Outcome::Value { id: trial.id, loss },
            None => Outcome::Failed { id: trial.id },
        };
        engine.tell(&trials.iter().zip(&losses).map(outcome).collect::<Vec<_>>());
        if known.len() < trials.len() {
            return Step { best: engine.best().map(|best| best.loss), evaluations, ..last };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood_search::pso_discrete::{self, sequence, sequence_space};
    use swarmwood_search::{Param, Space, apso, pso};

    /// The distance from 0.3 in every dimension.
    fn far(point: &Point) -> f64 {
        let number = |value: &swarmwood_search::Value| match *value {
            swarmwood_search::Value::Real(x) => (x - 0.3).abs(),
            _ => f64::NAN,
        };
        point.0.iter().map(number).sum()
    }

    fn space() -> Space {
        Space::new(vec![Param::real("x", 0.0, 1.0), Param::real("y", 0.0, 1.0)]).unwrap()
    }

    #[test]
    fn every_iteration_is_told_once() {
        let settings =
            apso::Settings { population: 8, generations: Some(40), ..apso::Settings::default() };
        let mut heard = Vec::new();
        let mut engine = Apso::new(&space(), settings, 1).unwrap();
        let last = iterate(&mut engine, &Pool::new(2).unwrap(), far, &mut |step| {
            heard.push(*step);
            Flow::Continue
        });
        assert_eq!(
            heard.iter().map(|step| step.iteration).collect::<Vec<_>>(),
            (1..=40).collect::<Vec<_>>()
        );
        assert!(heard.iter().all(|step| step.factor.is_some() && step.mean >= step.best));
        assert!(heard.windows(2).all(|pair| pair[1].best <= pair[0].best), "{heard:?}");
        assert_eq!(heard.last(), Some(&last));
        assert!(last.best.is_some_and(|best| best < 0.01), "{last:?}");
        let settings =
            pso::Settings { population: 8, generations: Some(5), ..pso::Settings::default() };
        let last = iterate(
            &mut Pso::new(&space(), settings, 1).unwrap(),
            &Pool::new(1).unwrap(),
            far,
            &mut |_| Flow::Continue,
        );
        assert_eq!((last.iteration, last.evaluations), (5, 40));
    }

    #[test]
    fn a_listener_stops_it_and_a_discrete_swarm_tells_its_pulls() {
        let settings =
            pso_discrete::Settings { generations: Some(50), ..pso_discrete::Settings::default() };
        let mut engine = PsoDiscrete::new(&sequence_space(3, 9).unwrap(), settings, 2).unwrap();
        let sum = |point: &Point| sequence(point).unwrap().iter().sum::<u32>().into();
        let last = iterate(&mut engine, &Pool::new(1).unwrap(), sum, &mut |step| {
            if step.iteration == 3 { Flow::Stop } else { Flow::Continue }
        });
        assert_eq!((last.iteration, last.pulls, last.evaluations), (3, Some([0.45; 2]), 150));
        let told =
            last.event("accuracy", Before { iterations: 10, evaluations: 7, best: Some(0.5) }, 60);
        assert_eq!((told.step, told.steps), (13, 60));
        assert_eq!(told.search.map(|search| search.evaluations), Some(157));
    }
}
