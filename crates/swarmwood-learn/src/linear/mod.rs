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

#[cfg(test)]
mod tests;

use swarmwood_model::{Kind, LinearFunction, LinearTerm, Schema};

use crate::budget::Budget;
use crate::event::{Event, Stage};
use crate::metric::EvalMetric;
use crate::stats::{
    Backend, BackendError, ColumnScale, LinearColumn, LinearDataError, LinearSet, Reply, RowSet,
    Work, linear_starts,
};

/// How a linear model is trained.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearConfig {
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
    pub metric: EvalMetric,
}

impl Default for LinearConfig {
    fn default() -> Self {
        LinearConfig {
            rounds: 100,
            learning_rate: 0.5,
            lambda: 0.0,
            alpha: 0.0,
            early_stopping_rounds: 0,
            metric: EvalMetric::Loss,
        }
    }
}

/// A trained linear model, without its schema.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearFit {
    /// Start value of each raw output.
    pub base: Vec<f64>,
    /// One linear function per output.
    pub outputs: Vec<LinearFunction>,
    /// Rounds in the model.
    pub rounds: usize,
    /// Mean training loss after each round that was run.
    pub train: Vec<f64>,
    /// The metric on the validation rows after each round; empty without such rows.
    pub valid: Vec<f64>,
}

/// Why no linear model could be trained.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinearError {
    /// The rows cannot be used.
    #[error(transparent)]
    Data(#[from] LinearDataError),
    /// The rows could not be worked on.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Trains a linear model. Validation rows are for early stopping and progress; with early stopping,
/// or when the run is interrupted, the model of the best validation round is kept. One thread
/// works, and the result depends on nothing but the arguments.
///
/// ```
/// use swarmwood_learn::budget::Budget;
/// use swarmwood_learn::data::{Chunk, Column};
/// use swarmwood_learn::linear::{self, LinearConfig};
/// use swarmwood_learn::{objective::Squared, stats::LinearSet};
/// use swarmwood_model::{Feature, Kind, LinearTerm, Schema, Target, TargetKind};
///
/// let schema = Schema {
///     features: vec![Feature { name: "x".into(), kind: Kind::Number }],
///     target: Target { name: "y".into(), kind: TargetKind::Number },
///     dates: Vec::new(),
/// };
/// let x: Vec<f64> = (0..10).map(f64::from).collect();
/// let target = x.iter().map(|x| 3.0 * x + 1.0).collect();
/// let chunk = Chunk { columns: vec![Column::Number(x)], target, weight: vec![], rows: 10 };
/// let set = LinearSet::new(&chunk, None, &schema, &Squared);
/// let fit = linear::train(set, &LinearConfig::default(), &Budget::unlimited(), &mut |_| ())?;
/// let LinearTerm::Number { weight, centre } = fit.outputs[0].terms[0] else { panic!() };
/// assert!((weight - 3.0).abs() < 1e-6 && centre == 4.5);
/// assert!((fit.base[0] - (3.0 * 4.5 + 1.0)).abs() < 1e-6);
/// # Ok::<(), linear::LinearError>(())
/// ```
pub fn train(
    set: LinearSet<'_>,
    config: &LinearConfig,
    budget: &Budget,
    observer: &mut dyn FnMut(&Event),
) -> Result<LinearFit, LinearError> {
    set.check()?;
    let mut descent = CoordinateDescent::open(set, config, budget)?;
    let mut loss = descent.penalised_loss()?;
    let mut best = BestLinearRound { value: f64::NAN, round: 0, model: descent.model.clone() };
    let (mut train_losses, mut valid_metrics) = (Vec::new(), Vec::new());
    for round in 1..=config.rounds {
        if budget.is_exhausted() {
            break;
        }
        let Some(lower) = descent.improve(loss)? else { break };
        budget.spend(1);
        loss = lower;
        let train = (loss - descent.penalty()) / descent.total_weight;
        let metric = descent.valid_metric(set)?;
        train_losses.push(train);
        valid_metrics.extend(metric);
        if metric
            .is_some_and(|value| best.value.is_nan() || config.metric.better(value, best.value))
        {
            let value = metric.unwrap_or(f64::NAN);
            best = BestLinearRound { value, round, model: descent.model.clone() };
        }
        observer(&Event {
            train: Some(train),
            valid: metric,
            ..Event::new(Stage::BOOSTING, round, config.rounds)
        });
        let patience = config.early_stopping_rounds;
        if metric.is_some() && patience > 0 && round - best.round >= patience {
            break;
        }
    }

    let keep_best = config.early_stopping_rounds > 0 || budget.is_interrupted();
    let (kept, rounds) = match set.valid {
        Some(_) if keep_best && best.round > 0 => (best.model, best.round),
        _ => (descent.model.clone(), train_losses.len()),
    };
    let base = descent.base.iter().zip(&kept.bias).map(|(base, bias)| base + bias).collect();
    let width = descent.width();
    let outputs = (0..kept.bias.len())
        .map(|k| descent.unscaled(&kept.beta[k * width..(k + 1) * width], set.schema));
    Ok(LinearFit {
        base,
        outputs: outputs.collect(),
        rounds,
        train: train_losses,
        valid: valid_metrics,
    })
}

/// What a model consists of.
#[derive(Debug, Clone)]
struct Coefficients {
    bias: Vec<f64>,
    /// Output after output.
    beta: Vec<f64>,
}

struct BestLinearRound {
    value: f64,
    round: usize,
    model: Coefficients,
}

/// The descent between rounds.
struct CoordinateDescent<'a> {
    backend: Box<dyn Backend + 'a>,
    config: &'a LinearConfig,
    budget: &'a Budget,
    base: Vec<f64>,
    total_weight: f64,
    scales: Vec<ColumnScale>,
    /// Where a feature's coefficients start; one entry more than there are features.
    starts: Vec<usize>,
    /// Features whose coefficients can change: all but constant numbers.
    features: Vec<usize>,
    model: Coefficients,
}

/// Halvings of a step that made the loss worse; after so many the descent has converged.
const HALVINGS: usize = 20;
/// Room for the rounding of `f32` scores when two losses are compared.
const ROUNDING: f64 = 1e-7;
/// A round that moves no score by more than this share of the largest one has converged.
const STANDSTILL: f64 = 1e-9;

impl<'a> CoordinateDescent<'a> {
    fn open(
        set: LinearSet<'a>,
        config: &'a LinearConfig,
        budget: &'a Budget,
    ) -> Result<Self, BackendError> {
        let mut backend = set.backends.open_linear(set)?;
        let replies = backend.run(&[Work::Describe {}, Work::LinearScales {}])?;
        let Ok([Reply::Description { data }, Reply::LinearScales { scales, total_weight }]) =
            <[Reply; 2]>::try_from(replies)
        else {
            return Err(BackendError::Reply { work: "LinearScales" });
        };
        let starts = linear_starts(set.schema);
        let varies = |&feature: &usize| {
            set.schema.features[feature].kind != Kind::Number || scales[feature].spread > 0.0
        };
        let width = starts.last().copied().unwrap_or(0);
        Ok(CoordinateDescent {
            backend,
            config,
            budget,
            total_weight,
            features: (0..scales.len()).filter(varies).collect(),
            scales,
            starts,
            model: Coefficients {
                bias: vec![0.0; data.base.len()],
                beta: vec![0.0; data.base.len() * width],
            },
            base: data.base,
        })
    }

    /// Number of coefficients of an output.
    fn width(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    fn penalty(&self) -> f64 {
        let LinearConfig { lambda, alpha, .. } = *self.config;
        self.model.beta.iter().map(|b| 0.5 * lambda * b * b + alpha * b.abs()).sum()
    }

    /// Sends a message; its last reply.
    fn ask(&mut self, work: &[Work]) -> Result<Reply, BackendError> {
        let name = work.last().map_or("", Work::name);
        self.backend.run(work)?.pop().ok_or(BackendError::Reply { work: name })
    }

    fn ask_value(&mut self, work: &[Work]) -> Result<Option<f64>, BackendError> {
        match self.ask(work)? {
            Reply::Value { value } => Ok(value),
            _ => Err(BackendError::Reply { work: "Loss" }),
        }
    }

    /// The sum that is minimised.
    fn penalised_loss(&mut self) -> Result<f64, BackendError> {
        self.penalised_loss_after(&[])
    }

    fn penalised_loss_after(&mut self, work: &[Work]) -> Result<f64, BackendError> {
        let work = [work, &[Work::Loss {}]].concat();
        let loss = self.ask_value(&work)?.ok_or(BackendError::Reply { work: "Loss" })?;
        Ok(loss + self.penalty())
    }

    fn valid_metric(&mut self, set: LinearSet<'_>) -> Result<Option<f64>, BackendError> {
        if set.valid.is_none() {
            return Ok(None);
        }
        let Coefficients { bias, beta } = self.model.clone();
        let (metric, rows) = (self.config.metric, RowSet::Validation);
        self.ask_value(&[Work::LinearMetric { metric, rows, bias, beta }])
    }

    /// One round; gives the new penalised loss, or `None` (and the old state) if nothing can be
    /// gained any more or the run was interrupted.
    fn improve(&mut self, loss: f64) -> Result<Option<f64>, BackendError> {
        let before = self.model.clone();
        if self.ask_value(&[Work::LinearDerive {}])?.is_none() {
            return Ok(None);
        }
        let mut steps = Vec::new();
        for output in 0..self.base.len() {
            let Some(step) = self.walk(output)? else {
                // The scores follow the steps only after all outputs: nothing to take back there.
                self.model = before;
                return Ok(None);
            };
            steps.push(step);
        }
        steps.push(Work::LinearMove {});
        let Reply::LinearMove { largest, moved } = self.ask(&steps)? else {
            return Err(BackendError::Reply { work: "LinearMove" });
        };

        let halvings = if moved > STANDSTILL * largest { HALVINGS } else { 0 };
        let mut halve: &[Work] = &[];
        for _ in 0..halvings {
            let now = self.penalised_loss_after(halve)?;
            if now <= loss + ROUNDING * loss.abs() {
                return Ok(Some(now));
            }
            let closer = |new: &mut [f64], old: &[f64]| {
                new.iter_mut().zip(old).for_each(|(n, o)| *n = o + 0.5 * (*n - o))
            };
            closer(&mut self.model.bias, &before.bias);
            closer(&mut self.model.beta, &before.beta);
            halve = &[Work::LinearHalve {}];
        }
        self.model = before;
        self.ask(&[Work::LinearRestore {}])?;
        Ok(None)
    }

    /// Steps along the bias and every coefficient of one output, in order; the steps as work for
    /// the scores, which nobody reads before the round's end. `None` if the run was interrupted.
    fn walk(&mut self, output: usize) -> Result<Option<Work>, BackendError> {
        let own = output * self.width()..(output + 1) * self.width();
        let before = self.model.beta[own.clone()].to_vec();
        let sums = self.sums(&[], output, LinearColumn::Bias {})?;
        let [first, second] = sums[0];
        let bias = if second > 0.0 { -self.config.learning_rate * first / second } else { 0.0 };
        self.model.bias[output] += bias;

        // The gradients follow every step; a step travels with the question for the next sums.
        let mut step =
            vec![Work::LinearStep { output, column: LinearColumn::Bias {}, by: vec![bias] }];
        for at in 0..self.features.len() {
            if self.budget.is_interrupted() {
                return Ok(None);
            }
            let feature = self.features[at];
            let column = LinearColumn::Feature { feature };
            let sums = self.sums(&step, output, column)?;
            let first = own.start + self.starts[feature];
            let coefficients = &mut self.model.beta[first..first + sums.len()];
            let by: Vec<f64> = sums
                .iter()
                .zip(&*coefficients)
                .map(|(&[g, h], &own)| newton_step(g, h, own, self.config))
                .collect();
            coefficients.iter_mut().zip(&by).for_each(|(own, by)| *own += by);
            step.clear();
            // A number that does not move leaves the gradients as they are.
            if by.len() > 1 || by.iter().any(|&by| by != 0.0) {
                step.push(Work::LinearStep { output, column, by });
            }
        }
        let beta = &self.model.beta[own];
        let steps = beta.iter().zip(&before).map(|(new, old)| new - old).collect();
        Ok(Some(Work::LinearAdd { output, bias, steps }))
    }

    fn sums(
        &mut self,
        before: &[Work],
        output: usize,
        column: LinearColumn,
    ) -> Result<Vec<[f64; 2]>, BackendError> {
        let ask = [before, &[Work::LinearSums { output, column }]].concat();
        let wanted = match column {
            LinearColumn::Bias {} => 1,
            LinearColumn::Feature { feature } => self.starts[feature + 1] - self.starts[feature],
        };
        match self.ask(&ask)? {
            Reply::LinearSums { sums } if sums.len() == wanted => Ok(sums),
            _ => Err(BackendError::Reply { work: "LinearSums" }),
        }
    }

    /// Coefficients of standardised numbers as weights of raw ones.
    fn unscaled(&self, coefficients: &[f64], schema: &Schema) -> LinearFunction {
        let terms = schema.features.iter().enumerate().map(|(f, feature)| {
            let own = &coefficients[self.starts[f]..self.starts[f + 1]];
            match feature.kind {
                Kind::Number => {
                    let ColumnScale { centre, spread } = self.scales[f];
                    let weight = if spread > 0.0 { own[0] / spread } else { 0.0 };
                    LinearTerm::Number { weight, centre }
                }
                Kind::Category { .. } => LinearTerm::Category { weights: own.to_vec() },
            }
        });
        LinearFunction { terms: terms.collect() }
    }
}

/// The damped Newton step of one coefficient `own` with gradient sum `first` and hessian sum
/// `second`: a step down the smooth part, then the L1 penalty pulls towards zero and stops there.
fn newton_step(first: f64, second: f64, own: f64, config: &LinearConfig) -> f64 {
    let curvature = (second + config.lambda) / config.learning_rate;
    if second <= 0.0 || curvature.is_nan() || curvature <= 0.0 {
        return 0.0;
    }
    let there = own - (first + config.lambda * own) / curvature;
    let pull = config.alpha / curvature;
    let there = if there > 0.0 { (there - pull).max(0.0) } else { (there + pull).min(0.0) };
    there - own
}
