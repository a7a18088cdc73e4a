//! How sure metrics are: the bootstrap.
//!
//! Rows are drawn with replacement, as many as there are, and every metric is taken anew; how it
//! varies from draw to draw is how it would vary from one table of such rows to the next (Efron
//! 1979). The interval goes from the 2.5th to the 97.5th percentile of the draws (Efron and
//! Tibshirani 1993, section 13.3): it stays inside the range of the metric. Where rows are so many
//! that fewer draws are made, percentiles would be coarse and metrics are close to normal: there it
//! is 1.96 standard deviations of the draws to both sides.
//!
//! It tells what the choice of test rows does, not what another training would.
//!
//! Draw `r` takes the same rows for every model measured on the same table, so that two models can
//! be compared in pairs.

use swarmwood_learn::pool::Pool;
use swarmwood_search::rng::Stream;

use super::HeldOutRows;
use crate::{Error, Result};

/// Draws where rows are not too many.
const DRAWS: usize = 1000;

/// Draws where they are.
const FEWEST: usize = 100;

/// Rows that all draws take together, but for the fewest draws.
const WORK: usize = 20_000_000;

/// The standard normal distribution has 95 % of its mass within this distance.
const NORMAL: f64 = 1.96;

/// The stream of draws; any number will do, as long as it stays.
const SEED: u64 = 0;

/// Where a metric lies with a chance of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Every metric with its draws.
///
/// ```
/// use swarmwood::evaluate::{Bootstrap, HeldOutRows};
/// use swarmwood::params::{Method, Params};
/// use swarmwood::read::{ReadOptions, Source, training};
///
/// let csv = Source::Bytes("xy.csv".into(), b"x,y\n1,1.5\n2,2\n3,2.5\n4,4\n5,5.5\n6,6\n7,6.5\n8,8\n");
/// let rows = training(&csv, &ReadOptions { target: "y".into(), ..ReadOptions::default() })?;
/// let params = Params { trees: 2, ..Params::of(Method::GREEDY) }.check()?;
/// let model = swarmwood::train::train(&rows, None, &params, &mut |_| {})?.model;
/// let drawn = Bootstrap::new(&HeldOutRows::predict(&model, &rows, 1)?, 1)?;
/// let (mae, interval) = (drawn.value("mae").unwrap(), drawn.interval("mae").unwrap());
/// assert!(interval.low <= mae && mae <= interval.high);
/// # Ok::<(), swarmwood::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bootstrap {
    values: Vec<(&'static str, f64)>,
    /// The metrics of each draw, in the order of `values`; not a number where a draw does not
    /// define one.
    draws: Vec<Vec<f64>>,
    rows: usize,
}

impl Bootstrap {
    /// Draws the resamples. The same rows give the same intervals with any number of threads; 0 is
    /// one per core.
    pub fn new(held: &HeldOutRows, threads: usize) -> Result<Bootstrap> {
        let values = held.metrics(|_| 1.0);
        let rows = held.rows();
        let count = (WORK / rows.max(1)).clamp(FEWEST, DRAWS);
        let pool = Pool::new(threads).map_err(Error::Run)?;
        let draws = pool.map(count, |draw| {
            let times = times(rows, draw);
            let found = held.metrics(|row| f64::from(times[row]));
            let of = |name: &str| {
                found.iter().find(|metric| metric.0 == name).map_or(f64::NAN, |metric| metric.1)
            };
            values.iter().map(|(name, _)| of(name)).collect()
        });
        Ok(Bootstrap { values, draws, rows })
    }

    /// Every metric of the rows themselves.
    pub fn values(&self) -> &[(&'static str, f64)] {
        &self.values
    }

    /// How many draws there are.
    pub fn draws(&self) -> usize {
        self.draws.len()
    }

    /// Whether intervals are percentiles of the draws, and not taken from their deviation.
    pub fn is_percentile(&self) -> bool {
        self.draws.len() == DRAWS
    }

    /// A metric of the rows themselves.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.at(name).map(|at| self.values[at].1)
    }

    /// The interval of a metric; `None` where fewer than nine in ten draws define it.
    pub fn interval(&self, name: &str) -> Option<Interval> {
        let at = self.at(name)?;
        self.around(self.values[at].1, self.draws.iter().map(|draw| draw[at]).collect())
    }

    /// How much greater a metric is than that of another model on the same rows, and the interval
    /// of that.
    pub fn less(&self, other: &Bootstrap, name: &str) -> Option<(f64, Interval)> {
        let (own, theirs) = (self.at(name)?, other.at(name)?);
        if self.rows != other.rows || self.draws.len() != other.draws.len() {
            return None;
        }
        let draws = self.draws.iter().zip(&other.draws).map(|(a, b)| a[own] - b[theirs]);
        let value = self.values[own].1 - other.values[theirs].1;
        Some((value, self.around(value, draws.collect())?))
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.values.iter().position(|metric| metric.0 == name)
    }

    fn around(&self, value: f64, mut draws: Vec<f64>) -> Option<Interval> {
        draws.retain(|draw| draw.is_finite());
        if self.rows < 2 || draws.len() * 10 < self.draws.len() * 9 || draws.is_empty() {
            return None;
        }
        if self.is_percentile() {
            draws.sort_unstable_by(f64::total_cmp);
            return Some(Interval { low: quantile(&draws, 0.025), high: quantile(&draws, 0.975) });
        }
        let count = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / count;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = NORMAL * variance.sqrt();
        Some(Interval { low: value - half, high: value + half })
    }
}

/// How many times a draw takes each row.
fn times(rows: usize, draw: usize) -> Vec<u32> {
    let mut stream = Stream::new(SEED, 0, draw as u64);
    let mut times = vec![0; rows];
    for _ in 0..rows {
        times[stream.below(rows as u64) as usize] += 1;
    }
    times
}

/// The value at a share of the way through sorted ones, between neighbours in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let next = sorted.get(below + 1).copied().unwrap_or(sorted[below]);
    sorted[below] + part * (next - sorted[below])
}

#[cfg(test)]
mod tests;
