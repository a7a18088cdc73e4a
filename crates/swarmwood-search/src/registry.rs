//! All engines by name.
//!
//! Every engine registers an [`EngineSpec`] with a configuration for tuning: any kind of space, and
//! a budget of tens to hundreds of trials. Populations are small, because a hundred trials must
//! comprise several generations. `pso` is the swarm in the unit cube ([`pso`]), `pso-discrete` the
//! one that copies values ([`discrete_pso`]). For engines in the unit cube (`cmaes`, `de`, `pso`,
//! `apso`) a choice is one cell per label, in the order of the labels. Those and `sse` may ask for a
//! point again ([`Capabilities::distinct`](crate::Capabilities::distinct) is false); the caller may
//! then reuse the known loss.

use crate::engine::{BuildResult, EngineSpec};
use crate::error::Error;
use crate::nearest::nearest;
use crate::options::{EngineOptions, OptionValues};
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::{
    aco, annealing, apso, cmaes, de, discrete_pso, ga, grid, pso, random, schemata, sse, tpe,
};

/// All engines that can be chosen by name, the simplest first.
pub const ENGINES: &[EngineSpec] = &[
    random::SPEC,
    grid::SPEC,
    tpe::SPEC,
    schemata::SPEC,
    sse::SPEC,
    ga::SPEC,
    aco::SPEC,
    annealing::SPEC,
    cmaes::SPEC,
    de::SPEC,
    pso::SPEC,
    apso::SPEC,
    discrete_pso::SPEC,
];

/// A new engine by name, with options; those that are not given have their defaults.
///
/// ```
/// use swarmwood_search::options::EngineOptions;
/// use swarmwood_search::registry::{ENGINES, create};
/// use swarmwood_search::{Param, Space};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)])?;
/// let options = EngineOptions::parse("mutation=rank, rate=0.2");
/// let mut engine = create(ENGINES, "sse", &options, &space, 7)?;
/// assert_eq!(engine.ask(3).len(), 3);
/// let error = create(ENGINES, "tep", &options, &space, 7).err().unwrap().to_string();
/// assert!(error.starts_with("no engine 'tep'") && error.ends_with("did you mean 'tpe'?"));
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn create<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    name: &str,
    options: &EngineOptions,
    space: &Space,
    seed: u64,
) -> BuildResult {
    let (spec, values) = check(specs, name, options)?;
    (spec.build)(space, seed, &values)
}

/// Checks the options of an engine and brings them into the form in which equal options compare
/// equal; all errors are reported at once.
///
/// ```
/// use swarmwood_search::options::EngineOptions;
/// use swarmwood_search::registry::{ENGINES, check_options};
/// let given = EngineOptions::parse("rate=0.20, mutation=rank, population=20");
/// let options = check_options(ENGINES, "sse", &given)?;
/// assert_eq!(options.to_string(), "mutation=rank, rate=0.2"); // a population of 20 is the default
/// let wrong = EngineOptions::parse("mutation=much, rte=0.2");
/// let error = check_options(ENGINES, "sse", &wrong).unwrap_err().to_string();
/// assert_eq!(error.lines().count(), 2, "{error}");
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn check_options<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    name: &str,
    options: &EngineOptions,
) -> Result<EngineOptions, Error> {
    check(specs, name, options).map(|(_, values)| values.given())
}

fn check<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    name: &str,
    options: &EngineOptions,
) -> Result<(&'a EngineSpec, OptionValues), Error> {
    let specs: Vec<&EngineSpec> = specs.into_iter().collect();
    let Some(spec) = specs.iter().copied().find(|spec| spec.name == name) else {
        let known: Vec<&'static str> = specs.iter().map(|spec| spec.name).collect();
        let nearest = nearest(name, known.iter().copied());
        return Err(Error::Unknown { name: name.to_owned(), known, nearest });
    };

    let owners = |option: &str| {
        let has = |spec: &&EngineSpec| spec.options.iter().any(|one| one.name == option);
        specs.iter().copied().filter(has).map(|spec| spec.name).collect()
    };
    OptionValues::check(spec.name, spec.options, options, owners)
        .map(|values| (spec, values))
        .map_err(|errors| Error::Config { engine: spec.name, errors })
}

/// Resumes the engine that wrote the snapshot, whatever its options were.
pub fn resume<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    space: &Space,
    snapshot: &Snapshot,
) -> BuildResult {
    let engine = snapshot.engine.as_str();
    match specs.into_iter().find(|spec| spec.name == engine) {
        Some(spec) => (spec.resume)(space, snapshot),
        None => Err(Error::Snapshot(format!(
            "was written by engine '{engine}', which is not known; use a newer program"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::check_spec;
    use crate::snapshot::Datum;
    use crate::space::Param;
    use crate::trial::TrialResult;

    /// Every registered engine supports every space and resumes from its snapshots.
    #[test]
    fn every_registered_engine_keeps_every_rule_on_every_space() {
        for spec in ENGINES {
            check_spec(spec).unwrap_or_else(|report| panic!("{}\n{report}", spec.name));
            for (name, space) in crate::contract::spaces() {
                let engine = create(ENGINES, spec.name, &EngineOptions::DEFAULTS, &space, 1);
                assert!(engine.is_ok(), "{} on '{name}'", spec.name);
                let snapshot = engine.unwrap().snapshot();
                assert_eq!(snapshot.engine, spec.name);
                assert!(resume(ENGINES, &space, &snapshot).is_ok(), "{} on '{name}'", spec.name);
            }
            assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let space = Space::new(vec![Param::integer("i", 0, 3)]).unwrap();
        let none = EngineOptions::DEFAULTS;
        let text = create(ENGINES, "schema", &none, &space, 1).err().unwrap().to_string();
        let expected = "no engine 'schema', must be one of random, grid, tpe, schemata, sse, ga, aco, \
                        annealing, cmaes, de, pso, apso, pso-discrete; did you mean 'schemata'?";
        assert_eq!(text, expected);
        let text = create(ENGINES, "zzzzzz", &none, &space, 1).err().unwrap().to_string();
        assert!(!text.contains("mean"));

        let snapshot = create(ENGINES, "tpe", &none, &space, 1).unwrap().snapshot();
        let unknown = Snapshot { engine: "none".to_owned(), ..snapshot };
        let text = resume(ENGINES, &space, &unknown).err().unwrap().to_string();
        assert!(text.contains("engine 'none'"));
    }

    /// The names that fields had in version 1 of all snapshots.
    const OLD_NAMES: &[(&str, &str)] = &[
        ("trials", "ledger"),
        ("running", "open"),
        ("finished", "told"),
        ("external", "adopted"),
        ("losses", "answers"),
        ("personal best", "own"),
        ("personal best losses", "own losses"),
        ("personal bests", "own"),
        ("global best", "global"),
        ("coefficients", "control"),
        ("config", "settings"),
        ("stagnation", "watch"),
        ("f and cr", "pairs"),
        ("current", "here"),
        ("children", "turn"),
    ];

    /// Renames the fields of a record back, below the given path of names.
    fn downgrade(data: &Datum, parent: &str) -> Datum {
        let Datum::Record(fields) = data else { return data.clone() };
        let old_name = |name: &str| match (parent, name) {
            // Names that have another meaning, or no other name, in these records.
            ("method" | "particles", "losses" | "coefficients" | "trials") => name.to_owned(),
            ("", "finished") => "over".to_owned(),
            _ => {
                let renamed = OLD_NAMES.iter().find(|(new, _)| *new == name);
                renamed.map_or(name, |(_, old)| old).to_owned()
            }
        };
        let fields = fields.iter().map(|(name, inner)| (old_name(name), downgrade(inner, name)));
        Datum::Record(fields.collect())
    }

    #[test]
    fn snapshots_of_version_1_are_read() {
        for spec in ENGINES {
            let (_, space) = crate::contract::spaces().pop().unwrap();
            let mut engine =
                create(ENGINES, spec.name, &EngineOptions::DEFAULTS, &space, 3).unwrap();
            for trial in engine.ask(40) {
                let loss = space.encode(&trial.point).iter().sum();
                engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
            }
            engine.ask(1);

            let snapshot = engine.snapshot();
            let state = downgrade(&snapshot.state, "");
            assert_ne!(state, snapshot.state, "{}", spec.name);
            let old = Snapshot { version: 1, state, ..snapshot.clone() };
            let mut resumed = resume(ENGINES, &space, &old)
                .unwrap_or_else(|error| panic!("{}: {error}", spec.name));
            assert_eq!(resumed.snapshot(), snapshot, "{}", spec.name);
            assert_eq!(resumed.ask(5), engine.ask(5), "{}", spec.name);
        }
    }
}
