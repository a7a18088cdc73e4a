//! Our own booster as the surrogate: three runs of quantile regression say what is likely (the engine that the paper of
//! the schemata exploiter calls GBRT, as in scikit-optimize).
//!
//! Thirty trees of depth 3 with learning rate 0.1 for each of the quantiles .16, .5 and .84; the middle one is what is
//! expected, and half the distance of the outer two, which for a normal distribution is its standard deviation, how
//! unsure that is. The candidates are the validation rows of the booster, so that their predictions come with the fit.
//!
//! Deviation: normal scores of ranks are learned instead of losses, which was much better in our experiments;
//! [`Targets::Losses`](super::Targets::Losses) is as published.

use std::convert::Infallible;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::data::{Chunk, Column};
use swarmwood_learn::dataset::{Builder, Dataset};
use swarmwood_learn::event::Flow;
use swarmwood_learn::greedy::{Growth, Settings, train};
use swarmwood_learn::metric::Watch;
use swarmwood_learn::objective::Quantile;
use swarmwood_learn::pool::Pool;
use swarmwood_learn::split::{Penalties, Ridge};
use swarmwood_model::{Feature, Kind};
use swarmwood_search::rng::Stream;

use super::{Belief, Cube, Regressor};

/// The quantiles: the middle, and one standard deviation of a normal distribution to either side.
const QUANTILES: [f64; 3] = [0.16, 0.5, 0.84];

/// Values that a parameter is told apart by.
const BINS: usize = 64;

/// Bytes of histograms that may be kept: enough for every node of a tree of depth 3.
const MEMORY: usize = 1 << 24;

/// Trees for each quantile, unless said otherwise.
const TREES: usize = 30;

/// Three quantiles.
#[derive(Debug, Clone, Copy)]
pub struct Quantiles {
    trees: usize,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self::of_trees(TREES)
    }
}

impl Regressor for Quantiles {
    const NAME: &'static str = "gbrt";

    fn of_trees(trees: usize) -> Self {
        Quantiles { trees: trees.max(1) }
    }

    fn trees(&self) -> usize {
        self.trees
    }

    fn believe(&self, known: &Cube, target: &[f64], asked: &Cube, _: &mut Stream) -> Vec<Belief> {
        let Ok(pool) = Pool::new(1) else { return vec![Belief { mean: 0.0, deviation: 1.0 }; asked.rows] };
        let (data, candidates) = binned(known, target, asked, &pool);
        let predict = |alpha: f64| -> Vec<f64> {
            let objective = Quantile { alpha };
            let fit =
                train(&data, Some(&candidates), &objective, &settings(self.trees), &pool, &mut |_| Flow::Continue);
            fit.valid_scores[0].iter().map(|&score| f64::from(score) + fit.shift).collect()
        };
        let [low, middle, high] = QUANTILES.map(predict);
        let belief = |at: usize| Belief { mean: middle[at], deviation: (high[at] - low[at]) / 2.0 };
        (0..asked.rows).map(belief).collect()
    }
}

fn settings(trees: usize) -> Settings {
    Settings {
        trees,
        growth: Growth::Depth,
        depth: 3,
        max_leaves: 8,
        learning_rate: 0.1,
        penalties: Penalties { lambda: 0.0, ridge: Ridge::Flat, gamma: 0.0, min_child_weight: 1.0 },
        subsample: 1.0,
        colsample_bytree: 1.0,
        dart: None,
        early_stopping_rounds: 0,
        metric: Watch::Loss,
        seed: 0,
        memory: MEMORY,
        tell_every: 0,
    }
}

/// Known configurations and candidates in the same bins.
fn binned(known: &Cube, target: &[f64], asked: &Cube, pool: &Pool) -> (Dataset, Dataset) {
    let chunk = |cube: &Cube, target: Vec<f64>| Chunk {
        columns: cube.columns.iter().map(|column| Column::Number(column.clone())).collect(),
        target,
        weight: Vec::new(),
        rows: cube.rows,
    };
    let (known, asked) = (chunk(known, target.to_vec()), chunk(asked, vec![0.0; asked.rows]));
    let feature = |number: usize| Feature { name: number.to_string(), kind: Kind::Number };
    let features: Vec<Feature> = (0..known.columns.len()).map(feature).collect();
    let layout = Layout::fit(|at| known.columns[at].clone(), &features, BINS, pool);
    let Ok(both) = layout.settle(|layout| {
        let build = |chunk: &Chunk| {
            let mut builder = Builder::new(layout.clone(), chunk.rows);
            builder.push(chunk, pool).map(|()| builder.finish(pool))
        };
        let known = match build(&known) {
            Ok(known) => known,
            Err(conflict) => return Ok::<_, Infallible>(Err(conflict)),
        };
        Ok(build(&asked).map(|asked| (known, asked)))
    });
    both
}
