//! Times what engines need to think, in microseconds a trial:
//! `cargo run --release --example engine_speed`.
//!
//! Seven parameters of every kind, 200 trials asked and told one by one, the fastest of several
//! searches: the mean over all trials, and over the last fifty, where there is most to think about.
//! The objective costs nothing and is not counted.

use std::time::{Duration, Instant};

use swarmwood_search::options::EngineOptions;
use swarmwood_search::registry::{ENGINES, create};
use swarmwood_search::{Engine, Param, Schemata, Space, Tpe, TrialResult, schemata, tpe};

const TRIALS: usize = 200;
const LAST: usize = 50;
const SEARCHES: u64 = 20;

fn space() -> Result<Space, swarmwood_search::Error> {
    Space::new(vec![
        Param::choice("booster", &["tree", "dart", "linear"]),
        Param::integer("depth", 1, 20).when("booster", &["tree", "dart"]),
        Param::real("rate", 1e-3, 1.0).log(),
        Param::integer("weight", 1, 100).log(),
        Param::list("subsample", &[0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        Param::real("penalty", 1e-3, 1e2).log(),
        Param::choice("objective", &["squared", "log"]),
    ])
}

/// Microseconds a trial over all trials and over the last ones.
fn time(space: &Space, mut engine: Box<dyn Engine>) -> (f64, f64) {
    let (mut all, mut last) = (Duration::ZERO, Duration::ZERO);
    for trial in 0..TRIALS {
        let build = Instant::now();
        let asked = engine.ask(1);
        let mut spent = build.elapsed();
        for trial in asked {
            let loss = space.encode(&trial.point).iter().map(|u| (u - 0.3) * (u - 0.3)).sum();
            let build = Instant::now();
            engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
            spent += build.elapsed();
        }
        all += spent;
        if trial >= TRIALS - LAST {
            last += spent;
        }
    }
    (all.as_secs_f64() * 1e6 / TRIALS as f64, last.as_secs_f64() * 1e6 / LAST as f64)
}

fn main() -> Result<(), swarmwood_search::Error> {
    let space = space()?;
    let report =
        |name: &str, make: &dyn Fn(u64) -> Result<Box<dyn Engine>, swarmwood_search::Error>| {
            let mut best = (f64::INFINITY, f64::INFINITY);
            for seed in 0..SEARCHES {
                let (all, last) = time(&space, make(seed)?);
                best = (best.0.min(all), best.1.min(last));
            }
            println!("{name:24} {:8.2} µs a trial, {:8.2} µs of the last {LAST}", best.0, best.1);
            Ok::<(), swarmwood_search::Error>(())
        };
    for spec in ENGINES {
        report(spec.name, &|seed| {
            create(ENGINES, spec.name, &EngineOptions::DEFAULTS, &space, seed)
        })?;
    }
    report("schemata, not smoothed", &|seed| {
        let config =
            schemata::SchemataConfig { smoothing: false, ..schemata::SchemataConfig::default() };
        Ok(Box::new(Schemata::new(&space, config, seed)?))
    })?;
    report("tpe, univariate", &|seed| {
        let config = tpe::TpeConfig { multivariate: false, ..tpe::TpeConfig::default() };
        Ok(Box::new(Tpe::new(&space, config, seed)?))
    })
}
