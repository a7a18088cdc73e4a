//! What a tuning has to tell, for people and as JSON.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use swarmwood::tune::finish::Untouched;
use swarmwood::tune::{Ended, Figure, Finished, Head, Outcome, Score, TuneEvent, named};

use crate::format::{count, number};
use crate::json::{metrics_json, parameters_json};
use crate::memory;

/// Where the time went.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TuneSeconds {
    pub read: f64,
    pub tune: f64,
    pub finish: f64,
}

/// A new best trial, when it was known.
#[derive(Debug, Clone, Copy)]
pub(super) struct BestTrialUpdate {
    id: u64,
    loss: f64,
    seconds: f64,
    ended: usize,
}

impl BestTrialUpdate {
    /// Keeps the moment if there is a new best trial.
    pub(super) fn note(all: &mut Vec<BestTrialUpdate>, event: &TuneEvent<'_>) {
        if let Some((id, loss)) = event.standing.tally.best
            && all.last().is_none_or(|last| last.id != id)
        {
            all.push(BestTrialUpdate {
                id,
                loss,
                seconds: event.standing.elapsed,
                ended: event.standing.tally.ended,
            });
        }
    }
}

/// How a tuning went.
pub(super) struct TuneSummary {
    pub head: Head,
    pub outcome: Outcome,
    pub finished: Finished,
    pub improvements: Vec<BestTrialUpdate>,
    pub score: Score,
    pub folds: usize,
    pub rows: usize,
    pub seconds: TuneSeconds,
    pub out: Option<PathBuf>,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

impl TuneSummary {
    /// The configuration that was chosen: what was tuned.
    fn chosen(&self) -> Map<String, Value> {
        let best = self.outcome.trials.iter().find(|trial| trial.id == self.finished.best);
        best.map_or(Map::new(), |trial| named::json(&self.head.space, &trial.point))
    }

    pub(super) fn text(&self) -> String {
        let tally = &self.outcome.tally;
        let mut text = format!(
            "{} in {:.1} s: {}, {} spared by racing, {} failed{}\n",
            count(tally.ended, "trial"),
            self.seconds.tune,
            count(tally.pieces, "fit"),
            tally.spared,
            tally.failed,
            ended(self.outcome.ended),
        );
        let chosen: Vec<String> = self
            .chosen()
            .iter()
            .map(|(name, value)| {
                format!("{name} {}", value.as_str().map_or(value.to_string(), str::to_string))
            })
            .collect();
        text.push_str(&format!("best is trial {}: {}\n", self.finished.best, chosen.join(", ")));
        text.push_str(&format!("{:<34} {:>12} {:>10}\n", "", self.score.name, "± error"));
        let mut line = |name: &str, figure: Figure| {
            let error = figure.error.map_or("?".to_string(), number);
            text.push_str(&format!("{name:<34} {:>12} {error:>10}\n", number(figure.value)));
        };
        line(&format!("tuned score ({})", count(self.folds, "fold")), self.finished.tuned);
        if let Some(untouched) = &self.finished.untouched {
            line(&format!("untouched score ({})", count(untouched.rows, "row")), untouched.best);
            line("optimism of the tuned score", untouched.optimism);
            if let Some(fixed) = untouched.fixed {
                line("untouched score without tuning", fixed);
            }
            if let Some(ensemble) = untouched.ensemble {
                line(
                    &format!("untouched score, mean of {}", self.finished.members.len()),
                    ensemble,
                );
            }
        } else {
            text.push_str(
                "no rows were held out, so nobody knows how good the model is: the tuned score is too good\n",
            );
        }
        if let Some(path) = &self.out {
            text.push_str(&format!(
                "model of all {} written to {}\n",
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
                "score": self.score.figure(new.loss),
                "seconds": new.seconds,
                "trials_ended": new.ended,
            })
        });
        json!({
            "method": finished.params.method.name(),
            "engine": self.head.engine,
            "seed": self.head.seed,
            "metric": self.score.name,
            "higher_is_better": self.score.higher_is_better,
            "folds": self.folds,
            "rows": self.rows,
            "trials": tally.ended,
            "fits": tally.pieces,
            "fits_spared": tally.spared,
            "trials_raced": tally.raced,
            "trials_failed": tally.failed,
            "ended": ended_name(self.outcome.ended),
            "best": {"trial": finished.best, "parameters": self.chosen()},
            "parameters": parameters_json(&finished.params),
            "tuned": figure(finished.tuned),
            "untouched": finished.untouched.as_ref().map(untouched),
            "ensemble": finished.members,
            "improvements": improvements.collect::<Vec<_>>(),
            "seconds": {"read": self.seconds.read, "tune": self.seconds.tune, "finish": self.seconds.finish},
            "peak_memory_bytes": memory::peak_bytes(),
            "model": self.out.as_ref().map(|path| path.display().to_string()),
            "warnings": self.warnings,
            "notes": self.notes,
        })
    }
}

fn figure(figure: Figure) -> Value {
    json!({"score": figure.value, "error": figure.error})
}

fn untouched(untouched: &Untouched) -> Value {
    json!({
        "rows": untouched.rows,
        "score": untouched.best.value,
        "error": untouched.best.error,
        "optimism": figure(untouched.optimism),
        "without_tuning": untouched.fixed.map(figure),
        "ensemble": untouched.ensemble.map(figure),
        "metrics": metrics_json(&untouched.metrics),
    })
}

/// Why the search ended, if it is worth a word.
pub(super) fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Trials => "",
        Ended::Exhausted => "; there was nothing more to try",
        Ended::Time => "; the time was up",
        Ended::Stopped => "; interrupted",
    }
}

/// The same in one word.
pub(super) fn ended_name(ended: Ended) -> &'static str {
    match ended {
        Ended::Trials => "trials",
        Ended::Exhausted => "exhausted",
        Ended::Time => "time",
        Ended::Stopped => "stopped",
    }
}
