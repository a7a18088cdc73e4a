//! Restart criteria of CMA-ES.
//!
//! The criteria of Hansen's tutorial (arXiv 1604.00772, section B.3) for a search that makes no
//! progress any more:
//! - TolFun: the best losses of the last generations, and all of the newest, differ by no more than
//!   a relative tolerance;
//! - TolX: no continuous coordinate can move farther than a tolerance;
//! - ConditionCov: the condition number of the covariance matrix is too large;
//! - Stagnation: over a long window neither the best nor the median losses of the newest third are
//!   better than those of the oldest.
//!
//! Deviation: the window of the last criterion has a fixed length and does not grow with the age of
//! the search.

use super::distribution::SearchDistribution;
use crate::error::Error;
use crate::snapshot::Datum;

const TOL_FUN: f64 = 1e-12;
const TOL_X: f64 = 1e-12;
const MAX_CONDITION: f64 = 1e14;

/// The losses of the last generations.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct StagnationDetector {
    bests: Vec<f64>,
    medians: Vec<f64>,
    /// Best and worst of the newest generation.
    newest: Option<(f64, f64)>,
}

/// Number of generations that TolFun compares.
fn tol_fun_window(n: usize, lambda: usize) -> usize {
    10 + (30 * n).div_ceil(lambda.max(1))
}

/// Number of generations that Stagnation compares.
fn stagnation_window(n: usize, lambda: usize) -> usize {
    120 + 30 * n / lambda.max(1)
}

impl StagnationDetector {
    /// Records the losses of a generation, in ascending order, without failures.
    pub(super) fn record(&mut self, sorted: &[f64], n: usize, lambda: usize) {
        let (Some(best), Some(worst)) = (sorted.first(), sorted.last()) else { return };
        self.newest = Some((*best, *worst));
        for (history, value) in
            [(&mut self.bests, *best), (&mut self.medians, sorted[sorted.len() / 2])]
        {
            history.push(value);
            let surplus = history.len().saturating_sub(stagnation_window(n, lambda));
            history.drain(..surplus);
        }
    }

    /// Whether the search makes no progress any more.
    pub(super) fn should_restart(
        &self,
        distribution: &SearchDistribution,
        continuous: &[usize],
        lambda: usize,
    ) -> bool {
        let n = distribution.mean.len();
        let tol_x =
            !continuous.is_empty() && continuous.iter().all(|j| distribution.reach(*j) < TOL_X);
        tol_x
            || distribution.condition() > MAX_CONDITION
            || self.is_flat(n, lambda)
            || self.is_stagnant(n, lambda)
    }

    fn is_flat(&self, n: usize, lambda: usize) -> bool {
        let Some((best, worst)) = self.newest else { return false };
        if self.bests.len() < tol_fun_window(n, lambda) {
            return false;
        }
        let recent = &self.bests[self.bests.len() - tol_fun_window(n, lambda)..];
        let low = recent.iter().copied().fold(best, f64::min);
        let high = recent.iter().copied().fold(worst, f64::max);
        high / 2.0 - low / 2.0 <= TOL_FUN * low.abs().max(1.0)
    }

    fn is_stagnant(&self, n: usize, lambda: usize) -> bool {
        let window = stagnation_window(n, lambda);
        let third = window * 3 / 10;
        let worse = |history: &[f64]| {
            history.len() >= window
                && median(&history[window - third..]) >= median(&history[..third])
        };
        worse(&self.bests) && worse(&self.medians)
    }

    pub(super) fn save(&self) -> Datum {
        let newest: Vec<f64> =
            self.newest.iter().flat_map(|(best, worst)| [*best, *worst]).collect();
        Datum::List(vec![
            Datum::reals(&self.bests),
            Datum::reals(&self.medians),
            Datum::reals(&newest),
        ])
    }

    pub(super) fn load(data: &Datum, n: usize, lambda: usize) -> Result<Self, Error> {
        let [bests, medians, newest] = data.tuple()?;
        let history =
            |datum: &Datum| datum.to_reals(datum.list()?.len().min(stagnation_window(n, lambda)));
        let newest = match newest.list()? {
            [] => None,
            [best, worst] => Some((best.real()?, worst.real()?)),
            _ => return Err(crate::snapshot::damaged("more than one newest generation")),
        };
        Ok(StagnationDetector { bests: history(bests)?, medians: history(medians)?, newest })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(generations: usize, losses: impl Fn(usize) -> [f64; 3]) -> bool {
        let mut stagnation_detector = StagnationDetector::default();
        for generation in 0..generations {
            stagnation_detector.record(&losses(generation), 2, 6);
        }
        assert_eq!(
            StagnationDetector::load(&stagnation_detector.save(), 2, 6),
            Ok(stagnation_detector.clone())
        );
        stagnation_detector.should_restart(&SearchDistribution::new(vec![0.5; 2], 0.3), &[0, 1], 6)
    }

    #[test]
    fn every_criterion_is_met_by_its_case() {
        assert!(
            !after(19, |_| [1.0; 3]) && after(20, |_| [1.0; 3]),
            "TolFun after 10 + 30 · 2 / 6 generations"
        );
        assert!(!after(200, |g| [-(g as f64), 0.0, 1.0]), "the best still decreases");
        assert!(!after(200, |g| [0.0, -(g as f64), 1.0]), "the median still decreases");
        assert!(
            !after(129, |_| [0.0, 1.0, 2.0]) && after(130, |_| [0.0, 1.0, 2.0]),
            "nothing decreases"
        );
        assert!(!after(0, |_| [0.0; 3]));
        let stagnation_detector = StagnationDetector::default();
        assert!(
            stagnation_detector.should_restart(&SearchDistribution::new(vec![0.5], 1e-13), &[0], 4),
            "TolX"
        );
        assert!(
            !stagnation_detector.should_restart(&SearchDistribution::new(vec![0.5], 1e-13), &[], 4),
            "no continuous coordinate"
        );
    }
}
