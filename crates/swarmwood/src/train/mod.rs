//! Trains a model from rows and checked parameters.
//!
//! [`LEARNERS`] lists the learners. Each is given a [`Job`] and ends with a [`TrainResult`] model;
//! what they have in common is here: binning, checkpoints, metrics, time limits.

mod binning;
mod calibration;
mod checkpoint_writer;
mod cluster;
mod constraints;
mod continuation;
mod decision_threshold;
mod distinct_rows;
mod ensemble_search;
mod event_log;
mod feature_budget;
mod fold;
mod fold_task_rows;
mod greedy;
mod held_out;
mod intervals;
mod job;
mod joined;
mod learner;
mod linear;
mod logged_search;
mod options;
mod points;
mod pretrained;
mod published;
mod report;
mod row_counts;
mod run_objective;
mod search_space;
mod several_targets;
mod single;
mod swarm_run;
mod tree_sum;
mod tree_swarms;
mod trees;

use std::time::{Duration, Instant};

use swarmwood_learn::budget::Budget;
use swarmwood_learn::event::Event;
use swarmwood_learn::pool::Pool;

use crate::error::Violation;
use crate::params::{LearnerOutput, Method, Params, ValidParams};
use crate::read::Rows;
use crate::{Error, Result};
pub use fold::{FoldData, FoldFit};
pub use fold_task_rows::FoldTaskRows;
pub use job::Job;
use job::{add_rows, gather, measure, objective_and_metric};
pub(crate) use joined::{OutputMeaning, join_outputs};
pub use learner::Learner;
pub use options::TrainOptions;
use published::{RuleSequencePolicy, RuleSequenceSwarm, RuleSource};
pub use report::{GridReport, SwarmReport, TrainResult, TreeReport, TreeSwarmReport};
use run_objective::RunObjective;
pub use run_objective::validation_metric;
pub use search_space::SearchSpace;
pub(crate) use several_targets::{LEAST_SECONDS, keep_of};
use single::{SingleTreeLearner, TreeFinder};

/// Every learner of the library. A new one is a line here and a constant in `params/methods.rs`.
pub const LEARNERS: &[&dyn Learner] = &[
    &ensemble_search::EnsembleSearch,
    &greedy::GreedyBoosting,
    &RuleSequenceSwarm { method: Method::SGBDT, rules: RuleSource::DistinctValues },
    &RuleSequenceSwarm { method: Method::SGBDT_BINS, rules: RuleSource::BinBoundaries },
    &RuleSequenceSwarm { method: Method::PSGBDT, rules: RuleSource::Pretrained },
    &RuleSequencePolicy,
    &tree_sum::TreeSumLearner,
    &SingleTreeLearner { method: Method::SWARM_TREE, finder: TreeFinder::Search },
    &SingleTreeLearner { method: Method::CART, finder: TreeFinder::Cart },
    &SingleTreeLearner { method: Method::APSO_TREE, finder: TreeFinder::Grid },
    &SingleTreeLearner { method: Method::TSO_TREE, finder: TreeFinder::Symbols },
    &SingleTreeLearner { method: Method::SPLIT_TREE, finder: TreeFinder::SplitPoints },
];

/// The learner of a method.
pub fn learner(method: Method) -> Result<&'static dyn Learner> {
    LEARNERS.iter().copied().find(|learner| learner.method() == method).ok_or_else(|| {
        let name = method.name();
        Error::Run(format!("the method {name} has no learner here; use train_learner"))
    })
}

/// Trains with the method the parameters name. `observer` is called at every step.
///
/// ```
/// use swarmwood::params::{Method, Params};
/// use swarmwood::read::{self, ReadOptions, Source};
/// use swarmwood::train;
///
/// let csv = b"size,price\n1,10\n2,20\n3,30\n4,40\n";
/// let options = ReadOptions { target: "price".into(), ..ReadOptions::default() };
/// let rows = read::training(&Source::Bytes("houses.csv".into(), csv), &options)?;
/// let params = Params { trees: 50, learning_rate: 1.0, lambda: 0.0, ..Params::of(Method::GREEDY) };
/// let trained = train::train(&rows, None, &params.check()?, &mut |_| {})?;
/// let rmse = trained.train_metrics.iter().find(|metric| metric.0 == "rmse").map(|metric| metric.1);
/// assert!(rmse.is_some_and(|rmse| rmse < 1e-3));
/// # Ok::<(), swarmwood::Error>(())
/// ```
pub fn train(
    rows: &Rows,
    valid: Option<&Rows>,
    params: &ValidParams,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    train_with(rows, valid, params, &TrainOptions::default(), observer)
}

/// The same with a model to start from, with checkpoints, or with limits of the caller's.
pub fn train_with(
    rows: &Rows,
    valid: Option<&Rows>,
    params: &ValidParams,
    options: &TrainOptions,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    train_learner(learner(params.method)?, (rows, valid), params, options, observer)
}

/// The same with a learner that need not be one of the library's; `rows` are the training and the
/// validation rows, and the parameters name its method.
pub fn train_learner(
    learner: &dyn Learner,
    (rows, valid): (&Rows, Option<&Rows>),
    params: &ValidParams,
    options: &TrainOptions,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    match rows.schema.target.kind.columns() {
        [] => train_one_target(learner, (rows, valid), params, options, observer),
        _ => several_targets::train(learner, (rows, valid), params, options, observer),
    }
}

fn train_one_target(
    learner: &dyn Learner,
    (rows, valid): (&Rows, Option<&Rows>),
    params: &ValidParams,
    options: &TrainOptions,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    let target = &rows.schema.target.kind;
    let mut params = (**params).clone().resolve(target);
    crate::registry::check_task(&params, target)?;
    crate::registry::check_decisions(&params, target)?;
    calibration::check_rows(&params, rows.rows)?;
    let objective = RunObjective::new(&mut params, target, options)?;
    let params = &params;
    if params.early_stopping_rounds > 0 && valid.is_none() {
        let message = "needs validation rows to watch";
        return Err(Error::Parameters(vec![Violation::new("early_stopping_rounds", message)]));
    }
    options.check(params)?;
    if options.task_runner.is_some() && !learner.has_tasks() {
        let able = LEARNERS.iter().filter(|learner| learner.has_tasks());
        let able: Vec<&str> = able.map(|learner| learner.method().name()).collect();
        let message = format!("is for methods that compare candidates: {}", able.join(", "));
        return Err(Error::Parameters(vec![Violation::new("executor", message)]));
    }

    let constraints = constraints::resolve(params, &rows.schema)?;
    constraints::check_rows(&constraints, rows)?;

    let started = Instant::now();
    let scores = rows.rows.saturating_mul(objective.spec.classes().max(1));
    let share = held_out::training_share(learner, params, valid.is_some());
    let limits = |share: f64| {
        objective.limit(budget(params, options.budget.as_ref(), (started, share), scores))
    };
    let (budget, held_out_budget) = (limits(share), limits(1.0));
    let pool = Pool::new(params.threads).map_err(Error::Run)?;
    let job = Job {
        rows,
        valid,
        params,
        options,
        spec: objective.spec,
        objective: objective.objective(),
        custom: objective.custom(),
        metric: objective.metric,
        constraints: &constraints,
        pool: &pool,
        budget: &budget,
        held_out: params.is_calibrated().then_some(&held_out_budget),
    };
    cluster::check(&job)?;
    let mut observer = |event: &Event| {
        let elapsed =
            if event.elapsed > 0.0 { event.elapsed } else { started.elapsed().as_secs_f64() };
        observer(&Event { elapsed, ..event.clone() });
    };

    let trained = learner.train(&job, &mut observer);
    objective.check()?;
    let mut trained = trained?;
    points::apply(&job, &mut trained)?;
    calibration::calibrate(learner, &job, &mut trained)?;
    row_counts::store(&job, &mut trained.model)?;
    objective.check()?;
    for rows in &options.watched {
        let metrics = measure(&job, &trained.model, &gather(rows)?)?;
        trained.watched_metrics.push(metrics);
    }

    let limit = params.time_limit;
    let noted = trained.notes.iter().any(|note| note.starts_with("the time limit of"));
    if !noted && budget.was_interrupted() && budget.deadline_passed() {
        let done = trained.finished_work();
        trained.notes.push(format!("the time limit of {limit} s ended training after {done}"));
    }
    Ok(trained)
}

/// Time that the evaluation of one score of a training row takes, at most.
const TIME_PER_SCORE: Duration = Duration::from_nanos(80);

/// The limits of a run: the caller's, a share of the time limit, and the work limit of the
/// parameters. Of the time, some is kept for the metrics of the training rows, which have so many
/// scores.
fn budget(
    params: &Params,
    caller: Option<&Budget>,
    (started, share): (Instant, f64),
    scores: usize,
) -> Budget {
    let mut budget = Budget::unlimited();
    if let Some(caller) = caller.cloned() {
        budget = budget.with_interrupt(move || caller.is_interrupted());
    }
    let limit = Duration::try_from_secs_f64(params.time_limit * share).ok();
    let reserve = TIME_PER_SCORE.saturating_mul(u32::try_from(scores).unwrap_or(u32::MAX));
    if let Some(limit) = limit.filter(|limit| !limit.is_zero())
        && let Some(deadline) = started.checked_add(limit - reserve.min(limit / 2))
    {
        budget = budget.with_deadline(deadline);
    }
    // The search over one tree counts descents, not trees.
    let counts_trees = params.method.spec().output == LearnerOutput::Ensemble;
    if params.budget > 0 && params.method.spec().uses("budget") && counts_trees {
        budget = budget.with_work_limit(params.budget as u64);
    }
    budget
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_one_learner() {
        for &method in Method::ALL {
            let count = LEARNERS.iter().filter(|learner| learner.method() == method).count();
            assert_eq!(count, 1, "{}", method.name());
        }
        assert_eq!(LEARNERS.len(), Method::ALL.len());
    }
}
