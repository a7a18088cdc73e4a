//! The linear booster (`gblinear`): coordinate descent with elastic-net penalties.
//!
//! Each round takes the derivatives of the loss at the current scores and walks once over bias and
//! coefficients, in order. Each gets a damped Newton step on the quadratic model of the round,
//! whose gradients follow every step (the walk of XGBoost's `coord_descent`; Friedman, Hastie and
//! Tibshirani 2010 for the idea). Minimised is
//!
//! ```text
//! Σ weight · loss  +  λ/2 Σ β²  +  α Σ |β|
//! ```
//!
//! * **Penalties are not divided by the number of rows**: `lambda` stands beside a sum of hessians
//!   exactly as in the leaf of a tree, `alpha` beside a sum of gradients. (XGBoost's linear booster
//!   multiplies both by the sum of weights.) The bias is not penalised.
//! * `β` belongs to the standardised column (mean zero, standard deviation one over the rows that
//!   have a value), so that neither convergence nor penalty depends on units. One level of a
//!   category is one 0/1 column, not scaled.
//! * A missing value adds nothing.
//! * If a round makes the penalised loss worse, its step is halved until it does not: no learning
//!   rate diverges.
//! * Losses with kinks have no useful hessian. Their rounds use the curvature of a parabola above
//!   the loss, `1 / |residual|` up to a factor (Hunter and Lange 2000), instead.

mod design;
#[cfg(test)]
mod tests;

use swarmwood_model::{LinearFunction, Schema};

use crate::data::Chunk;
use crate::event::{Event, Flow, Stage};
use crate::metric::Watch;
use crate::objective::Objective;
use design::{Design, Feature, Terms};

/// How a linear model is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Rounds at most; the descent ends sooner when nothing moves any more.
    pub rounds: usize,
    /// Share of each Newton step that is taken, above 0 and at most 1.
    pub learning_rate: f64,
    /// L2 penalty.
    pub lambda: f64,
    /// L1 penalty.
    pub alpha: f64,
    /// Ends the descent after so many rounds without a better validation metric; 0 never does.
    pub early_stopping_rounds: usize,
    /// What is measured on the validation rows.
    pub metric: Watch,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rounds: 100,
            learning_rate: 0.5,
            lambda: 0.0,
            alpha: 0.0,
            early_stopping_rounds: 0,
            metric: Watch::Loss,
        }
    }
}

/// A trained linear model, without its schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Start value of each raw output.
    pub base: Vec<f64>,
    /// One linear function an output.
    pub outputs: Vec<LinearFunction>,
    /// Rounds in the model.
    pub rounds: usize,
    /// Mean training loss after each round that was run.
    pub train: Vec<f64>,
    /// The watched metric on the validation rows after each round; empty without such rows.
    pub valid: Vec<f64>,
}

/// Why no linear model could be trained.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// Rows and schema differ in their number of columns.
    #[error("the rows have {found} feature columns where {expected} are expected")]
    Columns {
        /// Columns of the rows.
        found: usize,
        /// Features of the schema.
        expected: usize,
    },
    /// A column is not of the kind the schema says.
    #[error("column '{name}' holds numbers where categories are expected, or the other way round")]
    Kind {
        /// Name of the feature.
        name: String,
    },
    /// A column, the targets or the weights do not match the number of rows.
    #[error("{what} has {found} values for {rows} rows")]
    Length {
        /// What is too short or too long.
        what: String,
        /// Its length.
        found: usize,
        /// Number of rows.
        rows: usize,
    },
    /// A target is outside the domain of the loss.
    #[error("row {row}: the target is {value} but it {reason}")]
    Target {
        /// Row, counted from 1.
        row: usize,
        /// The target.
        value: f64,
        /// What is allowed.
        reason: &'static str,
    },
    /// There is nothing to learn from.
    #[error("no row has a weight above zero")]
    NoRows,
}

/// Trains a linear model on rows that are all in memory. `valid` is for early stopping and
/// progress; with early stopping, or when the listener says stop, the model of the best validation
/// round is kept. One thread works, and the result depends on nothing but the arguments.
///
/// ```
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::event::Flow;
/// use swarmwood_learn::{linear, objective::Squared};
/// use swarmwood_model::{Feature, Kind, Schema, Target, TargetKind, LinearTerm};
///
/// let schema = Schema {
///     features: vec![Feature { name: "x".into(), kind: Kind::Number }],
///     target: Target { name: "y".into(), kind: TargetKind::Number },
/// };
/// let x: Vec<f64> = (0..10).map(f64::from).collect();
/// let target = x.iter().map(|x| 3.0 * x + 1.0).collect();
/// let chunk = Chunk { columns: vec![Column::Number(x)], target, weight: vec![], rows: 10 };
/// let fitted = linear::train(&chunk, None, &schema, &Squared, &linear::Settings::default(), &mut |_| Flow::Continue)?;
/// assert!(matches!(fitted.outputs[0].terms[0], LinearTerm::Number { weight, centre } if (weight - 3.0).abs() < 1e-6 && centre == 4.5));
/// assert!((fitted.base[0] - (3.0 * 4.5 + 1.0)).abs() < 1e-6);
/// # Ok::<(), linear::Error>(())
/// ```
pub fn train(
    chunk: &Chunk,
    valid: Option<&Chunk>,
    schema: &Schema,
    objective: &dyn Objective,
    settings: &Settings,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Fitted, Error> {
    let terms = Terms::new(chunk, schema)?;
    let target = targets(chunk, objective)?;
    let base = objective.start(&target, &chunk.weight);
    let rows = Rows::new(terms.design(chunk, schema)?, chunk, &target, &base, objective);
    let total = if rows.weight.is_empty() { chunk.rows as f64 } else { chunk.weight.iter().sum() };
    if total.is_nan() || total <= 0.0 {
        return Err(Error::NoRows);
    }
    let held_out = match valid {
        Some(valid) => {
            let target = targets(valid, objective)?;
            Some(Rows::new(terms.design(valid, schema)?, valid, &target, &base, objective))
        }
        None => None,
    };

    let mut state = State::new(&rows, &terms, objective);
    let mut loss = state.penalised_loss(&rows, objective, settings);
    let mut best = Best { value: f64::NAN, round: 0, state: state.coefficients() };
    let (mut train_losses, mut valid_metrics) = (Vec::new(), Vec::new());
    let mut keep_best = settings.early_stopping_rounds > 0;
    for round in 1..=settings.rounds {
        let Some(lower) = state.improve(&rows, &terms, objective, settings, loss) else { break };
        loss = lower;
        let train = (loss - state.penalty(settings)) / total;
        let metric =
            held_out.as_ref().map(|rows| rows.measure(&terms, &state, objective, settings.metric));
        train_losses.push(train);
        valid_metrics.extend(metric);
        if metric
            .is_some_and(|value| best.value.is_nan() || settings.metric.better(value, best.value))
        {
            best = Best { value: metric.unwrap_or(f64::NAN), round, state: state.coefficients() };
        }
        let flow = watch(&Event {
            train: Some(train),
            valid: metric,
            ..Event::new(Stage::BOOSTING, round, settings.rounds)
        });
        let patience = settings.early_stopping_rounds;
        let tired = metric.is_some() && patience > 0 && round - best.round >= patience;
        keep_best |= flow == Flow::Stop;
        if tired || flow == Flow::Stop {
            break;
        }
    }
    let (kept, rounds) = match held_out {
        Some(_) if keep_best && best.round > 0 => (best.state, best.round),
        _ => (state.coefficients(), train_losses.len()),
    };
    let base = base.iter().zip(&kept.bias).map(|(base, bias)| base + bias).collect();
    let width = terms.len();
    let outputs = (0..objective.outputs())
        .map(|k| terms.unscaled(&kept.beta[k * width..(k + 1) * width], schema));
    Ok(Fitted {
        base,
        outputs: outputs.collect(),
        rounds,
        train: train_losses,
        valid: valid_metrics,
    })
}

/// Targets as the loss sees them, or the first one it cannot use.
fn targets(chunk: &Chunk, objective: &dyn Objective) -> Result<Vec<f64>, Error> {
    let rows = chunk.rows;
    if chunk.target.len() != rows {
        return Err(Error::Length { what: "the target".into(), found: chunk.target.len(), rows });
    }
    if !chunk.weight.is_empty() && chunk.weight.len() != rows {
        return Err(Error::Length { what: "the weight".into(), found: chunk.weight.len(), rows });
    }
    for (i, &value) in chunk.target.iter().enumerate() {
        objective.check_target(value).map_err(|reason| Error::Target {
            row: i + 1,
            value,
            reason,
        })?;
    }
    Ok(chunk.target.iter().map(|&y| objective.transform_target(y)).collect())
}

/// One data set: columns, and targets and start scores as the objective wants them.
struct Rows<'a> {
    design: Design<'a>,
    target: Vec<f32>,
    weight: Vec<f32>,
    /// Start score of each output: zero if the base was taken from the targets.
    start: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(
        design: Design<'a>,
        chunk: &Chunk,
        target: &[f64],
        base: &[f64],
        objective: &dyn Objective,
    ) -> Self {
        // Without the offset, f32 keeps its precision for what is left to learn.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let start = if objective.shift_invariant() { vec![0.0; base.len()] } else { base.to_vec() };
        let weight = chunk.weight.iter().map(|&w| w as f32).collect();
        Rows { design, target: target.iter().map(|y| (y - shift) as f32).collect(), weight, start }
    }

    /// The watched metric of the model so far.
    fn measure(
        &self,
        terms: &Terms,
        state: &State,
        objective: &dyn Objective,
        metric: Watch,
    ) -> f64 {
        let (rows, width) = (self.design.rows, terms.len());
        let mut score = Vec::with_capacity(rows * self.start.len());
        for (k, start) in self.start.iter().enumerate() {
            let mut run = vec![start + state.bias[k]; rows];
            self.design.add(terms, &state.beta[k * width..(k + 1) * width], &mut run);
            score.extend(run.into_iter().map(|s| s as f32));
        }
        metric.finish(metric.partial(&score, &self.target, &self.weight, objective))
    }
}

/// What a model consists of.
#[derive(Clone)]
struct Coefficients {
    bias: Vec<f64>,
    /// Output after output.
    beta: Vec<f64>,
}

struct Best {
    value: f64,
    round: usize,
    state: Coefficients,
}

/// The descent between rounds.
struct State {
    bias: Vec<f64>,
    beta: Vec<f64>,
    /// Raw scores of the training rows, output after output.
    score: Vec<f64>,
    narrow: Vec<f32>,
    g: Vec<f32>,
    h: Vec<f32>,
    /// Distance of the slopes on both sides of a kink, for losses that have one.
    kink: Option<f64>,
}

/// Halvings of a step that made the loss worse; after so many the descent has arrived.
const HALVINGS: usize = 20;
/// Room for the rounding of `f32` scores when two losses are compared.
const ROUNDING: f64 = 1e-7;
/// A round that moves no score by more than this share of the largest one has arrived.
const STANDSTILL: f64 = 1e-9;
/// Residuals count as at least this share of their mean size where a kink's curvature is taken.
const LEAST_RESIDUAL: f64 = 1e-3;

impl State {
    fn new(rows: &Rows<'_>, terms: &Terms, objective: &dyn Objective) -> State {
        let outputs = objective.outputs();
        let score: Vec<f64> = rows
            .start
            .iter()
            .flat_map(|&start| std::iter::repeat_n(start, rows.design.rows))
            .collect();
        let kink = objective.leaf_quantile().map(|_| {
            let (mut g, mut h) = ([0.0; 2], [0.0; 2]);
            objective.derivatives(&[1.0, -1.0], &[0.0, 0.0], &[], &mut g, &mut h);
            f64::from(g[0] - g[1])
        });
        State {
            bias: vec![0.0; outputs],
            beta: vec![0.0; outputs * terms.len()],
            narrow: vec![0.0; score.len()],
            g: vec![0.0; score.len()],
            h: vec![0.0; score.len()],
            score,
            kink,
        }
    }

    fn coefficients(&self) -> Coefficients {
        Coefficients { bias: self.bias.clone(), beta: self.beta.clone() }
    }

    fn penalty(&self, settings: &Settings) -> f64 {
        self.beta.iter().map(|b| 0.5 * settings.lambda * b * b + settings.alpha * b.abs()).sum()
    }

    /// The sum that is minimised; leaves the scores of the training rows in `narrow`.
    fn penalised_loss(
        &mut self,
        rows: &Rows<'_>,
        objective: &dyn Objective,
        settings: &Settings,
    ) -> f64 {
        for (narrow, score) in self.narrow.iter_mut().zip(&self.score) {
            *narrow = *score as f32;
        }
        objective.loss(&self.narrow, &rows.target, &rows.weight) + self.penalty(settings)
    }

    /// One round; gives the new penalised loss, or `None` (and the old state) if nothing can be
    /// gained any more.
    fn improve(
        &mut self,
        rows: &Rows<'_>,
        terms: &Terms,
        objective: &dyn Objective,
        settings: &Settings,
        loss: f64,
    ) -> Option<f64> {
        let before = self.coefficients();
        let score = self.score.clone();
        objective.derivatives(&self.narrow, &rows.target, &rows.weight, &mut self.g, &mut self.h);
        if let Some(spread) = self.kink {
            self.curvature_at_kinks(rows, spread)?;
        }
        for output in 0..self.bias.len() {
            self.walk(output, rows, terms, settings);
        }
        let largest = self.score.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
        let moved =
            self.score.iter().zip(&score).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        let halvings = if moved > STANDSTILL * largest { HALVINGS } else { 0 };
        for _ in 0..halvings {
            let now = self.penalised_loss(rows, objective, settings);
            if now <= loss + ROUNDING * loss.abs() {
                return Some(now);
            }
            let halve = |new: &mut [f64], old: &[f64]| {
                new.iter_mut().zip(old).for_each(|(n, o)| *n = o + 0.5 * (*n - o))
            };
            halve(&mut self.bias, &before.bias);
            halve(&mut self.beta, &before.beta);
            halve(&mut self.score, &score);
        }
        (self.bias, self.beta, self.score) = (before.bias, before.beta, score);
        None
    }

    /// The curvature of parabolas that touch a loss of two straight pieces at each residual and lie
    /// above it; `None` if all residuals are zero.
    fn curvature_at_kinks(&mut self, rows: &Rows<'_>, spread: f64) -> Option<()> {
        let sizes = || self.narrow.iter().zip(&rows.target).map(|(s, y)| f64::from((s - y).abs()));
        let least = LEAST_RESIDUAL * sizes().sum::<f64>() / rows.design.rows as f64;
        if least <= 0.0 {
            return None;
        }
        let curvature: Vec<f32> =
            sizes().map(|size| (spread / (2.0 * size.max(least))) as f32).collect();
        self.h = curvature;
        self.h.iter_mut().zip(&rows.weight).for_each(|(h, weight)| *h *= weight);
        Some(())
    }

    /// Steps along the bias and every coefficient of one output, in order. The gradients follow
    /// every step; the scores, which nobody reads before the round's end, follow all steps at once.
    fn walk(&mut self, output: usize, rows: &Rows<'_>, terms: &Terms, settings: &Settings) {
        let range = output * rows.design.rows..(output + 1) * rows.design.rows;
        let h = &self.h[range.clone()];
        let g = &mut self.g[range.clone()];
        let beta = &mut self.beta[output * terms.len()..(output + 1) * terms.len()];
        let before = beta.to_vec();

        let wide_sum = |values: &[f32]| values.iter().map(|&v| f64::from(v)).sum::<f64>();
        let (first, second) = (wide_sum(g), wide_sum(h));
        let by = if second > 0.0 { -settings.learning_rate * first / second } else { 0.0 };
        self.bias[output] += by;
        g.iter_mut().zip(h).for_each(|(g, &h)| *g += h * by as f32);
        for (f, feature) in rows.design.features.iter().enumerate() {
            let own = &mut beta[terms.starts[f]..terms.starts[f + 1]];
            match feature {
                Feature::Number(x) => step_number(x, g, h, own, settings),
                Feature::Category(codes) => step_levels(codes, g, h, own, settings),
            }
        }
        let steps: Vec<f64> = beta.iter().zip(&before).map(|(new, old)| new - old).collect();
        let score = &mut self.score[range];
        score.iter_mut().for_each(|score| *score += by);
        rows.design.add(terms, &steps, score);
    }
}

/// Interleaved sums let the processor add several rows at once; their number is part of the
/// result's bits.
const LANES: usize = 4;

/// The step of one numeric column.
fn step_number(x: &[f32], g: &mut [f32], h: &[f32], own: &mut [f64], settings: &Settings) {
    // A column that does not vary is empty: it must not pair its rows with others'.
    if x.is_empty() {
        return;
    }
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    let ((xs, x_rest), (gs, g_rest), (hs, h_rest)) =
        (x.as_chunks::<LANES>(), g.as_chunks::<LANES>(), h.as_chunks::<LANES>());
    for ((x, g), h) in xs.iter().zip(gs).zip(hs) {
        for lane in 0..LANES {
            first[lane] += f64::from(g[lane]) * f64::from(x[lane]);
            second[lane] += f64::from(h[lane] * x[lane]) * f64::from(x[lane]);
        }
    }
    for (lane, ((&x, &g), &h)) in x_rest.iter().zip(g_rest).zip(h_rest).enumerate() {
        first[lane] += f64::from(g) * f64::from(x);
        second[lane] += f64::from(h * x) * f64::from(x);
    }
    let by = step(first.iter().sum(), second.iter().sum(), own[0], settings);
    if by != 0.0 {
        own[0] += by;
        g.iter_mut().zip(x).zip(h).for_each(|((g, &x), &h)| *g += h * (x * by as f32));
    }
}

/// The steps of all levels of a category: their rows do not overlap, so one pass serves them all.
fn step_levels(codes: &[u32], g: &mut [f32], h: &[f32], own: &mut [f64], settings: &Settings) {
    let mut sums = vec![(0.0, 0.0); own.len()];
    for ((&code, &g), &h) in codes.iter().zip(&*g).zip(h) {
        if let Some(sum) = sums.get_mut(code as usize) {
            *sum = (sum.0 + f64::from(g), sum.1 + f64::from(h));
        }
    }
    let by: Vec<f64> =
        sums.iter().zip(&*own).map(|(sum, own)| step(sum.0, sum.1, *own, settings)).collect();
    own.iter_mut().zip(&by).for_each(|(own, by)| *own += by);
    for ((&code, g), &h) in codes.iter().zip(g).zip(h) {
        *g += h * by.get(code as usize).map_or(0.0, |&by| by as f32);
    }
}

/// The damped Newton step of one coefficient `own` with gradient sum `first` and hessian sum
/// `second`: a step down the smooth part, then the L1 penalty pulls towards zero and stops there.
fn step(first: f64, second: f64, own: f64, settings: &Settings) -> f64 {
    let curvature = (second + settings.lambda) / settings.learning_rate;
    if second <= 0.0 || curvature.is_nan() || curvature <= 0.0 {
        return 0.0;
    }
    let there = own - (first + settings.lambda * own) / curvature;
    let pull = settings.alpha / curvature;
    let there = if there > 0.0 { (there - pull).max(0.0) } else { (there + pull).min(0.0) };
    there - own
}
