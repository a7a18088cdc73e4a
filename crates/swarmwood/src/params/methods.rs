//! The learners of the library: one [`LearnerSpec`] each, and the list of them.
//!
//! A new learner is a constant here and a line in [`SPECS`]; its code is a
//! [`Learner`](crate::train::Learner).

use swarmwood_model::TargetKind;

use super::learner_spec::{CustomLossSupport, LearnerOutput, LearnerSpec, Method, TargetSupport};
use super::method_checks::{
    check_bins, check_boosting, check_ensemble_search, check_rule_sequences, check_single_tree,
    check_tree_sum, check_tree_swarm,
};
use super::table::{Criterion, FitnessChoice, Growth, InitialDraw, Params};
use super::value::Auto;

/// Every learner, in the order of the help; the first is the default.
pub(super) const SPECS: [&LearnerSpec; 12] = [
    &SWARM,
    &GREEDY,
    &SGBDT,
    &SGBDT_BINS,
    &PSGBDT,
    &POLICY_GRADIENT,
    &TREE_SUM,
    &SWARM_TREE,
    &CART,
    &APSO_TREE,
    &TSO_TREE,
    &SPLIT_TREE,
];

/// Names for examples, tests and code that needs a particular learner.
impl Method {
    /// The default: a search over whole ensembles.
    pub const SWARM: Method = Method::of(&SWARM);
    /// Greedy boosting.
    pub const GREEDY: Method = Method::of(&GREEDY);
    /// The published swarm over distinct values.
    pub const SGBDT: Method = Method::of(&SGBDT);
    /// The published swarm over boundaries of bins.
    pub const SGBDT_BINS: Method = Method::of(&SGBDT_BINS);
    /// The published swarm over the splits of a model.
    pub const PSGBDT: Method = Method::of(&PSGBDT);
    /// A policy over sequences of rules.
    pub const POLICY_GRADIENT: Method = Method::of(&POLICY_GRADIENT);
    /// A sum of small trees under a budget of splits.
    pub const TREE_SUM: Method = Method::of(&TREE_SUM);
    /// The search over one tree.
    pub const SWARM_TREE: Method = Method::of(&SWARM_TREE);
    /// CART.
    pub const CART: Method = Method::of(&CART);
    /// The published swarm over a grid of thresholds.
    pub const APSO_TREE: Method = Method::of(&APSO_TREE);
    /// The published swarm over symbols.
    pub const TSO_TREE: Method = Method::of(&TSO_TREE);
    /// The swarm over split points of a model.
    pub const SPLIT_TREE: Method = Method::of(&SPLIT_TREE);
}

/// What most learners have in common; every constant below says what differs.
const ENSEMBLE: LearnerSpec = LearnerSpec {
    name: "",
    help: "",
    parameters: &[],
    targets: TargetSupport::Any,
    output: LearnerOutput::Ensemble,
    takes_pretrained: false,
    checkpoints: false,
    continues: false,
    custom_loss: CustomLossSupport::Never,
    thresholds_regression: false,
    tuned_sizes: &[],
    defaults: |params| params,
    resolve: |params, _| params,
    check: |_, _| {},
};

const SWARM: LearnerSpec = LearnerSpec {
    name: "swarm",
    help: "search over all trees of the ensemble; greedy boosting where its cross-validated score is better",
    custom_loss: CustomLossSupport::WithValues,
    parameters: &[
        "growth",
        "trees",
        "depth",
        "max_leaves",
        "total_leaves",
        "interactions",
        "first_split",
        "max_features",
        "feature_cost",
        "max_feature_cost",
        "budget",
        "max_bin",
        "objective",
        "monotone",
    ],
    checkpoints: true,
    tuned_sizes: &[("trees", 2, 32), ("max_leaves", 4, 64)],
    defaults: |base| Params { trees: 0, depth: 0, max_leaves: 0, ..base },
    check: check_ensemble_search,
    ..ENSEMBLE
};

const GREEDY: LearnerSpec = LearnerSpec {
    name: "greedy",
    help: "greedy gradient boosting, as XGBoost and LightGBM do it",
    continues: true,
    custom_loss: CustomLossSupport::Derivatives,
    parameters: &[
        "booster",
        "growth",
        "trees",
        "depth",
        "max_leaves",
        "lookahead",
        "interactions",
        "first_split",
        "max_features",
        "feature_cost",
        "max_feature_cost",
        "learning_rate",
        "lambda",
        "l1",
        "gamma",
        "min_child_weight",
        "subsample",
        "colsample_bytree",
        "max_bin",
        "objective",
        "early_stopping_rounds",
        "metric",
        "rate_drop",
        "skip_drop",
        "max_drop",
        "monotone",
    ],
    thresholds_regression: true,
    // A hundred greedy trees are settled by the learning rate; few trees that are searched together
    // are not.
    tuned_sizes: &[("depth", 2, 10)],
    resolve: |params, _| Params { growth: params.growth.or(Growth::Depth), ..params },
    check: check_boosting,
    ..ENSEMBLE
};

/// Rao 2022, section 7.1; its trees have no penalty.
const SGBDT: LearnerSpec = LearnerSpec {
    name: "sgbdt",
    help: "discrete particle swarm over every distinct value, as published (SGBDT)",
    parameters: &[
        "growth",
        "trees",
        "depth",
        "learning_rate",
        "lambda",
        "max_bin",
        "objective",
        "population",
        "iterations",
        "alpha",
        "beta",
        "fitness",
        "adaptive",
        "mutation",
        "initial",
        "greedy_seed",
        "local_search",
        "budget",
    ],
    checkpoints: true,
    tuned_sizes: &[("trees", 2, 32), ("depth", 2, 6)],
    defaults: |base| Params {
        growth: Growth::Oblivious,
        trees: 6,
        depth: 5,
        learning_rate: 1.0,
        lambda: 0.0,
        ..base
    },
    resolve: resolve_rule_sequences,
    check: check_rule_sequences,
    ..ENSEMBLE
};

const SGBDT_BINS: LearnerSpec = LearnerSpec {
    name: "sgbdt-bins",
    help: "the same swarm over the boundaries of bins (SGBDT-bins)",
    defaults: |base| Params { max_bin: 100, ..(SGBDT.defaults)(base) },
    ..SGBDT
};

const PSGBDT: LearnerSpec = LearnerSpec {
    name: "psgbdt",
    help: "the same swarm over the splits of a pretrained model (PSGBDT)",
    takes_pretrained: true,
    resolve: |params, target| {
        let initial = params.initial.or(InitialDraw::Uniform);
        resolve_rule_sequences(Params { initial, ..params }, target)
    },
    ..SGBDT
};

/// Rao 2022, section 8.2, names deep reinforcement learning as future work.
const POLICY_GRADIENT: LearnerSpec = LearnerSpec {
    name: "policy-gradient",
    help: "sequences of rules drawn by a policy network that is trained by REINFORCE, at the \
           fitness of the swarms",
    parameters: &[
        "growth",
        "trees",
        "depth",
        "learning_rate",
        "lambda",
        "max_bin",
        "objective",
        "population",
        "iterations",
        "fitness",
        "initial",
        "budget",
        "rule_table",
        "hidden_units",
        "policy_rate",
        "entropy_weight",
    ],
    takes_pretrained: true,
    ..SGBDT
};

/// The thresholds that a search compares are few, because it compares them many times.
const TREE_SUM: LearnerSpec = LearnerSpec {
    name: "tree-sum",
    help: "search over a sum of a few small trees with a total number of splits; one tree where its \
           cross-validated score is better",
    parameters: &[
        "total_splits",
        "max_features",
        "feature_cost",
        "max_feature_cost",
        "budget",
        "min_leaf",
        "max_bin",
        "guard",
        "folds",
        "objective",
    ],
    checkpoints: true,
    tuned_sizes: &[("total_splits", 4, 64)],
    defaults: |base| Params { max_bin: 64, folds: 4, ..base },
    resolve: |params, _| Params {
        min_leaf: Auto::Is(params.min_leaf.unwrap_or(10)),
        guard: Auto::Is(params.guard.unwrap_or(true)),
        ..params
    },
    check: check_tree_sum,
    ..ENSEMBLE
};

const SINGLE_TREE: LearnerSpec = LearnerSpec {
    output: LearnerOutput::SingleTree,
    checkpoints: true,
    tuned_sizes: &[("max_leaves", 4, 64)],
    resolve: resolve_criterion,
    check: check_single_tree,
    ..ENSEMBLE
};

const SWARM_TREE: LearnerSpec = LearnerSpec {
    name: "swarm-tree",
    help: "search over one whole tree",
    parameters: &[
        "depth",
        "max_leaves",
        "budget",
        "criterion",
        "costs",
        "min_leaf",
        "thresholds",
        "interactions",
        "first_split",
        "max_features",
        "feature_cost",
        "max_feature_cost",
        "guard",
        "folds",
        "population",
        "monotone",
    ],
    defaults: |base| Params { depth: 0, ..base },
    resolve: resolve_tree_search,
    check: |params, violations| {
        check_single_tree(params, violations);

        if params.criterion == Criterion::GainRatio {
            let message = "is gain-ratio, which compares the splits of one node and not whole \
                           trees; use entropy, or method cart";
            violations.push(super::violation("criterion", message));
        }
    },
    ..SINGLE_TREE
};

const CART: LearnerSpec = LearnerSpec {
    name: "cart",
    help: "one tree, grown greedily and pruned by cross-validation (CART)",
    parameters: &[
        "depth",
        "max_leaves",
        "criterion",
        "costs",
        "min_leaf",
        "thresholds",
        "interactions",
        "first_split",
        "max_features",
        "feature_cost",
        "max_feature_cost",
        "prune",
        "folds",
        "monotone",
    ],
    defaults: |base| Params { depth: 0, ..base },
    check: |params, violations| {
        check_single_tree(params, violations);

        if params.criterion == Criterion::Accuracy {
            let message = "is accuracy, by which no greedy tree can be grown; use gini";
            violations.push(super::violation("criterion", message));
        }
    },
    ..SINGLE_TREE
};

/// Jun, Cho, Lee 2012, section 4.
const APSO_TREE: LearnerSpec = LearnerSpec {
    name: "apso-tree",
    help: "the thresholds of a CART tree optimised together by adaptive PSO, as published \
           (CART and APSO)",
    parameters: &[
        "depth",
        "max_leaves",
        "min_leaf",
        "thresholds",
        "prune",
        "folds",
        "grid_thresholds",
        "variables",
        "optimizer",
        "empty_cells",
        "repeats",
        "select_by",
        "population",
        "iterations",
        "fitness",
        "sensitivity",
    ],
    targets: TargetSupport::Classes,
    defaults: |base| Params { depth: 0, iterations: 500, ..base },
    resolve: |params, target| resolve_tree_swarm(params, target, 100),
    check: |params, violations| check_tree_swarm(params, false, violations),
    ..SINGLE_TREE
};

const TSO_TREE: LearnerSpec = LearnerSpec {
    name: "tso-tree",
    help: "one tree whose nodes take the symbols of greatest score, as published (TSO)",
    parameters: &["depth", "thresholds", "population", "iterations", "fitness", "sensitivity"],
    targets: TargetSupport::Classes,
    tuned_sizes: &[("depth", 2, 6)],
    defaults: |base| Params { depth: 3, iterations: 200, ..base },
    resolve: |params, target| resolve_tree_swarm(params, target, 50),
    check: |params, violations| check_tree_swarm(params, true, violations),
    ..SINGLE_TREE
};

/// The model that the splits come from is that of psgbdt.
const SPLIT_TREE: LearnerSpec = LearnerSpec {
    name: "split-tree",
    help: "one tree by a discrete particle swarm over the splits of a pretrained model",
    parameters: &[
        "trees",
        "depth",
        "thresholds",
        "learning_rate",
        "lambda",
        "max_bin",
        "population",
        "iterations",
        "alpha",
        "beta",
        "fitness",
        "sensitivity",
        "adaptive",
        "mutation",
    ],
    targets: TargetSupport::Any,
    takes_pretrained: true,
    defaults: |base| Params { trees: 6, depth: 4, learning_rate: 1.0, ..base },
    resolve: |params, target| {
        let fitness = match target {
            TargetKind::Number | TargetKind::Numbers(_) => FitnessChoice::Rmse,
            TargetKind::Classes(_) => FitnessChoice::Accuracy,
        };
        let fitness = params.fitness.or(fitness);
        Params { fitness, ..resolve_tree_swarm(params, target, 50) }
    },
    check: |params, violations| {
        check_bins(params, violations);
        check_tree_swarm(params, true, violations);
    },
    ..TSO_TREE
};

/// Swarms over sequences of rules: population and fitness as published.
fn resolve_rule_sequences(params: Params, target: &TargetKind) -> Params {
    let (population, fitness) = match target {
        TargetKind::Number | TargetKind::Numbers(_) => (200, FitnessChoice::Rmse),
        TargetKind::Classes(_) => (50, FitnessChoice::Accuracy),
    };

    Params {
        population: Auto::Is(params.population.unwrap_or(population)),
        growth: params.growth.or(Growth::Oblivious),
        fitness: params.fitness.or(fitness),
        initial: params.initial.or(InitialDraw::FeatureFirst),
        ..params
    }
}

/// Single trees that are grown.
fn resolve_criterion(params: Params, target: &TargetKind) -> Params {
    let criterion = match target {
        TargetKind::Number | TargetKind::Numbers(_) => Criterion::Squared,
        TargetKind::Classes(_) => Criterion::Gini,
    };

    Params {
        criterion: params.criterion.or(criterion),
        min_leaf: Auto::Is(params.min_leaf.unwrap_or(1)),
        ..params
    }
}

/// The search over one tree: larger leaves than CART's, and CART's tree as a guard.
fn resolve_tree_search(params: Params, target: &TargetKind) -> Params {
    let of_numbers = target.is_regression();
    let guard = params.criterion == Criterion::Auto && !of_numbers;
    let criterion = if of_numbers { Criterion::Squared } else { Criterion::Mix };
    let min_leaf = if of_numbers { 20 } else { 5 };

    Params {
        criterion: params.criterion.or(criterion),
        population: Auto::Is(params.population.unwrap_or(4)),
        guard: Auto::Is(params.guard.unwrap_or(guard)),
        min_leaf: Auto::Is(params.min_leaf.unwrap_or(min_leaf)),
        ..params
    }
}

/// Particle swarms over one tree.
fn resolve_tree_swarm(params: Params, target: &TargetKind, population: usize) -> Params {
    let params = resolve_criterion(params, target);

    Params {
        population: Auto::Is(params.population.unwrap_or(population)),
        fitness: params.fitness.or(FitnessChoice::Accuracy),
        ..params
    }
}
