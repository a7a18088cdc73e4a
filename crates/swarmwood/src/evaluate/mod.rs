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
    /// What was predicted beside what happened.
    pub pairs: Reliability,
}

/// Predicts the rows and compares with their targets.
pub fn evaluate(
    model: &Model,
    rows: &Rows,
    first: Option<usize>,
    threads: usize,
) -> Result<Evaluation> {
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
    Ok(Evaluation { rows: pairs.rows(), metrics, pairs })
}

/// What a model predicts, and how many classes that has; none for numbers.
fn task_of(model: &Model) -> (LearningTask, usize) {
    match &model.schema.target.kind {
        TargetKind::Number => (LearningTask::Regression, 0),
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
