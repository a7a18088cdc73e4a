//! Golden trajectories: the first points of every engine, and its best, must not change unnoticed.
//!
//! `UPDATE_GOLDEN=1 cargo test -p swarmwood-search --test golden` rewrites the files; the diff is
//! what a reviewer reads.

use std::fmt::Write as _;
use std::path::Path;

use swarmwood_search::contract::spaces;
use swarmwood_search::discrete_pso::{DiscretePso, DiscretePsoConfig, TableGroups};
use swarmwood_search::{
    Aco, Annealing, Apso, CmaEs, De, Engine, Ga, GridSearch, Point, PointValue, Pso, RandomSearch,
    Schemata, Space, Sse, Tpe, Trial, TrialResult, aco, annealing, apso, cmaes, de, ga, grid, pso,
    schemata, sse, tpe,
};

fn text(space: &Space, point: &Point) -> String {
    let one = |(i, value): (usize, &PointValue)| match *value {
        PointValue::Absent => "-".to_owned(),
        PointValue::Integer(i) => i.to_string(),
        // Nine digits: the last bits of exponentials may differ between platforms.
        PointValue::Real(x) => format!("{x:.9e}"),
        PointValue::Index(_) => match (space.label(i, *value), space.number(i, *value)) {
            (Some(label), _) => label.to_owned(),
            (None, Some(number)) => number.to_string(),
            (None, None) => "?".to_owned(),
        },
    };
    point.0.iter().enumerate().map(one).collect::<Vec<_>>().join("\t")
}

fn trajectory(space: &Space, engine: &mut dyn Engine) -> String {
    let names: Vec<&str> = space.params().iter().map(|param| param.name.as_str()).collect();
    let mut out = format!("id\tloss\t{}\n", names.join("\t"));
    for _ in 0..5 {
        let trials: Vec<Trial> = engine.ask(4);
        let mut results = Vec::new();
        for trial in &trials {
            let loss: f64 = space.encode(&trial.point).iter().map(|u| (u - 0.3).powi(2)).sum();
            writeln!(out, "{}\t{loss:.9e}\t{}", trial.id, text(space, &trial.point)).unwrap();
            results.push(TrialResult::Complete { id: trial.id, loss });
        }
        engine.tell(&results);
    }
    let best = engine.best().expect("trials were told");
    writeln!(out, "best\t{:.9e}\t{}", best.loss, text(space, best.point)).unwrap();
    out
}

fn compare(name: &str, got: &str) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.tsv"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        expected, got,
        "{name}.tsv is out of date; if the change is meant, run with UPDATE_GOLDEN=1"
    );
}

#[test]
fn random_search_walks_its_golden_paths() {
    for (name, space) in spaces() {
        if ["few integers", "conditional", "mixed"].contains(&name) {
            let mut engine = RandomSearch::new(&space, 42).unwrap();
            compare(
                &format!("random-{}", name.replace(' ', "-")),
                &trajectory(&space, &mut engine),
            );
        }
    }
}

/// Four particles, so that every ask of four is a generation.
#[test]
fn the_discrete_swarm_walks_its_golden_paths() {
    let published = DiscretePsoConfig { population: 4, ..DiscretePsoConfig::default() };
    let groups = Some(TableGroups::of_sizes(&[10, 990]));
    let every_option = DiscretePsoConfig {
        groups,
        mutation: 0.1,
        adaptive: true,
        memo: true,
        ..published.clone()
    };
    for (name, space) in spaces() {
        let variants = match name {
            "choices" => vec![("published", &published)],
            "many integers" => vec![("published", &published), ("options", &every_option)],
            _ => continue,
        };
        for (variant, config) in variants {
            let mut engine = DiscretePso::new(&space, config.clone(), 42).unwrap();
            let file = format!("pso-discrete-{variant}-{}", name.replace(' ', "-"));
            compare(&file, &trajectory(&space, &mut engine));
        }
    }
}

/// Four particles, members or samples, so that an ask of four is a generation, but for the single
/// trials of elitist learning.
#[test]
fn the_continuous_engines_walk_their_golden_paths() {
    for (name, space) in spaces() {
        if !["reals", "mixed"].contains(&name) {
            continue;
        }
        let plain = pso::PsoConfig { population: 4, ..pso::PsoConfig::default() };
        let adaptive = apso::ApsoConfig { population: 4, ..apso::ApsoConfig::default() };
        let strategy = cmaes::CmaEsConfig { population: Some(4), ..cmaes::CmaEsConfig::default() };
        let evolution = de::DeConfig { population: 4, ..de::DeConfig::default() };
        let mut engines: [(&str, Box<dyn Engine>); 4] = [
            ("pso", Box::new(Pso::new(&space, plain, 42).unwrap())),
            ("apso", Box::new(Apso::new(&space, adaptive, 42).unwrap())),
            ("cmaes", Box::new(CmaEs::new(&space, strategy, 42).unwrap())),
            ("de", Box::new(De::new(&space, evolution, 42).unwrap())),
        ];
        for (engine_name, engine) in &mut engines {
            compare(&format!("{engine_name}-{name}"), &trajectory(&space, engine.as_mut()));
        }
    }
}

/// Four individuals, or four points before anything is learned from.
#[test]
fn the_tuning_engines_walk_their_golden_paths() {
    for (name, space) in spaces() {
        if !["conditional", "mixed"].contains(&name) {
            continue;
        }
        let published = sse::SseConfig { population: 4, ..sse::SseConfig::default() };
        let steady = schemata::SchemataConfig {
            start: 4,
            subsets: 4,
            ..schemata::SchemataConfig::default()
        };
        let joint = tpe::TpeConfig { start: 4, ..tpe::TpeConfig::default() };
        let single = tpe::TpeConfig { multivariate: false, ..joint.clone() };
        let genetic = ga::GaConfig { population: 4, ..ga::GaConfig::default() };
        let colony = aco::AcoConfig { archive: 4, q: 0.5, ..aco::AcoConfig::default() };
        let walk = annealing::AnnealingConfig { start: 4, ..annealing::AnnealingConfig::default() };
        let mut engines: [(&str, Box<dyn Engine>); 8] = [
            ("sse", Box::new(Sse::new(&space, published, 42).unwrap())),
            ("schemata", Box::new(Schemata::new(&space, steady, 42).unwrap())),
            ("tpe", Box::new(Tpe::new(&space, joint, 42).unwrap())),
            ("tpe-univariate", Box::new(Tpe::new(&space, single, 42).unwrap())),
            ("ga", Box::new(Ga::new(&space, genetic, 42).unwrap())),
            ("aco", Box::new(Aco::new(&space, colony, 42).unwrap())),
            ("annealing", Box::new(Annealing::new(&space, walk, 42).unwrap())),
            ("grid", Box::new(GridSearch::new(&space, grid::GridConfig::default(), 42).unwrap())),
        ];
        for (engine_name, engine) in &mut engines {
            compare(&format!("{engine_name}-{name}"), &trajectory(&space, engine.as_mut()));
        }
    }
}
