//! When a search has come to its end and a new one promises more.
//!
//! The rules of Hansen's tutorial (arXiv 1604.00772, section B.3) that say that nothing moves any
//! more:
//! - flat: the best losses of the last generations, and all of the newest, differ by no more than
//!   the rounding of losses;
//! - narrow: no continuous coordinate reaches farther than the rounding of positions;
//! - stretched: the covariance is too long in one direction for its inverse to mean anything;
//! - stagnant: over a long window neither the best nor the median losses of the newest third are
//!   better than those of the oldest.
//!
//! Deviation: the window of the last rule has a fixed length, and does not grow with the age of the
//! search.

use super::distribution::Distribution;
use crate::error::Error;
use crate::snapshot::Datum;

const FLAT: f64 = 1e-12;
const NARROW: f64 = 1e-12;
const STRETCHED: f64 = 1e14;

/// The losses of the last generations.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Watch {
    bests: Vec<f64>,
    medians: Vec<f64>,
    /// Best and worst of the newest generation.
    newest: Option<(f64, f64)>,
}

/// How many generations the flat rule looks at.
fn short(n: usize, lambda: usize) -> usize {
    10 + (30 * n).div_ceil(lambda.max(1))
}

/// How many the stagnant rule looks at.
fn long(n: usize, lambda: usize) -> usize {
    120 + 30 * n / lambda.max(1)
}

impl Watch {
    /// Takes the losses of a generation, smallest first, failures left out.
    pub(super) fn note(&mut self, sorted: &[f64], n: usize, lambda: usize) {
        let (Some(best), Some(worst)) = (sorted.first(), sorted.last()) else { return };
        self.newest = Some((*best, *worst));
        for (history, value) in
            [(&mut self.bests, *best), (&mut self.medians, sorted[sorted.len() / 2])]
        {
            history.push(value);
            let surplus = history.len().saturating_sub(long(n, lambda));
            history.drain(..surplus);
        }
    }

    /// Whether the search has come to its end.
    pub(super) fn is_over(
        &self,
        distribution: &Distribution,
        continuous: &[usize],
        lambda: usize,
    ) -> bool {
        let n = distribution.mean.len();
        let narrow =
            !continuous.is_empty() && continuous.iter().all(|j| distribution.reach(*j) < NARROW);
        narrow
            || distribution.condition() > STRETCHED
            || self.is_flat(n, lambda)
            || self.is_stagnant(n, lambda)
    }

    fn is_flat(&self, n: usize, lambda: usize) -> bool {
        let Some((best, worst)) = self.newest else { return false };
        if self.bests.len() < short(n, lambda) {
            return false;
        }
        let recent = &self.bests[self.bests.len() - short(n, lambda)..];
        let low = recent.iter().copied().fold(best, f64::min);
        let high = recent.iter().copied().fold(worst, f64::max);
        high / 2.0 - low / 2.0 <= FLAT * low.abs().max(1.0)
    }

    fn is_stagnant(&self, n: usize, lambda: usize) -> bool {
        let window = long(n, lambda);
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
        let history = |datum: &Datum| datum.to_reals(datum.list()?.len().min(long(n, lambda)));
        let newest = match newest.list()? {
            [] => None,
            [best, worst] => Some((best.real()?, worst.real()?)),
            _ => return Err(crate::snapshot::damaged("more than one newest generation")),
        };
        Ok(Watch { bests: history(bests)?, medians: history(medians)?, newest })
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
        let mut watch = Watch::default();
        for generation in 0..generations {
            watch.note(&losses(generation), 2, 6);
        }
        assert_eq!(Watch::load(&watch.save(), 2, 6), Ok(watch.clone()));
        watch.is_over(&Distribution::new(vec![0.5; 2], 0.3), &[0, 1], 6)
    }

    #[test]
    fn the_rules_see_what_they_are_for() {
        assert!(
            !after(19, |_| [1.0; 3]) && after(20, |_| [1.0; 3]),
            "flat for 10 + 30 · 2 / 6 generations"
        );
        assert!(!after(200, |g| [-(g as f64), 0.0, 1.0]), "the best still falls");
        assert!(!after(200, |g| [0.0, -(g as f64), 1.0]), "the median still falls");
        assert!(
            !after(129, |_| [0.0, 1.0, 2.0]) && after(130, |_| [0.0, 1.0, 2.0]),
            "nothing falls"
        );
        assert!(!after(0, |_| [0.0; 3]));
        let watch = Watch::default();
        assert!(watch.is_over(&Distribution::new(vec![0.5], 1e-13), &[0], 4), "narrow");
        assert!(
            !watch.is_over(&Distribution::new(vec![0.5], 1e-13), &[], 4),
            "no continuum to be narrow in"
        );
    }
}
