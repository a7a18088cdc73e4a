//! Any program as an objective: it is started with a configuration and says how good that is.
//!
//! The program is started directly, without a shell, so that no value can be taken for anything but
//! a value. What it prints goes to files without a name rather than to pipes: a program that prints
//! much never waits for a reader.

mod process;
mod template;
#[cfg(test)]
mod tests;
mod value;

use std::time::Duration;

use swarmwood_learn::budget::Budget;
use swarmwood_search::Space;
use swarmwood_search::rng::fingerprint;

use super::header::{StudyMetric, StudyTask};
use super::objective::{FoldResult, Proposal, TrialObjective};
use crate::error::Violation;
use crate::{Error, Result};
use template::Template;

pub use value::ValueFrom;

/// A program to tune.
///
/// ```
/// use swarmwood::search::{Param, Space};
/// use swarmwood::tune::command::{Program, CommandConfig};
/// let space = Space::new(vec![Param::integer("x", 0, 9)]).unwrap();
/// assert!(Program::new("echo {x}", &space, CommandConfig::default()).is_ok());
/// let fault = Program::new("echo {y}", &space, CommandConfig::default()).err().unwrap();
/// assert!(fault.to_string().contains("{y}"), "{fault}");
/// ```
#[derive(Debug)]
pub struct Program {
    text: String,
    template: Template,
    settings: CommandConfig,
}

/// How a program is run and heard.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandConfig {
    /// Where the value is.
    pub value: ValueFrom,
    /// Whether larger values are better.
    pub maximize: bool,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// How often it is started again after a failure.
    pub retries: usize,
}

impl Program {
    /// A program from its command: words as in a shell, with quotes and backslashes but nothing
    /// else that shells do, and `{name}` for the value of a parameter, `{trial}` for the number of
    /// the trial and `{params_json}` for all values.
    pub fn new(command: &str, space: &Space, settings: CommandConfig) -> Result<Program> {
        let fault = |message: String| Violation::new("command", message);
        let template = Template::parse(command, space)
            .map_err(|faults| Error::Parameters(faults.into_iter().map(fault).collect()))?;
        if let Some(program) = template.program().filter(|program| !process::exists(program)) {
            let message = format!(
                "there is no program '{program}'; give its path, or a name that can be found"
            );
            return Err(Error::Parameters(vec![fault(message)]));
        }
        Ok(Program { text: command.to_string(), template, settings })
    }

    /// What it optimises.
    pub fn task(&self) -> StudyTask {
        let CommandConfig { value, maximize, .. } = &self.settings;
        let described = format!("{}\n{value:?}\n{maximize}", self.text);
        StudyTask {
            text: self.text.clone(),
            fingerprint: fingerprint(described.bytes().map(u64::from)),
            metric: StudyMetric { name: value.name().to_string(), from: maximize.then_some(0.0) },
            fixed: Vec::new(),
        }
    }

    fn attempt(&self, trial: &Proposal<'_>, budget: &Budget) -> std::result::Result<f64, String> {
        let words = self.template.fill(trial);
        self.settings.value.forget(trial.id)?;
        let said = process::run(&words, trial.id, self.settings.timeout, budget)?;
        let value = self.settings.value.read(&said, trial.id)?;
        if value.is_finite() { Ok(value) } else { Err(format!("the value is {value}")) }
    }
}

impl TrialObjective for Program {
    fn folds(&self) -> usize {
        1
    }

    fn evaluate_fold(
        &self,
        trial: &Proposal<'_>,
        _: usize,
        budget: &Budget,
    ) -> std::result::Result<FoldResult, String> {
        let mut left = self.settings.retries;
        loop {
            match self.attempt(trial, budget) {
                Ok(value) => {
                    let loss = if self.settings.maximize { -value } else { value };
                    return Ok(FoldResult { loss, rounds: None });
                }
                Err(reason) if left == 0 || budget.is_interrupted() => return Err(reason),
                Err(_) => left -= 1,
            }
        }
    }
}
