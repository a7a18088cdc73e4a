//! Boosted trees, grown greedily.

use std::time::Instant;

use swarmwood_learn::bins::Layout;
use swarmwood_learn::data::Values;
use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::ensemble_fit::EnsembleFit;
use swarmwood_learn::event::Event;
use swarmwood_learn::greedy::oblivious::bytes_needed;
use swarmwood_learn::greedy::{self, GreedyConfig, dart::DartConfig, lookahead::Lookahead};
use swarmwood_learn::metric::Tally;
use swarmwood_learn::split::{Penalties, Ridge};
use swarmwood_learn::stats::TrainingSet;
use swarmwood_model::{Body, Model};

use super::binning::{self, BinnedSets};
use super::cluster::JobBackends;
use super::{Job, TrainResult, add_rows, continuation, feature_budget};
use crate::error::Violation;
use crate::message::Message;
use crate::params::{Booster, Growth, Params};
use crate::{Error, Result};

/// The training loss is reported about this many times; each costs a pass over the rows.
const LOSS_REPORTS: usize = 20;

/// Histograms kept while a tree grows may take this much memory.
pub(super) const KEPT_BYTES: usize = 1 << 30;

/// Histograms of one level of an oblivious tree may take this much memory.
const MOST_BYTES: usize = 4 << 30;

/// Rows that are predicted together when the finished model is measured.
const MEASURED_ROWS: usize = 1 << 14;

/// Bins and trains.
pub(super) fn train(job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
    let started = Instant::now();
    let sets = binning::bin_all(job, &job.options.watched)?;
    job.examine_targets(&sets.training)?;
    let bin_seconds = started.elapsed().as_secs_f64();
    check_memory(job.params, &sets.training)?;
    let warnings = constant_columns(job, &sets.training.layout);
    let started = Instant::now();
    let initial = continuation::initial_scores(job)?;
    let settings = settings(job);
    let (sets, features) = match feature_budget::restrict(job, &sets, &settings, observer)? {
        Some((sets, report)) => (sets, Some(report)),
        None => (sets, None),
    };
    let BinnedSets { training: data, valid, watched } = sets;
    let backends = JobBackends::new(job, &data);
    let set = TrainingSet {
        backends: backends.factory(),
        watched: &watched,
        initial: initial.as_ref(),
        metric: job.options.custom_metric.as_deref(),
        ..TrainingSet::new(&data, valid.as_ref(), job.objective)
    };
    let set = set.with_constraints(job.constraints);
    let mut fit = greedy::train(set, &settings, job.context(), observer)?;
    if let Some(model) = &job.options.init_model {
        fit.ensemble.members.splice(0..0, model.members().iter().cloned());
    }
    let train_seconds = started.elapsed().as_secs_f64();
    let mut notes = job.round_notes(fit.rounds, fit.rounds_done);
    notes.extend(backends.note());
    drop(backends);
    let (model, train_metrics, valid_metrics) = measured(fit.ensemble, job, data, valid);
    Ok(TrainResult {
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        rounds: fit.rounds + initial.map_or(0, |initial| initial.rounds),
        train_metrics,
        valid_metrics,
        held_out: None,
        watched_metrics: Vec::new(),
        search: None,
        features,
        swarm: None,
        tree: None,
        warnings,
        notes,
        columns: Vec::new(),
    })
}

/// Metrics by name.
type Metrics = Vec<(&'static str, f64)>;

/// The model, and its metrics on the training and the validation rows.
pub(super) fn measured(
    fit: EnsembleFit,
    job: &Job<'_>,
    data: Dataset,
    valid: Option<Dataset>,
) -> (Model, Metrics, Metrics) {
    let model = job.model(fit.base, Body::Trees(fit.members));
    // The bins are freed before: metrics need their memory.
    let answers = |data: Dataset| (data.target, data.weight);
    let (known, known_valid) = (answers(data), valid.map(answers));
    let measured = |scores: &[Vec<f32>], (target, weight): &(Values, Values)| {
        measure(job.tally(), &model, scores, fit.shift, (target, weight))
    };

    let of_training = measured(&fit.train_scores, &known);
    let of_valid = known_valid.map_or(Vec::new(), |known| measured(&fit.valid_scores, &known));
    (model, of_training, of_valid)
}

pub(super) fn settings(job: &Job<'_>) -> GreedyConfig {
    let params: &Params = job.params;
    GreedyConfig {
        trees: params.trees,
        growth: match params.growth {
            Growth::Auto | Growth::Depth => greedy::Growth::Depth,
            Growth::Leaf => greedy::Growth::Leaf,
            Growth::Oblivious => greedy::Growth::Oblivious,
        },
        depth: params.depth,
        max_leaves: params.leaf_limit(),
        lookahead: match params.lookahead {
            2 => Lookahead::Screened,
            _ => Lookahead::Off,
        },
        learning_rate: params.learning_rate,
        penalties: Penalties {
            lambda: params.lambda,
            ridge: Ridge::Flat,
            gamma: params.gamma,
            min_child_weight: params.min_child_weight,
        },
        subsample: params.subsample,
        colsample_bytree: params.colsample_bytree,
        dart: (params.booster == Booster::Dart).then_some(DartConfig {
            rate_drop: params.rate_drop,
            skip_drop: params.skip_drop,
            max_drop: params.max_drop,
        }),
        early_stopping_rounds: params.early_stopping_rounds,
        metric: job.metric,
        seed: params.seed,
        memory: KEPT_BYTES,
        report_every: if job.objective.has_loss() {
            params.trees.div_ceil(LOSS_REPORTS)
        } else {
            0
        },
    }
}

/// Refuses oblivious trees whose deepest level could not be held in memory.
pub(super) fn check_memory(params: &Params, data: &Dataset) -> Result<()> {
    if params.growth != Growth::Oblivious {
        return Ok(());
    }
    let columns = data.layout.columns().len();
    let fits = |depth: &usize| bytes_needed(columns, data.rows(), *depth) <= MOST_BYTES;
    if fits(&params.depth) {
        return Ok(());
    }
    let most = (1..params.depth).rev().find(fits).unwrap_or(1);
    let message = format!(
        "is {}, but for oblivious growth over {columns} columns at most {most} fits into memory; choose less, or another \
         growth",
        params.depth
    );
    Err(Error::Parameters(vec![Violation::new("depth", message)]))
}

pub(super) fn constant_columns(job: &Job<'_>, layout: &Layout) -> Vec<Message> {
    let names: Vec<String> = layout
        .constant_features()
        .map(|feature| format!("'{}'", job.rows.schema.features[feature].name))
        .collect();
    match names.len() {
        0 => Vec::new(),
        1 => {
            vec![format!("column {} holds one value in every row and is not used", names[0]).into()]
        }
        count if count <= 10 => {
            let names = names.join(", ");
            vec![
                format!("columns {names} hold one value each in every row and are not used").into(),
            ]
        }
        count => {
            let names = names[..10].join(", ");
            vec![
                format!(
                    "{count} columns hold one value each in every row and are not used: {names}, …"
                )
                .into(),
            ]
        }
    }
}

/// Metrics of scores that lie output after output. Predictions are made for one block of rows at a
/// time.
pub(super) fn measure(
    mut tally: Tally,
    model: &Model,
    scores: &[Vec<f32>],
    shift: f64,
    (target, weight): (&Values, &Values),
) -> Vec<(&'static str, f64)> {
    for from in (0..target.len()).step_by(MEASURED_ROWS) {
        let rows = from..(from + MEASURED_ROWS).min(target.len());
        let of_row = |row: usize| scores.iter().map(move |output| f64::from(output[row]) + shift);
        let raw: Vec<f64> = rows.clone().flat_map(of_row).collect();
        let (target, weight): (Vec<f64>, Vec<f64>) =
            (target.range(rows.clone()).collect(), weight.range(rows).collect());
        add_rows(&mut tally, model, &raw, &target, &weight);
    }
    tally.finish()
}
