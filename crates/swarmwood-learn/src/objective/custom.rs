//! A loss that code outside of the library computes for all rows at once: a callable of Python, or
//! a closure.
//!
//! Its derivatives become `f32` and integers exactly as those of the library's own losses do, so that
//! a custom loss with the same derivatives gives the same trees.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use swarmwood_model::Link;

use super::logistic::Logistic;
use super::registry::{ObjectiveSpec, ObjectiveTargets, REGRESSION};
use super::{Objective, Poisson, Softmax, rows};

/// The name of every custom objective.
const NAME: &str = "custom";

/// Evaluations that the search for the best constant may take.
const START_EVALUATIONS: usize = 40;

/// A constant is the best one if the gradients at it cancel to this share of their sizes.
const START_TOLERANCE: f64 = 1e-9;

/// Differences up to this share of the numbers are rounding errors.
const ROUNDING: f64 = 1e-6;

/// All rows of a fit, in their order; scores of several outputs stand output after output.
#[derive(Debug, Clone, Copy)]
pub struct CustomRows<'a> {
    /// Targets; class indices for classes.
    pub target: &'a [f64],
    /// Raw scores.
    pub score: &'a [f64],
    /// Weights; empty if every row weighs one.
    pub weight: &'a [f64],
}

/// Derivatives and losses of rows that all come at once. It may be called from several threads.
pub trait CustomLoss: Send + Sync {
    /// First and second derivatives, laid out as the scores; the message says what went wrong.
    fn derivatives(&self, rows: CustomRows<'_>) -> Result<(Vec<f64>, Vec<f64>), String>;
    /// The loss of each row, without its weight; `None` if there is no such function.
    fn losses(&self, rows: CustomRows<'_>) -> Option<Result<Vec<f64>, String>>;
    /// Whether [`CustomLoss::losses`] gives losses.
    fn has_losses(&self) -> bool;
    /// Whether the derivatives are multiplied by the weights of the rows already.
    fn is_weighted(&self) -> bool {
        false
    }
    /// From raw score to predicted number; classes have their own.
    fn link(&self) -> Link {
        Link::Identity
    }
}

/// What the descriptions of custom objectives have in common. No name leads to them: they are made
/// from a [`CustomLoss`].
const CUSTOM: ObjectiveSpec = ObjectiveSpec { name: NAME, help: "a custom loss", ..REGRESSION };

/// The descriptions, by the kind of target.
static NUMBERS: ObjectiveSpec = CUSTOM;
static TWO_CLASSES: ObjectiveSpec =
    ObjectiveSpec { targets: ObjectiveTargets::TwoClasses, ..CUSTOM };
static MANY_CLASSES: ObjectiveSpec =
    ObjectiveSpec { targets: ObjectiveTargets::ManyClasses, ..CUSTOM };

/// What the loss turned out to be on the training rows.
#[derive(Debug, Clone, Copy, Default)]
struct LossTraits {
    shift_invariant: bool,
    quadratic: bool,
}

/// A [`CustomLoss`] as an objective. The first error of the loss is kept, and no call follows it:
/// whoever trains asks for [`CustomObjective::failure`].
pub struct CustomObjective {
    loss: Arc<dyn CustomLoss>,
    classes: usize,
    traits: OnceLock<LossTraits>,
    failure: Arc<Mutex<Option<String>>>,
}

impl fmt::Debug for CustomObjective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomObjective")
            .field("classes", &self.classes)
            .field("traits", &self.traits)
            .finish_non_exhaustive()
    }
}

impl CustomObjective {
    /// An objective for a target with so many classes, 0 for numbers.
    pub fn new(loss: Arc<dyn CustomLoss>, classes: usize) -> CustomObjective {
        CustomObjective { loss, classes, traits: OnceLock::new(), failure: Arc::default() }
    }

    /// The description of custom objectives for a target with so many classes, 0 for numbers.
    pub fn spec(classes: usize) -> &'static ObjectiveSpec {
        match classes {
            0 => &NUMBERS,
            2 => &TWO_CLASSES,
            _ => &MANY_CLASSES,
        }
    }

    /// The first error; what was trained after it means nothing.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks whether there was an error; for budgets, which outlive the objective.
    pub fn failure_check(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let failure = Arc::clone(&self.failure);
        move || failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Finds out on the training rows whether the loss depends on `score - target` alone, and
    /// whether it is the squared one, which decides how precisely scores are kept and how leaf
    /// values are computed. To be called once, before the first fit.
    pub fn examine(&self, target: &[f64], weight: &[f64]) {
        let traits = self.traits_on(target, weight).unwrap_or_default();
        // A second call changes nothing: folds must be fitted as all rows are.
        let _ = self.traits.set(traits);
    }

    fn traits_on(&self, target: &[f64], weight: &[f64]) -> Option<LossTraits> {
        if self.classes > 0 || self.loss.link() != Link::Identity || target.is_empty() {
            return None;
        }
        let centre = self.start(target, weight)[0];
        let count = target.len() as f64;
        let squares: f64 = target.iter().map(|y| (y - centre).powi(2)).sum();
        let spread = (squares / count).sqrt();

        // Scores on both sides of the targets, near and far.
        let offset = |row: usize| 3.0 * spread * ((row * 7 % 13) as f64 / 6.0 - 1.0);
        let moved: Vec<f64> = target.iter().map(|y| y - centre).collect();
        let near: Vec<f64> = (0..target.len()).map(offset).collect();
        let far: Vec<f64> = near.iter().map(|offset| offset + centre).collect();
        let zero = vec![0.0; target.len()];
        let at = |target: &[f64], score: &[f64]| self.call(CustomRows { target, score, weight });
        let (g, h) = at(target, &far)?;
        let (moved_g, moved_h) = at(&moved, &near)?;
        let (zero_g, zero_h) = at(&moved, &zero)?;

        let shift_invariant = agree(&g, &moved_g) && agree(&h, &moved_h);
        let row_weight =
            |row: usize| if self.loss.is_weighted() { weight_of(weight, row) } else { 1.0 };
        let is_parabola = |row: usize| {
            let step = zero_g[row] + row_weight(row) * near[row];
            (moved_g[row] - step).abs() <= ROUNDING * (moved_g[row].abs() + step.abs())
                && [h[row], moved_h[row], zero_h[row]].iter().all(|&h| h == row_weight(row))
        };
        let quadratic = shift_invariant && (0..target.len()).all(is_parabola);
        Some(LossTraits { shift_invariant, quadratic })
    }

    /// Keeps the first error.
    fn fail(&self, message: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
    }

    /// Derivatives, or `None` after an error.
    fn call(&self, rows: CustomRows<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.failure().is_some() {
            return None;
        }
        let derivatives = self.loss.derivatives(rows);
        let checked = derivatives.and_then(|(g, h)| {
            let values = rows.score.len();
            check_values("gradient", &g, values, rows.target.len(), f64::NEG_INFINITY)?;
            check_values("hessian", &h, values, rows.target.len(), 0.0)?;
            Ok((g, h))
        });
        checked.map_err(|message| self.fail(message)).ok()
    }

    fn traits(&self) -> LossTraits {
        self.traits.get().copied().unwrap_or_default()
    }

    /// The constant that fits the link: the one that the library's loss of that link starts from.
    fn constant_of_link(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        match (self.classes, self.link()) {
            (0, Link::Exp) => Poisson.start(target, weight),
            (0, _) => vec![rows::mean(target, weight).unwrap_or(0.0)],
            (2, _) => Logistic.start(target, weight),
            (classes, _) => Softmax { classes }.start(target, weight),
        }
    }

    /// Weighted sums of derivatives at constant scores, and of the sizes of the first; `None` where
    /// the loss is not finite.
    fn sums_at(&self, base: &[f64], target: &[f64], weight: &[f64]) -> Option<Vec<ConstantSums>> {
        let rows = target.len();
        let score: Vec<f64> =
            base.iter().flat_map(|&base| std::iter::repeat_n(base, rows)).collect();
        let (g, h) = self.loss.derivatives(CustomRows { target, score: &score, weight }).ok()?;
        if g.len() != score.len() || h.len() != score.len() {
            return None;
        }
        let factor =
            |row: usize| if self.loss.is_weighted() { 1.0 } else { weight_of(weight, row) };
        let of_output = |output: usize| {
            let mut sums = ConstantSums::default();
            for row in 0..rows {
                let (g, h) = (g[output * rows + row], h[output * rows + row]);
                sums.g += factor(row) * g;
                sums.abs_g += factor(row) * g.abs();
                sums.h += factor(row) * h;
            }
            sums
        };
        let sums: Vec<ConstantSums> = (0..base.len()).map(of_output).collect();
        sums.iter().all(|sums| sums.abs_g.is_finite() && sums.h.is_finite()).then_some(sums)
    }
}

/// Sums over rows at a constant score.
#[derive(Debug, Clone, Copy, Default)]
struct ConstantSums {
    g: f64,
    abs_g: f64,
    h: f64,
}

/// How far gradients are from cancelling, as a share of their sizes.
fn imbalance(sums: &[ConstantSums]) -> f64 {
    let share = |sums: &ConstantSums| {
        if sums.abs_g > 0.0 { sums.g.abs() / sums.abs_g } else { 0.0 }
    };
    sums.iter().map(share).fold(0.0, f64::max)
}

impl Objective for CustomObjective {
    fn name(&self) -> &'static str {
        NAME
    }
    fn outputs(&self) -> usize {
        if self.classes > 2 { self.classes } else { 1 }
    }
    fn link(&self) -> Link {
        match self.classes {
            0 => self.loss.link(),
            2 => Link::Sigmoid,
            _ => Link::Softmax,
        }
    }
    fn shift_invariant(&self) -> bool {
        self.traits().shift_invariant
    }
    fn constant_hessian(&self) -> bool {
        self.traits().quadratic
    }
    fn takes_all_rows(&self) -> bool {
        true
    }
    fn has_loss(&self) -> bool {
        self.loss.has_losses()
    }
    /// The constant of the link, or what Newton's steps from there end with.
    fn start(&self, target: &[f64], weight: &[f64]) -> Vec<f64> {
        let mut base = self.constant_of_link(target, weight);
        if self.failure().is_some() || target.is_empty() {
            return base;
        }
        let score: Vec<f64> =
            base.iter().flat_map(|&base| std::iter::repeat_n(base, target.len())).collect();
        // The first call finds the errors of a loss that never works.
        if self.call(CustomRows { target, score: &score, weight }).is_none() {
            return base;
        }
        let Some(mut sums) = self.sums_at(&base, target, weight) else { return base };
        // Derivatives become `f32`: a loss that computes in that precision, as the library's own
        // losses do, starts where they start.
        if imbalance(&sums) <= f64::from(f32::EPSILON) {
            return base;
        }

        let mut step = 1.0;
        for _ in 0..START_EVALUATIONS {
            if imbalance(&sums) <= START_TOLERANCE || sums.iter().any(|sums| sums.h <= 0.0) {
                break;
            }
            let next: Vec<f64> =
                base.iter().zip(&sums).map(|(base, sums)| base - step * sums.g / sums.h).collect();
            match self.sums_at(&next, target, weight) {
                Some(better) if imbalance(&better) < imbalance(&sums) => {
                    (base, sums, step) = (next, better, 1.0);
                }
                _ => step /= 2.0,
            }
        }
        base
    }
    fn derivatives(
        &self,
        score: &[f32],
        target: &[f32],
        weight: &[f32],
        g: &mut [f32],
        h: &mut [f32],
    ) {
        let (score, target, weights) = (widened(score), widened(target), widened(weight));
        let rows = CustomRows { target: &target, score: &score, weight: &weights };
        let Some((exact_g, exact_h)) = self.call(rows) else {
            // The run is about to end; these derivatives grow no tree.
            g.fill(0.0);
            h.fill(1.0);
            return;
        };
        for (value, exact) in g.iter_mut().zip(exact_g).chain(h.iter_mut().zip(exact_h)) {
            *value = exact as f32;
        }
        if self.loss.is_weighted() || weight.is_empty() {
            return;
        }
        for values in g.chunks_mut(weight.len()).chain(h.chunks_mut(weight.len())) {
            values.iter_mut().zip(weight).for_each(|(value, weight)| *value *= weight);
        }
    }
    fn loss(&self, score: &[f32], target: &[f32], weight: &[f32]) -> f64 {
        if self.failure().is_some() {
            return 0.0;
        }
        let (score, target, weights) = (widened(score), widened(target), widened(weight));
        let rows = CustomRows { target: &target, score: &score, weight: &weights };
        let Some(losses) = self.loss.losses(rows) else { return 0.0 };
        let checked = losses.and_then(|losses| {
            check_values("loss", &losses, target.len(), target.len(), f64::NEG_INFINITY)?;
            Ok(losses)
        });
        match checked {
            Ok(losses) => {
                losses.iter().enumerate().map(|(row, loss)| loss * weight_of(&weights, row)).sum()
            }
            Err(message) => {
                self.fail(message);
                0.0
            }
        }
    }
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn weight_of(weight: &[f64], row: usize) -> f64 {
    weight.get(row).copied().unwrap_or(1.0)
}

/// Whether two lists are equal up to rounding errors.
fn agree(a: &[f64], b: &[f64]) -> bool {
    let size = a.iter().map(|a| a.abs()).sum::<f64>() / a.len().max(1) as f64;
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= ROUNDING * (a.abs() + size))
}

/// Refuses a wrong number of values, values that `f32` cannot hold, and values below `least`.
fn check_values(
    what: &str,
    values: &[f64],
    expected: usize,
    rows: usize,
    least: f64,
) -> Result<(), String> {
    if values.len() != expected {
        let given = values.len();
        return Err(format!("returned {given} values as its {what}, must return {expected}"));
    }
    let is_bad = |&(_, value): &(usize, &f64)| !(*value as f32).is_finite() || *value < least;
    let Some((at, value)) = values.iter().enumerate().find(is_bad) else { return Ok(()) };
    let allowed = if least == 0.0 { "a finite number from 0" } else { "a finite number" };
    Err(format!("returned {value} as the {what} of row {}, must be {allowed}", at % rows.max(1)))
}

#[cfg(test)]
mod tests;
