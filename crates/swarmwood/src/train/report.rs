//! What a training ends with: the model, its metrics, and how it was found.

use swarmwood_learn::ensemble::EnsembleSearchReport;
use swarmwood_learn::tree_search::TreeCandidateScore;
use swarmwood_model::Model;

use super::SearchSpace;
use crate::message::Message;
use crate::params::Params;

/// A trained model and what there is to say about the run.
#[derive(Debug)]
pub struct TrainResult {
    /// The model.
    pub model: Model,
    /// The parameters, every `auto` that follows from the data resolved.
    pub params: Params,
    /// Seconds spent making bins.
    pub bin_seconds: f64,
    /// Seconds spent training.
    pub train_seconds: f64,
    /// Rounds in the model (after early stopping, interruption or a time limit).
    pub rounds: usize,
    /// Metrics of the task on the training rows, by name.
    pub train_metrics: Vec<(&'static str, f64)>,
    /// The same on the validation rows, if there are any.
    pub valid_metrics: Vec<(&'static str, f64)>,
    /// What a search chose, and why.
    pub search: Option<EnsembleSearchReport>,
    /// How a published swarm flew.
    pub flight: Option<SwarmReport>,
    /// How a single tree was found.
    pub tree: Option<TreeReport>,
    /// What may be wrong and the user should look into (constant columns, ...).
    pub warnings: Vec<Message>,
    /// How the run went, with nothing wrong (early stop, time limit, ...).
    pub notes: Vec<String>,
}

impl TrainResult {
    /// What was finished, for people: `12 of 100 rounds`.
    pub fn finished_work(&self) -> String {
        let tree_flight = self.tree.as_ref().and_then(|tree| tree.flight.as_ref());
        let iterations = self.flight.as_ref().map(|flight| flight.iterations);
        let (count, unit) = match iterations.or(tree_flight.map(|flight| flight.iterations)) {
            Some(iterations) => (iterations, "iteration"),
            None => match &self.tree {
                Some(tree) => (tree.descents, "descent"),
                None => (self.rounds, "round"),
            },
        };
        format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
    }
}

/// What a published swarm did.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmReport {
    /// What was searched.
    pub space: SearchSpace,
    /// What was made best, by the name users say.
    pub measure: &'static str,
    /// Its best value on the training rows.
    pub best: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Candidates that were known already.
    pub repeats: u64,
}

/// How a single tree was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeReport {
    /// Its leaves.
    pub leaves: usize,
    /// Rules on the longest way down.
    pub depth: usize,
    /// What was made small, a mean over the training rows, by the name users say.
    pub measure: &'static str,
    /// Its value for the tree.
    pub loss: f64,
    /// Its value for the greedy tree of the same size limits that a search started from.
    pub start: Option<f64>,
    /// Descents of the search, and sweeps of nodes in them.
    pub descents: usize,
    /// Sweeps of nodes.
    pub sweeps: u64,
    /// Whether the tree was searched; otherwise it is the greedy one.
    pub searched: bool,
    /// What cross-validation compared; for a search the chosen way comes first.
    pub arms: Vec<TreeCandidateScore>,
    /// How a particle swarm over one tree flew.
    pub flight: Option<TreeSwarmReport>,
}

/// What a particle swarm over one tree did.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSwarmReport {
    /// What was made best, by the name users say.
    pub measure: &'static str,
    /// Its best value on the training rows.
    pub best: f64,
    /// Iterations done.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Candidates that were known already.
    pub repeats: u64,
    /// What there was to choose from at each place: symbols or split points; for a grid the
    /// thresholds that moved.
    pub choices: usize,
    /// The grid, if there is one.
    pub grid: Option<GridReport>,
}

/// The grid that a tree was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridReport {
    /// Features that are cut.
    pub features: usize,
    /// Different thresholds on them.
    pub thresholds: usize,
    /// The cells that they make.
    pub cells: usize,
    /// Cells with training rows.
    pub occupied: usize,
    /// Grids that were searched.
    pub searched: usize,
}
