//! The default method: the structure of the whole ensemble is searched, and a searched ensemble is
//! used only if cross-validation prefers it to greedy boosting.
//!
//! 0. If the greedy fit to all rows leaves an interaction that it cannot see, growth looks ahead
//!    from then on (`interactions`).
//! 1. Greedy boosting with several learning rates, in every shape of the ensemble, is
//!    cross-validated. What the best of them leaves unexplained on held-out rows is the noise.
//!    For classes, ensembles of small trees whose leaves are fitted together count as searches.
//! 2. Search strategies, whose penalties follow from the noise, are cross-validated on the same
//!    folds (`candidates`, `cross_validation`). Both comparisons are successive halvings: all
//!    candidates are fitted to the first folds, the better ones to the others. Meanwhile the most
//!    promising one is fitted to all rows, for runs that are cut short (`fallback`).
//! 3. The winner is fitted to all rows (of very many, its trees are searched on a sample first:
//!    `sampled_search`). A search starts greedily, refits all leaves, regrows every
//!    tree on the residuals of the others (`backfit`), and then replaces pairs of trees (`pairs`).
//! 4. Scores of classes are multiplied by the factor that calibrates held-out predictions
//!    (`out_of_fold`).
//!
//! All of it is a plan of tasks (`search`): a run that is interrupted ends with the best fit to all
//! rows that it has, and a resumed run replays the results of finished tasks.

mod backfit;
mod budget_cost;
mod candidates;
mod chosen;
mod cross_validation;
mod fallback;
mod feature_budget;
mod fit;
mod fit_state;
mod fold_task;
mod full_fit;
mod interactions;
mod out_of_fold;
mod pairs;
mod plan_size;
mod sampled_search;
mod scored;
mod search;
#[cfg(test)]
mod tests;

use swarmwood_search::Datum;

use crate::context::Context;
use crate::ensemble_fit::EnsembleFit;
use crate::feature_selection::{FeatureBudget, SelectionConfig};
use crate::greedy::lookahead::Lookahead;
use crate::greedy::{self, Growth};
use crate::metric::EvalMetric;
use crate::plan::{PlanObserver, TaskLog};
use crate::split::{Penalties, Ridge};
use crate::stats::{BackendError, TrainingSet};
pub use budget_cost::{BudgetCost, budget_cost};
pub use chosen::ChosenCandidate;
pub use feature_budget::FeatureBudgetReport;
use feature_budget::FeatureChoice;
use fit::Ensemble;
pub use fold_task::FoldTasks;
pub use out_of_fold::CrossValidatedMetric;
use search::EnsembleSearch;

/// The size of an ensemble and how its trees grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnsembleShape {
    /// Trees per output.
    pub trees: usize,
    /// Order of splits.
    pub growth: Growth,
    /// Whether oblivious trees of the same size are candidates as well.
    pub try_oblivious: bool,
    /// Maximum number of levels of splits; 0 for no limit.
    pub depth: usize,
    /// Maximum number of leaves per tree.
    pub max_leaves: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Bytes of histograms that may be kept while a tree grows.
    pub memory: usize,
    /// How growth looks ahead; the search decides it unless it is set.
    pub lookahead: Lookahead,
}

impl EnsembleShape {
    /// The configuration of greedy boosting with this shape.
    fn greedy_config(&self, learning_rate: f64, penalties: Penalties) -> greedy::GreedyConfig {
        greedy::GreedyConfig {
            trees: self.trees,
            growth: self.growth,
            depth: self.depth,
            max_leaves: self.max_leaves,
            lookahead: self.lookahead,
            learning_rate,
            penalties,
            subsample: 1.0,
            colsample_bytree: 1.0,
            dart: None,
            early_stopping_rounds: 0,
            metric: EvalMetric::Loss,
            seed: self.seed,
            memory: self.memory,
            report_every: 0,
        }
    }
}

/// How an ensemble is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchStrategy {
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
    /// Learning rate of the greedy start.
    pub start_rate: f64,
    /// Passes over the leaves of all trees after the start.
    pub refits: usize,
    /// Maximum number of sweeps.
    pub sweeps: usize,
    /// Iterations of pair search after the sweeps.
    pub pairs: usize,
}

impl SearchStrategy {
    fn penalties(&self) -> Penalties {
        let SearchStrategy { lambda, ridge, gamma, min_child_weight, .. } = *self;
        Penalties { lambda, ridge, gamma, min_child_weight }
    }
}

/// The phases of the search of one ensemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitPhase {
    /// The greedy start.
    Start,
    /// Every tree is regrown in turn.
    Sweeps,
    /// Pairs of trees are replaced.
    Pairs,
}

/// Hears of every step of a fit: phase, steps done, steps planned, the ensemble.
type FitObserver<'t> = dyn FnMut(FitPhase, usize, usize, &Ensemble<'_>) + 't;

/// What is searched.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleSearchConfig {
    /// Shapes to choose from; the first is the default one.
    pub shapes: Vec<EnsembleShape>,
    /// How many features the ensemble may use; `None` for all.
    pub features: Option<FeatureBudget>,
    /// Of more rows than this, candidates are compared and trees are searched on about so many, drawn
    /// by row number and seed; the winner is then fitted to all rows.
    pub compared_rows: usize,
}

/// Rows that are enough to compare candidates.
pub const COMPARED_ROWS: usize = 1_000_000;

/// The cross-validated score of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateScore {
    /// The candidate.
    pub name: String,
    /// Its mean loss on held-out rows; for classes the log loss after calibration.
    pub score: f64,
    /// The standard error of the score over the folds; `None` with fewer than two.
    pub deviation: Option<f64>,
    /// Folds that it was fitted to: the most for the best candidates.
    pub folds: usize,
}

/// How far the model's own fit came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitProgress {
    /// What the steps are: `rounds` of boosting, `sweeps` or `pairs` of a search.
    pub steps: &'static str,
    /// Steps done.
    pub done: usize,
    /// Steps planned; fewer are done when nothing improves any more.
    pub planned: usize,
}

/// What was chosen, why, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleSearchReport {
    /// The candidate that the model is.
    pub chosen: String,
    /// Whether it is a search.
    pub searched: bool,
    /// Its shape.
    pub shape: EnsembleShape,
    /// Every candidate that was cross-validated, in the order of the plan.
    pub candidates: Vec<CandidateScore>,
    /// Candidates that the plan has in all.
    pub planned: usize,
    /// How far the model's own fit came.
    pub progress: FitProgress,
    /// Whether the whole plan was carried out: all candidates were cross-validated, and the best
    /// one was fitted to all rows.
    pub finished: bool,
    /// How much lower the chosen candidate's cross-validated score is than that of the best greedy
    /// one, as a share of it. `None` where either has no score.
    pub gain: Option<f64>,
    /// What to expect on new rows.
    pub expected: ExpectedMetrics,
    /// Share of the variance that greedy boosting leaves unexplained on held-out rows.
    pub noise: f64,
    /// The factor on raw scores that calibrates them; 1 for numbers.
    pub factor: f64,
    /// Mean training loss of the best greedy candidate fitted to all rows. `None` if that fit was
    /// not finished.
    pub greedy_loss: Option<f64>,
    /// Mean training loss of the chosen one, before calibration.
    pub loss: f64,
    /// Trees grown in all.
    pub work: u64,
    /// Rows that candidates were compared on.
    pub compared_rows: usize,
}

/// Cross-validated metrics: the log loss and accuracy of classes, the root mean squared error of
/// numbers. Those of the chosen candidate are a little optimistic, as it is the best of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedMetrics {
    /// Of the chosen candidate; empty if it was not cross-validated.
    pub chosen: Vec<CrossValidatedMetric>,
    /// Of the best greedy candidate.
    pub greedy: Vec<CrossValidatedMetric>,
    /// Of the best constant.
    pub constant: Vec<CrossValidatedMetric>,
    /// Folds that the metrics of the chosen candidate are of.
    pub folds: usize,
}

/// The result of a search.
#[derive(Debug)]
pub struct EnsembleSearchFit {
    /// The trees of the chosen candidate, and the scores under them.
    pub ensemble: EnsembleFit,
    /// What was chosen, and why.
    pub report: EnsembleSearchReport,
    /// The features of a budget.
    pub features: Option<FeatureBudgetReport>,
    /// The chosen candidate itself.
    pub chosen: ChosenCandidate,
}

/// Why a search failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnsembleSearchError {
    /// The stored state does not belong to this run.
    State(String),
    /// No thread could be started.
    Threads(String),
    /// The rows could not be worked on.
    Backend(BackendError),
    /// The tasks could not be run somewhere else.
    Runner(String),
}

impl From<BackendError> for EnsembleSearchError {
    fn from(error: BackendError) -> Self {
        EnsembleSearchError::Backend(error)
    }
}

impl From<swarmwood_search::Error> for EnsembleSearchError {
    fn from(error: swarmwood_search::Error) -> Self {
        EnsembleSearchError::State(error.to_string())
    }
}

/// Searches. `past` is a state that `observer` was given in an earlier run with the same rows and
/// configuration: the run resumes there, and ends as if it had never been interrupted. The tasks of
/// cross-validation are given to the runner of the set, if it has one, which changes nothing else.
pub fn train<'a>(
    set: TrainingSet<'a>,
    config: &EnsembleSearchConfig,
    context: Context<'a>,
    past: Option<&Datum>,
    observer: &'a mut PlanObserver<'a>,
) -> Result<EnsembleSearchFit, EnsembleSearchError> {
    let Some(budget) = &config.features else {
        let log = TaskLog::new(past, observer)?;
        return EnsembleSearch::new(set, config, context, log)?.run();
    };

    let (data, valid);
    let mut log = TaskLog::new(past, &mut *observer)?;
    let EnsembleShape { seed, memory, .. } = config.shapes[0];
    let selection = SelectionConfig { seed, memory, most_work: u64::MAX };
    let choice = FeatureChoice::new(set, budget, selection, context, &mut log)?;
    (data, valid) = choice.restricted(context);
    let restricted = TrainingSet { data: &data, valid: valid.as_ref(), ..set };
    EnsembleSearch::new(restricted, config, context, log)?.with_features(choice).run()
}
