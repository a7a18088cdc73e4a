//! The result of a training run: the model, its metrics, and the report of its search.

use swarmwood_learn::ensemble::{EnsembleSearchReport, FeatureBudgetReport};
use swarmwood_learn::tree_search::TreeCandidateScore;
use swarmwood_model::Model;

use super::SearchSpace;
use crate::message::Message;
use crate::params::Params;

/// A trained model and the report of its run.
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
    /// Raw scores of the training rows by fits that have not seen them, row by row, if they were
    /// wanted and the learner made them.
    pub held_out: Option<Vec<f64>>,
    /// The same on each of the other sets of rows that are watched.
    pub watched_metrics: Vec<Vec<(&'static str, f64)>>,
    /// The report of the ensemble search.
    pub search: Option<EnsembleSearchReport>,
    /// The features that a feature budget left the model.
    pub features: Option<FeatureBudgetReport>,
    /// The report of a published particle swarm over ensembles.
    pub swarm: Option<SwarmReport>,
    /// The report of a method that makes one tree.
    pub tree: Option<TreeReport>,
    /// Likely mistakes that the user should look into (constant columns, ...).
    pub warnings: Vec<Message>,
    /// Remarks on the course of the run (early stopping, time limit, ...).
    pub notes: Vec<String>,
    /// Where there are several columns to predict, the result of each, and the metrics above are
    /// their means.
    pub columns: Vec<TrainResult>,
}

impl TrainResult {
    /// The amount of finished work as text: `12 rounds`.
    pub fn finished_work(&self) -> String {
        match (&self.swarm, &self.tree) {
            (Some(swarm), _) => counted(swarm.iterations, "iteration"),
            (None, Some(tree)) => tree.finished_work(),
            (None, None) => counted(self.rounds, "round"),
        }
    }
}

fn counted(count: usize, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// The report of a published particle swarm over ensembles.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmReport {
    /// The size of the search space.
    pub space: SearchSpace,
    /// The name of the fitness function.
    pub metric: &'static str,
    /// The best fitness on the training rows.
    pub best: f64,
    /// Finished iterations.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Evaluations that were answered from the cache.
    pub cache_hits: u64,
}

/// The report of a method that makes one tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeReport {
    /// Number of leaves.
    pub leaves: usize,
    /// Number of splits on the longest path.
    pub depth: usize,
    /// The name of the criterion that was minimised, a mean over the training rows.
    pub criterion: &'static str,
    /// Its value for the tree.
    pub loss: f64,
    /// Its value for the greedy tree with the same size limits that the search started from.
    pub greedy_loss: Option<f64>,
    /// Descents of the search.
    pub descents: usize,
    /// Sweeps over the nodes in all descents.
    pub sweeps: u64,
    /// Whether the tree was searched; otherwise it is the greedy one.
    pub searched: bool,
    /// The candidates that cross-validation compared; the selected candidate of a search is first.
    pub candidates: Vec<TreeCandidateScore>,
    /// The report of a particle swarm over one tree.
    pub swarm: Option<TreeSwarmReport>,
}

impl TreeReport {
    /// How far the search of the tree came, for notes. CART alone makes no descents.
    pub fn finished_work(&self) -> String {
        match &self.swarm {
            Some(swarm) => counted(swarm.iterations, "iteration"),
            None if self.descents == 0 => {
                let unit = if self.leaves == 1 { "leaf" } else { "leaves" };
                format!("a tree of {} {unit}", self.leaves)
            }
            None => counted(self.descents, "descent"),
        }
    }
}

/// The report of a particle swarm over one tree.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSwarmReport {
    /// The name of the fitness function.
    pub metric: &'static str,
    /// The best fitness on the training rows.
    pub best: f64,
    /// Finished iterations.
    pub iterations: usize,
    /// Candidates evaluated.
    pub evaluations: u64,
    /// Evaluations that were answered from the cache.
    pub cache_hits: u64,
    /// Choices per node: symbols or split points; for a grid the number of thresholds that moved.
    pub choices: usize,
    /// The grid, if there is one.
    pub grid: Option<GridReport>,
}

/// The grid that a tree was made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridReport {
    /// Number of features with thresholds.
    pub features: usize,
    /// Number of distinct thresholds.
    pub thresholds: usize,
    /// Number of cells.
    pub cells: f64,
    /// Number of cells with training rows.
    pub occupied: usize,
    /// Number of thresholds that separate classes; the others were dropped.
    pub kept: usize,
    /// Number of boxes that the cells were merged into.
    pub boxes: usize,
    /// Number of grids that were searched.
    pub searched: usize,
}
