//! All engines by name.
//!
//! Every engine registers an [`EngineSpec`] with a configuration for tuning: any kind of space, and
//! a budget of tens to hundreds of trials. Populations are small, because a hundred trials must
//! comprise several generations. `pso` is the discrete swarm ([`discrete_pso`]) with a memo, so
//! that no trial repeats a known point, and with some mutation, so that it can reach values that no
//! particle started with. For engines in the unit cube (`cmaes`, `de`, `apso`) a choice is one cell
//! per label, in the order of the labels. Those and `sse` may ask for a point again
//! ([`Capabilities::distinct`](crate::Capabilities::distinct) is false); the caller may then reuse
//! the known loss.

use crate::engine::{BuildResult, EngineSpec, boxed};
use crate::error::Error;
use crate::nearest::nearest;
use crate::pso::Pso;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::{annealing, apso, cmaes, de, discrete_pso, ga, grid, random, schemata, sse, tpe};

/// All engines that can be chosen by name, the simplest first.
pub const ENGINES: &[EngineSpec] = &[
    random::SPEC,
    grid::SPEC,
    tpe::SPEC,
    schemata::SPEC,
    sse::SPEC,
    ga::SPEC,
    annealing::SPEC,
    cmaes::SPEC,
    de::SPEC,
    discrete_pso::SPEC,
    apso::SPEC,
];

/// A new engine by name.
///
/// ```
/// use swarmwood_search::{Param, Space, registry};
/// let space = Space::new(vec![Param::integer("depth", 1, 8)])?;
/// let mut engine = registry::create(registry::ENGINES, "tpe", &space, 7)?;
/// assert_eq!(engine.ask(3).len(), 3);
/// let error = registry::create(registry::ENGINES, "tep", &space, 7).err().unwrap().to_string();
/// assert!(error.starts_with("no engine 'tep'") && error.ends_with("did you mean 'tpe'?"));
/// # Ok::<(), swarmwood_search::Error>(())
/// ```
pub fn create<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    name: &str,
    space: &Space,
    seed: u64,
) -> BuildResult {
    let specs: Vec<&EngineSpec> = specs.into_iter().collect();
    if let Some(spec) = specs.iter().find(|spec| spec.name == name) {
        return (spec.build)(space, seed);
    }

    let known: Vec<&'static str> = specs.iter().map(|spec| spec.name).collect();
    let nearest = nearest(name, known.iter().copied());
    Err(Error::Unknown { name: name.to_owned(), known, nearest })
}

/// Resumes the engine that wrote the snapshot, whatever its configuration.
pub fn resume<'a>(
    specs: impl IntoIterator<Item = &'a EngineSpec>,
    space: &Space,
    snapshot: &Snapshot,
) -> BuildResult {
    let engine = snapshot.engine.as_str();
    match specs.into_iter().find(|spec| spec.snapshot_name == engine) {
        Some(spec) => (spec.resume)(space, snapshot),
        // The continuous swarm cannot be chosen by name, because `pso` is the discrete one.
        None if engine == Pso::NAME => boxed(Pso::resume(space, snapshot)),
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
                let engine = create(ENGINES, spec.name, &space, 1);
                assert!(engine.is_ok(), "{} on '{name}'", spec.name);
                let snapshot = engine.unwrap().snapshot();
                assert_eq!(snapshot.engine, spec.snapshot_name);
                assert!(resume(ENGINES, &space, &snapshot).is_ok(), "{} on '{name}'", spec.name);
            }
            assert!(!spec.summary.is_empty() && !spec.summary.ends_with('.'));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_all_names() {
        let space = Space::new(vec![Param::integer("i", 0, 3)]).unwrap();
        let text = create(ENGINES, "schema", &space, 1).err().unwrap().to_string();
        let expected = "no engine 'schema', must be one of random, grid, tpe, schemata, sse, ga, \
                        annealing, cmaes, de, pso, apso; did you mean 'schemata'?";
        assert_eq!(text, expected);
        let text = create(ENGINES, "zzzzzz", &space, 1).err().unwrap().to_string();
        assert!(!text.contains("mean"));

        let snapshot = create(ENGINES, "tpe", &space, 1).unwrap().snapshot();
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
            let mut engine = create(ENGINES, spec.name, &space, 3).unwrap();
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
