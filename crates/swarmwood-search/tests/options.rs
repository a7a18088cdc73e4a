//! The options of all engines: defaults, random values, and what reaches the engine.

use swarmwood_search::contract::{check_options, spaces};
use swarmwood_search::options::{EngineOptions, OptionCondition, OptionKind};
use swarmwood_search::registry::{self, ENGINES};
use swarmwood_search::{
    Annealing, Apso, CmaEs, De, DiscretePso, Engine, Error, Ga, GridSearch, Pso, RandomSearch,
    Schemata, Space, Sse, Tpe, TrialResult, annealing, apso, cmaes, de, discrete_pso, ga, grid,
    pso, schemata, sse, tpe,
};

fn create(engine: &str, options: &str, space: &Space) -> Box<dyn Engine> {
    registry::create(ENGINES, engine, &EngineOptions::parse(options), space, 5).unwrap()
}

fn refused(engine: &str, options: &str) -> String {
    let options = EngineOptions::parse(options);
    registry::check_options(ENGINES, engine, &options).unwrap_err().to_string()
}

fn mixed() -> Space {
    spaces().into_iter().find(|(name, _)| *name == "mixed").unwrap().1
}

/// The defaults in the declarations are those of the configurations, with small populations.
#[test]
fn default_options_are_the_configurations_for_tuning() {
    let space = &mixed();
    fn assert_same(space: &Space, engine: Result<impl Engine, Error>) {
        let snapshot = engine.unwrap().snapshot();
        assert_eq!(create(&snapshot.engine, "", space).snapshot(), snapshot);
    }

    assert_same(space, RandomSearch::new(space, 5));
    assert_same(space, GridSearch::new(space, grid::GridConfig::default(), 5));
    assert_same(space, Tpe::new(space, tpe::TpeConfig::default(), 5));
    assert_same(space, Schemata::new(space, schemata::SchemataConfig::default(), 5));
    assert_same(space, Sse::new(space, sse::SseConfig::default(), 5));
    assert_same(space, Ga::new(space, ga::GaConfig::default(), 5));
    assert_same(space, Annealing::new(space, annealing::AnnealingConfig::default(), 5));
    assert_same(space, CmaEs::new(space, cmaes::CmaEsConfig::default(), 5));

    let small = de::DeConfig { population: 10, ..de::DeConfig::default() };
    assert_same(space, De::new(space, small, 5));
    let small = pso::PsoConfig { population: 10, ..pso::PsoConfig::default() };
    assert_same(space, Pso::new(space, small, 5));
    let small = apso::ApsoConfig { population: 10, ..apso::ApsoConfig::default() };
    assert_same(space, Apso::new(space, small, 5));
    let small = discrete_pso::DiscretePsoConfig {
        population: 20,
        mutation: 0.1,
        memo: true,
        ..discrete_pso::DiscretePsoConfig::default()
    };
    assert_same(space, DiscretePso::new(space, small, 5));
}

#[test]
fn every_engine_keeps_the_rules_with_random_options() {
    for spec in ENGINES {
        check_options(spec, 12).unwrap();
    }
}

/// Bounds, defaults and help are what a list of options can print.
#[test]
fn declarations_are_consistent() {
    for spec in ENGINES {
        for (at, option) in spec.options.iter().enumerate() {
            let name = format!("{} {}", spec.name, option.name);
            assert!(spec.options[..at].iter().all(|one| one.name != option.name), "{name}");
            assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{name}");
            let valid = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
            assert!(option.name.chars().all(valid), "{name}");
            let unset = match option.kind {
                OptionKind::Integer { default, .. } => default.is_none(),
                OptionKind::Real { default, .. } => default.is_none(),
                OptionKind::Choice(choices) => choices.is_empty(),
                OptionKind::Flag { .. } => false,
            };
            assert!(!unset || option.unset.is_some(), "{name}");
            let text = format!("{}={}", option.name, option.default_value());
            let given = EngineOptions::parse(&text);
            if option.condition.is_none() {
                let checked = registry::check_options(ENGINES, spec.name, &given);
                assert_eq!(checked, Ok(EngineOptions::DEFAULTS), "{name}");
            }
        }
    }
}

/// Both bounds of every number are accepted by the engine itself, one at a time.
#[test]
fn engines_accept_the_bounds_of_their_options() {
    let space = Space::new(vec![swarmwood_search::Param::real("x", 0.0, 1.0)]).unwrap();
    for spec in ENGINES {
        for option in spec.options {
            let bounds = match option.kind {
                // An upper bound of a population is too large for a test.
                OptionKind::Integer { low, high, .. } => {
                    vec![low.to_string(), high.min(10_000).to_string()]
                }
                OptionKind::Real { low, high, .. } => vec![low.to_string(), high.to_string()],
                OptionKind::Choice(choices) => {
                    choices.iter().map(|(name, _)| (*name).to_owned()).collect()
                }
                OptionKind::Flag { .. } => vec!["true".to_owned(), "false".to_owned()],
            };
            for bound in bounds {
                let needed = match option.condition {
                    Some(OptionCondition::Is(other, value)) => format!(",{other}={value}"),
                    Some(OptionCondition::IsSet(other)) => format!(",{other}=1"),
                    None => String::new(),
                };
                create(spec.name, &format!("{}={bound}{needed}", option.name), &space);
            }
        }
    }
}

/// The rank-based mutation of the paper: the options give the engine that the configuration gives,
/// and a resumed engine keeps it.
#[test]
fn rank_based_mutation_is_an_option_that_snapshots_carry() {
    let space = mixed();
    let mut engine = create("sse", "mutation=rank,rate=0.4,population=6", &space);
    let mutation = sse::SseMutation::Ranked(0.4);
    let config = sse::SseConfig { population: 6, mutation, ..sse::SseConfig::default() };
    let mut expected = Sse::new(&space, config, 5).unwrap();
    let mut normal = create("sse", "rate=0.4,population=6", &space);
    let mut differs = false;
    for _ in 0..5 {
        let trials = engine.ask(6);
        assert_eq!(trials, expected.ask(6));
        differs |= trials != normal.ask(6);
        for trial in &trials {
            let loss = space.encode(&trial.point).iter().sum();
            let result = [TrialResult::Complete { id: trial.id, loss }];
            engine.tell(&result);
            expected.tell(&result);
            normal.tell(&result);
        }
        engine = registry::resume(ENGINES, &space, &engine.snapshot()).unwrap();
    }
    assert!(differs);
}

#[test]
fn errors_name_the_option_and_what_is_allowed() {
    assert_eq!(
        refused("sse", "mutatoin=rank,rate=2,sigma=1"),
        "setting 'mutatoin' of engine 'sse': is no option of engine 'sse', which has mutation, \
         rate, population, generations; did you mean 'mutation'?\n\
         setting 'rate' of engine 'sse': is '2', must be a number from 0 to 1\n\
         setting 'sigma' of engine 'sse': belongs to engine 'cmaes'; engine 'sse' has mutation, \
         rate, population, generations"
    );
    assert!(refused("random", "population=3").ends_with("engine 'random' has none"));
    assert!(refused("de", "f=0.5").ends_with("has no effect without strategy=rand1bin"));
    assert!(refused("sse", "population=0").contains("from 1 to 1000000"));
}
