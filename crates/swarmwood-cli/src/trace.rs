//! The trace of a training run: one line of CSV per step.
//!
//! Steps are kept in memory and written at the end, atomically. A resumed run replays its past
//! events, so its trace is complete even if the earlier process was killed.

use std::borrow::Cow;
use std::path::Path;

use swarmwood::Result;
use swarmwood::learn::event::{Event, Stage};
use swarmwood::write::write_atomically;

/// The columns of a trace.
pub const COLUMNS: &str = "stage,step,train_loss,valid_metric,metric,best,gain_over_greedy,mean,\
    diversity,evolutionary_factor,alpha,beta,evaluations,cache_hits,seconds";

/// One line of a trace: the state after a step. Unknown values are `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TraceStep {
    pub stage: Cow<'static, str>,
    /// The name of one step of the stage: round, iteration.
    pub noun: Cow<'static, str>,
    pub step: u64,
    pub train_loss: Option<f64>,
    pub valid_metric: Option<f64>,
    /// The metric that a search optimises; empty without a search.
    pub metric: Cow<'static, str>,
    pub best: Option<f64>,
    pub gain_over_greedy: Option<f64>,
    pub mean: Option<f64>,
    pub diversity: Option<f64>,
    pub evolutionary_factor: Option<f64>,
    pub alpha: Option<f64>,
    pub beta: Option<f64>,
    pub evaluations: Option<u64>,
    pub cache_hits: Option<u64>,
    pub seconds: f64,
}

impl From<&Event> for TraceStep {
    fn from(event: &Event) -> TraceStep {
        let step = TraceStep {
            stage: event.stage.name.into(),
            noun: event.stage.step.into(),
            step: event.step as u64,
            train_loss: event.train,
            valid_metric: event.valid,
            seconds: event.elapsed,
            ..TraceStep::default()
        };

        let Some(search) = event.search else { return step };

        TraceStep {
            metric: search.measure.into(),
            best: search.best,
            gain_over_greedy: search.gain,
            mean: search.mean,
            diversity: search.diversity,
            evolutionary_factor: search.factor,
            alpha: search.alpha,
            beta: search.beta,
            evaluations: Some(search.evaluations),
            cache_hits: Some(search.repeats),
            ..step
        }
    }
}

impl TraceStep {
    /// Whether the step belongs to a search.
    pub fn is_search(&self) -> bool {
        self.evaluations.is_some()
    }

    fn line(&self) -> String {
        let number_text =
            |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let count_text =
            |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());

        let cells = [
            self.stage.to_string(),
            self.step.to_string(),
            number_text(self.train_loss),
            number_text(self.valid_metric),
            self.metric.to_string(),
            number_text(self.best),
            number_text(self.gain_over_greedy),
            number_text(self.mean),
            number_text(self.diversity),
            number_text(self.evolutionary_factor),
            number_text(self.alpha),
            number_text(self.beta),
            count_text(self.evaluations),
            count_text(self.cache_hits),
            format!("{:.6}", self.seconds),
        ];

        cells.join(",")
    }

    /// Parses a line; the error says what is wrong with it.
    fn parse(line: &str) -> std::result::Result<TraceStep, String> {
        let cells: Vec<&str> = line.split(',').collect();
        let names: Vec<&str> = COLUMNS.split(',').collect();
        if cells.len() != names.len() {
            return Err(format!("has {} columns, must have {}", cells.len(), names.len()));
        }

        let cell =
            |name: &str| names.iter().position(|other| *other == name).map_or("", |at| cells[at]);
        let invalid = |name: &str| format!("column '{name}' is '{}', must be a number", cell(name));
        let number = |name: &str| match cell(name) {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|_| invalid(name)),
        };

        let count = |name: &str| match cell(name) {
            "" => Ok(None),
            text => text.parse::<u64>().map(Some).map_err(|_| invalid(name)),
        };

        let stage = cell("stage").to_string();

        Ok(TraceStep {
            noun: Stage::named(&stage).map_or("step", |stage| stage.step).into(),
            stage: stage.into(),
            step: count("step")?.ok_or_else(|| invalid("step"))?,
            train_loss: number("train_loss")?,
            valid_metric: number("valid_metric")?,
            metric: cell("metric").to_string().into(),
            best: number("best")?,
            gain_over_greedy: number("gain_over_greedy")?,
            mean: number("mean")?,
            diversity: number("diversity")?,
            evolutionary_factor: number("evolutionary_factor")?,
            alpha: number("alpha")?,
            beta: number("beta")?,
            evaluations: count("evaluations")?,
            cache_hits: count("cache_hits")?,
            seconds: number("seconds")?.unwrap_or(0.0),
        })
    }
}

/// Whether a file is a trace.
pub fn is_trace(bytes: &[u8]) -> bool {
    bytes.starts_with(COLUMNS.as_bytes())
}

/// Reads a trace; the error says what is wrong, and on which line.
pub fn read_trace(text: &str) -> std::result::Result<Vec<TraceStep>, String> {
    let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, line)| {
            TraceStep::parse(line).map_err(|error| format!("line {}: {error}", at + 1))
        })
        .collect()
}

/// Collects the steps of a run.
#[derive(Default)]
pub struct TraceRecorder {
    steps: Vec<TraceStep>,
}

impl TraceRecorder {
    /// Adds the step of an event.
    pub fn push(&mut self, event: &Event) {
        self.steps.push(event.into());
    }

    /// Writes one line per step.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_atomically(path, |out| {
            writeln!(out, "{COLUMNS}")?;
            self.steps.iter().try_for_each(|step| writeln!(out, "{}", step.line()))
        })
    }

    /// The steps so far.
    pub fn steps(&self) -> &[TraceStep] {
        &self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swarmwood::learn::event::SearchStatus;

    #[test]
    fn a_trace_survives_a_round_trip() {
        let mut steps = Vec::new();
        for (at, &stage) in Stage::ALL.iter().enumerate() {
            let event =
                Event { train: Some(1.0 / 3.0), elapsed: at as f64, ..Event::new(stage, at, 9) };
            let search = SearchStatus {
                measure: "rmse",
                gain: Some(-0.1),
                evaluations: 7,
                ..SearchStatus::default()
            };
            steps.push(TraceStep::from(&event));
            steps.push(TraceStep::from(&Event { search: Some(search), ..event }));
        }
        let lines: Vec<String> =
            std::iter::once(COLUMNS.to_string()).chain(steps.iter().map(TraceStep::line)).collect();
        assert_eq!(read_trace(&lines.join("\n")).unwrap(), steps);
    }

    #[test]
    fn errors_of_a_trace_have_their_line() {
        let error = |line: &str| read_trace(&format!("{COLUMNS}\n{line}\n")).unwrap_err();
        assert_eq!(error("boosting,1"), "line 2: has 2 columns, must have 15");
        let line = "boosting,1,high,,,,,,,,,,,,0.1";
        assert_eq!(error(line), "line 2: column 'train_loss' is 'high', must be a number");
        assert!(is_trace(format!("{COLUMNS}\n").as_bytes()) && !is_trace(b"stage,step\n"));
        let other = read_trace(&format!("{COLUMNS}\nunknown,1,,,,,,,,,,,,,0.1\n")).unwrap();
        assert_eq!((other[0].noun.as_ref(), other[0].is_search()), ("step", false));
    }
}
