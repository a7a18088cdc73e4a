//! The candidates that cross-validation compares, for each kind of loss and shape of ensemble.
//!
//! Greedy boosting with several learning rates is always among them. The penalty of a search
//! follows from the noise: `λ = c · m · s` for m trees, where s is the share of the variance that
//! the best greedy fit leaves unexplained on held-out rows; for classes it is `c · m · s/(1-s)`.
//! More strategies than these make the choice worse, not better.

use super::{EnsembleShape, SearchStrategy};
use crate::greedy::Growth;
use crate::greedy::lookahead::Lookahead;
use crate::objective::Objective;
use crate::split::{Penalties, Ridge};

/// How an ensemble is fitted.
#[derive(Debug, Clone, PartialEq)]
pub enum FitMethod {
    /// The best constant.
    Constant,
    /// Greedy boosting.
    Greedy {
        /// Learning rate.
        rate: f64,
        /// Penalties.
        penalties: Penalties,
        /// Share of the features that each tree may use.
        columns: f64,
    },
    /// Search.
    Search(SearchStrategy),
}

/// A method of fitting and the shape of the ensemble.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The name that reports show.
    pub name: String,
    /// How it is fitted.
    pub method: FitMethod,
    /// The shape of the ensemble.
    pub shape: EnsembleShape,
}

impl Candidate {
    /// The same candidate, named with its shape.
    pub fn named_with_shape(self) -> Self {
        let EnsembleShape { trees, max_leaves, .. } = self.shape;
        let name = format!("{}, {trees} x {max_leaves}", self.name);
        Candidate { name, ..self }
    }

    /// Trees of a whole fit, those of all outputs.
    pub fn trees(&self, objective: &dyn Objective) -> u64 {
        self.shape.trees as u64 * objective.outputs() as u64
    }
}

/// What the candidates are derived from.
#[derive(Debug, Clone, Copy)]
pub struct DataProfile {
    /// Whether classes are predicted.
    pub classes: bool,
    /// Number of rows.
    pub rows: usize,
    /// Mean hessian of a row at the start.
    pub hessian: f64,
    /// Share of the variance that greedy boosting leaves unexplained.
    pub noise: f64,
    /// Loss that one useless split gains on average, twice: the residual variance, or 1 where
    /// hessians say it.
    pub dispersion: f64,
}

/// Passes over the leaves of all trees before a search regrows trees, and those of an ensemble that
/// keeps its trees: then the leaves are fitted together.
const FIRST_REFITS: usize = 3;
const JOINT_REFITS: usize = 12;

/// Leaves of all trees together that count as few.
const FEW_LEAVES: usize = 512;

/// Numbers that go with the number of trees.
struct SizeDefaults {
    rates: &'static [f64],
    start_rate: f64,
    sweeps: usize,
    pairs: usize,
}

fn size(shape: &EnsembleShape) -> SizeDefaults {
    match shape.trees {
        0..=11 => {
            SizeDefaults { rates: &[1.0, 0.5, 0.3, 0.15], start_rate: 0.5, sweeps: 8, pairs: 60 }
        }
        12..=31 => SizeDefaults { rates: &[0.5, 0.3, 0.15], start_rate: 0.3, sweeps: 4, pairs: 16 },
        // Many trees of few leaves are quickly grown again.
        trees if trees * shape.max_leaves <= FEW_LEAVES => {
            SizeDefaults { rates: &[0.3, 0.15, 0.08], start_rate: 0.15, sweeps: 8, pairs: 16 }
        }
        _ => SizeDefaults { rates: &[0.3, 0.15, 0.08], start_rate: 0.15, sweeps: 3, pairs: 0 },
    }
}

fn greedy(
    shape: &EnsembleShape,
    rate: f64,
    lambda: f64,
    gamma: f64,
    min_child_weight: f64,
    label: &str,
) -> Candidate {
    Candidate {
        name: format!("greedy, rate {rate}{label}{}", lookahead_label(shape)),
        method: FitMethod::Greedy {
            rate,
            penalties: Penalties { lambda, ridge: Ridge::Flat, gamma, min_child_weight },
            columns: 1.0,
        },
        shape: *shape,
    }
}

/// What the name of a candidate says of its growth.
fn lookahead_label(shape: &EnsembleShape) -> &'static str {
    match shape.lookahead {
        Lookahead::Off => "",
        _ => ", look-ahead",
    }
}

/// Greedy candidates of one of several shapes.
pub fn greedy_of_shape(shape: &EnsembleShape, profile: &DataProfile) -> Vec<Candidate> {
    let h = profile.hessian;
    let rates = if shape.max_leaves <= TINY_TREE { &RATES_OF_TINY } else { size(shape).rates };
    let of_classes =
        |rate: f64, least: f64, label: &str| greedy(shape, rate, 1.0, 0.0, least, label);
    let of_numbers =
        |rate: f64, l: f64, label: &str| greedy(shape, rate, l * h, 0.0, 5.0 * h, label);
    if !profile.classes {
        let plain = rates.iter().map(|&rate| of_numbers(rate, 1.0, ""));
        let damped = rates[..2].iter().map(|&rate| of_numbers(rate, 10.0, ", lambda 10"));
        return plain.chain(damped).collect();
    }
    let mut candidates: Vec<Candidate> =
        [0.5, 0.3, 0.15].iter().map(|&rate| of_classes(rate, 1.0, "")).collect();
    if shape.max_leaves <= SMALL_TREE {
        candidates.extend([0.5, 0.3].map(|rate| of_classes(rate, 0.1, ", smaller leaves")));
        candidates.extend([0.5, 0.3].map(|rate| with_sampled_columns(of_classes(rate, 1.0, ""))));
        let unit_rate = of_classes(1.0, 0.1, ", smaller leaves");
        candidates.extend([unit_rate.clone(), with_sampled_columns(unit_rate)]);
    }
    candidates
}

/// Share of the features of a tree whose features are drawn at random.
const SAMPLED_COLUMNS: f64 = 0.7;

/// The same greedy candidate with trees that use random features each: they differ more from each
/// other, which helps where few splits separate the classes.
fn with_sampled_columns(candidate: Candidate) -> Candidate {
    let Candidate { name, method, shape } = candidate;
    let method = match method {
        FitMethod::Greedy { rate, penalties, .. } => {
            FitMethod::Greedy { rate, penalties, columns: SAMPLED_COLUMNS }
        }
        other => other,
    };
    Candidate { name: format!("{name}, sampled columns"), method, shape }
}

/// The candidate that tells how good a shape is, of those of [`greedy_of_shape`]: the one of the
/// largest rate, with smaller leaves where there are such.
pub fn first_greedy(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let least = |candidate: &Candidate| match &candidate.method {
        FitMethod::Greedy { penalties, .. } => penalties.min_child_weight,
        _ => f64::INFINITY,
    };
    let first = candidates
        .into_iter()
        .reduce(|best, other| if least(&other) < least(&best) { other } else { best });
    first.into_iter().collect()
}

/// Whether a greedy candidate of classes has learning rate 1, which only small trees try: shapes are
/// compared without it.
pub fn has_unit_rate(candidate: &Candidate, profile: &DataProfile) -> bool {
    let is_whole = matches!(candidate.method, FitMethod::Greedy { rate, .. } if rate >= 1.0);
    profile.classes && is_whole
}

/// Leaves of a tree that is small, and of one that is tiny.
const SMALL_TREE: usize = 8;
const TINY_TREE: usize = 4;

/// Learning rates of tiny trees, for numbers: where the target is a sum of functions of single
/// features, there are many leaves to spend and little to overfit.
const RATES_OF_TINY: [f64; 4] = [0.5, 0.3, 0.15, 0.08];

/// The search strategies of one of several shapes; the first tells how good the shape is.
pub fn searches_of_shape(shape: &EnsembleShape, profile: &DataProfile) -> Vec<Candidate> {
    if !profile.classes {
        return search_candidates(shape, profile);
    }
    let noise = profile.noise.min(0.97);
    let odds = shape.trees as f64 * noise / (1.0 - noise);
    let strategy = |c: f64, kappa: f64| SearchStrategy {
        lambda: c * odds,
        ridge: Ridge::Hierarchical,
        kappa: 0.25 * kappa,
        gamma: 0.0,
        min_child_weight: 1.0,
        start_rate: match shape.max_leaves {
            0..=4 => 0.15,
            5..=16 => 0.3,
            _ => 0.5,
        },
        refits: FIRST_REFITS,
        sweeps: 4,
        pairs: 0,
    };
    let candidate = |(c, kappa): (f64, f64)| {
        let dropout = if kappa > 0.0 { format!(", dropout {kappa}") } else { String::new() };
        let name = format!("search, ridge {c}{dropout}{}", lookahead_label(shape));
        Candidate { name, method: FitMethod::Search(strategy(c, kappa)), shape: *shape }
    };
    // Trees of few leaves need less shrinkage.
    let (first, second) = if shape.max_leaves <= SMALL_TREE { (0.7, 2.0) } else { (2.0, 0.7) };
    let mut all: Vec<Candidate> =
        [(first, 0.2), (first, 0.0), (second, 0.2), (second, 0.0)].map(candidate).into();
    if shape.max_leaves <= SMALL_TREE {
        all.extend([0.5, 1.0].map(|rate| joint_leaves(shape, rate)));
    }
    all
}

/// Greedy boosting for classes whose leaves are fitted together at the end.
fn joint_leaves(shape: &EnsembleShape, rate: f64) -> Candidate {
    let strategy = SearchStrategy {
        lambda: 1.0,
        ridge: Ridge::Flat,
        kappa: 0.0,
        gamma: 0.0,
        min_child_weight: 0.1,
        start_rate: rate,
        refits: JOINT_REFITS,
        sweeps: 0,
        pairs: 0,
    };
    let name = format!("joint leaves, rate {rate}{}", lookahead_label(shape));
    Candidate { name, method: FitMethod::Search(strategy), shape: *shape }
}

/// Greedy candidates of the only shape. The one with a price on splits needs the noise:
/// [`priced_greedy`].
pub fn greedy_candidates(shape: &EnsembleShape, profile: &DataProfile) -> Vec<Candidate> {
    let size = size(shape);
    let h = profile.hessian;
    // The least sum of hessians in a leaf amounts to five rows; for classes a row has at most a
    // quarter.
    let least = if profile.classes { 5.0 * 0.25 } else { 5.0 * h };
    let mut candidates = Vec::new();
    for &rate in size.rates {
        candidates.push(greedy(shape, rate, if profile.classes { 1.0 } else { h }, 0.0, least, ""));
    }
    if profile.classes {
        for &rate in &size.rates[..size.rates.len().min(3)] {
            candidates.push(greedy(shape, rate, 1.0, 0.0, 1.0, ", smaller leaves"));
        }
        for &rate in size.rates.iter().filter(|&&rate| rate < 1.0).take(2) {
            candidates.push(greedy(shape, rate, 10.0, 0.0, least, ", lambda 10"));
        }
        if let Some(shape) = oblivious(shape).filter(|_| shape.trees >= MANY_TREES) {
            // Oblivious trees overfit less, so they bear larger steps.
            for rate in [0.5, 0.3] {
                candidates.push(greedy(&shape, rate, 1.0, 0.0, 1.0, ", oblivious trees"));
            }
        }
    } else {
        for &rate in size.rates {
            candidates.push(greedy(shape, rate, 10.0 * h, 0.0, least, ", lambda 10"));
        }
        if shape.trees >= MANY_TREES {
            for &rate in &size.rates[1..] {
                candidates.push(greedy(shape, rate, h, 0.0, 20.0 * h, ", larger leaves"));
            }
            if let Some(shape) = oblivious(shape) {
                for &rate in &size.rates[..2] {
                    candidates.push(greedy(&shape, rate, h, 0.0, least, ", oblivious trees"));
                }
            }
        }
    }
    candidates
}

/// From this many trees on, the bias of oblivious trees is worth trying.
const MANY_TREES: usize = 12;

/// The same size in oblivious trees, if they may be tried.
fn oblivious(shape: &EnsembleShape) -> Option<EnsembleShape> {
    let depth = shape.max_leaves.max(2).ilog2() as usize;
    let wanted = shape.try_oblivious && shape.growth != Growth::Oblivious && depth <= DEEPEST;
    wanted.then_some(EnsembleShape {
        growth: Growth::Oblivious,
        depth,
        max_leaves: 1 << depth,
        ..*shape
    })
}

/// Levels of an oblivious tree that is tried; deeper ones cost too much memory.
const DEEPEST: usize = 8;

/// Greedy boosting for data with too few rows to compare anything.
pub fn default_greedy(shape: &EnsembleShape) -> Candidate {
    greedy(shape, size(shape).start_rate, 1.0, 0.0, 1.0, ", smaller leaves")
}

/// Greedy boosting in which a split must gain more than chance would.
pub fn priced_greedy(shape: &EnsembleShape, profile: &DataProfile) -> Candidate {
    let rate = size(shape).rates.iter().copied().find(|&rate| rate < 1.0).unwrap_or(0.5);
    let (lambda, least) =
        if profile.classes { (1.0, 1.25) } else { (profile.hessian, 5.0 * profile.hessian) };
    greedy(shape, rate, lambda, price(profile), least, ", priced splits")
}

/// Half of the Bayesian information criterion's price of a parameter.
fn price(profile: &DataProfile) -> f64 {
    0.5 * profile.dispersion * (profile.rows as f64).ln()
}

/// From this many rows per leaf on, each counted by the share of its variance that can be
/// explained, dropout does not pay.
const AMPLE_ROWS: f64 = 100.0;

/// Whether rows are ample for classes: then the strategy without dropout, the second one, wins most
/// often, otherwise the first.
pub fn is_ample(shape: &EnsembleShape, profile: &DataProfile) -> bool {
    let leaves = (shape.trees * shape.max_leaves).max(1) as f64;
    profile.classes && profile.rows as f64 * (1.0 - profile.noise) / leaves > AMPLE_ROWS
}

/// The search strategies that are compared for a shape.
pub fn search_candidates(shape: &EnsembleShape, profile: &DataProfile) -> Vec<Candidate> {
    let size = size(shape);
    let m = shape.trees as f64;
    let candidate = |name: String, lambda: f64, kappa: f64, gamma: f64| {
        let (least, pairs) = if profile.classes {
            (1.0, 0)
        } else {
            (5.0 * profile.hessian * (1.0 + kappa), size.pairs)
        };
        let kappa = if profile.classes { 0.25 * kappa } else { kappa * profile.hessian };
        let ridge = Ridge::Hierarchical;
        let (start_rate, sweeps) = (size.start_rate, size.sweeps);
        let strategy = SearchStrategy {
            lambda,
            ridge,
            kappa,
            gamma,
            min_child_weight: least,
            start_rate,
            refits: FIRST_REFITS,
            sweeps,
            pairs,
        };
        let name = name + lookahead_label(shape);
        Candidate { name, method: FitMethod::Search(strategy), shape: *shape }
    };
    if profile.classes {
        let noise = profile.noise.min(0.97);
        let odds = m * noise / (1.0 - noise);
        return vec![
            candidate("search, ridge 2, dropout 0.2".to_string(), 2.0 * odds, 0.2, 0.0),
            candidate("search, ridge 2".to_string(), 2.0 * odds, 0.0, 0.0),
            candidate("search, ridge 6, dropout 0.2".to_string(), 6.0 * odds, 0.2, 0.0),
        ];
    }
    let lambda = |c: f64| c * m * profile.noise * profile.hessian;
    let plain = |c: f64| candidate(format!("search, ridge {c}"), lambda(c), 0.0, 0.0);
    let priced = || {
        candidate("search, ridge 48, priced splits".to_string(), lambda(48.0), 0.0, price(profile))
    };
    let dropping = |kappa: f64| {
        candidate(format!("search, ridge 48, dropout {kappa:.2}"), lambda(48.0), kappa, 0.0)
    };
    let mut candidates = match shape.trees {
        0..=11 => return vec![plain(48.0), plain(12.0), plain(192.0), priced()],
        12..=31 => vec![plain(48.0), dropping(m / 64.0), priced()],
        _ => vec![plain(48.0), dropping(m / 64.0), dropping(m / 32.0)],
    };
    if shape.trees >= 32 && shape.trees * shape.max_leaves <= FEW_LEAVES {
        candidates.extend([plain(12.0), plain(3.0)]);
    }
    if let Some(shape) = oblivious(shape) {
        for Candidate { name, method, .. } in [plain(48.0), dropping(m / 64.0)] {
            candidates.push(Candidate { name: format!("{name}, oblivious trees"), method, shape });
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(trees: usize, max_leaves: usize) -> EnsembleShape {
        EnsembleShape {
            trees,
            growth: Growth::Leaf,
            try_oblivious: true,
            depth: 0,
            max_leaves,
            seed: 1,
            memory: 1 << 20,
            lookahead: Lookahead::Off,
        }
    }

    const CLASSES: DataProfile =
        DataProfile { classes: true, rows: 1000, hessian: 0.25, noise: 0.3, dispersion: 1.0 };

    #[test]
    fn oblivious_trees_are_tried_where_there_are_many_and_they_are_allowed() {
        for profile in [CLASSES, DataProfile { classes: false, ..CLASSES }] {
            let tried = |shape: EnsembleShape| {
                let candidates = greedy_candidates(&shape, &profile);
                candidates
                    .iter()
                    .filter(|candidate| candidate.shape.growth == Growth::Oblivious)
                    .count()
            };
            assert_eq!((tried(shape(6, 32)), tried(shape(64, 64))), (0, 2));
            assert_eq!(tried(EnsembleShape { try_oblivious: false, ..shape(64, 64) }), 0);
        }
    }

    #[test]
    fn small_trees_of_classes_have_rate_one_or_fit_their_leaves_together() {
        let tried = |leaves: usize| {
            let shape = shape(192 / leaves, leaves);
            let greedy = greedy_of_shape(&shape, &CLASSES);
            let whole = greedy.iter().filter(|one| has_unit_rate(one, &CLASSES)).count();
            let searches = searches_of_shape(&shape, &CLASSES);
            let is_joint = |one: &&Candidate| match &one.method {
                FitMethod::Search(strategy) => strategy.sweeps == 0,
                _ => false,
            };
            (whole, searches.iter().filter(is_joint).count())
        };
        assert_eq!((tried(2), tried(8), tried(16)), ((2, 2), (2, 2), (0, 0)));
    }

    #[test]
    fn sums_of_functions_of_single_features_get_large_steps_and_little_ridge() {
        let numbers = DataProfile { classes: false, ..CLASSES };
        let names = |leaves: usize| {
            let shape = shape(192 / leaves, leaves);
            let all = [greedy_of_shape(&shape, &numbers), searches_of_shape(&shape, &numbers)];
            all.concat().into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        for wanted in ["greedy, rate 0.5", "search, ridge 3"] {
            assert!(names(2).iter().any(|name| name == wanted), "{wanted}");
        }
        assert!(!names(16).iter().any(|name| name == "search, ridge 3"));
    }

    #[test]
    fn pairs_of_many_trees_are_ruined_while_these_are_small() {
        let pairs = |shape: EnsembleShape| match &search_candidates(
            &shape,
            &DataProfile { classes: false, ..CLASSES },
        )[0]
        .method
        {
            FitMethod::Search(strategy) => strategy.pairs,
            _ => 0,
        };
        assert_eq!((pairs(shape(48, 4)), pairs(shape(64, 64))), (16, 0));
    }
}
