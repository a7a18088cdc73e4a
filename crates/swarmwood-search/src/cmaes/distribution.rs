//! The multivariate normal distribution of CMA-ES and its update.
//!
//! Equation numbers are those of Hansen, "The CMA evolution strategy: a tutorial", arXiv
//! 1604.00772. The covariance matrix is decomposed again only when it has changed noticeably, every
//! `1 / (10 n (c_1 + c_μ))` generations (section B.2 there).

use super::eigen;
use super::strategy_params::StrategyParams;
use crate::error::Error;
use crate::rng::Stream;
use crate::snapshot::{Datum, damaged};

/// Eigenvalues are kept above this fraction of the largest.
const MIN_EIGENVALUE: f64 = 1e-20;
/// Bounds of the step size, beyond all practical values, so that nothing overflows.
const SIGMA_BOUNDS: (f64, f64) = (1e-30, 1e10);

/// `N(m, σ² C)` with its two evolution paths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchDistribution {
    pub(super) mean: Vec<f64>,
    /// σ, the step size.
    pub(super) sigma: f64,
    /// C, the covariance matrix, row by row.
    covariance: Vec<f64>,
    /// p_σ and p_c, the evolution paths.
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    /// B, the eigenvectors of C as columns, of the last decomposition.
    axes: Vec<f64>,
    /// D, the square roots of the eigenvalues of C.
    lengths: Vec<f64>,
    /// Number of updates so far.
    age: u64,
    /// Number of updates at the last decomposition.
    decomposed: u64,
}

impl SearchDistribution {
    /// A distribution with the identity as covariance matrix.
    pub(super) fn new(mean: Vec<f64>, sigma: f64) -> Self {
        let n = mean.len();
        let mut identity = vec![0.0; n * n];
        (0..n).for_each(|i| identity[i * n + i] = 1.0);
        SearchDistribution {
            mean,
            sigma,
            covariance: identity.clone(),
            path_sigma: vec![0.0; n],
            path_c: vec![0.0; n],
            axes: identity,
            lengths: vec![1.0; n],
            age: 0,
            decomposed: 0,
        }
    }

    /// The deviation of a coordinate, `σ √C_jj`.
    pub(super) fn deviation(&self, coordinate: usize) -> f64 {
        self.sigma * self.covariance[coordinate * self.mean.len() + coordinate].max(0.0).sqrt()
    }

    /// How far a coordinate may still move: its deviation or its evolution path (Hansen's TolX).
    pub(super) fn reach(&self, coordinate: usize) -> f64 {
        self.deviation(coordinate).max(self.sigma * self.path_c[coordinate].abs())
    }

    /// The ratio of the largest to the smallest eigenvalue.
    pub(super) fn condition(&self) -> f64 {
        let most = self.lengths.iter().copied().fold(0.0, f64::max);
        let least = self.lengths.iter().copied().fold(f64::INFINITY, f64::min);
        (most / least).powi(2)
    }

    /// Samples `y ~ N(0, C)`.
    pub(super) fn sample(&self, stream: &mut Stream, y: &mut [f64]) {
        let n = self.mean.len();
        y.fill(0.0);
        for k in 0..n {
            let along = self.lengths[k] * stream.normal();
            y.iter_mut().enumerate().for_each(|(i, y)| *y += self.axes[i * n + k] * along);
        }
    }

    /// `C^(-1/2) y`.
    fn whiten(&self, y: &[f64]) -> Vec<f64> {
        let n = self.mean.len();
        let mut white = vec![0.0; n];
        for k in 0..n {
            let along = (0..n).map(|i| self.axes[i * n + k] * y[i]).sum::<f64>() / self.lengths[k];
            white
                .iter_mut()
                .enumerate()
                .for_each(|(i, white)| *white += self.axes[i * n + k] * along);
        }
        white
    }

    /// Updates the distribution from samples `y`, best first, with one weight per rank; the mean
    /// moves by the scales of the coordinates.
    pub(super) fn update(
        &mut self,
        params: &StrategyParams,
        scales: &[f64],
        weights: &[f64],
        ys: &[&[f64]],
    ) {
        let n = self.mean.len();
        let mut step = vec![0.0; n];
        for (weight, y) in weights.iter().zip(ys).filter(|(weight, _)| **weight > 0.0) {
            step.iter_mut().zip(*y).for_each(|(s, y)| *s += weight * y); // (eq. 41)
        }
        let moves = step.iter().zip(scales).map(|(s, a)| self.sigma * a * s);
        self.mean.iter_mut().zip(moves).for_each(|(m, by)| *m += by); // (eq. 42)

        let white = self.whiten(&step);
        let gain = (params.c_sigma * (2.0 - params.c_sigma) * params.mu_eff).sqrt();
        self.path_sigma
            .iter_mut()
            .zip(&white)
            .for_each(|(p, z)| *p = (1.0 - params.c_sigma) * *p + gain * z); // (eq. 43)
        let length = self.path_sigma.iter().map(|p| p * p).sum::<f64>().sqrt();
        let change = params.c_sigma / params.d_sigma * (length / params.chi_n - 1.0);
        self.sigma = (self.sigma * change.min(1.0).exp()).clamp(SIGMA_BOUNDS.0, SIGMA_BOUNDS.1); // (eq. 44)

        self.age = self.age.saturating_add(1);
        let expected = (1.0 - (1.0 - params.c_sigma).powf(2.0 * (self.age as f64 + 1.0))).sqrt();
        let h_sigma = length / expected < (1.4 + 2.0 / (n as f64 + 1.0)) * params.chi_n;
        let gain =
            if h_sigma { (params.c_c * (2.0 - params.c_c) * params.mu_eff).sqrt() } else { 0.0 };
        self.path_c
            .iter_mut()
            .zip(&step)
            .for_each(|(p, s)| *p = (1.0 - params.c_c) * *p + gain * s); // (eq. 45)
        self.update_covariance(
            params,
            weights,
            ys,
            if h_sigma { 0.0 } else { params.c_c * (2.0 - params.c_c) },
        );

        if (self.age - self.decomposed) as f64 * 10.0 * n as f64 * (params.c_1 + params.c_mu) >= 1.0
        {
            self.decompose();
        }
    }

    /// Updates the covariance matrix from the path and the samples (eq. 47).
    fn update_covariance(
        &mut self,
        params: &StrategyParams,
        weights: &[f64],
        ys: &[&[f64]],
        delta: f64,
    ) {
        let n = self.mean.len();
        let kept =
            1.0 + params.c_1 * delta - params.c_1 - params.c_mu * weights.iter().sum::<f64>();
        self.covariance.iter_mut().for_each(|c| *c *= kept);
        add_outer(&mut self.covariance, &self.path_c, params.c_1);
        for (weight, y) in weights.iter().zip(ys) {
            let weight = if *weight < 0.0 {
                let length = self.whiten(y).iter().map(|z| z * z).sum::<f64>();
                weight * n as f64 / (length + 1e-8) // (eq. 46)
            } else {
                *weight
            };
            add_outer(&mut self.covariance, y, params.c_mu * weight);
        }
    }

    fn decompose(&mut self) {
        let n = self.mean.len();
        let (values, axes) = eigen::decompose(&self.covariance, n);
        let largest = values.iter().copied().fold(0.0, f64::max);
        self.decomposed = self.age;
        if !(largest > 0.0 && largest.is_finite() && axes.iter().all(|x| x.is_finite())) {
            // The matrix has degenerated numerically: start with the identity again.
            *self = SearchDistribution {
                age: self.age,
                ..SearchDistribution::new(std::mem::take(&mut self.mean), self.sigma)
            };
            return;
        }
        self.lengths =
            values.iter().map(|value| value.max(MIN_EIGENVALUE * largest).sqrt()).collect();
        self.axes = axes;
    }

    pub(super) fn save(&self) -> Datum {
        Datum::record([
            ("mean", Datum::reals(&self.mean)),
            ("sigma", Datum::Real(self.sigma)),
            ("covariance", Datum::reals(&self.covariance)),
            ("path sigma", Datum::reals(&self.path_sigma)),
            ("path c", Datum::reals(&self.path_c)),
            ("axes", Datum::reals(&self.axes)),
            ("lengths", Datum::reals(&self.lengths)),
            ("age", Datum::Natural(self.age)),
            ("decomposed", Datum::Natural(self.decomposed)),
        ])
    }

    pub(super) fn load(data: &Datum, n: usize) -> Result<Self, Error> {
        let reals = |name: &str, count: usize| data.field(name)?.to_reals(count);
        let distribution = SearchDistribution {
            mean: reals("mean", n)?,
            sigma: data.field("sigma")?.real()?,
            covariance: reals("covariance", n * n)?,
            path_sigma: reals("path sigma", n)?,
            path_c: reals("path c", n)?,
            axes: reals("axes", n * n)?,
            lengths: reals("lengths", n)?,
            age: data.field("age")?.counter()?,
            decomposed: data.field("decomposed")?.counter()?,
        };
        let valid = (SIGMA_BOUNDS.0..=SIGMA_BOUNDS.1).contains(&distribution.sigma)
            && distribution.lengths.iter().all(|l| *l > 0.0);
        if !valid || distribution.decomposed > distribution.age {
            return Err(damaged("an invalid distribution"));
        }
        Ok(distribution)
    }
}

/// `matrix += factor · v vᵀ`.
fn add_outer(matrix: &mut [f64], v: &[f64], factor: f64) {
    for (row, x) in matrix.chunks_mut(v.len().max(1)).zip(v) {
        row.iter_mut().zip(v).for_each(|(entry, y)| *entry += factor * x * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One dimension, λ = 4: the whole update is arithmetic of scalars.
    #[test]
    fn an_update_by_hand() {
        let params = StrategyParams::new(1, 4);
        let ys = [[1.5], [0.5], [-0.5], [-1.0]];
        let ys: Vec<&[f64]> = ys.iter().map(|y| &y[..]).collect();
        let mut distribution = SearchDistribution::new(vec![0.25], 0.1);
        distribution.update(&params, &[1.0], &params.weights, &ys);
        let step = params.weights[0] * 1.5 + params.weights[1] * 0.5;
        assert!((distribution.mean[0] - (0.25 + 0.1 * step)).abs() < 1e-15);
        let p_sigma = (params.c_sigma * (2.0 - params.c_sigma) * params.mu_eff).sqrt() * step;
        let change = params.c_sigma / params.d_sigma * (p_sigma.abs() / params.chi_n - 1.0);
        assert!((distribution.sigma - 0.1 * change.exp()).abs() < 1e-15);
        let p_c = (params.c_c * (2.0 - params.c_c) * params.mu_eff).sqrt() * step;
        let repelled =
            params.weights[2] * 0.25 / (0.25 + 1e-8) + params.weights[3] * 1.0 / (1.0 + 1e-8);
        let variance = 1.0 - params.c_1 - params.c_mu * params.weights.iter().sum::<f64>()
            + params.c_1 * p_c * p_c
            + params.c_mu * (params.weights[0] * 2.25 + params.weights[1] * 0.25 + repelled);
        assert!(
            (distribution.covariance[0] - variance).abs() < 1e-12,
            "{} {variance}",
            distribution.covariance[0]
        );
        assert!((distribution.lengths[0] - variance.sqrt()).abs() < 1e-12);
        assert_eq!(SearchDistribution::load(&distribution.save(), 1), Ok(distribution));
    }

    #[test]
    fn samples_have_the_covariance() {
        let mut distribution = SearchDistribution::new(vec![0.0; 2], 1.0);
        distribution.covariance = vec![4.0, 1.2, 1.2, 1.0];
        distribution.decompose();
        let mut sums = [0.0; 3];
        let mut y = [0.0; 2];
        for item in 0..20_000 {
            distribution.sample(&mut Stream::new(1, 0, item), &mut y);
            sums[0] += y[0] * y[0] / 20_000.0;
            sums[1] += y[0] * y[1] / 20_000.0;
            sums[2] += y[1] * y[1] / 20_000.0;
        }
        assert!(
            (sums[0] - 4.0).abs() < 0.12
                && (sums[1] - 1.2).abs() < 0.06
                && (sums[2] - 1.0).abs() < 0.03,
            "{sums:?}"
        );
        let white = distribution.whiten(&[2.0, 0.6]);
        let length: f64 = white.iter().map(|z| z * z).sum();
        assert!((length - 1.0).abs() < 1e-12, "yᵀ C⁻¹ y: {length}");
        assert!(
            (distribution.condition() - (4.42 / 0.58)).abs() < 0.05,
            "{}",
            distribution.condition()
        );
    }

    #[test]
    fn broken_covariances_begin_anew() {
        let mut distribution = SearchDistribution::new(vec![0.3; 2], 0.1);
        distribution.covariance = vec![f64::NAN; 4];
        distribution.decompose();
        assert_eq!(distribution, SearchDistribution::new(vec![0.3; 2], 0.1));
    }
}
