//! One tree: CART, or a search over whole trees.

use std::time::Instant;

use swarmwood_learn::cart::{self, Choice, Growing, Limits, Path};
use swarmwood_learn::event::{Event, Flow, Search, Stage};
use swarmwood_learn::leaf_loss::Loss;
use swarmwood_learn::ranked::{MOST_CODES, Ranked, Target};
use swarmwood_learn::sketch::{self, Sketch};
use swarmwood_learn::tree_search::{self, Arm, Menu, Settings, Standing};
use swarmwood_model::{Body, Member, TargetKind};

use super::{Job, Learner, Trained, TreeReport, flown, gather, measure};
use crate::message::Message;
use crate::params::{Method, Params, Prune};
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
pub(super) struct SingleTree {
    pub(super) method: Method,
    pub(super) finder: TreeFinder,
}

impl Learner for SingleTree {
    fn method(&self) -> Method {
        self.method
    }

    fn train(&self, job: &Job<'_>, watch: &mut dyn FnMut(&Event) -> Flow) -> Result<Trained> {
        train(job, self.finder, watch)
    }
}

/// Trains on ranks of values, which must all be in memory.
fn train(
    job: &Job<'_>,
    finder: TreeFinder,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> Result<Trained> {
    let started = Instant::now();
    let target = &job.rows.schema.target.kind;
    let loss = registry::leaf_loss(job.params, target)?;
    let chunk = gather(job.rows)?;
    let valid = job.valid.map(gather).transpose()?;
    let classes = match target {
        TargetKind::Number => None,
        TargetKind::Classes(names) => Some(names.len()),
    };
    let most = if job.params.thresholds == 0 { MOST_CODES } else { job.params.thresholds + 1 };
    let mut table = Ranked::in_pool(&chunk, &job.rows.schema.features, classes, most, job.pool);
    if job.params.balanced {
        table = balance(table);
    }
    let bin_seconds = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let found = match finder {
        TreeFinder::Cart => Found::fitted(grow(job, &table, &loss), &table, &loss),
        TreeFinder::Search => Found::fitted(search(job, &table, &loss, watch), &table, &loss),
        TreeFinder::Grid => flown::search_grid(job, &table, &loss, watch)?,
        TreeFinder::Symbols => flown::search_symbols(job, &table, &loss, watch)?,
        TreeFinder::SplitPoints => flown::search_split_points(job, &table, &loss, watch)?,
    };
    let Found { members, report, warnings, notes } = found;
    let train_seconds = started.elapsed().as_secs_f64();
    let model = job.model(vec![0.0; members.len()], Body::Trees(members));
    let train_metrics = measure(job, &model, &chunk)?;
    let valid_metrics =
        valid.as_ref().map(|valid| measure(job, &model, valid)).transpose()?.unwrap_or_default();
    Ok(Trained {
        model,
        params: job.params.clone(),
        bin_seconds,
        train_seconds,
        rounds: 1,
        train_metrics,
        valid_metrics,
        search: None,
        flight: None,
        tree: Some(report),
        warnings,
        notes,
    })
}

/// What a learner of one tree ends with.
pub(super) struct Found {
    pub(super) members: Vec<Member>,
    pub(super) report: TreeReport,
    pub(super) warnings: Vec<Message>,
    pub(super) notes: Vec<String>,
}

impl Found {
    /// A tree whose leaves are still to be fitted.
    fn fitted((mut tree, report): (Sketch, TreeReport), table: &Ranked, loss: &Loss) -> Self {
        let members = sketch::members(&mut tree, table, loss);
        Found { members, report, warnings: Vec::new(), notes: Vec::new() }
    }
}

/// Weights under which every class counts the same.
fn balance(table: Ranked) -> Ranked {
    let Target::Classes { of_row, count } = table.target() else { return table };
    let mut totals = vec![0.0; *count];
    (0..).zip(of_row).for_each(|(row, &class)| totals[usize::from(class)] += table.weight(row));
    let held = totals.iter().filter(|&&total| total > 0.0).count() as f64;
    let share = table.total_weight() / held;
    let weight = (0..)
        .zip(of_row)
        .map(|(row, &class)| table.weight(row) * share / totals[usize::from(class)])
        .collect();
    table.with_weight(weight)
}

pub(super) fn limits(params: &Params) -> Limits {
    Limits {
        leaves: params.max_leaves,
        depth: params.depth,
        min_leaf: params.min_leaf.unwrap_or(1),
    }
}

/// How far a grown tree is cut back, if it is.
pub(super) fn pruning(params: &Params) -> Option<Choice> {
    match params.prune {
        Prune::None => None,
        Prune::Best => Some(Choice::Best),
        Prune::OneStandardError => Some(Choice::OneStandardError),
    }
}

/// CART.
fn grow(job: &Job<'_>, table: &Ranked, loss: &Loss) -> (Sketch, TreeReport) {
    let features: Vec<u32> = (0..table.columns().len() as u32).collect();
    // Costs decide what leaves say; splits that are good for the next ones are found by impurity.
    let by = if matches!(loss, Loss::Costs(_)) { &Loss::Gini } else { loss };
    let growing = Growing {
        table,
        loss: by,
        limits: limits(job.params),
        features: &features,
        pool: job.pool,
    };
    let grown = cart::grow(&growing);
    // A tree that was cut short is not cut back as well.
    let (tree, validated) = match pruning(job.params).filter(|_| !job.pool.hurried()) {
        None => (grown, Vec::new()),
        Some(choice) => {
            let path = Path::new(grown, table, by);
            let folds = cart::deal(table, job.params.folds, job.params.seed, 0, job.pool);
            let (alpha, validated) =
                cart::choose_alpha(&growing, &path, &judge(loss), &folds, choice);
            (path.tree(alpha), validated)
        }
    };
    let arm = |one: &cart::Validated| Arm {
        leaves: one.leaves,
        searched: false,
        error: one.error,
        deviation: one.deviation,
    };
    let arms = validated.iter().map(arm).collect();
    let report = TreeReport { arms, ..told(job, table, loss, &tree) };
    (tree, report)
}

/// What errors on unseen rows are counted by.
fn judge(loss: &Loss) -> Loss {
    match loss {
        Loss::Squared | Loss::Absolute | Loss::Costs(_) => loss.clone(),
        _ => Loss::Error,
    }
}

/// A search over whole trees.
fn search(
    job: &Job<'_>,
    table: &Ranked,
    loss: &Loss,
    watch: &mut dyn FnMut(&Event) -> Flow,
) -> (Sketch, TreeReport) {
    let params = job.params;
    let descents = match (params.budget, loss.is_of_classes()) {
        (0, true) => tree_search::DESCENTS,
        // Kicks follow the noise of a number too well to help on unseen rows.
        (0, false) => 0,
        (said, _) => said,
    };
    let mut settings = Settings {
        loss: loss.clone(),
        limits: limits(params),
        population: params.population.unwrap_or(1),
        descents,
        seed: params.seed,
    };
    let halt = || job.halted();
    let given = params.max_leaves > 0 || params.depth > 0;
    let sizes = if given { &[params.max_leaves][..] } else { &tree_search::SIZES };
    let measure = judge(loss);
    let menu = Menu {
        sizes,
        with_cart: params.guard.unwrap_or(false),
        measure: &measure,
        folds: params.folds,
    };
    let (mut arms, mut hand) = (Vec::new(), None);
    if sizes.len() > 1 || menu.with_cart {
        (arms, hand) = tree_search::choose(table, &settings, menu, job.pool, &halt);
        settings.limits.leaves = arms[0].leaves;
    }
    let searched = arms.first().is_none_or(|arm| arm.searched);
    let weight = table.total_weight();
    let name = if matches!(loss, Loss::Costs(_)) { "cost" } else { params.criterion.name() };
    // The squared loss leaves a constant out, which the mean must not.
    let constant = constant(table, loss);
    let mean = |loss: f64| (loss + constant) / weight;
    let mut listen = |standing: &Standing| watch(&event(standing, name, &mean));
    let found = match searched {
        true => tree_search::search(table, &settings, job.pool, &mut listen, &halt),
        false => tree_search::without_search(table, &settings, job.pool),
    };
    let mut best = found.best;
    if let Some(hand) = hand.filter(|_| job.pool.hurried() && found.descents == 0) {
        // There was no time for a tree of all rows; the rules of one of most of them do as well.
        best.sketch = hand;
    }
    let report = TreeReport {
        start: Some((found.cart.loss + constant) / weight),
        descents: found.descents,
        sweeps: found.sweeps,
        arms,
        searched,
        ..told(job, table, loss, &best.sketch)
    };
    (best.sketch, report)
}

/// A step in the words of events.
fn event(standing: &Standing, measure: &'static str, mean: &dyn Fn(f64) -> f64) -> Event {
    let search = Search {
        measure,
        best: Some(mean(standing.best)),
        gain: Some(1.0 - mean(standing.best) / mean(standing.cart)).filter(|gain| gain.is_finite()),
        mean: Some(mean(standing.mean)),
        diversity: None,
        factor: None,
        alpha: None,
        beta: None,
        evaluations: standing.sweeps,
        repeats: 0,
    };
    let event = Event::new(Stage::DESCENTS, standing.descents, standing.of);
    Event { train: Some(mean(standing.best)), search: Some(search), ..event }
}

/// What the squared loss of leaves leaves out.
fn constant(table: &Ranked, loss: &Loss) -> f64 {
    match table.target() {
        Target::Numbers { of_row, .. } if *loss == Loss::Squared => {
            (0..).zip(of_row).map(|(row, target)| table.weight(row) * target * target).sum()
        }
        _ => 0.0,
    }
}

fn told(job: &Job<'_>, table: &Ranked, loss: &Loss, tree: &Sketch) -> TreeReport {
    let (_, leaves) = sketch::fit(tree, table, loss);
    let total = leaves.iter().map(|leaf| leaf.loss).sum::<f64>() + constant(table, loss);
    TreeReport {
        leaves: tree.leaves(),
        depth: tree.twig(tree.root()).depth(),
        measure: match loss {
            Loss::Costs(_) => "cost",
            Loss::Error => "error",
            _ => job.params.criterion.name(),
        },
        loss: total / table.total_weight(),
        start: None,
        descents: 0,
        sweeps: 0,
        arms: Vec::new(),
        searched: false,
        flight: None,
    }
}
