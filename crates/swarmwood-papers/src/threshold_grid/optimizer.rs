//! The optimisers that can place the thresholds of a grid.
//!
//! The paper's is adaptive PSO; "other optimization algorithm such as genetic algorithm, ant colony
//! optimization, or simulated annealing, may be used" (Jun, Cho, Lee 2012, section 5). All of them
//! know the thresholds of the preliminary tree from the beginning and get the same number of
//! evaluations.

use swarmwood_search::engine::{BuildResult, boxed};
use swarmwood_search::{
    Aco, Annealing, Apso, CmaEs, De, Error, ExternalTrial, Ga, Point, Pso, RandomSearch, Space,
    aco, annealing, apso, cmaes, de, ga, pso,
};

/// What places the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdOptimizer {
    /// Adaptive particle swarm optimisation, as published.
    Apso,
    /// Particle swarm optimisation with constant coefficients.
    Pso,
    /// A genetic algorithm.
    Ga,
    /// Differential evolution.
    De,
    /// Simulated annealing.
    Annealing,
    /// CMA-ES.
    CmaEs,
    /// Ant colony optimisation.
    Aco,
    /// Random search, for comparison.
    Random,
}

impl ThresholdOptimizer {
    /// The published swarm.
    pub(super) fn apso(
        space: &Space,
        (population, iterations): (usize, usize),
        start: Point,
        seed: u64,
    ) -> Result<Apso, Error> {
        let config = apso::ApsoConfig {
            population,
            generations: Some(iterations as u64),
            start: Some(start),
            ..apso::ApsoConfig::default()
        };
        Apso::new(space, config, seed)
    }

    /// The optimiser as an engine. `start` is a point with its loss.
    pub(super) fn build(
        self,
        space: &Space,
        (population, iterations): (usize, usize),
        (start, loss): (Point, f64),
        seed: u64,
    ) -> BuildResult {
        let first = Some(start.clone());
        let mut engine = match self {
            ThresholdOptimizer::Apso => {
                return boxed(Self::apso(space, (population, iterations), start, seed));
            }
            ThresholdOptimizer::Pso => {
                let config =
                    pso::PsoConfig { population, start: first, ..pso::PsoConfig::default() };
                return boxed(Pso::new(space, config, seed));
            }
            ThresholdOptimizer::De => {
                let population = population.max(4);
                let config = de::DeConfig { population, start: first, ..de::DeConfig::default() };
                return boxed(De::new(space, config, seed));
            }
            ThresholdOptimizer::CmaEs => {
                let config = cmaes::CmaEsConfig { start: first, ..cmaes::CmaEsConfig::default() };
                return boxed(CmaEs::new(space, config, seed));
            }
            ThresholdOptimizer::Ga => {
                let config =
                    ga::GaConfig { population: population.min(10_000), ..ga::GaConfig::default() };
                boxed(Ga::new(space, config, seed))
            }
            ThresholdOptimizer::Annealing => {
                boxed(Annealing::new(space, annealing::AnnealingConfig::default(), seed))
            }
            ThresholdOptimizer::Aco => boxed(Aco::new(space, aco::AcoConfig::default(), seed)),
            ThresholdOptimizer::Random => boxed(RandomSearch::new(space, seed)),
        }?;
        // Methods without generations learn from a point that was evaluated elsewhere.
        engine.add_trial(ExternalTrial::Complete { point: start, loss: Some(loss) });
        Ok(engine)
    }
}
