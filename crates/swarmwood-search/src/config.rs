//! Checks of engine configurations. All errors are collected and reported at once.

use crate::error::{Error, ParamError};
use crate::options::OptionSpec;
use crate::point::Point;
use crate::space::Space;

/// The largest population.
const MAX_POPULATION: usize = 1_000_000;

/// The bounds of the option `population`.
pub(crate) const fn population_bounds(min: usize) -> (i64, i64) {
    (min as i64, MAX_POPULATION as i64)
}

/// The option `generations` of engines without a limit by default.
pub(crate) const GENERATIONS: OptionSpec = OptionSpec::integer(
    "generations",
    (1, 1_000_000_000),
    1,
    "number of generations, the initial one included, after which the search ends",
)
.unless_given("unlimited");

/// The errors of a configuration found so far.
#[derive(Debug, Default)]
pub(crate) struct ConfigErrors(Vec<ParamError>);

impl ConfigErrors {
    pub(crate) fn add(&mut self, field: &str, message: String) {
        self.0.push(ParamError { parameter: field.to_owned(), message });
    }

    /// Checks the size of a population, which must be at least `min`.
    pub(crate) fn check_population(&mut self, population: usize, min: usize) {
        self.check_count("population", population, min, MAX_POPULATION);
    }

    /// Checks a limit of generations.
    pub(crate) fn check_generations(&mut self, generations: Option<u64>) {
        if generations == Some(0) {
            let message = "must be at least 1; the initial population is the first generation";
            self.add("generations", message.to_owned());
        }
    }

    /// Checks an initial point.
    pub(crate) fn check_start(&mut self, start: Option<&Point>, space: &Space) {
        if start.is_some_and(|start| !space.contains(start)) {
            self.add("start", "lies outside the space".to_owned());
        }
    }

    /// A count that must lie within bounds.
    pub(crate) fn check_count(&mut self, field: &str, value: usize, min: usize, max: usize) {
        if !(min..=max).contains(&value) {
            self.add(field, format!("must lie within {min} and {max}, not {value}"));
        }
    }

    /// A number that must lie within bounds; NaN lies outside of all.
    pub(crate) fn check_number(&mut self, field: &str, value: f64, min: f64, max: f64) {
        if !(min..=max).contains(&value) {
            self.add(field, format!("must lie within {min} and {max}, not {value}"));
        }
    }

    /// All errors as one.
    pub(crate) fn into_result(self, engine: &'static str) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Config { engine, errors: self.0 }) }
    }
}

/// The error of a snapshot with a configuration that no engine would have accepted.
pub(crate) fn invalid_config(error: Error) -> Error {
    Error::Snapshot(format!("holds an invalid configuration: {error}"))
}
