//! Measures a model on rows whose target is known.
//!
//! [`evaluate`] goes over the rows once and keeps little of them; a [`HeldOutRows`] keeps every
//! prediction, for further analysis: intervals ([`Bootstrap`]), classes against classes, curves.

mod bootstrap;
mod coverage;
mod holdout;

use swarmwood_learn::data::Chunk;
use swarmwood_learn::metric::reliability::Reliability;
use swarmwood_learn::metric::{LearningTask, Tally};
use swarmwood_learn::objective::ObjectiveConfig;
use swarmwood_model::predict::Predictions;
use swarmwood_model::{Model, TargetKind};

use crate::Result;
use crate::params::Params;
use crate::predict::Scorer;
use crate::read::Rows;

use coverage::IntervalCoverage;

pub use bootstrap::{Bootstrap, Interval};
pub use holdout::HeldOutRows;

/// What was measured.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Rows with a target.
    pub rows: usize,
    /// Every metric of the task, by name; for classes the expected calibration error `ece` is among
    /// them, and for models with intervals or sets their coverage and mean size.
    pub metrics: Vec<(&'static str, f64)>,
    /// What was predicted beside what happened; nothing where there are several columns.
    pub pairs: Reliability,
    /// Where the model predicts several columns, the evaluation of each; the metrics above are
    /// their means.
    pub columns: Vec<(String, Evaluation)>,
}

/// Predicts the rows and compares with their targets.
pub fn evaluate(
    model: &Model,
    rows: &Rows,
    first: Option<usize>,
    threads: usize,
) -> Result<Evaluation> {
    if !model.schema.target.kind.columns().is_empty() {
        return evaluate_columns(model, rows, first, threads);
    }
    let scorer = Scorer::new(model, first, threads)?;
    let (task, classes) = task_of(model);
    let mut tally =
        Tally::new(task, spec(model, classes).as_ref()).with_threshold(model.calibration.threshold);
    let mut pairs = Reliability::default();
    let mut coverage = IntervalCoverage::default();
    rows.for_each_chunk(&mut |chunk: &Chunk| {
        coverage.add(&scorer, chunk)?;
        let predicted = match scorer.predictions(chunk)? {
            Predictions::Numbers(numbers) => numbers,
            Predictions::Classes { probabilities, .. } => probabilities,
        };
        tally.add(&predicted, &chunk.target, &chunk.weight);
        for (row, (said, &target)) in
            predicted.chunks_exact(classes.max(1)).zip(&chunk.target).enumerate()
        {
            let weight = chunk.weight.get(row).copied().unwrap_or(1.0);
            match classes {
                0 => pairs.add(said[0], target, weight),
                _ => pairs.add_classes(said, target, weight),
            }
        }
        Ok(())
    })?;
    let mut metrics = tally.finish();
    metrics
        .extend(Some(("ece", pairs.error())).filter(|metric| classes > 0 && metric.1.is_finite()));
    metrics.extend(coverage.finish(classes > 0));
    Ok(Evaluation { rows: pairs.rows(), metrics, pairs, columns: Vec::new() })
}

/// Evaluates each of several columns by itself.
fn evaluate_columns(
    model: &Model,
    rows: &Rows,
    first: Option<usize>,
    threads: usize,
) -> Result<Evaluation> {
    let mut columns: Vec<(String, Evaluation)> = Vec::new();
    for (at, name) in model.schema.target.kind.columns().iter().enumerate() {
        let (Some(own), Some(rows)) = (model.column_model(at), rows.of_target(at)) else {
            continue;
        };
        columns.push((name.clone(), evaluate(&own, &rows, first, threads)?));
    }
    let metrics = columns.iter().map(|(_, column)| &column.metrics[..]).collect();
    let metrics = mean_metrics(metrics);
    Ok(Evaluation { rows: rows.rows, metrics, pairs: Reliability::default(), columns })
}

/// The mean of each metric that all columns have.
///
/// ```
/// use swarmwood::evaluate::mean_metrics;
///
/// let (a, b) = ([("rmse", 1.0), ("r2", 0.5)], [("rmse", 3.0)]);
/// assert_eq!(mean_metrics(vec![&a, &b]), [("rmse", 2.0)]);
/// ```
pub fn mean_metrics(of_columns: Vec<&[(&'static str, f64)]>) -> Vec<(&'static str, f64)> {
    let Some((first, _)) = of_columns.split_first() else { return Vec::new() };
    let value = |metrics: &[(&str, f64)], name: &str| {
        metrics.iter().find(|metric| metric.0 == name).map(|metric| metric.1)
    };
    let mean = |&(name, _): &(&'static str, f64)| {
        let values: Option<Vec<f64>> =
            of_columns.iter().map(|metrics| value(metrics, name)).collect();
        Some((name, values?.iter().sum::<f64>() / of_columns.len() as f64))
    };
    first.iter().filter_map(mean).collect()
}

/// What a model predicts, and how many classes that has; none for numbers.
fn task_of(model: &Model) -> (LearningTask, usize) {
    match &model.schema.target.kind {
        TargetKind::Number | TargetKind::Numbers(_) => (LearningTask::Regression, 0),
        TargetKind::Classes(classes) => (LearningTask::Classes(classes.len()), classes.len()),
    }
}

/// The objective a model was trained for, as its record tells it; `None` for models that came from
/// elsewhere.
fn spec(model: &Model, classes: usize) -> Option<ObjectiveConfig> {
    let default = Params::default();
    let recorded = |name: &str| {
        let text = model.provenance.params.get(name);
        text.and_then(|text| text.parse().ok()).unwrap_or_else(|| default.number(name))
    };
    let spec = ObjectiveConfig::named(&model.objective, classes, recorded)?;
    // The record is only text in a file.
    spec.check().is_ok().then_some(spec)
}
