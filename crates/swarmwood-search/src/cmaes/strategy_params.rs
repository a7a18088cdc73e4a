//! The strategy parameters of CMA-ES, functions of the dimension n and the population size λ.
//!
//! Equation numbers are those of Hansen, "The CMA evolution strategy: a tutorial", arXiv
//! 1604.00772.

/// Upper bound of c_1 + c_μ; must be below 1, or the negative weights are unbounded.
const MAX_LEARNING_RATE: f64 = 1.0 - 1e-8;

/// Recombination weights and learning rates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StrategyParams {
    /// w_i, one per rank, best first: positive with sum 1 for the better half, negative for the
    /// others (active update).
    pub(super) weights: Vec<f64>,
    /// μ_eff, the variance effective selection mass.
    pub(super) mu_eff: f64,
    /// c_σ, the learning rate of the path of the step size.
    pub(super) c_sigma: f64,
    /// d_σ, the damping of the step size.
    pub(super) d_sigma: f64,
    /// c_c, the learning rate of the path of the covariance.
    pub(super) c_c: f64,
    /// c_1, the learning rate of the rank-one update.
    pub(super) c_1: f64,
    /// c_μ, the learning rate of the rank-μ update.
    pub(super) c_mu: f64,
    /// The expected norm of a standard normal vector, E‖N(0, I)‖.
    pub(super) chi_n: f64,
}

/// λ for n dimensions (eq. 48).
pub(super) fn default_population(n: usize) -> usize {
    4 + (3.0 * (n.max(1) as f64).ln()) as usize
}

impl StrategyParams {
    pub(super) fn new(n: usize, lambda: usize) -> Self {
        let (d, mu) = (n.max(1) as f64, lambda / 2);
        // (eq. 49)
        let raw: Vec<f64> =
            (1..=lambda).map(|i| ((lambda as f64 + 1.0) / 2.0).ln() - (i as f64).ln()).collect();
        let selection_mass =
            |raw: &[f64]| raw.iter().sum::<f64>().powi(2) / raw.iter().map(|w| w * w).sum::<f64>();
        let (mu_eff, mu_eff_minus) = (selection_mass(&raw[..mu]), selection_mass(&raw[mu..]));

        let c_1 = 2.0 / ((d + 1.3).powi(2) + mu_eff); // (eq. 57)
        let c_mu = (2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((d + 2.0).powi(2) + mu_eff))
            .min(MAX_LEARNING_RATE - c_1); // (eq. 58)
        let alpha_mu = 1.0 + c_1 / c_mu; // (eq. 50)
        let alpha_mu_eff = 1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0); // (eq. 51)
        let alpha_pos_def = (1.0 - c_1 - c_mu) / (d * c_mu); // (eq. 52)
        let negative = alpha_mu.min(alpha_mu_eff).min(alpha_pos_def);
        let plus: f64 = raw.iter().filter(|w| **w > 0.0).sum();
        let minus: f64 = raw.iter().filter(|w| **w < 0.0).sum::<f64>().abs();
        let weight = |w: &f64| if *w >= 0.0 { w / plus } else { negative * w / minus }; // (eq. 53)

        let c_sigma = (mu_eff + 2.0) / (d + mu_eff + 5.0); // (eq. 55)
        StrategyParams {
            weights: raw.iter().map(weight).collect(),
            mu_eff,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (((mu_eff - 1.0) / (d + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma, // (eq. 55)
            c_c: (4.0 + mu_eff / d) / (d + 4.0 + 2.0 * mu_eff / d), // (eq. 56)
            c_1,
            c_mu,
            chi_n: d.sqrt() * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d * d)),
        }
    }

    /// The weights if only the first `known` ranks have a loss: failed samples get no positive
    /// weight.
    pub(super) fn for_known(&self, known: usize) -> Vec<f64> {
        if known == self.weights.len() {
            return self.weights.clone();
        }
        let sum: f64 = self.weights.iter().take(known).filter(|w| **w > 0.0).sum();
        let weight = |(rank, w): (usize, &f64)| match *w > 0.0 {
            true if rank < known => w / sum,
            true => 0.0,
            false => *w,
        };
        self.weights.iter().enumerate().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_for_ten_dimensions() {
        // By hand for n = 10, λ = 10: raw weights ln 5.5 - ln i.
        assert_eq!([1, 2, 7, 10, 100].map(default_population), [4, 6, 9, 10, 17]);
        let weights = StrategyParams::new(10, 10);
        assert!((weights.mu_eff - 3.167_299).abs() < 1e-4, "{}", weights.mu_eff);
        assert!((weights.c_sigma - 0.284_428).abs() < 1e-4, "{}", weights.c_sigma);
        assert!((weights.c_1 - 0.015_284).abs() < 1e-4, "{}", weights.c_1);
        let positive: f64 = weights.weights[..5].iter().sum();
        assert!((positive - 1.0).abs() < 1e-12 && weights.weights[5..].iter().all(|w| *w < 0.0));
    }

    #[test]
    fn every_size_is_valid() {
        for (n, lambda) in (1..40).flat_map(|n| [4, 5, 6, 9, 40, 1000].map(|lambda| (n, lambda))) {
            let weights = StrategyParams::new(n, lambda);
            let kept = 1.0 - weights.c_1 - weights.c_mu * weights.weights.iter().sum::<f64>();
            assert!(
                kept >= 0.0 && weights.c_c <= 1.0 && weights.c_sigma < 1.0,
                "{n} {lambda} {weights:?}"
            );
            assert!(weights.weights.windows(2).all(|pair| pair[0] > pair[1]));
        }
    }

    #[test]
    fn failures_have_no_positive_weight() {
        let weights = StrategyParams::new(3, 8);
        assert_eq!(weights.for_known(8), weights.weights);
        let two = weights.for_known(2);
        assert!(
            (two[0] + two[1] - 1.0).abs() < 1e-12
                && two[2..4] == [0.0, 0.0]
                && two[4..] == weights.weights[4..]
        );
    }
}
