//! Gradient boosted quantile regression as the surrogate (the engine that the paper of the schemata
//! exploiter calls GBRT, as in scikit-optimize).
//!
//! Thirty trees of depth 3 with learning rate 0.1 for each of the quantiles .16, .5 and .84. The
//! median is the predicted mean, and half the distance of the outer two, which is the standard
//! deviation of a normal distribution, the uncertainty.
//!
//! This is a small version of the learner's booster: histograms, gains and leaf quantiles, for one
//! loss whose gradient has two values, so that two counts per bin suffice. The booster itself is
//! made for more rows than there are trials and took five milliseconds per ask. As in the forest,
//! no tree is stored: the candidates are partitioned together with the rows.
//!
//! Deviation: normal scores of ranks are learned instead of losses, which was much better in our
//! experiments; [`SurrogateTarget::Losses`](super::SurrogateTarget::Losses) is as published.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::forest::stable_partition;
use super::{CoordinateTable, LossPrediction, SurrogateModel};

/// The quantiles: the middle, and one standard deviation of a normal distribution to either side.
const QUANTILES: [f64; 3] = [0.16, 0.5, 0.84];

/// Largest number of bins of a parameter.
const MAX_BINS: usize = 64;

/// Depth of a tree.
const DEPTH: usize = 3;

/// The learning rate.
const LEARNING_RATE: f64 = 0.1;

/// Number of trees per quantile, by default.
pub(super) const DEFAULT_TREES: usize = 30;

/// Three boosted quantiles.
#[derive(Debug, Clone, Copy)]
pub struct QuantileBooster {
    trees: usize,
}

impl Default for QuantileBooster {
    fn default() -> Self {
        Self::with_trees(DEFAULT_TREES)
    }
}

impl SurrogateModel for QuantileBooster {
    const NAME: &'static str = "gbrt";

    fn with_trees(trees: usize) -> Self {
        QuantileBooster { trees: trees.max(1) }
    }

    fn trees(&self) -> usize {
        self.trees
    }

    fn fit_predict(
        &self,
        known: &CoordinateTable,
        target: &[f64],
        asked: &CoordinateTable,
        _: &mut Stream,
    ) -> Vec<LossPrediction> {
        let binned = BinnedTrials::new(known, target, asked);
        let [low, middle, high] = QUANTILES.map(|alpha| binned.boost(alpha, self.trees));
        let prediction = |at: usize| LossPrediction {
            mean: middle[at],
            deviation: (high[at] - low[at]).max(0.0) / 2.0,
        };
        (0..asked.rows).map(prediction).collect()
    }
}

/// Modelled trials and candidates in bins.
struct BinnedTrials<'a> {
    target: &'a [f64],
    /// The bin of every known point, by parameter.
    known: Vec<Vec<u8>>,
    /// The bin of every candidate, by parameter.
    asked: Vec<Vec<u8>>,
    /// Number of bins per parameter.
    bins: Vec<usize>,
    /// `1 / n` for every number of rows a side can have.
    inverse: Vec<f64>,
    candidates: usize,
}

/// A node that is still to be split.
struct BoosterNode {
    rows: Range<usize>,
    candidates: Range<usize>,
    levels: usize,
}

impl<'a> BinnedTrials<'a> {
    fn new(known: &CoordinateTable, target: &'a [f64], asked: &CoordinateTable) -> Self {
        let edges: Vec<Vec<f64>> = known.columns.iter().map(|column| edges(column)).collect();
        let code = |columns: &[Vec<f64>]| -> Vec<Vec<u8>> {
            let of = |(column, edges): (&Vec<f64>, &Vec<f64>)| {
                column.iter().map(|u| edges.partition_point(|edge| edge < u) as u8).collect()
            };
            columns.iter().zip(&edges).map(of).collect()
        };
        let bins = edges.iter().map(|edges| edges.len() + 1).collect();
        let inverse = (0..=known.rows).map(|rows| 1.0 / rows as f64).collect();
        let (binned, candidates) = (code(&known.columns), asked.rows);
        BinnedTrials {
            target,
            known: binned,
            asked: code(&asked.columns),
            bins,
            inverse,
            candidates,
        }
    }

    /// The boosted quantile of every candidate.
    fn boost(&self, alpha: f64, trees: usize) -> Vec<f64> {
        let count = self.target.len();
        let start = quantile(&mut self.target.to_vec(), alpha);
        let (mut score, mut predicted) = (vec![start; count], vec![start; self.candidates]);
        let (mut rows, mut candidates): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut above, mut buffer, mut residuals) = (vec![0u32; count], Vec::new(), Vec::new());
        for _ in 0..trees {
            // The upper half of a word counts rows whose target lies above their score, the lower
            // half all rows.
            let sides =
                self.target.iter().zip(&score).map(|(y, score)| 1 | u32::from(y > score) << 16);
            above.iter_mut().zip(sides).for_each(|(word, side)| *word = side);
            rows.clear();
            rows.extend(0..count as u32);
            candidates.clear();
            candidates.extend(0..self.candidates as u32);
            let mut open =
                vec![BoosterNode { rows: 0..count, candidates: 0..self.candidates, levels: DEPTH }];
            while let Some(BoosterNode { rows: own, candidates: asked, levels }) = open.pop() {
                let best = if levels > 0 {
                    self.best_split(&rows[own.clone()], &above, alpha)
                } else {
                    None
                };
                if let Some((parameter, last)) = best {
                    let (known, bins) = (&self.known[parameter], &self.asked[parameter]);
                    let left = stable_partition(&mut rows[own.clone()], &mut buffer, |row| {
                        known[row as usize] <= last
                    });
                    let kept =
                        stable_partition(&mut candidates[asked.clone()], &mut buffer, |at| {
                            bins[at as usize] <= last
                        });
                    let (middle, cut) = (own.start + left, asked.start + kept);
                    let levels = levels - 1;
                    open.push(BoosterNode {
                        rows: own.start..middle,
                        candidates: asked.start..cut,
                        levels,
                    });
                    open.push(BoosterNode {
                        rows: middle..own.end,
                        candidates: cut..asked.end,
                        levels,
                    });
                    continue;
                }
                let own = &rows[own];
                residuals.clear();
                residuals
                    .extend(own.iter().map(|&row| self.target[row as usize] - score[row as usize]));
                let value = LEARNING_RATE * quantile(&mut residuals, alpha);
                own.iter().for_each(|&row| score[row as usize] += value);
                candidates[asked].iter().for_each(|&at| predicted[at as usize] += value);
            }
        }
        predicted
    }

    /// The parameter and the last bin of the left side of the split with the largest gain, if there
    /// is one.
    ///
    /// With gradient `1 - α` below the score and `-α` above it, a side of `n` rows, `a` of them
    /// above, has the gradient sum `G = (1 - α) n - a` and the hessian sum `n`; the gain of a split
    /// is `GL²/nL + GR²/nR - G²/n`.
    fn best_split(&self, rows: &[u32], above: &[u32], alpha: f64) -> Option<(usize, u8)> {
        let score_of = |word: u32| {
            let (all, above) = (word & 0xFFFF, word >> 16);
            let sum = (1.0 - alpha) * f64::from(all) - f64::from(above);
            sum * sum * self.inverse[all as usize]
        };
        let total: u32 = rows.iter().map(|&row| above[row as usize]).sum();
        let (mut best, mut found) = (score_of(total) + 1e-9, None);
        for (parameter, bins) in self.known.iter().enumerate() {
            let mut table = [0u32; MAX_BINS];
            rows.iter()
                .for_each(|&row| table[usize::from(bins[row as usize])] += above[row as usize]);
            let mut left = 0;
            for (code, &word) in table[..self.bins[parameter] - 1].iter().enumerate() {
                left += word;
                if word == 0 || left == total || left & 0xFFFF == total & 0xFFFF {
                    continue;
                }
                let both = score_of(left) + score_of(total - left);
                if both > best {
                    (best, found) = (both, Some((parameter, code as u8)));
                }
            }
        }
        found
    }
}

/// Bin edges of a parameter: half-way between neighbouring values, thinned out evenly if there are
/// too many.
fn edges(column: &[f64]) -> Vec<f64> {
    let mut values = column.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let between: Vec<f64> = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    let step = between.len().div_ceil(MAX_BINS - 1).max(1);
    between.into_iter().skip(step / 2).step_by(step).collect()
}

/// The lower `alpha` quantile of some values; 0 if there are none.
fn quantile(values: &mut [f64], alpha: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = ((alpha * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}
