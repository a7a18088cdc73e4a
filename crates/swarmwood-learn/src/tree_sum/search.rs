//! The search: greedy growth, then simulated annealing over moves that remove splits and add others.

use swarmwood_search::rng::Stream;

use crate::context::Context;
use crate::rank_tree::RankTree;

use super::leaf_fit::SumFit;
use super::rows::SumRows;

/// Random streams of the search: an item is a fold, or all rows.
const STREAM: u64 = 9 << 32;

/// The first temperature, as a share of the loss of greedy growth.
const TEMPERATURE: f64 = 0.003;

/// Iterations without progress after which the search continues from the best sum.
const PATIENCE: usize = 60;

/// Share of iterations that re-select the rule of every split.
const POLISH_SHARE: f64 = 0.1;

/// What is searched, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SumSearchConfig {
    /// Number of splits of all trees.
    pub(super) splits: usize,
    /// Minimum number of rows in a leaf.
    pub(super) min_leaf: usize,
    /// Penalty of the leaf values.
    pub(super) ridge: f64,
    /// Number of moves.
    pub(super) iterations: usize,
    /// Seed of the random streams.
    pub(super) seed: u64,
}

/// One search.
pub(super) struct SumSearch<'a> {
    pub(super) rows: &'a SumRows<'a>,
    pub(super) config: SumSearchConfig,
    pub(super) features: Vec<u32>,
    pub(super) context: Context<'a>,
}

impl<'a> SumSearch<'a> {
    /// A search over all columns with more than one value.
    pub(super) fn new(
        rows: &'a SumRows<'a>,
        config: SumSearchConfig,
        context: Context<'a>,
    ) -> Self {
        let varies = |&feature: &u32| {
            let codes = &rows.columns[feature as usize].codes;
            codes.iter().any(|code| *code != codes[0])
        };
        let features = (0..rows.columns.len() as u32).filter(varies).collect();
        SumSearch { rows, config, features, context }
    }

    /// The best trees after so many iterations each; `steps` ascend, and the first is that of
    /// greedy growth. When the budget is interrupted, the rest are those of the last iteration.
    pub(super) fn run(&self, item: u64, steps: &[usize]) -> Vec<Vec<RankTree>> {
        let mut stream = Stream::new(self.config.seed, STREAM, item);
        let mut present = SumFit::constant(self.rows);
        self.grow(&mut present, None);
        let mut best = present.clone();
        let first_loss = best.loss;

        let mut found = Vec::new();
        let (mut iteration, mut idle) = (0, 0);
        for &step in steps {
            while iteration < step && present.splits() > 0 && !self.context.budget.is_interrupted()
            {
                let left = 1.0 - iteration as f64 / self.config.iterations as f64;
                let temperature = TEMPERATURE * first_loss * left;
                let next = match stream.unit() < POLISH_SHARE {
                    true => self.polish(&present),
                    false => self.propose(&present, &mut stream),
                };
                iteration += 1;
                if self.context.budget.is_interrupted() && next.splits() < self.config.splits {
                    break;
                }
                let worse = next.loss - present.loss;
                if worse <= 0.0 || stream.unit() < (-worse / temperature).exp() {
                    present = next;
                }
                idle += 1;
                if present.loss < best.loss * (1.0 - 1e-9) {
                    best = present.clone();
                    idle = 0;
                }
                if idle >= PATIENCE {
                    present = best.clone();
                    idle = 0;
                }
            }
            found.push(best.trees.clone());
        }
        found
    }
}
