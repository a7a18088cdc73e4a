//! One tree: CART, a search over whole trees, or a particle swarm as published.

use std::time::Instant;

use swarmwood_learn::cart::{
    self, CartGrower, PruningChoice, PruningConfig, PruningScore, RuleSelection, TreeLimits,
};
use swarmwood_learn::context::Context;
use swarmwood_learn::data::Chunk;
use swarmwood_learn::event::{Event, SearchStatus, Stage};
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::{MAX_CODES, RankTable, RankTarget};
use swarmwood_learn::rank_tree::{self, RankTree};
use swarmwood_learn::tree_search::{
    self, TreeCandidateScore, TreeCvConfig, TreeSearchConfig, TreeSearchProgress, TreeSelection,
};
use swarmwood_model::{Body, Member, Shape, Split, TargetKind};

use super::checkpoint_writer::CheckpointWriter;
use super::logged_search::{refused, run_logged};
use super::pretrained::PretrainedSplits;
use super::{Job, Learner, TrainResult, TreeReport, feature_budget, gather, measure, tree_swarms};
use crate::message::Message;
use crate::params::{Criterion, Method, Params, Prune};
use crate::{Result, registry};

/// How the tree is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeFinder {
    /// Greedy growth and pruning.
    Cart,
    /// The search over whole trees.
    Search,
    /// A particle swarm over the thresholds of a grid.
    Grid,
    /// A particle swarm over symbols.
    Symbols,
    /// A particle swarm over the split points of a model.
    SplitPoints,
}

/// A learner of one tree.
pub(super) struct SingleTreeLearner {
    pub(super) method: Method,
    pub(super) finder: TreeFinder,
}

impl Learner for SingleTreeLearner {
    fn method(&self) -> Method {
        self.method
    }

    fn train(&self, job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<TrainResult> {
        train(job, self.finder, observer)
    }
}

/// What every finder of a tree works with.
#[derive(Clone, Copy)]
pub(super) struct TreeProblem<'a> {
    /// The run.
    pub(super) job: &'a Job<'a>,
    /// The training rows.
    pub(super) table: &'a RankTable,
    /// The training loss.
    pub(super) loss: &'a LeafLoss,
    /// Threads and limits.
    pub(super) context: Context<'a>,
    /// The splits that a tree may be made of, for the finder that is given them.
    pub(super) splits: &'a [Split],
}

/// The result of a finder of one tree.
pub(super) struct SingleTreeFit {
    pub(super) member: Member,
    pub(super) report: TreeReport,
    pub(super) warnings: Vec<Message>,
    pub(super) notes: Vec<String>,
}

impl SingleTreeFit {
    /// The model of a tree whose leaves are still to be fitted.
    fn fitted((mut tree, report): (RankTree, TreeReport), problem: TreeProblem<'_>) -> Self {
        let member = rank_tree::to_member(&mut tree, problem.table, problem.loss);
        SingleTreeFit { member, report, warnings: Vec::new(), notes: Vec::new() }
    }
}

/// Trains on ranks of values, which must all be in memory.
fn train(
    job: &Job<'_>,
    finder: TreeFinder,
    observer: &mut dyn FnMut(&Event),
) -> Result<TrainResult> {
    let started = Instant::now();
    let loss = registry::leaf_loss(job.params, &job.rows.schema.target.kind)?;
    let chunk = gather(job.rows)?;
    job.check_targets(chunk.target.iter().copied())?;
    let valid = job.valid.map(gather).transpose()?;
    let context = job.context();
    let chosen = feature_budget::choose_for_table(job, observer)?;
    let mut table = rank(job, &chunk, context);
    if let Some((kept, _)) = &chosen {
        table = table.with_features(kept);
    }
    let pretrained = match &job.options.pretrained {
        Some(path) => Some(PretrainedSplits::load(path, &job.rows.schema)?),
        None => None,
    };
    let bin_seconds = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let splits = match (finder, &pretrained) {
        (TreeFinder::SplitPoints, Some(pretrained)) => pretrained.splits().to_vec(),
        (TreeFinder::SplitPoints, None) => tree_swarms::pretrain(job, observer)?,
        _ => Vec::new(),
    };
    let problem = TreeProblem { job, table: &table, loss: &loss, context, splits: &splits };
    let print = pretrained.as_ref().map(PretrainedSplits::fingerprint);
    // A table or a pre-training that was cut short makes another search, which no checkpoint fits.
    let is_cut = context.budget.is_interrupted();
    let keep = job.options.keep.as_ref().filter(|_| !is_cut);
    let checkpoints = keep.map(|keep| CheckpointWriter::new(keep, job, print)).transpose()?;
    let SingleTreeFit { member, report, warnings, notes } =
        find_tree(problem, finder, checkpoints.as_ref(), observer)?;
    let train_seconds = started.elapsed().as_secs_f64();

    let outputs = match &member.shape {
        Shape::Vector(vector) => vector.outputs(),
        _ => 1,
    };
    let model = job.model(vec![0.0; outputs], Body::Trees(vec![member]));
    let train_metrics = measure(job, &model, &chunk)?;
    let valid_metrics =
        valid.as_ref().map(|valid| measure(job, &model, valid)).transpose()?.unwrap_or_default();
    Ok(TrainResult {
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        rounds: 1,
        train_metrics,
        valid_metrics,
        held_out: None,
        watched_metrics: Vec::new(),
        search: None,
        features: chosen.map(|(_, report)| report),
        swarm: None,
        tree: Some(report),
        warnings,
        notes,
        columns: Vec::new(),
    })
}

/// Finds the tree, from the beginning or from a checkpoint, and stores the state on the way.
fn find_tree(
    problem: TreeProblem<'_>,
    finder: TreeFinder,
    checkpoints: Option<&CheckpointWriter<'_>>,
    observer: &mut dyn FnMut(&Event),
) -> Result<SingleTreeFit> {
    let TreeProblem { job, context, .. } = problem;
    let mut warnings = Vec::new();
    let mut found = run_logged(job, checkpoints, &mut warnings, observer, |log| match finder {
        TreeFinder::Cart => grow(problem, log)
            .map(|tree| SingleTreeFit::fitted(tree, problem))
            .map_err(|error| refused(checkpoints, &error)),
        TreeFinder::Search => search(problem, log)
            .map(|(tree, report, note)| {
                let fit = SingleTreeFit::fitted((tree, report), problem);
                SingleTreeFit { notes: note.into_iter().collect(), ..fit }
            })
            .map_err(|error| refused(checkpoints, &error)),
        TreeFinder::Grid => tree_swarms::search_grid(problem, log),
        TreeFinder::Symbols => tree_swarms::search_symbols(problem, log),
        TreeFinder::SplitPoints => tree_swarms::search_split_points(problem, log),
    })?;

    let budget = context.budget;
    if budget.is_interrupted() && budget.deadline_passed() {
        let limit = job.params.time_limit;
        let done = found.report.finished_work();
        found.notes.push(format!("the time limit of {limit} s ended training after {done}"));
    }
    found.warnings.splice(0..0, warnings);
    Ok(found)
}

/// The training rows as ranks.
fn rank(job: &Job<'_>, chunk: &Chunk, context: Context<'_>) -> RankTable {
    let classes = match &job.rows.schema.target.kind {
        TargetKind::Number | TargetKind::Numbers(_) => None,
        TargetKind::Classes(names) => Some(names.len()),
    };
    let max_codes = match job.params.thresholds {
        0 => MAX_CODES,
        thresholds => thresholds + 1,
    };
    let features = &job.rows.schema.features;
    RankTable::in_context(chunk, features, classes, max_codes, context)
        .with_constraints(job.constraints.clone())
        .with_given_thresholds(&chunk.columns)
}

pub(super) fn limits(params: &Params) -> TreeLimits {
    TreeLimits {
        leaves: params.max_leaves,
        depth: params.depth,
        min_leaf: params.min_leaf.unwrap_or(1),
    }
}

/// How a grown tree is pruned, if it is.
pub(super) fn pruning(params: &Params) -> Option<PruningChoice> {
    match params.prune {
        Prune::None => None,
        Prune::Best => Some(PruningChoice::Best),
        Prune::OneStandardError => Some(PruningChoice::OneStandardError),
    }
}

/// CART.
fn grow(
    problem: TreeProblem<'_>,
    log: &mut TaskLog<'_>,
) -> std::result::Result<(RankTree, TreeReport), swarmwood_search::Error> {
    let TreeProblem { job, table, loss, context, .. } = problem;
    let features: Vec<u32> = (0..table.columns().len() as u32).collect();
    // Costs determine the predictions of leaves; impurity finds splits that prepare further ones.
    let by = match (loss, job.params.criterion) {
        (LeafLoss::Costs(_), Criterion::GainRatio) => &LeafLoss::Entropy,
        (LeafLoss::Costs(_), _) => &LeafLoss::Gini,
        _ => loss,
    };
    let limits = limits(job.params);
    let selection = match job.params.criterion {
        Criterion::GainRatio => RuleSelection::GainRatio,
        _ => RuleSelection::LeastLoss,
    };
    let grower = CartGrower { table, loss: by, selection, limits, features: &features, context };
    let measure = error_measure(loss);
    let (folds, seed) = (job.params.folds, job.params.seed);
    let pruning =
        pruning(job.params).map(|choice| PruningConfig { measure: &measure, folds, seed, choice });
    let fit = cart::fit_cart(&grower, pruning, log)?;

    let candidate = |score: &PruningScore| TreeCandidateScore {
        leaves: score.leaves,
        searched: false,
        error: score.error,
        deviation: score.deviation,
    };
    let candidates = fit.scores.iter().map(candidate).collect();
    let report = TreeReport { candidates, ..report(problem, &fit.tree, false) };
    Ok((fit.tree, report))
}

/// How errors on rows that were not fitted are counted.
fn error_measure(loss: &LeafLoss) -> LeafLoss {
    match loss {
        LeafLoss::Squared | LeafLoss::Absolute | LeafLoss::Costs(_) => loss.clone(),
        _ => LeafLoss::Error,
    }
}

/// A search over whole trees, and what there is to note about the comparison of their sizes.
fn search(
    problem: TreeProblem<'_>,
    log: &mut TaskLog<'_>,
) -> std::result::Result<(RankTree, TreeReport, Option<String>), swarmwood_search::Error> {
    let TreeProblem { job: Job { params, .. }, table, loss, context, .. } = problem;
    let descents = match (params.budget, loss.is_of_classes()) {
        (0, true) => tree_search::DEFAULT_DESCENTS,
        // For numbers, descents after the first overfit and do not help on unseen rows.
        (0, false) => 0,
        (descents, _) => descents,
    };
    let mut config = TreeSearchConfig {
        loss: loss.clone(),
        limits: limits(params),
        population: params.population.unwrap_or(1),
        descents,
        seed: params.seed,
    };

    let given = params.max_leaves > 0 || params.depth > 0;
    let mut sizes =
        if given { vec![params.max_leaves] } else { tree_search::DEFAULT_SIZES.to_vec() };
    let least = table.constraints().given_splits().leaves();
    sizes.retain(|&leaves| leaves == 0 || leaves >= least);
    if sizes.is_empty() {
        sizes.push(least);
    }
    config.limits.leaves = sizes[0];
    let measure = error_measure(loss);
    let with_cart = params.guard.unwrap_or(false);
    let cv = TreeCvConfig { sizes: &sizes, with_cart, measure: &measure, folds: params.folds };
    let mut selection = TreeSelection::default();
    if sizes.len() > 1 || cv.with_cart {
        selection = tree_search::select(table, &config, cv, context, log)?;
        config.limits.leaves = selection.candidates[0].leaves;
    }
    let searched = selection.candidates.first().is_none_or(|candidate| candidate.searched);

    let weight = table.total_weight();
    let name = if matches!(loss, LeafLoss::Costs(_)) { "cost" } else { params.criterion.name() };
    // The squared loss omits a constant, which the reported mean must include.
    let constant = constant(table, loss);
    let mean = |loss: f64| (loss + constant) / weight;
    let event = |progress: &TreeSearchProgress| event(progress, name, &mean);
    let found = match searched {
        true => tree_search::search_logged(table, &config, context, log, &event)?,
        false => tree_search::greedy_only(table, &config, context),
    };

    // A run that ends before there is a good tree of all rows can still use the rules of a tree
    // that was searched on most of them.
    let is_complete = selection.is_complete();
    let [finished, planned] = selection.finished;
    let note = (!is_complete).then(|| {
        format!("{finished} of {planned} fits of the comparison of tree sizes were finished")
    });
    let mut best = found.best;
    let is_early = context.budget.is_interrupted() && found.descents == 0;
    if let Some(tree) = selection.fallback.filter(|_| is_early) {
        let fits = !is_complete || tree.leaves() <= config.limits.leaves;
        let (_, leaves) = rank_tree::fit_nodes(&tree, table, loss);
        let total = leaves.iter().map(|leaf| leaf.loss).sum::<f64>();
        if fits && total < best.loss {
            best.tree = tree;
        }
    }

    let report = TreeReport {
        greedy_loss: found.cart_is_complete.then(|| mean(found.cart.loss)),
        descents: found.descents,
        sweeps: found.scans,
        // Without a finished fold there is nothing to tell of the candidates.
        candidates: selection.candidates.into_iter().filter(|one| !one.error.is_nan()).collect(),
        ..report(problem, &best.tree, searched)
    };
    Ok((best.tree, report, note))
}

/// The event of a generation.
fn event(progress: &TreeSearchProgress, measure: &'static str, mean: &dyn Fn(f64) -> f64) -> Event {
    let search = SearchStatus {
        measure,
        best: Some(mean(progress.best)),
        gain: Some(1.0 - mean(progress.best) / mean(progress.cart)).filter(|gain| gain.is_finite()),
        mean: Some(mean(progress.mean)),
        diversity: None,
        factor: None,
        alpha: None,
        beta: None,
        evaluations: progress.scans,
        repeats: 0,
    };
    let event = Event::new(Stage::DESCENTS, progress.descents, progress.max_descents);
    Event { train: Some(mean(progress.best)), search: Some(search), ..event }
}

/// The constant that the squared loss of leaves omits.
fn constant(table: &RankTable, loss: &LeafLoss) -> f64 {
    match table.target() {
        RankTarget::Numbers { of_row, .. } if *loss == LeafLoss::Squared => {
            (0..).zip(of_row).map(|(row, target)| table.weight(row) * target * target).sum()
        }
        _ => 0.0,
    }
}

/// What there is to report about any tree.
fn report(problem: TreeProblem<'_>, tree: &RankTree, searched: bool) -> TreeReport {
    let TreeProblem { job, table, loss, .. } = problem;
    let (_, leaves) = rank_tree::fit_nodes(tree, table, loss);
    let total = leaves.iter().map(|leaf| leaf.loss).sum::<f64>() + constant(table, loss);
    TreeReport {
        leaves: tree.leaves(),
        depth: tree.subtree(tree.root()).depth(),
        criterion: match loss {
            LeafLoss::Costs(_) => "cost",
            LeafLoss::Error => "error",
            LeafLoss::Entropy => "entropy",
            _ => job.params.criterion.name(),
        },
        loss: total / table.total_weight(),
        greedy_loss: None,
        descents: 0,
        sweeps: 0,
        candidates: Vec::new(),
        searched,
        swarm: None,
    }
}
