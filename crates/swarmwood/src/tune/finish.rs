//! The end of a tuning run: the score of the best configuration on held-out rows, and the model.
//!
//! The score that a configuration was selected by is biased: it is the best of many, partly by
//! chance. So the best configuration is fitted once more on all rows that trials saw and scored on
//! the held-out rows; both scores are reported with their standard errors, and the difference is
//! the optimism of the tuning. The final model is then fitted on all rows.
//!
//! The standard error of a cross-validation is that of the mean of its folds. That of the held-out
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

/// A score and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreEstimate {
    /// The score, in the usual sign of its metric.
    pub value: f64,
    /// Its standard error; `None` if it is not known.
    pub error: Option<f64>,
}

impl ScoreEstimate {
    /// The difference of two independent estimates.
    fn minus(self, other: ScoreEstimate) -> ScoreEstimate {
        let error = self.error.zip(other.error).map(|(a, b)| a.hypot(b));
        ScoreEstimate { value: self.value - other.value, error }
    }
}

/// The input of the final fits.
#[derive(Clone, Copy)]
pub struct FinalFit<'a> {
    /// The objective of the study.
    pub native: &'a NativeObjective,
    /// All rows, for the model.
    pub all: &'a Rows,
    /// The rows that no trial saw, if any were held out.
    pub holdout: Option<&'a Rows>,
    /// How many of the best configurations the model is the mean of; 0 and 1 take the best alone.
    pub ensemble: usize,
    /// Threads; 0 is one per core.
    pub threads: usize,
}

/// The scores on the held-out rows.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldoutResult {
    /// Rows held out.
    pub rows: usize,
    /// The best configuration, fitted on all rows that trials saw.
    pub best: ScoreEstimate,
    /// How much better the tuned score looks than that: positive is too good.
    pub optimism: ScoreEstimate,
    /// The fixed parameters alone, without any tuning.
    pub fixed: Option<ScoreEstimate>,
    /// The mean of the best configurations, if there is one.
    pub ensemble: Option<ScoreEstimate>,
    /// Every metric of the final model's configuration, fitted without these rows.
    pub metrics: Vec<(&'static str, f64)>,
}

/// The result of a tuning run.
#[derive(Debug)]
pub struct TuningResult {
    /// The number of the best trial.
    pub best: u64,
    /// Its parameters; rounds that early stopping found are their number of trees.
    pub params: Params,
    /// Its cross-validated score, which it was selected by.
    pub cv_score: ScoreEstimate,
    /// Its scores on the held-out rows.
    pub holdout: Option<HoldoutResult>,
    /// Trials whose mean the model is; empty without an ensemble.
    pub members: Vec<u64>,
    /// The model, fitted on all rows.
    pub model: Model,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl FinalFit<'_> {
    /// Scores the best trial and fits the model. `observer` is told of the progress of the fits.
    pub fn finish(
        &self,
        outcome: &StudyOutcome,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<TuningResult> {
        let chosen = best(&outcome.trials).ok_or_else(|| no_trial(outcome))?;
        let params = self.params(chosen)?;
        let mut notes = Vec::new();
        let members = self.members(outcome, chosen, &params, &mut notes)?;
        let cv_score = self.cv_score(chosen);
        let holdout = self
            .holdout
            .map(|rows| self.score_holdout(rows, &params, &members, cv_score, observer))
            .transpose()?;
        let model = match members.len() {
            0 => self.fit(self.all, &params, observer)?.model,
            _ => self.mean(self.all, &members, observer)?,
        };
        let members = members.into_iter().map(|(id, _)| id).collect();
        Ok(TuningResult {
            best: chosen.id,
            params: params.into_inner(),
            cv_score,
            holdout,
            members,
            model,
            notes,
        })
    }

    /// The parameters of a trial for a fit without validation rows.
    fn params(&self, trial: &TrialRecord) -> Result<ValidParams> {
        let mut params = self.native.params(&trial.point)?.into_inner();
        let rounds: Vec<usize> = trial.folds.iter().filter_map(|fold| fold.rounds).collect();
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
        let mut complete: Vec<(f64, &TrialRecord)> = outcome
            .trials
            .iter()
            .filter_map(|trial| Some((trial.complete_loss()?, trial)))
            .collect();
        complete.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.id.cmp(&b.1.id)));
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for (_, trial) in complete {
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
                .push(format!("only {found} of {wanted} configurations can be averaged: complete, distinct, of one loss"));
        }
        Ok(if members.len() > 1 { members } else { Vec::new() })
    }

    /// The cross-validated score and the standard error of the mean of its folds.
    fn cv_score(&self, trial: &TrialRecord) -> ScoreEstimate {
        let score = self.native.common().score;
        let scores: Vec<f64> = trial.folds.iter().map(|fold| score.value(fold.loss)).collect();
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        let spread: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
        let error = (scores.len() > 1).then(|| (spread / (count - 1.0) / count).sqrt());
        ScoreEstimate { value: mean, error }
    }

    fn score_holdout(
        &self,
        holdout: &Rows,
        params: &ValidParams,
        members: &[(u64, ValidParams)],
        cv_score: ScoreEstimate,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<HoldoutResult> {
        let seen = self.native.rows();
        let model = self.fit(seen, params, observer)?.model;
        let (best, mut metrics) = self.score(&model, holdout)?;
        let fixed =
            self.fixed_params().map(|params| self.fit(seen, &params, observer)).transpose()?;
        let fixed = fixed
            .map(|trained| self.score(&trained.model, holdout))
            .transpose()?
            .map(|(score, _)| score);
        let mut ensemble = None;
        if !members.is_empty() {
            let (score, of_mean) = self.score(&self.mean(seen, members, observer)?, holdout)?;
            (ensemble, metrics) = (Some(score), of_mean);
        }
        // A score that is high is good, a loss that is low.
        let better = if self.native.common().score.higher_is_better {
            cv_score.minus(best)
        } else {
            best.minus(cv_score)
        };
        Ok(HoldoutResult { rows: holdout.rows, best, optimism: better, fixed, ensemble, metrics })
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
    fn score(
        &self,
        model: &Model,
        rows: &Rows,
    ) -> Result<(ScoreEstimate, Vec<(&'static str, f64)>)> {
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
        Ok((ScoreEstimate { value, error }, metrics))
    }
}

/// The group of a row: a hash of its number, so that the order of the file does not matter.
fn group(row: usize, groups: usize) -> usize {
    (rng::hash(0, 0, row as u64) % groups as u64) as usize
}

/// The error that no trial is complete.
fn no_trial(outcome: &StudyOutcome) -> Error {
    use super::trial::TrialOutcome;
    let reason = outcome.trials.iter().find_map(|trial| match &trial.outcome {
        Some(TrialOutcome::Failed { reason }) => Some(format!("; the first failure: {reason}")),
        _ => None,
    });
    let count = outcome.trials.len();
    Error::Run(format!("none of {count} trials is complete{}", reason.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
