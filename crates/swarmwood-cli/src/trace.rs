//! What happened in a run, step by step: kept for a table and a picture when it is over, and read
//! again from the table.
//!
//! Steps are kept in memory and written at the end, to the side and renamed: a run that is resumed
//! tells its past again, so the files of a run that was killed are whole as soon as it is finished.

use std::borrow::Cow;
use std::path::Path;

use swarmwood::Result;
use swarmwood::learn::event::{Event, Stage};
use swarmwood::write::write_atomically;

/// The columns of a trace.
pub const COLUMNS: &str = "stage,step,train,valid,measure,best,gain,mean,diversity,factor,alpha,beta,evaluations,repeats,seconds";

/// One line of a trace: the state after a step. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TraceStep {
    pub stage: Cow<'static, str>,
    /// What a step of the stage is called.
    pub noun: Cow<'static, str>,
    pub step: u64,
    pub train: Option<f64>,
    pub valid: Option<f64>,
    /// What is searched for; empty where nothing is.
    pub measure: Cow<'static, str>,
    pub best: Option<f64>,
    pub gain: Option<f64>,
    pub mean: Option<f64>,
    pub diversity: Option<f64>,
    pub factor: Option<f64>,
    pub alpha: Option<f64>,
    pub beta: Option<f64>,
    pub evaluations: Option<u64>,
    pub repeats: Option<u64>,
    pub seconds: f64,
}

impl From<&Event> for TraceStep {
    fn from(event: &Event) -> TraceStep {
        let step = TraceStep {
            stage: event.stage.name.into(),
            noun: event.stage.step.into(),
            step: event.step as u64,
            train: event.train,
            valid: event.valid,
            seconds: event.elapsed,
            ..TraceStep::default()
        };
        let Some(search) = event.search else { return step };
        TraceStep {
            measure: search.measure.into(),
            best: search.best,
            gain: search.gain,
            mean: search.mean,
            diversity: search.diversity,
            factor: search.factor,
            alpha: search.alpha,
            beta: search.beta,
            evaluations: Some(search.evaluations),
            repeats: Some(search.repeats),
            ..step
        }
    }
}

impl TraceStep {
    /// Whether a search told how it stands.
    pub fn is_searched(&self) -> bool {
        self.evaluations.is_some()
    }

    fn line(&self) -> String {
        let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let counted = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let cells = [
            self.stage.to_string(),
            self.step.to_string(),
            known(self.train),
            known(self.valid),
            self.measure.to_string(),
            known(self.best),
            known(self.gain),
            known(self.mean),
            known(self.diversity),
            known(self.factor),
            known(self.alpha),
            known(self.beta),
            counted(self.evaluations),
            counted(self.repeats),
            format!("{:.6}", self.seconds),
        ];
        cells.join(",")
    }

    /// The step of a line; the error says what is wrong with it.
    fn parse(line: &str) -> std::result::Result<TraceStep, String> {
        let cells: Vec<&str> = line.split(',').collect();
        let names: Vec<&str> = COLUMNS.split(',').collect();
        if cells.len() != names.len() {
            return Err(format!("has {} columns, must have {}", cells.len(), names.len()));
        }
        let cell =
            |name: &str| names.iter().position(|other| *other == name).map_or("", |at| cells[at]);
        let wrong = |name: &str| format!("column '{name}' is '{}', must be a number", cell(name));
        let known = |name: &str| match cell(name) {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|_| wrong(name)),
        };
        let counted = |name: &str| match cell(name) {
            "" => Ok(None),
            text => text.parse::<u64>().map(Some).map_err(|_| wrong(name)),
        };
        let stage = cell("stage").to_string();
        Ok(TraceStep {
            noun: Stage::named(&stage).map_or("step", |stage| stage.step).into(),
            stage: stage.into(),
            step: counted("step")?.ok_or_else(|| wrong("step"))?,
            train: known("train")?,
            valid: known("valid")?,
            measure: cell("measure").to_string().into(),
            best: known("best")?,
            gain: known("gain")?,
            mean: known("mean")?,
            diversity: known("diversity")?,
            factor: known("factor")?,
            alpha: known("alpha")?,
            beta: known("beta")?,
            evaluations: counted("evaluations")?,
            repeats: counted("repeats")?,
            seconds: known("seconds")?.unwrap_or(0.0),
        })
    }
}

/// The steps of a trace; the error says what is wrong, and on which line.
pub fn read_trace(text: &str) -> std::result::Result<Vec<TraceStep>, String> {
    let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
    lines
        .map(|(at, line)| {
            TraceStep::parse(line).map_err(|fault| format!("line {}: {fault}", at + 1))
        })
        .collect()
}

/// The steps so far.
#[derive(Default)]
pub struct TraceRecorder {
    steps: Vec<TraceStep>,
}

impl TraceRecorder {
    /// Keeps an event.
    pub fn push(&mut self, event: &Event) {
        self.steps.push(event.into());
    }

    /// Writes one line a step.
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
    use swarmwood::learn::event::Search;

    #[test]
    fn a_trace_read_again_is_what_was_written() {
        let mut steps = Vec::new();
        for (at, &stage) in Stage::ALL.iter().enumerate() {
            let event =
                Event { train: Some(1.0 / 3.0), elapsed: at as f64, ..Event::new(stage, at, 9) };
            let search =
                Search { measure: "rmse", gain: Some(-0.1), evaluations: 7, ..Search::default() };
            steps.push(TraceStep::from(&event));
            steps.push(TraceStep::from(&Event { search: Some(search), ..event }));
        }
        let lines: Vec<String> =
            std::iter::once(COLUMNS.to_string()).chain(steps.iter().map(TraceStep::line)).collect();
        assert_eq!(read_trace(&lines.join("\n")).unwrap(), steps);
    }

    #[test]
    fn faults_of_a_trace_have_their_place() {
        let fault = |line: &str| read_trace(&format!("{COLUMNS}\n{line}\n")).unwrap_err();
        assert_eq!(fault("boosting,1"), "line 2: has 2 columns, must have 15");
        let line = "boosting,1,much,,,,,,,,,,,,0.1";
        assert_eq!(fault(line), "line 2: column 'train' is 'much', must be a number");
        let unknown = read_trace(&format!("{COLUMNS}\nmusing,1,,,,,,,,,,,,,0.1\n")).unwrap();
        assert_eq!((unknown[0].noun.as_ref(), unknown[0].is_searched()), ("step", false));
    }
}
