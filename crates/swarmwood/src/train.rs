//! Trains a model from rows and checked parameters.

use swarmwood_learn::event::{Event, Flow};
use swarmwood_model::Model;

use crate::Result;
use crate::params::{Checked, Params};
use crate::read::Rows;

/// A trained model and what there is to say about the run.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Seconds spent making bins and training.
    pub bin_seconds: f64,
    /// Seconds spent training.
    pub train_seconds: f64,
    /// Rounds in the model (after early stopping, interruption or a time limit).
    pub rounds: usize,
    /// Metrics of the task on the training rows, by name.
    pub train_metrics: Vec<(&'static str, f64)>,
    /// The same on the validation rows, if there are any.
    pub valid_metrics: Vec<(&'static str, f64)>,
    /// Things the user should know (constant columns, early stop, ...).
    pub warnings: Vec<String>,
}

/// Trains with the method the parameters name.
pub fn train(
    _rows: &Rows,
    _valid: Option<&Rows>,
    _params: &Checked<Params>,
    _watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Trained> {
    todo!()
}
