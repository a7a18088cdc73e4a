//! The default method: the structure of the whole ensemble is searched, and the search is believed
//! only where it wins on rows it has not seen.
//!
//! 1. Greedy boosting with several learning rates is cross-validated; what the best leaves
//!    unexplained is the noise. The likeliest search arm is fitted to all rows meanwhile, for runs
//!    that are cut short (`hand`).
//! 2. Search arms, whose penalties follow from the noise, are cross-validated on the same folds
//!    (`menu`, `folds`).
//! 3. The winner is fitted to all rows, from the fit in hand if that is it. A search arm starts
//!    greedily, fits all leaves together, grows each tree again on what the others leave
//!    (`backfit`), then ruins and recreates pairs of trees (`pairs`).
//! 4. Scores of classes are multiplied by the factor that calibrates them out of fold (`score`).

mod backfit;
mod choose;
mod ensemble;
mod folds;
mod hand;
mod menu;
mod pairs;
mod score;
mod state;
#[cfg(test)]
mod tests;

use swarmwood_model::Member;
use swarmwood_search::Datum;

use crate::context::Context;
use crate::event::Flow;
use crate::greedy::{self, Growth};
use crate::metric::Watch;
use crate::split::{Penalties, Ridge};
use crate::stats::{BackendError, TrainingSet};
use ensemble::Ensemble;

/// The size and growth of an ensemble.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Trees an output.
    pub trees: usize,
    /// Order of splits.
    pub growth: Growth,
    /// Whether oblivious trees of the same size may be tried as well.
    pub or_oblivious: bool,
    /// Most levels of splits; 0 for no limit.
    pub depth: usize,
    /// Most leaves of a tree.
    pub max_leaves: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows.
    pub memory: usize,
}

impl Frame {
    /// What greedy growth must be told to grow trees of this size.
    fn growing(&self, learning_rate: f64, penalties: Penalties) -> greedy::Settings {
        greedy::Settings {
            trees: self.trees,
            growth: self.growth,
            depth: self.depth,
            max_leaves: self.max_leaves,
            learning_rate,
            penalties,
            subsample: 1.0,
            colsample_bytree: 1.0,
            dart: None,
            early_stopping_rounds: 0,
            metric: Watch::Loss,
            seed: self.seed,
            memory: self.memory,
            tell_every: 0,
        }
    }
}

/// A way of searching.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    /// Penalty on deviations of nodes from their parents, in units of the hessian.
    pub lambda: f64,
    /// Which kind of penalty.
    pub ridge: Ridge,
    /// Penalty on the values of rows, added to every hessian.
    pub kappa: f64,
    /// Price of a split.
    pub gamma: f64,
    /// Least sum of hessians in a leaf.
    pub min_child_weight: f64,
    /// Share of the leaf values that the greedy start takes.
    pub start_rate: f64,
    /// Most sweeps.
    pub sweeps: usize,
    /// Iterations of pair search after the sweeps.
    pub pairs: usize,
}

impl Arm {
    fn penalties(&self) -> Penalties {
        let Arm { lambda, ridge, gamma, min_child_weight, .. } = *self;
        Penalties { lambda, ridge, gamma, min_child_weight }
    }
}

/// Parts of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Cross-validation of candidates.
    Compare,
    /// Greedy start of a fit to all rows.
    Start,
    /// Growing every tree again.
    Sweeps,
    /// Ruining and recreating pairs.
    Pairs,
}

/// What the ensemble tells after every step: stage, steps done, steps in all, itself.
type Tell<'t> = dyn FnMut(Stage, usize, usize, &Ensemble<'_>) -> Flow + 't;

/// The news of one step.
pub struct Progress<'p> {
    /// What is being done.
    pub stage: Stage,
    /// Steps of the stage done.
    pub done: usize,
    /// Steps of the stage in all.
    pub of: usize,
    /// Mean training loss of the fit in hand or of the final fit, in their stages.
    pub loss: Option<f64>,
    /// The best cross-validated score so far.
    pub best: Option<f64>,
    /// The share of the training loss of the best greedy fit so far that it saves.
    pub gain: Option<f64>,
    /// Trees grown so far.
    pub work: usize,
    /// All that the run needs to go on from here, see [`train`].
    pub state: &'p dyn Fn() -> Datum,
}

/// What the search may be told.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Sizes to choose from, all of which the user accepts; the first is the plainest.
    pub frames: Vec<Frame>,
    /// Trees that may be grown in all; 0 for as many as the recipe wants.
    pub budget: usize,
}

/// How one candidate did on rows it had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// What it is.
    pub name: String,
    /// Its score: mean loss, or calibrated Brier score for classes; less is better.
    pub score: f64,
}

/// What was chosen, why, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The winner.
    pub chosen: String,
    /// Whether the winner is a search.
    pub searched: bool,
    /// Size of the winner.
    pub frame: Frame,
    /// Every candidate with its score, in the order of the menu.
    pub compared: Vec<Compared>,
    /// Whether all candidates were compared and the best of them is the winner. A run that is cut
    /// short may end with what it had in hand.
    pub finished: bool,
    /// Score of the best greedy candidate less the winner's, as a share of it; not a number where
    /// one was not compared.
    pub gain: f64,
    /// Share of the variance that greedy boosting leaves unexplained on unseen rows.
    pub noise: f64,
    /// The factor on raw scores that calibrates them; 1 for numbers.
    pub factor: f64,
    /// Mean training loss of the best greedy candidate, fitted to all rows.
    pub greedy_loss: f64,
    /// The same of the winner.
    pub loss: f64,
    /// Trees grown in all.
    pub work: usize,
}

/// What the search ends with.
#[derive(Debug)]
pub struct Found {
    /// Start value of each output.
    pub base: Vec<f64>,
    /// Trees.
    pub members: Vec<Member>,
    /// Raw scores of the training rows, in row order, output after output.
    pub train_scores: Vec<Vec<f32>>,
    /// The same for the validation rows; empty without any.
    pub valid_scores: Vec<Vec<f32>>,
    /// What to add to a score to get the raw score.
    pub shift: f64,
    /// What there is to tell.
    pub report: Report,
}

/// Who is told, and who may end the run.
pub struct Ears<'e> {
    /// Hears of every step, and may end the run after it.
    pub watch: &'e mut dyn FnMut(&Progress<'_>) -> Flow,
    /// Asked in the midst of fits, from any thread; once it says yes, the run ends with the best
    /// there is.
    pub halt: &'e (dyn Fn() -> bool + Sync),
}

/// Why a search could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchError {
    /// The stored state does not belong here.
    State(String),
    /// No thread could be started.
    Threads(String),
    /// The rows could not be worked on.
    Backend(BackendError),
}

impl From<BackendError> for SearchError {
    fn from(error: BackendError) -> Self {
        SearchError::Backend(error)
    }
}

/// Searches. `past` is the state that an earlier run with the same rows and settings told last: the
/// run goes on from there, and ends as if it had never been interrupted.
pub fn train(
    set: TrainingSet<'_>,
    settings: &Settings,
    context: Context<'_>,
    past: Option<&Datum>,
    ears: Ears<'_>,
) -> Result<Found, SearchError> {
    choose::Choosing::new(set, settings, context, ears.halt)?.run(past, ears.watch)
}
