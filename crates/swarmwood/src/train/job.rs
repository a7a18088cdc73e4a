//! What is trained, on what, and how: what every learner is given.

use swarmwood_learn::budget::Budget;
use swarmwood_learn::constraints::Constraints;
use swarmwood_learn::context::Context;
use swarmwood_learn::data::Chunk;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::metric::{EvalMetric, LearningTask, Tally};
use swarmwood_learn::objective::{CustomObjective, Objective, ObjectiveConfig};
use swarmwood_learn::pool::Pool;
use swarmwood_model::predict::Predictions;
use swarmwood_model::{Body, Calibration, Model, Provenance, TargetKind, TrainingStats};

use super::TrainResult;
use super::options::TrainOptions;
use crate::error::DataError;
use crate::message::Message;
use crate::params::Params;
use crate::predict::Scorer;
use crate::read::Rows;
use crate::{Error, Result, registry};

/// Bytes of a cell where all rows are in memory at once: its number, its rank and a copy of each.
const CELL_BYTES: u64 = 16;

/// The largest magnitude of a numerical target, for every method.
const LARGEST_TARGET: f64 = 1e30;

/// The least difference between the largest and the smallest target, unless all are equal.
const LEAST_SPREAD: f64 = 1e-30;

/// What is minimised, and what early stopping watches.
pub(super) fn objective_and_metric(
    params: &Params,
    target: &TargetKind,
    thresholded: bool,
) -> Result<(ObjectiveConfig, EvalMetric)> {
    let spec = if thresholded {
        registry::objective_or_thresholded(params, target)
    } else {
        registry::objective(params, target)
    }?;
    let metric = registry::watch(params, target)?;
    // The scores of a thresholded loss are probabilities only in the end; while it is minimised it
    // is its own measure.
    Ok((spec, if spec.is_thresholded() { EvalMetric::Loss } else { metric }))
}

/// What is trained, on what, and how.
pub struct Job<'a> {
    /// The training rows.
    pub rows: &'a Rows,
    /// The validation rows.
    pub valid: Option<&'a Rows>,
    /// The parameters, every `auto` resolved.
    pub params: &'a Params,
    /// What there is beside rows and parameters.
    pub options: &'a TrainOptions,
    /// Which loss is minimised.
    pub(super) spec: ObjectiveConfig,
    /// The loss that is minimised.
    pub objective: &'a dyn Objective,
    /// The same, if it is a custom one.
    pub(super) custom: Option<&'a CustomObjective>,
    /// What early stopping watches.
    pub(super) metric: EvalMetric,
    /// What the model must satisfy.
    pub constraints: &'a Constraints,
    /// The threads.
    pub pool: &'a Pool,
    /// The limits of the run; every loop that can last checks it.
    pub budget: &'a Budget,
    /// Whether scores of held-out rows are wanted, and the limits of the fits that make them.
    pub held_out: Option<&'a Budget>,
}

impl Job<'_> {
    /// The threads and the limits, for learners.
    pub fn context(&self) -> Context<'_> {
        Context { pool: self.pool, budget: self.budget }
    }

    /// A model of these rows and parameters.
    pub fn model(&self, base: Vec<f64>, body: Body) -> Model {
        let params = self
            .params
            .entries()
            .into_iter()
            .map(|(name, value)| (name.to_string(), value))
            .collect();
        Model {
            schema: self.rows.schema.clone(),
            link: self.objective.link(),
            objective: self.objective.name().to_string(),
            base,
            body,
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                method: self.params.method.name().to_string(),
                rows: self.rows.rows as u64,
                params,
                stats: TrainingStats::default(),
            },
            calibration: Calibration::default(),
        }
    }

    /// A result with the metrics of a model on the training and the validation rows; `seconds` is
    /// how long training took.
    pub fn result(&self, model: Model, seconds: f64) -> Result<TrainResult> {
        let train_metrics = measure(self, &model, &gather(self.rows)?)?;
        let valid_metrics = match self.valid {
            Some(valid) => measure(self, &model, &gather(valid)?)?,
            None => Vec::new(),
        };

        Ok(TrainResult {
            rounds: model.rounds(),
            model,
            params: self.params.clone(),
            bin_seconds: 0.0,
            train_seconds: seconds,
            train_metrics,
            valid_metrics,
            held_out: None,
            watched_metrics: Vec::new(),
            search: None,
            features: None,
            swarm: None,
            tree: None,
            warnings: Vec::new(),
            notes: Vec::new(),
            columns: Vec::new(),
        })
    }

    /// Collects every metric of the task, the objective's own among them.
    pub(super) fn tally(&self) -> Tally {
        let task = match &self.rows.schema.target.kind {
            TargetKind::Number | TargetKind::Numbers(_) => LearningTask::Regression,
            TargetKind::Classes(classes) => LearningTask::Classes(classes.len()),
        };
        Tally::new(task, Some(&self.spec))
    }

    /// Refuses targets outside the domain of the loss, and targets whose squares could not be
    /// computed with.
    pub(super) fn check_targets(&self, target: impl Iterator<Item = f64>) -> Result<()> {
        let is_number = matches!(self.rows.schema.target.kind, TargetKind::Number);
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (row, value) in target.enumerate() {
            (least, greatest) = (least.min(value), greatest.max(value));
            if is_number && value.abs() > LARGEST_TARGET {
                return Err(self.too_large(row, value));
            }
            self.objective.check_target(value).map_err(|allowed| {
                Error::Data(Box::new(DataError {
                    row: Some(row as u64 + 1),
                    message: format!(
                        "the target is {value}, but for the {} loss it {allowed}",
                        self.objective.name()
                    )
                    .into(),
                    help: Message::from("remove the row or choose another ").option("objective"),
                    ..self.target_fault()
                }))
            })?;
        }

        let spread = greatest - least;
        if is_number && spread > 0.0 && spread < LEAST_SPREAD {
            return Err(self.too_close(spread));
        }
        Ok(())
    }

    /// Refuses targets as [`Job::check_targets`] does, and shows them to a custom loss.
    pub(super) fn examine_targets(&self, data: &Dataset) -> Result<()> {
        self.check_targets(data.target.iter())?;
        if let Some(custom) = self.custom {
            custom.examine(&data.target.to_vec(), &data.weight.to_vec());
        }
        Ok(())
    }

    /// The error about a target whose square overflows.
    fn too_large(&self, row: usize, value: f64) -> Error {
        let factor = power_of_ten(value.abs());
        Error::Data(Box::new(DataError {
            row: Some(row as u64 + 1),
            message: format!(
                "the target is {value:e}, must be between -{LARGEST_TARGET:e} and \
                 {LARGEST_TARGET:e}: larger numbers cannot be squared and added up"
            )
            .into(),
            help: format!(
                "divide all targets by a constant, such as {factor}, and multiply predictions by it"
            )
            .into(),
            ..self.target_fault()
        }))
    }

    /// The error about targets whose differences underflow when they are squared.
    fn too_close(&self, spread: f64) -> Error {
        let factor = power_of_ten(1.0 / spread.max(f64::MIN_POSITIVE));
        Error::Data(Box::new(DataError {
            message: format!(
                "the targets differ by {spread:e} at most, must differ by {LEAST_SPREAD:e} or \
                 more: squares of smaller numbers are lost"
            )
            .into(),
            help: format!(
                "multiply all targets by a constant, such as {factor}, and divide predictions by it"
            )
            .into(),
            ..self.target_fault()
        }))
    }

    fn target_fault(&self) -> DataError {
        DataError {
            file: "the rows with a target".to_string(),
            column: Some(self.rows.schema.target.name.clone()),
            ..DataError::default()
        }
    }

    /// A note on which round early stopping kept, if it did.
    pub(super) fn round_notes(&self, kept: usize, done: usize) -> Vec<String> {
        if self.params.early_stopping_rounds == 0 || kept == done {
            return Vec::new();
        }
        let name = self.metric.name();
        vec![format!(
            "the validation {name} was best after {kept} of {done} rounds; the rest is left out"
        )]
    }
}

/// The power of ten below a number, as text.
fn power_of_ten(number: f64) -> String {
    format!("1e{}", number.log10().floor())
}

/// Adds rows to a tally, given their raw scores.
pub(super) fn add_rows(
    tally: &mut Tally,
    model: &Model,
    raw: &[f64],
    target: &[f64],
    weight: &[f64],
) {
    match model.predictions(raw) {
        Predictions::Numbers(numbers) => tally.add(&numbers, target, weight),
        Predictions::Classes { probabilities, .. } => tally.add(&probabilities, target, weight),
    }
}

/// All rows in one chunk.
pub(super) fn gather(rows: &Rows) -> Result<Chunk> {
    rows.check_memory(CELL_BYTES)?;
    let mut all: Option<Chunk> = None;
    rows.for_each_chunk(&mut |chunk| {
        match &mut all {
            None => all = Some(chunk.clone()),
            Some(all) => all.append(chunk),
        }
        Ok(())
    })?;
    Ok(all.unwrap_or_default())
}

/// Metrics of a model on rows, chunk by chunk; classes are decided by its threshold.
pub(super) fn measure_rows(
    job: &Job<'_>,
    model: &Model,
    rows: &Rows,
) -> Result<Vec<(&'static str, f64)>> {
    let scorer = Scorer::new(model, None, job.pool.threads())?;
    let mut tally = job.tally().with_threshold(model.calibration.threshold);
    rows.for_each_chunk(&mut |chunk| {
        let raw = scorer.raw(chunk)?;
        add_rows(&mut tally, model, &raw, &chunk.target, &chunk.weight);
        Ok(())
    })?;
    Ok(tally.finish())
}

/// Metrics of a model on rows that are all in memory.
pub(super) fn measure(
    job: &Job<'_>,
    model: &Model,
    chunk: &Chunk,
) -> Result<Vec<(&'static str, f64)>> {
    let raw = Scorer::new(model, None, job.pool.threads())?.raw(chunk)?;
    let mut tally = job.tally();
    add_rows(&mut tally, model, &raw, &chunk.target, &chunk.weight);
    Ok(tally.finish())
}
