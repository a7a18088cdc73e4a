//! The table: every parameter, declared once.
//!
//! A line gives a field of [`Params`], its default, its check, its command-line flag, its key in a
//! configuration file and its entry in `docs/parameters.md`. To add a parameter, add a line here
//! and its name to the learners in `methods` that use it. They say where their defaults differ.

use super::by_feature::{ByFeature, FeatureCost, MonotoneSetting};
use super::feature_groups::FeatureGroups;
use super::first_split::FirstSplit;
use super::learner_spec::Method;
use super::objective_choice::ObjectiveChoice;
use super::points_range::PointsRange;
use super::spec::{AllowedValues, ParamCondition, ParamGroup, ParamSpec};
use super::threshold_goal::ThresholdGoal;
use super::value::{Auto, Matrix, ParamChoice, ParamType, choices};

choices! {
    /// What a round adds to the model.
    Booster {
        /// one tree per round
        Gbtree = "gbtree",
        /// one tree per round, fitted while some earlier trees are dropped (DART)
        Dart = "dart",
        /// a step of a linear function
        Gblinear = "gblinear",
    }
}

choices! {
    /// The order in which a tree grows.
    Growth {
        /// depth for greedy; leaf for swarm, or oblivious if its cross-validated score is better;
        /// oblivious for the other swarms
        Auto = "auto",
        /// level by level, every node with a positive gain
        Depth = "depth",
        /// the leaf with the largest gain first, until max_leaves is reached
        Leaf = "leaf",
        /// level by level, with one split for the whole level
        Oblivious = "oblivious",
    }
}

choices! {
    /// The validation metric of early stopping.
    MetricChoice {
        /// the loss of the objective
        Auto = "auto",
        /// root mean squared error
        Rmse = "rmse",
        /// mean absolute error
        Mae = "mae",
        /// log loss
        Logloss = "logloss",
        /// share of the target's variance that the predictions explain
        R2 = "r2",
        /// median absolute error
        Medae = "medae",
        /// mean absolute error as a share of the target
        Mape = "mape",
        /// share of rows whose class is predicted correctly
        Accuracy = "accuracy",
        /// mean recall of the classes
        BalancedAccuracy = "balanced-accuracy",
        /// mean squared error of the probabilities
        Brier = "brier",
        /// area under the ROC curve; the mean over three or more classes
        Auc = "auc",
        /// harmonic mean of precision and recall; the mean over three or more classes
        F1 = "f1",
    }
}

choices! {
    /// What the swarm optimises on the training rows.
    FitnessChoice {
        /// accuracy for classes, rmse for numbers, as published
        Auto = "auto",
        /// share of rows whose class is predicted correctly
        Accuracy = "accuracy",
        /// mean recall over the classes: sensitivity and specificity for two classes; for single
        /// trees
        Recall = "recall",
        /// root mean squared error
        Rmse = "rmse",
        /// the mean loss of the objective
        Loss = "loss",
    }
}

choices! {
    /// What the rules of a single tree are chosen by.
    Criterion {
        /// gini for cart and mix for swarm-tree if the target has classes, squared if it is a
        /// number
        Auto = "auto",
        /// misclassification rate
        Accuracy = "accuracy",
        /// mean of misclassification rate and Gini impurity
        Mix = "mix",
        /// Gini impurity
        Gini = "gini",
        /// entropy, which is the log loss
        Entropy = "entropy",
        /// decrease of the entropy divided by the entropy of the split itself, as C4.5; only for
        /// cart
        GainRatio = "gain-ratio",
        /// squared error around the mean of the leaf
        Squared = "squared",
        /// absolute error around the median of the leaf
        Absolute = "absolute",
    }
}

choices! {
    /// How a grown tree is pruned.
    Prune {
        /// to the size with the least cross-validated error
        Best = "best",
        /// to the smallest size within one standard error of it
        OneStandardError = "1-se",
        /// no pruning
        None = "none",
    }
}

choices! {
    /// Where the rules of a rule table come from.
    RuleTableChoice {
        /// every distinct value, as for sgbdt
        Distinct = "distinct",
        /// the boundaries of bins, as for sgbdt-bins
        Bins = "bins",
        /// the splits of a pretrained model, as for psgbdt
        Pretrained = "pretrained",
    }
}

choices! {
    /// How the rules of the first particles are drawn.
    InitialDraw {
        /// uniform for psgbdt, feature-first for the other methods, as in the paper
        Auto = "auto",
        /// all rules of the table alike
        Uniform = "uniform",
        /// a feature first and then one of its rules (the paper's algorithm 4)
        FeatureFirst = "feature-first",
    }
}

choices! {
    /// What cells of a grid without training rows predict.
    EmptyCells {
        /// the class of the nearest cell with rows, counted in thresholds
        Nearest = "nearest",
        /// a random class per cell, as published
        Random = "random",
    }
}

choices! {
    /// What chooses the variables of a grid.
    Variables {
        /// the preliminary CART tree, as published
        Cart = "cart",
        /// importances of a random forest of CART trees
        Forest = "forest",
    }
}

choices! {
    /// Which of several grids is kept.
    SelectBy {
        /// the one with the best fitness on the training rows, as published
        Training = "training",
        /// the one with the best cross-validated fitness
        CrossValidation = "cross-validation",
    }
}

choices! {
    /// How wide intervals are.
    IntervalKind {
        /// the same width for all rows
        Constant = "constant",
        /// wider where errors are larger: a small tree predicts their size from the features
        Adaptive = "adaptive",
    }
}

choices! {
    /// What places the thresholds of a grid.
    Optimizer {
        /// adaptive particle swarm optimisation, as published
        Apso = "apso",
        /// particle swarm optimisation with constant coefficients
        Pso = "pso",
        /// genetic algorithm
        Ga = "ga",
        /// differential evolution
        De = "de",
        /// simulated annealing
        Annealing = "annealing",
        /// CMA-ES
        Cmaes = "cmaes",
        /// ant colony optimisation
        Aco = "aco",
        /// random search, for comparison
        Random = "random",
    }
}

/// What stands in the place of `auto`.
macro_rules! auto_choices {
    ($($type:ident),+) => {$(
        impl $type {
            /// The value itself, or `resolved` where it is `auto`.
            pub(super) fn or(self, resolved: Self) -> Self {
                if self == $type::Auto { resolved } else { self }
            }
        }
    )+};
}

auto_choices!(Growth, FitnessChoice, Criterion, InitialDraw);

const OBLIVIOUS: ParamCondition = ParamCondition::Growth(&[Growth::Oblivious]);
const TREES: ParamCondition = ParamCondition::Booster(&[Booster::Gbtree, Booster::Dart]);
const DART: ParamCondition = ParamCondition::Booster(&[Booster::Dart]);
const LINEAR: ParamCondition = ParamCondition::Booster(&[Booster::Gblinear]);

/// Turns the table into the struct, its defaults and the list of specifications.
macro_rules! table {
    ($(
        $(#[doc = $help:literal])+
        $name:ident: $type:ty = $default:expr,
        $group:ident, $allowed:expr, aliases [$($alias:literal),*], only [$($only:expr),*];
    )+) => {
        /// All training parameters, not yet checked: see [`Params::check`].
        ///
        /// ```
        /// use swarmwood::params::{Growth, Params};
        ///
        /// let params = Params { growth: Growth::Oblivious, trees: 20, ..Params::default() };
        /// let checked = params.check().expect("every value is in its range");
        /// assert_eq!(checked.trees, 20);
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub struct Params {
            $($(#[doc = $help])+ pub $name: $type,)+
        }

        impl Params {
            /// The defaults of the table, before the column of a method.
            pub(super) fn of_table() -> Self {
                Params { $($name: $default,)+ }
            }
        }

        /// The table, in the order of the help.
        pub const TABLE: &[ParamSpec] = &[$(ParamSpec {
            name: stringify!($name),
            aliases: &[$($alias),*],
            help: concat!($($help),+).trim_ascii(),
            group: ParamGroup::$group,
            allowed: $allowed,
            only: &[$($only),*],
            assign: |params, value| match <$type as ParamType>::of(value) {
                Some(value) => {
                    params.$name = value;
                    true
                }
                None => false,
            },
            copy: |from, to| to.$name = from.$name.clone(),
            show: |params| params.$name.show(),
            number: |params| params.$name.number(),
        },)+];
    };
}

table! {
    /// training method
    method: Method = Method::ALL[0],
        Method, AllowedValues::Choices(Method::CHOICES), aliases [], only [];
    /// what a boosting round adds to the model
    booster: Booster = Booster::Gbtree,
        Method, AllowedValues::Choices(Booster::CHOICES), aliases [], only [];
    /// order in which a tree grows
    growth: Growth = Growth::Auto,
        Method, AllowedValues::Choices(Growth::CHOICES), aliases ["grow_policy"], only [TREES];
    /// boosting rounds; each adds one tree, or one tree per class for three or more classes; 0, only
    /// for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the model that
    /// split points are taken from
    trees: usize = 100,
        Size, AllowedValues::whole(0, 1_000_000), aliases ["rounds", "n_estimators", "num_rounds"], only [];
    /// maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
    /// trees
    depth: usize = 6,
        Size, AllowedValues::whole(0, 32), aliases ["max_depth"], only [TREES];
    /// maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32 or
    /// chosen with total_leaves, or for swarm-tree the size with the best cross-validated error; for
    /// apso-tree the size that the final tree is pruned to
    max_leaves: usize = 0,
        Size, AllowedValues::whole(0, 1 << 20), aliases ["leaves", "num_leaves"],
        only [TREES, ParamCondition::Growth(&[Growth::Auto, Growth::Depth, Growth::Leaf])];
    /// levels of splits that are chosen together: 1 takes the best split of each node; 2 also
    /// tries trees over pairs and triples of features that interact, where no first split gains
    /// anything; the default method decides by itself
    lookahead: usize = 1,
        Size, AllowedValues::whole(1, 2), aliases [],
        only [TREES, ParamCondition::Growth(&[Growth::Auto, Growth::Depth, Growth::Leaf])];
    /// total number of leaves of the ensemble (of each class for three or more); cross-validation
    /// chooses between few large and many small trees; 0 is 192 unless trees, max_leaves or depth
    /// is given
    total_leaves: usize = 0,
        Size, AllowedValues::whole(0, 1 << 20), aliases [], only [];
    /// total number of splits of all trees, which three or more classes share
    total_splits: usize = 15,
        Size, AllowedValues::whole(1, 256), aliases ["max_splits"], only [];
    /// maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations (tree-sum; 0
    /// is 300), or candidates evaluated (searches over rule sequences); 0 is no limit
    budget: usize = 0,
        Size, AllowedValues::whole(0, 1_000_000_000), aliases [], only [];
    /// split criterion of a single tree
    criterion: Criterion = Criterion::Auto,
        Tree, AllowedValues::Choices(Criterion::CHOICES), aliases [], only [];
    /// misclassification costs, one row per true class, one column per predicted class: with
    /// '0,1;5,0' misclassifying the second class costs five times as much
    costs: Matrix = Matrix::default(),
        Tree, AllowedValues::Matrix, aliases [], only [];
    /// minimum number of rows in a leaf; auto is 1, for tree-sum 10, and for swarm-tree 5 for classes
    /// and 20 for numbers
    min_leaf: Auto<usize> = Auto::Auto,
        Tree, AllowedValues::whole(1, 1 << 32), aliases ["min_samples_leaf"], only [];
    /// maximum number of candidate thresholds per feature; 0 is one between any two values
    thresholds: usize = 0,
        Tree, AllowedValues::whole(0, 65_534), aliases [], only [];
    /// whether a simpler way is kept where its cross-validated error is lower: CART's tree for
    /// swarm-tree, one tree for tree-sum; auto is yes for tree-sum and for classes without a
    /// criterion
    guard: Auto<bool> = Auto::Auto,
        Tree, AllowedValues::Switch, aliases [], only [];
    /// how a grown tree is pruned
    prune: Prune = Prune::Best,
        Tree, AllowedValues::Choices(Prune::CHOICES), aliases [], only [];
    /// number of cross-validation folds
    folds: usize = 5,
        Tree, AllowedValues::whole(2, 100), aliases [], only [];
    /// maximum number of thresholds of a grid; a preliminary tree with more is pruned further; 0 is
    /// no limit
    grid_thresholds: usize = 0,
        Tree, AllowedValues::whole(0, 65_534), aliases [], only [];
    /// what chooses the variables of a grid
    variables: Variables = Variables::Cart,
        Tree, AllowedValues::Choices(Variables::CHOICES), aliases [], only [];
    /// what places the thresholds of a grid, with population times iterations evaluations
    optimizer: Optimizer = Optimizer::Apso,
        Tree, AllowedValues::Choices(Optimizer::CHOICES), aliases [], only [];
    /// what cells of the grid without training rows predict
    empty_cells: EmptyCells = EmptyCells::Nearest,
        Tree, AllowedValues::Choices(EmptyCells::CHOICES), aliases [], only [];
    /// grids to search, each after the first on a random half of the features; the best is kept
    repeats: usize = 1,
        Tree, AllowedValues::whole(1, 1000), aliases [], only [];
    /// which of several grids is kept
    select_by: SelectBy = SelectBy::Training,
        Tree, AllowedValues::Choices(SelectBy::CHOICES), aliases [], only [];
    /// learning rate: the share of each step that is taken
    learning_rate: f64 = 0.1,
        Shrinkage, AllowedValues::above(0.0, 1.0), aliases ["eta"], only [];
    /// L2 penalty on leaf values, or on the weights of a linear function
    lambda: f64 = 1.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["reg_lambda", "l2"], only [];
    /// L1 penalty on the weights of a linear function
    l1: f64 = 0.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["reg_alpha"], only [LINEAR];
    /// minimum gain of a split
    gamma: f64 = 0.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["min_split_gain"], only [TREES];
    /// minimum sum of hessians in a leaf; for squared error, of row weights
    min_child_weight: f64 = 1.0,
        Shrinkage, AllowedValues::from(0.0), aliases [], only [TREES];
    /// share of the rows each tree is grown on
    subsample: f64 = 1.0,
        Sampling, AllowedValues::above(0.0, 1.0), aliases [], only [TREES];
    /// share of the features each tree may use
    colsample_bytree: f64 = 1.0,
        Sampling, AllowedValues::above(0.0, 1.0), aliases ["colsample"], only [TREES];
    /// maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
    /// between any two values, at most 65534 values per feature; sgbdt uses bins only for the trees
    /// of greedy_seed
    max_bin: usize = 255,
        Sampling, AllowedValues::whole(0, 255), aliases ["max_bins"], only [TREES];
    /// random seed; the same seed gives the same model for any number of threads
    seed: u64 = 0,
        Sampling, AllowedValues::whole(0, u64::MAX), aliases ["random_state"], only [];
    /// loss that training minimises
    objective: ObjectiveChoice = ObjectiveChoice::Auto,
        Objective, AllowedValues::Choices(ObjectiveChoice::CHOICES), aliases ["loss"], only [];
    /// residual from which the Huber loss is linear
    huber_delta: f64 = 1.0,
        Objective, AllowedValues::above(0.0, f64::INFINITY), aliases [],
        only [ParamCondition::Objective(&["huber"])];
    /// the quantile to predict
    quantile: f64 = 0.5,
        Objective, AllowedValues::between(0.0, 1.0), aliases [],
        only [ParamCondition::Objective(&["quantile"])];
    /// power of the mean that the variance of the Tweedie loss is proportional to, between 1
    /// (Poisson) and 2 (gamma)
    tweedie_power: f64 = 1.5,
        Objective, AllowedValues::between(1.0, 2.0), aliases ["tweedie_variance_power"],
        only [ParamCondition::Objective(&["tweedie"])];
    /// share of the training rows held out for validation; 0 is none
    valid_fraction: f64 = 0.0,
        Validation, AllowedValues::below(0.0, 1.0), aliases ["validation_fraction"], only [];
    /// rounds without a better validation metric after which training stops; 0 never stops
    early_stopping_rounds: usize = 0,
        Validation, AllowedValues::whole(0, 1_000_000), aliases ["early_stopping"], only [];
    /// validation metric of early stopping
    metric: MetricChoice = MetricChoice::Auto,
        Validation, AllowedValues::Choices(MetricChoice::CHOICES),
        aliases ["eval_metric", "early_stopping_metric"], only [];
    /// features in which predictions never fall (+) or never rise (-) as the value grows; missing values
    /// are not compared
    monotone: ByFeature<MonotoneSetting> = ByFeature::default(),
        Constraints, AllowedValues::ByFeature { example: "income:+,debt:-" },
        aliases ["monotonic_cst", "monotone_constraints"], only [TREES];
    /// which features may interact: those on one path of a tree must all be in one group, where * is
    /// every feature that no group names; features in no group are a group of their own
    interactions: FeatureGroups = FeatureGroups::All,
        Constraints, AllowedValues::FeatureGroups { example: "age,income;region,*" },
        aliases ["interaction_cst", "interaction_constraints"], only [TREES];
    /// splits that every tree begins with; rows that fulfil the condition go left, and the side of
    /// missing values is chosen if it is not given
    first_split: FirstSplit = FirstSplit::default(),
        Constraints, AllowedValues::Splits(FirstSplit::ALLOWED), aliases ["forced_splits"],
        only [TREES];
    /// maximum number of features that the model uses; which ones is part of the search; 0 is no
    /// limit
    max_features: usize = 0,
        Constraints, AllowedValues::whole(0, 1 << 20), aliases [], only [TREES];
    /// cost of using a feature in the model, once; 1 for features that are not named
    feature_cost: ByFeature<FeatureCost> = ByFeature::default(),
        Constraints, AllowedValues::ByFeature { example: "age:1,mri:200" }, aliases [],
        only [TREES];
    /// maximum total cost of the features that the model uses; 0 is no limit
    max_feature_cost: f64 = 0.0,
        Constraints, AllowedValues::from(0.0), aliases [], only [TREES];
    /// two classes: the second one is predicted where its probability is greater than this
    threshold: f64 = 0.5,
        Decision, AllowedValues::between(0.0, 1.0), aliases ["decision_threshold"], only [];
    /// what the threshold of two classes is chosen for, on rows that the fits have not seen; the
    /// second class is the positive one
    threshold_for: ThresholdGoal = ThresholdGoal::None,
        Decision, AllowedValues::Text(ThresholdGoal::ALLOWED), aliases [], only [];
    /// share of future targets that prediction intervals contain, or of future rows whose class is
    /// in their prediction set; 0 stores neither
    interval: f64 = 0.0,
        Decision, AllowedValues::below(0.0, 1.0), aliases ["coverage"], only [];
    /// how wide intervals of numbers are
    interval_kind: IntervalKind = IntervalKind::Constant,
        Decision, AllowedValues::Choices(IntervalKind::CHOICES), aliases [], only [];
    /// whole points that the leaves of trees may have, times one unit for all; the points of all
    /// leaves are searched together
    points: PointsRange = PointsRange::default(),
        Decision, AllowedValues::Text(PointsRange::ALLOWED), aliases [], only [];
    /// bits of the signed integers that leaf values are, times one unit for all; the integers of all
    /// leaves are searched together; 0 is any number
    integer_leaves: usize = 0,
        Decision, AllowedValues::whole(0, 16), aliases [], only [];
    /// number of particles, or of episodes per iteration; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and 4
    /// trees for swarm-tree
    population: Auto<usize> = Auto::Auto,
        Swarm, AllowedValues::whole(1, 1_000_000), aliases [], only [];
    /// iterations of the swarm or of the policy, including the initial one; the paper of sgbdt does not state its
    /// number
    iterations: usize = 100,
        Swarm, AllowedValues::whole(1, 1_000_000), aliases [], only [];
    /// probability that a dimension takes the value of the particle's own best
    alpha: f64 = 0.45,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// probability that a dimension takes the value of the global best
    beta: f64 = 0.45,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// what the swarm optimises on the training rows
    fitness: FitnessChoice = FitnessChoice::Auto,
        Swarm, AllowedValues::Choices(FitnessChoice::CHOICES), aliases [], only [];
    /// weight of sensitivity in the fitness recall for two classes; the rest is specificity
    sensitivity: f64 = 0.5,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// whether alpha and beta adapt to the state of the swarm; not in the paper
    adaptive: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [];
    /// probability that a dimension is redrawn after a move; not in the paper
    mutation: f64 = 0.0,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// how the rules of the first particles, or of the first policy, are drawn
    initial: InitialDraw = InitialDraw::Auto,
        Swarm, AllowedValues::Choices(InitialDraw::CHOICES), aliases [], only [];
    /// whether one particle starts at greedily grown trees; not in the paper
    greedy_seed: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [];
    /// whether local search then replaces rules of the best particle one at a time; not in the
    /// paper
    local_search: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [OBLIVIOUS];
    /// where the rules of the sequences come from
    rule_table: RuleTableChoice = RuleTableChoice::Pretrained,
        Policy, AllowedValues::Choices(RuleTableChoice::CHOICES), aliases [], only [];
    /// number of hidden units of the policy's network
    hidden_units: usize = 32,
        Policy, AllowedValues::whole(1, 256), aliases [], only [];
    /// learning rate of the policy (Adam)
    policy_rate: f64 = 0.05,
        Policy, AllowedValues::above(0.0, 1.0), aliases [], only [];
    /// weight of the policy's entropy, which keeps it from converging early
    entropy_weight: f64 = 0.01,
        Policy, AllowedValues::from(0.0), aliases [], only [];
    /// probability that an earlier round is dropped, of which at least one is; 0 drops none
    rate_drop: f64 = 0.1,
        Dart, AllowedValues::within(0.0, 1.0), aliases ["drop_rate"], only [DART];
    /// probability that no round is dropped
    skip_drop: f64 = 0.5,
        Dart, AllowedValues::within(0.0, 1.0), aliases [], only [DART];
    /// maximum number of rounds dropped at once; 0 is no limit
    max_drop: usize = 50,
        Dart, AllowedValues::whole(0, 1_000_000), aliases [], only [DART];
    /// seconds after which training ends with the best model so far; 0 is no limit
    time_limit: f64 = 0.0,
        Validation, AllowedValues::from(0.0), aliases [], only [];
    /// number of threads; 0 is one per core; never changes the model
    threads: usize = 0,
        Machine, AllowedValues::whole(0, 1024), aliases ["n_jobs", "nthread"], only [];
}
