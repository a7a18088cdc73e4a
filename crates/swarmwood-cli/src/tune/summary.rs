//! The report of a tuning run, as text and as JSON.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use swarmwood::tune::finish::HoldoutResult;
use swarmwood::tune::{
    ScoreEstimate, StopReason, StudyHeader, StudyOutcome, TuneEvent, TuningResult, TuningScore,
    engine_options, named,
};

use crate::format::{count, number};
use crate::json::{metrics_json, parameters_json};
use crate::memory;

/// Seconds per phase.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TuneSeconds {
    pub read: f64,
    pub tune: f64,
    pub finish: f64,
}

/// A new best trial, and when it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct BestTrialUpdate {
    id: u64,
    loss: f64,
    seconds: f64,
    ended: usize,
}

impl BestTrialUpdate {
    /// Adds an update if the event has a new best trial.
    pub(super) fn record(all: &mut Vec<BestTrialUpdate>, event: &TuneEvent<'_>) {
        if let Some((id, loss)) = event.progress.tally.best
            && all.last().is_none_or(|last| last.id != id)
        {
            all.push(BestTrialUpdate {
                id,
                loss,
                seconds: event.progress.elapsed,
                ended: event.progress.tally.finished,
            });
        }
    }
}

/// A finished tuning run.
pub(super) struct TuneSummary {
    pub header: StudyHeader,
    pub outcome: StudyOutcome,
    pub finished: TuningResult,
    pub improvements: Vec<BestTrialUpdate>,
    pub score: TuningScore,
    pub folds: usize,
    pub rows: usize,
    pub seconds: TuneSeconds,
    pub out: Option<PathBuf>,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

impl TuneSummary {
    /// The tuned parameters of the best trial.
    fn best_parameters(&self) -> Map<String, Value> {
        let best = self.outcome.trials.iter().find(|trial| trial.id == self.finished.best);
        best.map_or(Map::new(), |trial| named::json(&self.header.space, &trial.point))
    }

    pub(super) fn text(&self) -> String {
        let tally = &self.outcome.tally;
        let mut text = format!(
            "{} in {:.1} s: {}, {} skipped by pruning, {} failed{}\n",
            count(tally.finished, "trial"),
            self.seconds.tune,
            count(tally.folds, "fit"),
            tally.folds_skipped,
            tally.failed,
            stop_reason_text(self.outcome.stop_reason),
        );

        let parameters: Vec<String> = self
            .best_parameters()
            .iter()
            .map(|(name, value)| {
                format!("{name} {}", value.as_str().map_or(value.to_string(), str::to_string))
            })
            .collect();

        text.push_str(&format!("best trial {}: {}\n", self.finished.best, parameters.join(", ")));
        text.push_str(&format!("{:<34} {:>12} {:>10}\n", "", self.score.name, "± error"));
        let mut line = |name: &str, figure: ScoreEstimate| {
            let error = figure.error.map_or("?".to_string(), number);
            text.push_str(&format!("{name:<34} {:>12} {error:>10}\n", number(figure.value)));
        };

        line(
            &format!("cross-validated score ({})", count(self.folds, "fold")),
            self.finished.cv_score,
        );

        if let Some(holdout) = &self.finished.holdout {
            line(&format!("hold-out score ({})", count(holdout.rows, "row")), holdout.best);
            line("optimism", holdout.optimism);
            if let Some(fixed) = holdout.fixed {
                line("hold-out score without tuning", fixed);
            }
            if let Some(ensemble) = holdout.ensemble {
                line(
                    &format!("hold-out score, ensemble of {}", self.finished.members.len()),
                    ensemble,
                );
            }
        } else {
            text.push_str(
                "no rows were held out: the cross-validated score is optimistic, because the parameters \
                 were chosen by it\n",
            );
        }

        if let Some(path) = &self.out {
            text.push_str(&format!(
                "model trained on all {} written to {}\n",
                count(self.rows, "row"),
                path.display()
            ));
        }

        text
    }

    pub(super) fn json(&self) -> Value {
        let (tally, finished) = (&self.outcome.tally, &self.finished);
        let improvements = self.improvements.iter().map(|new| {
            json!({
                "trial": new.id,
                "score": self.score.value(new.loss),
                "seconds": new.seconds,
                "trials_finished": new.ended,
            })
        });

        json!({
            "method": finished.params.method.name(),
            "engine": self.header.engine,
            "engine_options": engine_options::to_json(&self.header.engine_options),
            "seed": self.header.seed,
            "metric": self.score.name,
            "higher_is_better": self.score.higher_is_better,
            "folds": self.folds,
            "rows": self.rows,
            "trials": tally.finished,
            "fits": tally.folds,
            "fits_skipped": tally.folds_skipped,
            "trials_pruned": tally.pruned,
            "trials_failed": tally.failed,
            "stop_reason": stop_reason_name(self.outcome.stop_reason),
            "best": {"trial": finished.best, "parameters": self.best_parameters()},
            "parameters": parameters_json(&finished.params),
            "cv_score": score_json(finished.cv_score),
            "holdout": finished.holdout.as_ref().map(holdout_json),
            "ensemble_trials": finished.members,
            "improvements": improvements.collect::<Vec<_>>(),
            "seconds": {"read": self.seconds.read, "tune": self.seconds.tune, "finish": self.seconds.finish},
            "peak_memory_bytes": memory::peak_bytes(),
            "model": self.out.as_ref().map(|path| path.display().to_string()),
            "warnings": self.warnings,
            "notes": self.notes,
        })
    }
}

fn score_json(figure: ScoreEstimate) -> Value {
    json!({"score": figure.value, "standard_error": figure.error})
}

fn holdout_json(holdout: &HoldoutResult) -> Value {
    json!({
        "rows": holdout.rows,
        "score": holdout.best.value,
        "standard_error": holdout.best.error,
        "optimism": score_json(holdout.optimism),
        "without_tuning": holdout.fixed.map(score_json),
        "ensemble": holdout.ensemble.map(score_json),
        "metrics": metrics_json(&holdout.metrics),
    })
}

/// The engine and its options, unless all are defaults.
pub(super) fn engine_text(header: &StudyHeader) -> String {
    match header.engine_options.is_empty() {
        true => header.engine.clone(),
        false => format!("{} ({})", header.engine, header.engine_options),
    }
}

/// Why the search stopped, unless all trials are done.
pub(super) fn stop_reason_text(ended: StopReason) -> &'static str {
    match ended {
        StopReason::Trials => "",
        StopReason::Exhausted => "; the search space is exhausted",
        StopReason::Time => "; time limit reached",
        StopReason::Stopped => "; interrupted",
    }
}

/// The same as a JSON value.
pub(super) fn stop_reason_name(ended: StopReason) -> &'static str {
    match ended {
        StopReason::Trials => "trials",
        StopReason::Exhausted => "space_exhausted",
        StopReason::Time => "time_limit",
        StopReason::Stopped => "interrupted",
    }
}
