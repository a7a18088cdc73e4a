//! Quantile regression by gradient boosting as the surrogate: three runs say what is likely (the
//! engine that the paper of the schemata exploiter calls GBRT, as in scikit-optimize).
//!
//! Thirty trees of depth 3 with learning rate 0.1 for each of the quantiles .16, .5 and .84; the
//! middle one is what is expected, and half the distance of the outer two, which for a normal
//! distribution is its standard deviation, how unsure that is.
//!
//! The loop is our booster's in small: its histograms, gains and leaf quantiles, for one loss whose
//! gradient has two values, so that a node is known by two counts a code. The booster itself is
//! made for more rows than there are trials and took five milliseconds an ask. As in the forest no
//! tree is stored: the candidates are parted with the rows.
//!
//! Deviation: normal scores of ranks are learned instead of losses, which was much better in our
//! experiments; [`Targets::Losses`](super::Targets::Losses) is as published.

use std::ops::Range;

use swarmwood_search::rng::Stream;

use super::forest::part_stably;
use super::{Belief, Cube, Regressor};

/// The quantiles: the middle, and one standard deviation of a normal distribution to either side.
const QUANTILES: [f64; 3] = [0.16, 0.5, 0.84];

/// Values that a parameter is told apart by.
const CODES: usize = 64;

/// Levels of a tree.
const DEPTH: usize = 3;

/// Share of each leaf value that is taken.
const RATE: f64 = 0.1;

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
        let coded = Coded::new(known, target, asked);
        let [low, middle, high] = QUANTILES.map(|alpha| coded.boost(alpha, self.trees));
        let belief =
            |at: usize| Belief { mean: middle[at], deviation: (high[at] - low[at]).max(0.0) / 2.0 };
        (0..asked.rows).map(belief).collect()
    }
}

/// Known configurations and candidates in codes.
struct Coded<'a> {
    target: &'a [f64],
    /// Parameter by parameter the code of every known configuration.
    known: Vec<Vec<u8>>,
    /// The same of every candidate.
    asked: Vec<Vec<u8>>,
    /// How many codes each parameter has.
    codes: Vec<usize>,
    /// `1 / n` for every number of rows a side can have.
    inverse: Vec<f64>,
    candidates: usize,
}

/// A node on its way down.
struct Node {
    rows: Range<usize>,
    candidates: Range<usize>,
    levels: usize,
}

impl<'a> Coded<'a> {
    fn new(known: &Cube, target: &'a [f64], asked: &Cube) -> Self {
        let edges: Vec<Vec<f64>> = known.columns.iter().map(|column| edges(column)).collect();
        let code = |columns: &[Vec<f64>]| -> Vec<Vec<u8>> {
            let of = |(column, edges): (&Vec<f64>, &Vec<f64>)| {
                column.iter().map(|u| edges.partition_point(|edge| edge < u) as u8).collect()
            };
            columns.iter().zip(&edges).map(of).collect()
        };
        let codes = edges.iter().map(|edges| edges.len() + 1).collect();
        let inverse = (0..=known.rows).map(|rows| 1.0 / rows as f64).collect();
        let (coded, candidates) = (code(&known.columns), asked.rows);
        Coded { target, known: coded, asked: code(&asked.columns), codes, inverse, candidates }
    }

    /// What the boosted quantile says of every candidate.
    fn boost(&self, alpha: f64, trees: usize) -> Vec<f64> {
        let count = self.target.len();
        let start = quantile(&mut self.target.to_vec(), alpha);
        let (mut score, mut said) = (vec![start; count], vec![start; self.candidates]);
        let (mut rows, mut candidates): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut above, mut waiting, mut residuals) = (vec![0u32; count], Vec::new(), Vec::new());
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
                vec![Node { rows: 0..count, candidates: 0..self.candidates, levels: DEPTH }];
            while let Some(Node { rows: own, candidates: asked, levels }) = open.pop() {
                let best = if levels > 0 {
                    self.best_cut(&rows[own.clone()], &above, alpha)
                } else {
                    None
                };
                if let Some((parameter, last)) = best {
                    let (known, codes) = (&self.known[parameter], &self.asked[parameter]);
                    let left = part_stably(&mut rows[own.clone()], &mut waiting, |row| {
                        known[row as usize] <= last
                    });
                    let kept = part_stably(&mut candidates[asked.clone()], &mut waiting, |at| {
                        codes[at as usize] <= last
                    });
                    let (middle, cut) = (own.start + left, asked.start + kept);
                    let levels = levels - 1;
                    open.push(Node {
                        rows: own.start..middle,
                        candidates: asked.start..cut,
                        levels,
                    });
                    open.push(Node { rows: middle..own.end, candidates: cut..asked.end, levels });
                    continue;
                }
                let own = &rows[own];
                residuals.clear();
                residuals
                    .extend(own.iter().map(|&row| self.target[row as usize] - score[row as usize]));
                let value = RATE * quantile(&mut residuals, alpha);
                own.iter().for_each(|&row| score[row as usize] += value);
                candidates[asked].iter().for_each(|&at| said[at as usize] += value);
            }
        }
        said
    }

    /// The parameter and the last code of the left side of the split with the greatest gain, if
    /// there is one.
    ///
    /// With gradient `1 - α` below the score and `-α` above it, a side of `n` rows, `a` of them
    /// above, has the sum `G = (1 - α) n - a` and the hessian `n`; a split is worth
    /// `GL²/nL + GR²/nR - G²/n`.
    fn best_cut(&self, rows: &[u32], above: &[u32], alpha: f64) -> Option<(usize, u8)> {
        let worth = |word: u32| {
            let (all, above) = (word & 0xFFFF, word >> 16);
            let sum = (1.0 - alpha) * f64::from(all) - f64::from(above);
            sum * sum * self.inverse[all as usize]
        };
        let total: u32 = rows.iter().map(|&row| above[row as usize]).sum();
        let (mut best, mut found) = (worth(total) + 1e-9, None);
        for (parameter, codes) in self.known.iter().enumerate() {
            let mut table = [0u32; CODES];
            rows.iter()
                .for_each(|&row| table[usize::from(codes[row as usize])] += above[row as usize]);
            let mut left = 0;
            for (code, &word) in table[..self.codes[parameter] - 1].iter().enumerate() {
                left += word;
                if word == 0 || left == total || left & 0xFFFF == total & 0xFFFF {
                    continue;
                }
                let both = worth(left) + worth(total - left);
                if both > best {
                    (best, found) = (both, Some((parameter, code as u8)));
                }
            }
        }
        found
    }
}

/// Boundaries between the values of a parameter: half-way between neighbours, and of many values
/// every so manieth.
fn edges(column: &[f64]) -> Vec<f64> {
    let mut values = column.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let between: Vec<f64> = values.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    let step = between.len().div_ceil(CODES - 1).max(1);
    between.into_iter().skip(step / 2).step_by(step).collect()
}

/// The quantile of some values: the least one that a share of `alpha` does not exceed; 0 of none.
fn quantile(values: &mut [f64], alpha: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let place = ((alpha * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}
