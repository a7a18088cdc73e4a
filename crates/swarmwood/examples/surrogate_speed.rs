//! What a trial costs the engines that model losses with trees: microseconds an ask and tell over
//! 200 trials of seven parameters, for the first hundred, the second, and all.
//!
//! ```text
//! cargo run --release -p swarmwood --example surrogate_speed [TRIALS] [ENGINE…]
//! ```

use std::time::Instant;

use swarmwood::search::options::EngineOptions;
use swarmwood::search::{Param, Space, TrialResult};
use swarmwood::tune::engine;

/// Range B of the published experiments, which has seven parameters.
fn space() -> Result<Space, swarmwood::search::Error> {
    let shares: Vec<f64> = (6..=20).map(|step| f64::from(step) / 20.0).collect();
    let rates: Vec<f64> = (1..=15).map(|step| f64::from(step) / 50.0).collect();
    let trees = ["gbtree", "dart"];
    Space::new(vec![
        Param::choice("booster", &["gbtree", "gblinear", "dart"]),
        Param::choice("objective", &["squared", "squared-log"]),
        Param::list("learning_rate", &rates),
        Param::integer("depth", 1, 20).when("booster", &trees),
        Param::integer("min_child_weight", 1, 20).when("booster", &trees),
        Param::list("subsample", &shares).when("booster", &trees),
        Param::list("colsample_bytree", &shares).when("booster", &trees),
    ])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let trials: usize = words.first().map_or(Ok(200), |word| word.parse())?;
    let named: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let names = if named.is_empty() { vec!["forest", "gbrt", "tpe", "schemata"] } else { named };
    let space = space()?;
    for name in names {
        let mut engine = engine::make(name, &EngineOptions::DEFAULTS, &space, 7)?;
        let mut micros = Vec::with_capacity(trials);
        for _ in 0..trials {
            let started = Instant::now();
            let asked = engine.ask(1);
            for trial in &asked {
                let loss: f64 = space.encode(&trial.point).iter().map(|u| (u - 0.4).powi(2)).sum();
                engine.tell(&[TrialResult::Complete { id: trial.id, loss }]);
            }
            micros.push(started.elapsed().as_secs_f64() * 1e6);
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let (first, second) = micros.split_at(trials / 2);
        println!("{name}: {:.0} {:.0} {:.0}", mean(first), mean(second), mean(&micros));
    }
    Ok(())
}
