//! One tree by a particle swarm, as published: over the thresholds of a grid, over a matrix of
//! symbols, or over the split points of a model that was trained before.

use swarmwood_learn::cart::TreeLimits;
use swarmwood_learn::event::Event;
use swarmwood_learn::leaf_loss::LeafLoss;
use swarmwood_learn::plan::TaskLog;
use swarmwood_learn::rank_table::RankTable;
use swarmwood_learn::rank_tree::{ClassifierTree, NodeFit, fit_nodes};
use swarmwood_learn::rule::BinRule;
use swarmwood_learn::stats::LocalBackends;
use swarmwood_model::{Split, TargetKind};
use swarmwood_papers::class_fitness::{ClassFitness, FitnessMeasure};
use swarmwood_papers::full_tree::split_points::{self, MoveProbabilities, SplitPoints};
use swarmwood_papers::full_tree::{self, FullTreeError, symbols};
use swarmwood_papers::particle::TreeForm;
use swarmwood_papers::rule_table::RuleTable;
use swarmwood_papers::threshold_grid::{
    self as grid, EmptyCellRule, GridError, GridSelection, GridTreeConfig, GridVariables,
    ThresholdOptimizer,
};

use super::single::{SingleTreeFit, TreeProblem, limits, pruning};
use super::{GridReport, Job, TreeReport, TreeSwarmReport, binning, published};
use crate::error::Violation;
use crate::message::Message;
use crate::params::{EmptyCells, FitnessChoice, Optimizer, Params, SelectBy, Variables};
use crate::{Error, Result};

/// A particle swarm over a matrix of symbols.
pub(super) fn search_symbols(
    problem: TreeProblem<'_>,
    log: &mut TaskLog<'_>,
) -> Result<SingleTreeFit> {
    let config = full_tree_config(problem.job.params);
    let found = symbols::search(problem.table, &config, problem.context, log);
    full_tree_fit(problem, found)
}

/// A particle swarm over the split points of a model.
pub(super) fn search_split_points(
    problem: TreeProblem<'_>,
    log: &mut TaskLog<'_>,
) -> Result<SingleTreeFit> {
    let TreeProblem { job, table, context, splits, .. } = problem;
    let of_numbers = job.rows.schema.target.kind == TargetKind::Number;
    if of_numbers != (job.params.fitness == FitnessChoice::Rmse) {
        let name = job.params.fitness.name();
        let message = format!("is {name}, which is for targets of classes; 'auto' fits every task");
        return Err(violation("fitness", message.into()));
    }
    let config = full_tree_config(job.params);
    let points = SplitPoints::new(splits.to_vec(), table);
    let Params { alpha, beta, mutation, adaptive, .. } = *job.params;
    let moves = MoveProbabilities { alpha, beta, mutation, adaptive };
    let found = split_points::search(table, &points, (&config, moves), context, log);
    full_tree_fit(problem, found)
}

fn full_tree_config(params: &Params) -> full_tree::FullTreeConfig {
    full_tree::FullTreeConfig {
        depth: params.depth,
        population: params.population.unwrap_or(50),
        iterations: params.iterations,
        fitness: fitness(params),
        seed: params.seed,
    }
}

/// The tree of a swarm over a full tree, and its report.
fn full_tree_fit(
    problem: TreeProblem<'_>,
    found: std::result::Result<full_tree::FullTreeResult, FullTreeError>,
) -> Result<SingleTreeFit> {
    let found = found.map_err(|error| refused(&error))?;
    let swarm = TreeSwarmReport {
        metric: found.measure,
        best: found.fitness,
        iterations: found.iterations,
        evaluations: found.evaluations,
        cache_hits: found.repeats,
        choices: found.choices,
        grid: None,
    };
    let report = report(&found.tree, swarm, None);
    let member = found.tree.to_member(problem.table, problem.loss, problem.context.pool);
    Ok(SingleTreeFit { member, report, warnings: Vec::new(), notes: Vec::new() })
}

/// The published three phases, and pruning to a size that the user gives.
pub(super) fn search_grid(
    problem: TreeProblem<'_>,
    log: &mut TaskLog<'_>,
) -> Result<SingleTreeFit> {
    let TreeProblem { job, table, loss, context, .. } = problem;
    let params = job.params;
    let config = grid_config(params);
    let found = grid::search(table, &config, context, log).map_err(|error| no_grid(job, &error))?;
    let mut tree = found.grid.to_tree(table);
    let mut fitness = found.fitness;
    if params.max_leaves > 0 && tree.rules.leaves() > params.max_leaves {
        tree = grid::prune_to_size(tree, table, params.max_leaves);
        fitness = training_fitness(&tree, table, config.fitness);
    }

    let swarm = TreeSwarmReport {
        metric: config.fitness.name(),
        best: found.fitness,
        iterations: found.iterations,
        evaluations: found.evaluations,
        cache_hits: 0,
        choices: found.thresholds,
        grid: Some(GridReport {
            features: found.grid.size.features,
            thresholds: found.grid.size.thresholds,
            cells: found.grid.size.cells,
            occupied: found.grid.size.occupied,
            kept: found.grid.cuts.iter().map(Vec::len).sum(),
            boxes: found.grid.boxes.len(),
            searched: found.repeats,
        }),
    };
    let mut warnings = Vec::new();
    if found.preliminary.leaves() == 1 {
        let message = "the preliminary tree was cut back to one leaf, so that no threshold is \
                       left to move; ";
        let warning = Message::from(message).setting("prune", "none").text(" keeps all of it");
        warnings.push(warning);
    }
    let mut notes = Vec::new();
    if !found.grid.is_filled && config.empty == EmptyCellRule::Random {
        notes.push(format!(
            "the grid has more than {} cells, so that empty cells predict as the leaf that they \
             fall into",
            grid::MAX_FILLED_CELLS
        ));
    }
    let report = TreeReport {
        loss: 1.0 - fitness,
        ..report(&tree, swarm, Some(1.0 - found.preliminary_fitness))
    };
    let member = tree.to_member(table, loss, context.pool);
    Ok(SingleTreeFit { member, report, warnings, notes })
}

fn grid_config(params: &Params) -> GridTreeConfig {
    GridTreeConfig {
        // The number of leaves limits the final tree, not the preliminary one.
        limits: TreeLimits { leaves: 0, ..limits(params) },
        prune: pruning(params),
        folds: params.folds,
        variables: match params.variables {
            Variables::Cart => GridVariables::Tree,
            Variables::Forest => GridVariables::Forest,
        },
        optimizer: match params.optimizer {
            Optimizer::Apso => ThresholdOptimizer::Apso,
            Optimizer::Pso => ThresholdOptimizer::Pso,
            Optimizer::Ga => ThresholdOptimizer::Ga,
            Optimizer::De => ThresholdOptimizer::De,
            Optimizer::Annealing => ThresholdOptimizer::Annealing,
            Optimizer::Cmaes => ThresholdOptimizer::CmaEs,
            Optimizer::Aco => ThresholdOptimizer::Aco,
            Optimizer::Random => ThresholdOptimizer::Random,
        },
        population: params.population.unwrap_or(100),
        iterations: params.iterations,
        fitness: fitness(params),
        empty: match params.empty_cells {
            EmptyCells::Nearest => EmptyCellRule::Nearest,
            EmptyCells::Random => EmptyCellRule::Random,
        },
        repeats: params.repeats,
        selection: match params.select_by {
            SelectBy::Training => GridSelection::Training,
            SelectBy::CrossValidation => GridSelection::CrossValidation,
        },
        max_thresholds: params.grid_thresholds,
        seed: params.seed,
    }
}

/// The fitness of a tree on the training rows.
fn training_fitness(tree: &ClassifierTree, table: &RankTable, measure: FitnessMeasure) -> f64 {
    let Some(fitness) = ClassFitness::new(table, measure) else { return 0.0 };
    let (_, leaves) = fit_nodes(&tree.rules, table, &LeafLoss::Error);
    let worth =
        |(leaf, &class): (&NodeFit, &u16)| fitness.contribution(&leaf.sums, usize::from(class));
    fitness.fitness(leaves.iter().zip(&tree.classes).map(worth).sum())
}

fn report(tree: &ClassifierTree, swarm: TreeSwarmReport, greedy_loss: Option<f64>) -> TreeReport {
    let (criterion, loss) = match swarm.metric {
        "rmse" => ("rmse", swarm.best),
        "accuracy" => ("error", 1.0 - swarm.best),
        _ => ("1 - recall", 1.0 - swarm.best),
    };
    TreeReport {
        leaves: tree.rules.leaves(),
        depth: tree.rules.subtree(tree.rules.root()).depth(),
        criterion,
        loss,
        greedy_loss,
        descents: 0,
        sweeps: 0,
        searched: true,
        candidates: Vec::new(),
        swarm: Some(swarm),
    }
}

fn fitness(params: &Params) -> FitnessMeasure {
    match params.fitness {
        FitnessChoice::Recall => FitnessMeasure::Recall { sensitivity: params.sensitivity },
        _ => FitnessMeasure::Accuracy,
    }
}

/// The splits of a greedy ensemble that is grown for them.
pub(super) fn pretrain(job: &Job<'_>, observer: &mut dyn FnMut(&Event)) -> Result<Vec<Split>> {
    let data = binning::training(job, None)?;
    let grown =
        published::grow(job, (&data, &LocalBackends), TreeForm::Free, job.params.lambda, observer)?;
    let mut rules: Vec<BinRule> =
        grown.iter().flat_map(|tree| &tree.nodes).map(|node| node.rule).collect();
    if rules.is_empty() {
        // No split pays in the greedy run, as may be in small or skewed tables; any boundary of
        // bins may then be tried.
        rules = RuleTable::bins(&data).rules().to_vec();
    }
    Ok(rules.iter().map(|rule| data.layout.split(rule)).collect())
}

fn violation(name: &str, message: Message) -> Error {
    Error::Parameters(vec![Violation::new(name, message)])
}

/// Why there is no tree, and how to mend it.
fn refused(error: &FullTreeError) -> Error {
    match error {
        FullTreeError::TooLong { depth, .. } => {
            let longest = symbols::MAX_POSITION_LENGTH;
            let message = format!("is {depth}, but {error}, more than {longest}; lower it or use ");
            violation("depth", Message::from(message).setting("method", "split-tree"))
        }
        FullTreeError::NoSplits => Error::Run(format!(
            "{error}: every feature has one value, or the model to take splits from belongs to other data"
        )),
        FullTreeError::NoClasses | FullTreeError::Engine(_) => Error::Run(error.to_string()),
    }
}

/// Why there is no grid, and how to mend it.
fn no_grid(job: &Job<'_>, error: &GridError) -> Error {
    match error {
        GridError::Category { feature } => {
            let name = &job.rows.schema.features[*feature as usize].name;
            let message = format!(
                "is apso-tree, which cuts numbers into a grid, but column '{name}' holds \
                 categories; leave it out with "
            );
            let message = Message::from(message).ignore_column(name);
            violation("method", message.text(", or use ").setting("method", "swarm-tree"))
        }
        GridError::NoClasses | GridError::Engine(_) => Error::Run(error.to_string()),
    }
}
