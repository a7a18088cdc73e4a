//! The rows of the linear booster: scores, derivatives, and sums per feature.
//!
//! Coordinate descent updates the gradients of all rows after every coefficient, so that one
//! feature takes one message; rows are in one piece, and one thread works on them.

mod design;

use swarmwood_model::Schema;

use super::backend::{Backend, BackendError};
use super::factory::{BackendFactory, LocalBackends};
use super::message::{ColumnScale, DataDescription, LinearColumn, Reply, RowSet, Work};
use crate::data::Chunk;
use crate::metric::{CustomMetric, EvalMetric, ScoredRows};
use crate::objective::Objective;
pub(crate) use design::starts;
use design::{Design, DesignColumn};

/// Residuals count as at least this share of their mean size where a kink's curvature is taken.
const LEAST_RESIDUAL: f64 = 1e-3;

/// Interleaved sums let the processor add several rows at once; their number is part of the
/// result's bits.
const LANES: usize = 4;

/// What a linear model is fitted to: a handle to rows, for backends to open.
#[derive(Clone, Copy)]
pub struct LinearSet<'a> {
    /// The training rows.
    pub chunk: &'a Chunk,
    /// Rows that are scored, never learnt from.
    pub valid: Option<&'a Chunk>,
    /// The caller's metric of early stopping.
    pub metric: Option<&'a dyn CustomMetric>,
    /// The columns.
    pub schema: &'a Schema,
    /// What is minimised.
    pub objective: &'a dyn Objective,
    /// Who makes backends for them.
    pub backends: &'a dyn BackendFactory,
}

/// Why rows cannot be used for a linear model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinearDataError {
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

impl<'a> LinearSet<'a> {
    /// Rows in this process.
    pub fn new(
        chunk: &'a Chunk,
        valid: Option<&'a Chunk>,
        schema: &'a Schema,
        objective: &'a dyn Objective,
    ) -> Self {
        let backends = &LocalBackends;
        LinearSet { chunk, valid, metric: None, schema, objective, backends }
    }

    /// Whether the rows can be used.
    pub fn check(&self) -> Result<(), LinearDataError> {
        for chunk in [Some(self.chunk), self.valid].into_iter().flatten() {
            design::check(chunk, self.schema)?;
            check_targets(chunk, self.objective)?;
        }
        let total = total_weight(self.chunk);
        if total.is_nan() || total <= 0.0 { Err(LinearDataError::NoRows) } else { Ok(()) }
    }
}

fn total_weight(chunk: &Chunk) -> f64 {
    if chunk.weight.is_empty() { chunk.rows as f64 } else { chunk.weight.iter().sum() }
}

/// Whether targets and weights can be used; the first target that cannot is reported.
fn check_targets(chunk: &Chunk, objective: &dyn Objective) -> Result<(), LinearDataError> {
    let (rows, length) = (chunk.rows, chunk.target.len());
    if length != rows {
        return Err(LinearDataError::Length { what: "the target".into(), found: length, rows });
    }
    let length = chunk.weight.len();
    if length != 0 && length != rows {
        return Err(LinearDataError::Length { what: "the weight".into(), found: length, rows });
    }
    for (i, &value) in chunk.target.iter().enumerate() {
        objective.check_target(value).map_err(|reason| LinearDataError::Target {
            row: i + 1,
            value,
            reason,
        })?;
    }
    Ok(())
}

/// One data set: columns, and targets and start scores as the objective needs them.
struct LinearRows<'a> {
    design: Design<'a>,
    target: Vec<f32>,
    weight: Vec<f32>,
    /// Start score of each output: zero if the base was taken from the targets.
    start: Vec<f64>,
    /// What was taken from the targets.
    shift: f64,
    chunk: &'a Chunk,
}

impl<'a> LinearRows<'a> {
    fn new(
        chunk: &'a Chunk,
        scales: &[ColumnScale],
        base: &[f64],
        objective: &dyn Objective,
    ) -> Self {
        // Without the offset, f32 keeps its precision for what is left to learn.
        let shift = if objective.shift_invariant() { base[0] } else { 0.0 };
        let start = if objective.shift_invariant() { vec![0.0; base.len()] } else { base.to_vec() };
        let target = chunk.target.iter().map(|&y| objective.transform_target(y));
        LinearRows {
            design: Design::new(chunk, scales),
            target: target.map(|y| (y - shift) as f32).collect(),
            weight: chunk.weight.iter().map(|&w| w as f32).collect(),
            start,
            shift,
            chunk,
        }
    }
}

/// The backend of this process for the linear booster.
pub(super) struct LocalLinear<'a> {
    objective: &'a dyn Objective,
    metric: Option<&'a dyn CustomMetric>,
    rows: LinearRows<'a>,
    valid: Option<LinearRows<'a>>,
    scales: Vec<ColumnScale>,
    starts: Vec<usize>,
    base: Vec<f64>,
    total_weight: f64,
    /// Raw scores of the training rows, output after output.
    score: Vec<f64>,
    /// The scores before the present round.
    saved: Vec<f64>,
    narrow: Vec<f32>,
    g: Vec<f32>,
    h: Vec<f32>,
    /// Distance of the slopes on both sides of a kink, for losses that have one.
    kink: Option<f64>,
}

impl<'a> LocalLinear<'a> {
    /// A backend whose scores are the best constant of each output, for rows that were checked.
    pub(super) fn new(set: LinearSet<'a>) -> Self {
        let LinearSet { chunk, valid, schema, objective, .. } = set;
        let target: Vec<f64> =
            chunk.target.iter().map(|&y| objective.transform_target(y)).collect();
        let base = objective.start(&target, &chunk.weight);
        let scales = design::scales(chunk);
        let rows = LinearRows::new(chunk, &scales, &base, objective);
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
        LocalLinear {
            objective,
            metric: set.metric,
            valid: valid.map(|valid| LinearRows::new(valid, &scales, &base, objective)),
            rows,
            scales,
            starts: starts(schema),
            base,
            total_weight: total_weight(chunk),
            narrow: vec![0.0; score.len()],
            g: vec![0.0; score.len()],
            h: vec![0.0; score.len()],
            saved: Vec::new(),
            score,
            kink,
        }
    }

    fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Number of coefficients of an output.
    fn width(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    fn of_output(&self, output: usize) -> std::ops::Range<usize> {
        let rows = self.rows.design.rows;
        output * rows..(output + 1) * rows
    }

    /// The loss of the present scores, which are narrowed for the next derivatives.
    fn loss(&mut self) -> f64 {
        for (narrow, score) in self.narrow.iter_mut().zip(&self.score) {
            *narrow = *score as f32;
        }
        self.objective.loss(&self.narrow, &self.rows.target, &self.rows.weight)
    }

    /// Derivatives at the narrowed scores; none if all residuals of a loss with kinks are zero.
    fn derive(&mut self) -> Option<f64> {
        self.saved.clone_from(&self.score);
        let (target, weight) = (&self.rows.target, &self.rows.weight);
        self.objective.derivatives(&self.narrow, target, weight, &mut self.g, &mut self.h);
        match self.kink {
            Some(spread) => self.curvature_at_kinks(spread),
            None => Some(0.0),
        }
    }

    /// The curvature of parabolas that touch a loss of two straight pieces at each residual and lie
    /// above it; `None` if all residuals are zero.
    fn curvature_at_kinks(&mut self, spread: f64) -> Option<f64> {
        let target = &self.rows.target;
        let sizes = || self.narrow.iter().zip(target).map(|(s, y)| f64::from((s - y).abs()));
        let least = LEAST_RESIDUAL * sizes().sum::<f64>() / self.rows.design.rows as f64;
        if least <= 0.0 {
            return None;
        }
        let curvature: Vec<f32> =
            sizes().map(|size| (spread / (2.0 * size.max(least))) as f32).collect();
        self.h = curvature;
        self.h.iter_mut().zip(&self.rows.weight).for_each(|(h, weight)| *h *= weight);
        Some(least)
    }

    /// Sums of gradients and hessians of each coefficient of a column.
    fn sums(&self, output: usize, column: LinearColumn) -> Vec<[f64; 2]> {
        let range = self.of_output(output);
        let (g, h) = (&self.g[range.clone()], &self.h[range]);
        let LinearColumn::Feature { feature } = column else {
            let wide_sum = |values: &[f32]| values.iter().map(|&v| f64::from(v)).sum::<f64>();
            return vec![[wide_sum(g), wide_sum(h)]];
        };
        match &self.rows.design.features[feature] {
            DesignColumn::Number(x) => vec![number_sums(x, g, h)],
            DesignColumn::Category(codes) => {
                let levels = self.starts[feature + 1] - self.starts[feature];
                let mut sums = vec![[0.0; 2]; levels];
                for ((&code, &g), &h) in codes.iter().zip(g).zip(h) {
                    if let Some(sum) = sums.get_mut(code as usize) {
                        *sum = [sum[0] + f64::from(g), sum[1] + f64::from(h)];
                    }
                }
                sums
            }
        }
    }

    /// Lets the gradients follow the steps of a column's coefficients.
    fn step(&mut self, output: usize, column: LinearColumn, by: &[f64]) {
        let range = self.of_output(output);
        let (g, h) = (&mut self.g[range.clone()], &self.h[range]);
        let first = by.first().map_or(0.0, |&by| by as f32);
        let LinearColumn::Feature { feature } = column else {
            g.iter_mut().zip(h).for_each(|(g, &h)| *g += h * first);
            return;
        };
        match &self.rows.design.features[feature] {
            DesignColumn::Number(x) => {
                g.iter_mut().zip(x).zip(h).for_each(|((g, &x), &h)| *g += h * (x * first));
            }
            DesignColumn::Category(codes) => {
                for ((&code, g), &h) in codes.iter().zip(g).zip(h) {
                    *g += h * by.get(code as usize).map_or(0.0, |&by| by as f32);
                }
            }
        }
    }

    /// Adds steps of bias and coefficients of an output to its scores.
    fn add(&mut self, output: usize, bias: f64, steps: &[f64]) {
        let range = self.of_output(output);
        let score = &mut self.score[range];
        score.iter_mut().for_each(|score| *score += bias);
        self.rows.design.add(&self.starts, steps, score);
    }

    /// The largest score and the largest move since the derivatives were taken.
    fn largest_move(&self) -> [f64; 2] {
        let largest = self.score.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
        let pairs = self.score.iter().zip(&self.saved);
        let moved = pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        [largest, moved]
    }

    /// A metric of a model.
    fn metric(&self, metric: EvalMetric, rows: &LinearRows<'_>, bias: &[f64], beta: &[f64]) -> f64 {
        let (count, width) = (rows.design.rows, self.width());
        let mut score: Vec<f64> = Vec::with_capacity(count * rows.start.len());
        for (k, start) in rows.start.iter().enumerate() {
            let mut run = vec![start + bias[k]; count];
            rows.design.add(&self.starts, &beta[k * width..(k + 1) * width], &mut run);
            score.extend(run);
        }

        if metric.takes_all_rows() {
            score.iter_mut().for_each(|score| *score += rows.shift);
            let Chunk { target, weight, .. } = rows.chunk;
            let rows = ScoredRows { score: &score, target, weight };
            return metric.of_all_rows(rows, self.objective, self.metric);
        }
        let score: Vec<f32> = score.into_iter().map(|score| score as f32).collect();
        metric.finish(metric.partial(&score, &rows.target, &rows.weight, self.objective))
    }

    fn execute(&mut self, work: &Work) -> Result<Reply, BackendError> {
        self.check(work)?;
        match work {
            Work::Describe {} => {
                let (rows, base) = (self.rows.design.rows, self.base.clone());
                Ok(Reply::Description { data: DataDescription { rows, base, shift: 0.0 } })
            }
            Work::LinearScales {} => Ok(Reply::LinearScales {
                scales: self.scales.clone(),
                total_weight: self.total_weight,
            }),
            Work::Loss {} => Ok(Reply::Value { value: Some(self.loss()) }),
            Work::LinearDerive {} => Ok(Reply::Value { value: self.derive() }),
            Work::LinearSums { output, column } => {
                Ok(Reply::LinearSums { sums: self.sums(*output, *column) })
            }
            Work::LinearMove {} => {
                let [largest, moved] = self.largest_move();
                Ok(Reply::LinearMove { largest, moved })
            }
            Work::LinearMetric { metric, rows, bias, beta } => {
                let rows = match rows {
                    RowSet::Training => Some(&self.rows),
                    RowSet::Validation => self.valid.as_ref(),
                    RowSet::Watched { .. } => None,
                };
                let value = rows.map(|rows| self.metric(*metric, rows, bias, beta));
                Ok(Reply::Value { value })
            }
            _ => self.change(work),
        }
    }

    fn change(&mut self, work: &Work) -> Result<Reply, BackendError> {
        match work {
            Work::LinearStep { output, column, by } => self.step(*output, *column, by),
            Work::LinearAdd { output, bias, steps } => self.add(*output, *bias, steps),
            Work::LinearHalve {} => {
                let pairs = self.score.iter_mut().zip(&self.saved);
                pairs.for_each(|(n, o)| *n = o + 0.5 * (*n - o));
            }
            Work::LinearRestore {} => self.score.clone_from(&self.saved),
            _ => return Err(BackendError::Unsupported { work: work.name() }),
        }
        Ok(Reply::Done {})
    }

    /// Refuses outputs, features and coefficients that do not exist.
    fn check(&self, work: &Work) -> Result<(), BackendError> {
        let unknown = |what, number| BackendError::Unknown { work: work.name(), what, number };
        let (output, column, coefficients) = match work {
            Work::LinearSums { output, column } => (*output, *column, None),
            Work::LinearStep { output, column, .. } => (*output, *column, None),
            Work::LinearAdd { output, steps, .. } => {
                (*output, LinearColumn::Bias {}, Some((steps.len(), self.width())))
            }
            Work::LinearMetric { bias, .. } if bias.len() != self.outputs() => {
                return Err(unknown("output", bias.len()));
            }
            Work::LinearMetric { beta, .. } => {
                let wanted = self.outputs() * self.width();
                (0, LinearColumn::Bias {}, Some((beta.len(), wanted)))
            }
            _ => return Ok(()),
        };
        if output >= self.outputs() {
            return Err(unknown("output", output));
        }
        if let Some((found, wanted)) = coefficients
            && found != wanted
        {
            return Err(unknown("coefficient", found));
        }
        match column {
            LinearColumn::Feature { feature } if feature >= self.rows.design.features.len() => {
                Err(unknown("feature", feature))
            }
            _ => Ok(()),
        }
    }
}

impl Backend for LocalLinear<'_> {
    fn run(&mut self, work: &[Work]) -> Result<Vec<Reply>, BackendError> {
        work.iter().map(|work| self.execute(work)).collect()
    }
}

/// The sums of one numeric column.
fn number_sums(x: &[f32], g: &[f32], h: &[f32]) -> [f64; 2] {
    // A column that does not vary is empty: it must not pair its rows with others'.
    if x.is_empty() {
        return [0.0; 2];
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
    [first.iter().sum(), second.iter().sum()]
}
