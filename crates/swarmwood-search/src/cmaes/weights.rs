//! The constants of the strategy, which follow from the dimension n and the population λ.
//!
//! Equation numbers are those of Hansen, "The CMA evolution strategy: a tutorial", arXiv
//! 1604.00772.

/// The share of a covariance that one generation may replace; not all, or nothing bounds the
/// negative weights.
const MOST_NEW: f64 = 1.0 - 1e-8;

/// Recombination weights and learning rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weights {
    /// One a rank, best first: the better half positive with sum 1, the others negative (active
    /// update).
    pub(super) ranks: Vec<f64>,
    /// μ_eff, how many equally weighted samples the mean is worth.
    pub(super) effective: f64,
    /// c_σ, how fast the path of the step size forgets.
    pub(super) c_sigma: f64,
    /// d_σ, how slowly the step size follows.
    pub(super) damping: f64,
    /// c_c, how fast the path of the covariance forgets.
    pub(super) c_c: f64,
    /// c_1, the share of the path in the covariance.
    pub(super) c_one: f64,
    /// c_μ, the share of the samples in the covariance.
    pub(super) c_mu: f64,
    /// The expected length of a standard normal vector.
    pub(super) expected: f64,
}

/// λ for n dimensions (eq. 48).
pub(super) fn population(n: usize) -> usize {
    4 + (3.0 * (n.max(1) as f64).ln()) as usize
}

impl Weights {
    pub(super) fn new(n: usize, lambda: usize) -> Self {
        let (d, mu) = (n.max(1) as f64, lambda / 2);
        // (eq. 49)
        let raw: Vec<f64> =
            (1..=lambda).map(|i| ((lambda as f64 + 1.0) / 2.0).ln() - (i as f64).ln()).collect();
        let effective =
            |raw: &[f64]| raw.iter().sum::<f64>().powi(2) / raw.iter().map(|w| w * w).sum::<f64>();
        let (good, bad) = (effective(&raw[..mu]), effective(&raw[mu..]));
        let c_one = 2.0 / ((d + 1.3).powi(2) + good); // (eq. 57)
        let c_mu =
            (2.0 * (good - 2.0 + 1.0 / good) / ((d + 2.0).powi(2) + good)).min(MOST_NEW - c_one); // (eq. 58)
        let to_path = 1.0 + c_one / c_mu; // (eq. 50)
        let to_variance = 1.0 + 2.0 * bad / (good + 2.0); // (eq. 51)
        let to_definite = (1.0 - c_one - c_mu) / (d * c_mu); // (eq. 52)
        let negative = to_path.min(to_variance).min(to_definite);
        let plus: f64 = raw.iter().filter(|w| **w > 0.0).sum();
        let minus: f64 = raw.iter().filter(|w| **w < 0.0).sum::<f64>().abs();
        let weight = |w: &f64| if *w >= 0.0 { w / plus } else { negative * w / minus }; // (eq. 53)
        let c_sigma = (good + 2.0) / (d + good + 5.0); // (eq. 55)
        Weights {
            ranks: raw.iter().map(weight).collect(),
            effective: good,
            c_sigma,
            damping: 1.0 + 2.0 * (((good - 1.0) / (d + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma, // (eq. 55)
            c_c: (4.0 + good / d) / (d + 4.0 + 2.0 * good / d), // (eq. 56)
            c_one,
            c_mu,
            expected: d.sqrt() * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d * d)),
        }
    }

    /// The weights where only the first `known` ranks have a loss: what failed draws nothing to
    /// itself.
    pub(super) fn of_known(&self, known: usize) -> Vec<f64> {
        if known == self.ranks.len() {
            return self.ranks.clone();
        }
        let sum: f64 = self.ranks.iter().take(known).filter(|w| **w > 0.0).sum();
        let weight = |(rank, w): (usize, &f64)| match *w > 0.0 {
            true if rank < known => w / sum,
            true => 0.0,
            false => *w,
        };
        self.ranks.iter().enumerate().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_for_ten_dimensions() {
        // By hand for n = 10, λ = 10: raw weights ln 5.5 - ln i.
        assert_eq!([1, 2, 7, 10, 100].map(population), [4, 6, 9, 10, 17]);
        let weights = Weights::new(10, 10);
        assert!((weights.effective - 3.167_299).abs() < 1e-4, "{}", weights.effective);
        assert!((weights.c_sigma - 0.284_428).abs() < 1e-4, "{}", weights.c_sigma);
        assert!((weights.c_one - 0.015_284).abs() < 1e-4, "{}", weights.c_one);
        let positive: f64 = weights.ranks[..5].iter().sum();
        assert!((positive - 1.0).abs() < 1e-12 && weights.ranks[5..].iter().all(|w| *w < 0.0));
    }

    #[test]
    fn every_size_is_sound() {
        for (n, lambda) in (1..40).flat_map(|n| [4, 5, 6, 9, 40, 1000].map(|lambda| (n, lambda))) {
            let weights = Weights::new(n, lambda);
            let kept = 1.0 - weights.c_one - weights.c_mu * weights.ranks.iter().sum::<f64>();
            assert!(
                kept >= 0.0 && weights.c_c <= 1.0 && weights.c_sigma < 1.0,
                "{n} {lambda} {weights:?}"
            );
            assert!(weights.ranks.windows(2).all(|pair| pair[0] > pair[1]));
        }
    }

    #[test]
    fn failures_lose_their_pull() {
        let weights = Weights::new(3, 8);
        assert_eq!(weights.of_known(8), weights.ranks);
        let two = weights.of_known(2);
        assert!(
            (two[0] + two[1] - 1.0).abs() < 1e-12
                && two[2..4] == [0.0, 0.0]
                && two[4..] == weights.ranks[4..]
        );
    }
}
