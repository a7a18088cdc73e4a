//! What a feature budget costs greedy boosting: cross-validation with it and without it.

use swarmwood_model::Link;

use super::CrossValidatedMetric;
use super::cross_validation::{self, CvFold, FOLDS, FoldPlan};
use super::out_of_fold::FoldScore;
use crate::context::Context;
use crate::feature_selection::{FeatureBudget, FeatureSelection, SelectionConfig, select};
use crate::greedy::GreedyConfig;
use crate::plan::{Task, TaskRows, run_tasks};
use crate::pool::Pool;
use crate::stats::{BackendError, TrainingSet};

/// Cross-validated metrics of greedy boosting under a feature budget, and with all features.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetCost {
    /// Under the budget.
    pub within_budget: Vec<CrossValidatedMetric>,
    /// With all features.
    pub all_features: Vec<CrossValidatedMetric>,
    /// The features that were chosen on the training rows of each fold.
    pub in_folds: Vec<FeatureSelection>,
}

/// Cross-validates greedy boosting under a budget and without one; features are chosen anew on the
/// training rows of each fold. `None` if the run is interrupted.
pub fn budget_cost(
    set: TrainingSet<'_>,
    config: &GreedyConfig,
    budget: &FeatureBudget,
    selection: SelectionConfig,
    context: Context<'_>,
) -> Result<Option<BudgetCost>, BackendError> {
    let is_class = matches!(set.objective.link(), Link::Sigmoid | Link::Softmax);
    let plan = FoldPlan { classes: is_class, seed: config.seed, most_rows: usize::MAX };
    let folds = plan.folds(set.data, FOLDS, context);
    let single_thread = Pool::new(1).expect("the calling thread is enough");
    let one_thread = Context { pool: &single_thread, ..context };
    // Test rows say nothing to the fit, not even when to stop.
    let config = GreedyConfig { early_stopping_rounds: 0, report_every: 0, ..config.clone() };
    let link = is_class.then(|| set.objective.link());
    let score = |fold: &CvFold| -> Result<Option<FoldScore>, BackendError> {
        let held_out = cross_validation::fit_greedy(fold, &config, set, one_thread)?;
        Ok(held_out.score(link, one_thread))
    };

    let tasks: Vec<Task> =
        (0..folds.len()).map(|fold| Task { candidate: 0, rows: TaskRows::Fold(fold) }).collect();
    let results = run_tasks(context, &tasks, |task| {
        let TaskRows::Fold(fold) = task.rows else { unreachable!("all tasks have a fold") };
        let fold = &folds[fold];
        let rows = TrainingSet { data: fold.train(), valid: None, ..set };
        let chosen = select(rows, budget, selection, one_thread)?;
        let kept = chosen.mask(budget.costs.len());
        let restricted = fold.with_features(&kept, &single_thread);
        Ok::<_, BackendError>((score(&restricted)?, score(fold)?, chosen))
    });
    let Some(results) = results.filter(|results| !results.is_empty()) else { return Ok(None) };

    let (mut within, mut all, mut in_folds) = (Vec::new(), Vec::new(), Vec::new());
    for result in results {
        let (Some(budgeted), Some(whole), chosen) = result? else { return Ok(None) };
        within.push(budgeted);
        all.push(whole);
        in_folds.push(chosen);
    }
    Ok(Some(BudgetCost {
        within_budget: FoldScore::metrics(&within),
        all_features: FoldScore::metrics(&all),
        in_folds,
    }))
}
