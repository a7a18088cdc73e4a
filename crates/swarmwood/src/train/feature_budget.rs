//! The feature budget of the parameters, and what a run under it reports.

use swarmwood_learn::dataset::Dataset;
use swarmwood_learn::ensemble::{FeatureBudgetReport, budget_cost};
use swarmwood_learn::event::{Event, Stage};
use swarmwood_learn::feature_selection::{FeatureBudget, SelectionConfig, select};
use swarmwood_learn::greedy::GreedyConfig;
use swarmwood_learn::stats::TrainingSet;
use swarmwood_model::Schema;

use super::Job;
use super::binning::{self, BinnedSets};
use super::trees::{self, KEPT_BYTES};
use crate::error::Violation;
use crate::params::{FeatureCost, Method, Params};
use crate::{Error, Result};

/// The budget of the parameters; `None` if a model may use all features.
pub(super) fn budget(job: &Job<'_>) -> Result<Option<FeatureBudget>> {
    let (params, schema): (&Params, &Schema) = (job.params, &job.rows.schema);
    let costs = params
        .feature_cost
        .resolve(schema, FeatureCost::DEFAULT, "feature_cost")
        .map_err(Error::Parameters)?;
    if !params.has_feature_budget() {
        return Ok(None);
    }
    let (most, most_cost) = (params.max_features, params.max_feature_cost);
    let budget = FeatureBudget {
        most: if most == 0 { usize::MAX } else { most },
        costs: costs.into_iter().map(FeatureCost::value).collect(),
        most_cost: if most_cost == 0.0 { f64::INFINITY } else { most_cost },
        required: job.constraints.given_splits().features(),
    };
    if !budget.allows(&[]) {
        let message = "uses more features than the feature budget allows";
        return Err(Error::Parameters(vec![Violation::new("first_split", message)]));
    }
    Ok(Some(budget))
}

/// Chooses the features of greedy boosting on all rows, and leaves only these in all sets of rows.
pub(super) fn restrict(
    job: &Job<'_>,
    sets: &BinnedSets,
    config: &GreedyConfig,
    observer: &mut dyn FnMut(&Event),
) -> Result<Option<(BinnedSets, FeatureBudgetReport)>> {
    let Some((kept, report)) = choose(job, &sets.training, config, observer)? else {
        return Ok(None);
    };
    let restrict = |data: &Dataset| data.with_features(&kept, job.pool);
    let sets = BinnedSets {
        training: restrict(&sets.training),
        valid: sets.valid.as_ref().map(restrict),
        watched: sets.watched.iter().map(restrict).collect(),
    };
    Ok(Some((sets, report)))
}

/// Which features a learner of a table of ranks may use, and what there is to report of the choice;
/// `None` without a budget.
pub(super) fn choose_for_table(
    job: &Job<'_>,
    observer: &mut dyn FnMut(&Event),
) -> Result<Option<(Vec<bool>, FeatureBudgetReport)>> {
    if !job.params.has_feature_budget() {
        return Ok(None);
    }
    let data = binning::training(job, None)?;
    let defaults = Params { seed: job.params.seed, ..Params::of(Method::GREEDY) };
    let config = trees::settings(&Job { params: &defaults, ..*job });
    // The work limit of the search counts something else than trees.
    let budget = job.budget.clone().with_work_limit(u64::MAX);
    choose(&Job { budget: &budget, ..*job }, &data, &config, observer)
}

/// Chooses features on all rows. What the budget costs is found by cross-validation, in which
/// features are chosen without the held-out rows.
fn choose(
    job: &Job<'_>,
    data: &Dataset,
    config: &GreedyConfig,
    observer: &mut dyn FnMut(&Event),
) -> Result<Option<(Vec<bool>, FeatureBudgetReport)>> {
    let Some(budget) = budget(job)? else { return Ok(None) };
    let context = job.context();
    let set = TrainingSet::new(data, None, job.objective).with_constraints(job.constraints);
    let selection =
        SelectionConfig { seed: job.params.seed, memory: KEPT_BYTES, most_work: u64::MAX };

    let found = select(set, &budget, selection, context)?;
    observer(&Event::new(Stage::FEATURES, found.evaluations, found.evaluations));
    let cost = budget_cost(set, config, &budget, selection, context)?;

    let kept = found.mask(budget.costs.len());
    let in_folds = cost.as_ref().map_or(&[][..], |cost| &cost.in_folds);
    let has =
        |feature: &usize| in_folds.iter().filter(|fold| fold.features.contains(feature)).count();
    let report = FeatureBudgetReport {
        chosen_in_folds: found.features.iter().map(has).collect(),
        folds: in_folds.len(),
        cost: budget.cost(&found.features),
        finished: found.finished && in_folds.iter().all(|fold| fold.finished),
        features: found.features,
        within_budget: cost.as_ref().map_or(Vec::new(), |cost| cost.within_budget.clone()),
        all_features: cost.as_ref().map_or(Vec::new(), |cost| cost.all_features.clone()),
    };
    Ok(Some((kept, report)))
}
