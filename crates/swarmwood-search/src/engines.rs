//! The engines by name, with the settings that suit tuning: spaces of any kind, and a budget of
//! tens to hundreds of trials.
//!
//! Populations are small, for a hundred trials must hold several generations. `pso` is the discrete
//! swarm ([`pso_discrete`]) with a memo, so that it spends no trial on what it knows, and some
//! mutation, so that it can reach values nobody started with. Engines that think in the unit cube
//! (`cmaes`, `de`, `apso`) see a choice as cells in the order of its labels. Those and `sse` may
//! ask for a configuration again ([`Capabilities::distinct`](crate::Capabilities) tells); whoever
//! evaluates may answer from memory.

use crate::engine::Engine;
use crate::error::Error;
use crate::nearest::nearest;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::{Annealing, Apso, CmaEs, De, Ga, Grid, Pso, PsoDiscrete, Random, Schemata, Sse, Tpe};
use crate::{annealing, apso, cmaes, de, ga, grid, pso_discrete, schemata, sse, tpe};

type Boxed = Result<Box<dyn Engine>, Error>;

/// An engine that can be had by name.
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    start: fn(&Space, u64) -> Boxed,
}

/// All engines, the plainest first.
pub const NAMES: &[Named] = &[
    Named {
        name: Random::NAME,
        help: "random configurations without repeats: the yardstick",
        start: |space, seed| boxed(Random::new(space, seed)),
    },
    Named {
        name: Grid::NAME,
        help: "every combination once, those near the best early, real parameters in ten steps",
        start: |space, seed| boxed(Grid::new(space, grid::Settings::default(), seed)),
    },
    Named {
        name: Tpe::NAME,
        help: "tree-structured Parzen estimators over all parameters together",
        start: |space, seed| boxed(Tpe::new(space, tpe::Settings::default(), seed)),
    },
    Named {
        name: Schemata::NAME,
        help: "children of what the best subsets of trials have in common, without repeats; the cheapest that learns",
        start: |space, seed| boxed(Schemata::new(space, schemata::Settings::default(), seed)),
    },
    Named {
        name: Sse::NAME,
        help: "the stochastic schemata exploiter as published, repeats included",
        start: |space, seed| boxed(Sse::new(space, sse::Settings::default(), seed)),
    },
    Named {
        name: Ga::NAME,
        help: "genetic algorithm: tournaments, uniform crossover, mutation, without repeats",
        start: |space, seed| boxed(Ga::new(space, ga::Settings::default(), seed)),
    },
    Named {
        name: Annealing::NAME,
        help: "simulated annealing: a walk that goes uphill ever more rarely, without repeats",
        start: |space, seed| boxed(Annealing::new(space, annealing::Settings::default(), seed)),
    },
    Named {
        name: CmaEs::NAME,
        help: "covariance matrix adaptation with a margin for countable parameters",
        start: |space, seed| boxed(CmaEs::new(space, cmaes::Settings::default(), seed)),
    },
    Named {
        name: De::NAME,
        help: "differential evolution with parameters that follow success",
        start: |space, seed| {
            boxed(De::new(space, de::Settings { population: 10, ..de::Settings::default() }, seed))
        },
    },
    Named {
        name: "pso",
        help: "discrete particle swarm: particles copy values from better ones",
        start: |space, seed| {
            let settings = pso_discrete::Settings {
                population: 20,
                mutation: 0.1,
                memo: true,
                ..pso_discrete::Settings::default()
            };
            boxed(PsoDiscrete::new(space, settings, seed))
        },
    },
    Named {
        name: Apso::NAME,
        help: "particle swarm in the unit cube with adaptive coefficients",
        start: |space, seed| {
            boxed(Apso::new(
                space,
                apso::Settings { population: 10, ..apso::Settings::default() },
                seed,
            ))
        },
    },
];

fn boxed<E: Engine + 'static>(engine: Result<E, Error>) -> Boxed {
    engine.map(|engine| Box::new(engine) as Box<dyn Engine>)
}

/// A new engine by name.
///
/// ```
/// use swarmwood_search::{Param, Space, engines};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)])?;
/// let mut engine = engines::create("tpe", &space, 7)?;
/// assert_eq!(engine.ask(3).len(), 3);
/// let error = engines::create("tep", &space, 7).err().unwrap().to_string();
/// assert!(error.starts_with("no engine 'tep'") && error.ends_with("did you mean 'tpe'?"));
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn create(name: &str, space: &Space, seed: u64) -> Boxed {
    let known = || NAMES.iter().map(|named| named.name);
    match NAMES.iter().find(|named| named.name == name) {
        Some(named) => (named.start)(space, seed),
        None => Err(Error::Unknown {
            name: name.to_owned(),
            known: known().collect(),
            near: nearest(name, known()),
        }),
    }
}

/// The engine that wrote the snapshot, whatever its settings.
pub fn resume(space: &Space, snapshot: &Snapshot) -> Boxed {
    match snapshot.engine.as_str() {
        Random::NAME => boxed(Random::resume(space, snapshot)),
        Grid::NAME => boxed(Grid::resume(space, snapshot)),
        Tpe::NAME => boxed(Tpe::resume(space, snapshot)),
        Schemata::NAME => boxed(Schemata::resume(space, snapshot)),
        Sse::NAME => boxed(Sse::resume(space, snapshot)),
        Ga::NAME => boxed(Ga::resume(space, snapshot)),
        Annealing::NAME => boxed(Annealing::resume(space, snapshot)),
        CmaEs::NAME => boxed(CmaEs::resume(space, snapshot)),
        De::NAME => boxed(De::resume(space, snapshot)),
        PsoDiscrete::NAME => boxed(PsoDiscrete::resume(space, snapshot)),
        Pso::NAME => boxed(Pso::resume(space, snapshot)),
        Apso::NAME => boxed(Apso::resume(space, snapshot)),
        other => Err(Error::Snapshot(format!(
            "was written by engine '{other}', which is not known; use a newer program"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Breach, Subject, check};
    use crate::space::Param;

    /// Under its name and with its settings every engine works on every space and comes back from
    /// its snapshots.
    #[test]
    fn every_named_engine_keeps_every_rule_on_every_space() {
        for named in NAMES {
            let subject =
                Subject { start: &|space, seed| create(named.name, space, seed), resume: &resume };
            if let Err(breaches) = check(&subject) {
                panic!(
                    "{}\n{}",
                    named.name,
                    breaches.iter().map(Breach::to_string).collect::<Vec<_>>().join("\n")
                );
            }
            for (name, space) in crate::contract::spaces() {
                assert!(create(named.name, &space, 1).is_ok(), "{} on '{name}'", named.name);
            }
            assert!(!named.help.is_empty() && !named.help.ends_with('.'));
        }
    }

    #[test]
    fn unknown_names_are_told_what_there_is() {
        let space = Space::new(vec![Param::integer("i", 0, 3)]).unwrap();
        let text = create("schema", &space, 1).err().unwrap().to_string();
        let expected = "no engine 'schema', must be one of random, grid, tpe, schemata, sse, ga, annealing, cmaes, de, \
                        pso, apso; did you mean 'schemata'?";
        assert_eq!(text, expected);
        assert!(!create("zzzzzz", &space, 1).err().unwrap().to_string().contains("mean"));
        let snapshot =
            Snapshot { engine: "none".to_owned(), ..create("tpe", &space, 1).unwrap().snapshot() };
        assert!(resume(&space, &snapshot).err().unwrap().to_string().contains("engine 'none'"));
    }
}
