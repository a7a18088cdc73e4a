//! The end of a tuning: what the best configuration is worth on rows that no trial has seen, and
//! the model itself.
//!
//! The score that a configuration was chosen by is too good: it is the best of many, and luck was
//! one of the reasons. So the best configuration is fitted once more on all rows that trials saw
//! and measured on the rows that none of them did; both figures are told with their standard
//! errors, and the difference is the optimism of the tuning. The model that is kept is then fitted
//! on all rows.
//!
//! The standard error of a cross-validation is that of the mean of its folds. That of the untouched
//! rows is the jackknife over twenty groups of them (Shao and Tu 1995, section 2.3), which holds
//! for any metric.

use std::collections::BTreeSet;

use swarmwood_learn::event::Event;
use swarmwood_model::Model;
use swarmwood_search::rng;

use super::ensemble::average;
use super::native::NativeObjective;
use super::study::StudyOutcome;
use super::trial::{TrialRecord, best};
use crate::evaluate::HeldOutRows;
use crate::params::{Params, ValidParams};
use crate::read::Rows;
use crate::train::{TrainOptions, TrainResult, train_with};
use crate::{Error, Result, registry};

/// Groups of the jackknife.
const GROUPS: usize = 20;

/// A figure and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The figure, in the sign that people know.
    pub value: f64,
    /// Its standard error; `None` if it cannot be told.
    pub error: Option<f64>,
}

impl Figure {
    /// The difference of two figures that do not share their chance.
    fn less(self, other: Figure) -> Figure {
        let error = self.error.zip(other.error).map(|(a, b)| a.hypot(b));
        Figure { value: self.value - other.value, error }
    }
}

/// What there is to finish.
#[derive(Clone, Copy)]
pub struct FinalFit<'a> {
    /// The objective of the study.
    pub native: &'a NativeObjective,
    /// All rows, for the model.
    pub all: &'a Rows,
    /// The rows that no trial saw, if any were held out.
    pub held: Option<&'a Rows>,
    /// How many of the best configurations the model is the mean of; 0 and 1 take the best alone.
    pub ensemble: usize,
    /// Threads; 0 is one a core.
    pub threads: usize,
}

/// What the untouched rows say.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldoutResult {
    /// Rows held out.
    pub rows: usize,
    /// The best configuration, fitted on all rows that trials saw.
    pub best: Figure,
    /// How much better the tuned score looks than that: positive is too good.
    pub optimism: Figure,
    /// The fixed parameters alone, without any tuning.
    pub fixed: Option<Figure>,
    /// The mean of the best configurations, if there is one.
    pub ensemble: Option<Figure>,
    /// Every metric of the model that is kept, or rather of its like without these rows.
    pub metrics: Vec<(&'static str, f64)>,
}

/// How a tuning ended.
#[derive(Debug)]
pub struct TuningResult {
    /// The number of the best trial.
    pub best: u64,
    /// Its parameters; rounds that early stopping found are their number of trees.
    pub params: Params,
    /// Its cross-validated score: what it was chosen by.
    pub tuned: Figure,
    /// What the untouched rows say of it.
    pub untouched: Option<HoldoutResult>,
    /// Trials whose mean the model is; empty without an ensemble.
    pub members: Vec<u64>,
    /// The model, fitted on all rows.
    pub model: Model,
    /// Things the user should know.
    pub notes: Vec<String>,
}

impl FinalFit<'_> {
    /// Measures the best trial and fits the model. `observer` hears of the fits.
    pub fn finish(
        &self,
        outcome: &StudyOutcome,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<TuningResult> {
        let chosen = best(&outcome.trials).ok_or_else(|| no_trial(outcome))?;
        let params = self.params(chosen)?;
        let mut notes = Vec::new();
        let members = self.members(outcome, chosen, &params, &mut notes)?;
        let tuned = self.tuned(chosen);
        let untouched = self
            .held
            .map(|held| self.untouched(held, &params, &members, tuned, observer))
            .transpose()?;
        let model = match members.len() {
            0 => self.fit(self.all, &params, observer)?.model,
            _ => self.mean(self.all, &members, observer)?,
        };
        let members = members.into_iter().map(|(id, _)| id).collect();
        Ok(TuningResult {
            best: chosen.id,
            params: params.into_inner(),
            tuned,
            untouched,
            members,
            model,
            notes,
        })
    }

    /// The parameters of a trial for a fit without validation rows.
    fn params(&self, trial: &TrialRecord) -> Result<ValidParams> {
        let mut params = self.native.params(&trial.point)?.into_inner();
        let rounds: Vec<usize> = trial.pieces.iter().filter_map(|piece| piece.rounds).collect();
        if !rounds.is_empty() {
            let mean = rounds.iter().sum::<usize>() as f64 / rounds.len() as f64;
            params.trees = (mean.round() as usize).max(1);
        }
        params.early_stopping_rounds = 0;
        params.threads = self.threads;
        params.check()
    }

    /// The best trials whose trees can be averaged with those of the best; none if an ensemble is
    /// not wanted.
    fn members(
        &self,
        outcome: &StudyOutcome,
        chosen: &TrialRecord,
        params: &Params,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(u64, ValidParams)>> {
        if self.ensemble < 2 {
            return Ok(Vec::new());
        }
        let target = &self.all.schema.target.kind;
        if params.is_linear() {
            notes.push(
                "the best configuration is a linear function, which has no trees to average"
                    .to_string(),
            );
            return Ok(Vec::new());
        }
        let loss = registry::objective_or_thresholded(params, target)?;
        let mut whole: Vec<(f64, &TrialRecord)> =
            outcome.trials.iter().filter_map(|trial| Some((trial.whole()?, trial))).collect();
        whole.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.id.cmp(&b.1.id)));
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for (_, trial) in whole {
            let params = self.params(trial)?;
            let alike =
                !params.is_linear() && registry::objective_or_thresholded(&params, target)? == loss;
            if alike && seen.insert(trial.point.fingerprint()) {
                members.push((trial.id, params));
            }
            if members.len() == self.ensemble {
                break;
            }
        }
        debug_assert_eq!(members.first().map(|member| member.0), Some(chosen.id));
        if members.len() < self.ensemble {
            let (found, wanted) = (members.len(), self.ensemble);
            notes
                .push(format!("only {found} of {wanted} configurations can be averaged: whole, distinct, of one loss"));
        }
        Ok(if members.len() > 1 { members } else { Vec::new() })
    }

    /// The cross-validated score and the standard error of the mean of its folds.
    fn tuned(&self, trial: &TrialRecord) -> Figure {
        let score = self.native.common().score;
        let figures: Vec<f64> = trial.pieces.iter().map(|piece| score.figure(piece.loss)).collect();
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let spread: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let error = (figures.len() > 1).then(|| (spread / (count - 1.0) / count).sqrt());
        Figure { value: mean, error }
    }

    fn untouched(
        &self,
        held: &Rows,
        params: &ValidParams,
        members: &[(u64, ValidParams)],
        tuned: Figure,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<HoldoutResult> {
        let seen = self.native.rows();
        let model = self.fit(seen, params, observer)?.model;
        let (best, mut metrics) = self.measure(&model, held)?;
        let fixed =
            self.fixed_params().map(|params| self.fit(seen, &params, observer)).transpose()?;
        let fixed = fixed
            .map(|trained| self.measure(&trained.model, held))
            .transpose()?
            .map(|(figure, _)| figure);
        let mut ensemble = None;
        if !members.is_empty() {
            let (figure, of_mean) = self.measure(&self.mean(seen, members, observer)?, held)?;
            (ensemble, metrics) = (Some(figure), of_mean);
        }
        // A score that is high is good, a loss that is low.
        let better = if self.native.common().score.higher_is_better {
            tuned.less(best)
        } else {
            best.less(tuned)
        };
        Ok(HoldoutResult { rows: held.rows, best, optimism: better, fixed, ensemble, metrics })
    }

    /// The parameters without any tuning, if they make sense for the target.
    fn fixed_params(&self) -> Option<ValidParams> {
        let fixed = self.native.common().params.clone();
        registry::objective_or_thresholded(&fixed, &self.all.schema.target.kind).ok()?;
        Params { early_stopping_rounds: 0, threads: self.threads, ..fixed }.check().ok()
    }

    fn fit(
        &self,
        rows: &Rows,
        params: &ValidParams,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<TrainResult> {
        train_with(
            rows,
            None,
            params,
            &TrainOptions { thresholded: true, ..TrainOptions::default() },
            observer,
        )
    }

    fn mean(
        &self,
        rows: &Rows,
        members: &[(u64, ValidParams)],
        observer: &mut dyn FnMut(&Event),
    ) -> Result<Model> {
        let fits = members.iter().map(|(_, params)| Ok(self.fit(rows, params, observer)?.model));
        let models = fits.collect::<Result<Vec<Model>>>()?;
        average(models)
            .ok_or_else(|| Error::Run("models of different kinds cannot be averaged".to_string()))
    }

    /// The score on some rows with its standard error, and every metric.
    fn measure(&self, model: &Model, rows: &Rows) -> Result<(Figure, Vec<(&'static str, f64)>)> {
        let score = self.native.common().score;
        let held = HeldOutRows::predict(model, rows, self.threads)?;
        let metrics = held.metrics(|_| 1.0);
        let value = score.find(&metrics).map_err(Error::Run)?;
        let groups = GROUPS.min(rows.rows);
        let without = |left: usize| {
            score.find(&held.metrics(|row| f64::from(group(row, groups) != left))).ok()
        };
        let left: Option<Vec<f64>> =
            (groups > 1).then(|| (0..groups).map(without).collect()).flatten();
        let error = left.map(|left| {
            let count = left.len() as f64;
            let mean = left.iter().sum::<f64>() / count;
            ((count - 1.0) / count * left.iter().map(|value| (value - mean).powi(2)).sum::<f64>())
                .sqrt()
        });
        Ok((Figure { value, error }, metrics))
    }
}

/// The group of a row: by chance, but always the same, so that a sorted file does no harm.
fn group(row: usize, groups: usize) -> usize {
    (rng::hash(0, 0, row as u64) % groups as u64) as usize
}

/// Why there is nothing to finish.
fn no_trial(outcome: &StudyOutcome) -> Error {
    use super::trial::Ending;
    let reason = outcome.trials.iter().find_map(|trial| match &trial.ending {
        Some(Ending::Failed { reason }) => Some(format!("; the first failure: {reason}")),
        _ => None,
    });
    let count = outcome.trials.len();
    Error::Run(format!(
        "none of {count} trials was evaluated to the end{}",
        reason.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests;
