//! The table: every parameter, declared once.
//!
//! A line gives a field of [`Params`], its default, its check, its command-line flag, its key in a configuration file
//! and its entry in `docs/parameters.md`. To add a parameter, add a line here and nothing anywhere else. Methods whose
//! defaults differ have a column in `columns`.

use super::spec::{Allowed, Condition, Group, ParamSpec};
use super::value::{Auto, Choice, Value, choices};

choices! {
    /// How the model is found.
    Method {
        /// all trees are searched together; greedy boosting where that is better on unseen rows
        Swarm = "swarm",
        /// each split is the best one at its node and is never revised
        Greedy = "greedy",
        /// a discrete particle swarm over every distinct value, as published (SGBDT)
        Sgbdt = "sgbdt",
        /// the same swarm over the boundaries of bins (SGBDT-bins)
        SgbdtBins = "sgbdt-bins",
        /// the same swarm over the splits of a model that was trained before (PSGBDT)
        Psgbdt = "psgbdt",
    }
}

choices! {
    /// What a round adds to the model.
    Booster {
        /// a tree a round
        Gbtree = "gbtree",
        /// a tree a round, while some earlier trees are left out
        Dart = "dart",
        /// a step of a linear function
        Gblinear = "gblinear",
    }
}

choices! {
    /// The order in which a tree grows.
    Growth {
        /// for greedy depth; for swarm leaf, or oblivious if better on unseen rows; oblivious for the other swarms
        Auto = "auto",
        /// level after level, every node that gains
        Depth = "depth",
        /// the leaf that gains most, until there are enough leaves
        Leaf = "leaf",
        /// level after level, one rule for the whole level
        Oblivious = "oblivious",
    }
}

choices! {
    /// The loss that training minimises.
    ObjectiveChoice {
        /// squared for numbers, logistic for two classes, softmax for more
        Auto = "auto",
        /// squared error: predicts the mean
        Squared = "squared",
        /// squared error of ln(1 + y), for targets above -1 that grow by factors
        SquaredLog = "squared-log",
        /// absolute error: predicts the median
        Absolute = "absolute",
        /// squared error near the target, absolute error further away than huber_delta
        Huber = "huber",
        /// pinball loss: predicts the given quantile
        Quantile = "quantile",
        /// Poisson deviance with a log link, for counts
        Poisson = "poisson",
        /// log loss of two classes
        Logistic = "logistic",
        /// log loss of three or more classes
        Softmax = "softmax",
    }
}

choices! {
    /// The validation metric that early stopping watches.
    MetricChoice {
        /// the loss of the objective
        Auto = "auto",
        /// root of the mean squared error
        Rmse = "rmse",
        /// mean absolute error
        Mae = "mae",
        /// log loss
        Logloss = "logloss",
        /// share of rows whose class is right
        Accuracy = "accuracy",
    }
}

choices! {
    /// What the swarm makes best on the training rows.
    FitnessChoice {
        /// accuracy for classes, rmse for numbers, as published
        Auto = "auto",
        /// share of rows whose class is right
        Accuracy = "accuracy",
        /// root of the mean squared error
        Rmse = "rmse",
        /// the mean loss of the objective
        Loss = "loss",
    }
}

const GREEDY: Condition = Condition::Method(&[Method::Greedy]);
const SEARCH: Condition = Condition::Method(&[Method::Swarm]);
const LEAVES: Condition = Condition::Method(&[Method::Greedy, Method::Swarm]);
/// Methods that are told what the default method finds out.
const FIXED: Condition = Condition::Method(&[Method::Greedy, Method::Sgbdt, Method::SgbdtBins, Method::Psgbdt]);
const SWARM: Condition = Condition::Method(&[Method::Sgbdt, Method::SgbdtBins, Method::Psgbdt]);
const OBLIVIOUS: Condition = Condition::Growth(&[Growth::Oblivious]);
const TREES: Condition = Condition::Booster(&[Booster::Gbtree, Booster::Dart]);
const DART: Condition = Condition::Booster(&[Booster::Dart]);
const LINEAR: Condition = Condition::Booster(&[Booster::Gblinear]);

/// Turns the table into the struct, its defaults and the list of specifications.
macro_rules! table {
    ($(
        #[doc = $help:literal]
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
            $(#[doc = $help] pub $name: $type,)+
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
            help: $help.trim_ascii(),
            group: Group::$group,
            allowed: $allowed,
            only: &[$($only),*],
            read: |params, text| match <$type as Value>::read(text) {
                Some(value) => {
                    params.$name = value;
                    true
                }
                None => false,
            },
            show: |params| params.$name.show(),
            number: |params| params.$name.number(),
        },)+];
    };
}

table! {
    /// how the model is found
    method: Method = Method::Swarm,
        Method, Allowed::Choices(Method::CHOICES), aliases [], only [];
    /// what a round adds to the model
    booster: Booster = Booster::Gbtree,
        Method, Allowed::Choices(Booster::CHOICES), aliases [], only [GREEDY];
    /// order in which a tree grows
    growth: Growth = Growth::Auto,
        Method, Allowed::Choices(Growth::CHOICES), aliases ["grow_policy"], only [TREES];
    /// rounds; each adds one tree, or one tree a class where there are three or more classes
    trees: usize = 100,
        Size, Allowed::whole(1, 1_000_000), aliases ["rounds", "n_estimators", "num_rounds"], only [];
    /// greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious trees
    depth: usize = 6,
        Size, Allowed::whole(0, 32), aliases ["max_depth"], only [TREES];
    /// greatest number of leaves; 0 is 31 for leaf growth and what the depth allows for depth growth
    max_leaves: usize = 0,
        Size, Allowed::whole(0, 1 << 20), aliases ["leaves", "num_leaves"],
        only [LEAVES, TREES, Condition::Growth(&[Growth::Auto, Growth::Depth, Growth::Leaf])];
    /// leaves of all trees together, to be spent on few large or many small trees; 0 keeps to trees and max_leaves
    total_leaves: usize = 0,
        Size, Allowed::whole(0, 1 << 20), aliases [], only [SEARCH];
    /// trees that may be grown while searching, cross-validation included; 0 is as many as the method wants
    budget: usize = 0,
        Size, Allowed::whole(0, 1_000_000_000), aliases [], only [SEARCH];
    /// share of each step that is taken
    learning_rate: f64 = 0.1,
        Shrinkage, Allowed::above(0.0, 1.0), aliases ["eta"], only [FIXED];
    /// L2 penalty on leaf values, or on the weights of a linear function
    lambda: f64 = 1.0,
        Shrinkage, Allowed::from(0.0), aliases ["reg_lambda", "l2"], only [FIXED];
    /// L1 penalty on the weights of a linear function
    l1: f64 = 0.0,
        Shrinkage, Allowed::from(0.0), aliases ["reg_alpha"], only [GREEDY, LINEAR];
    /// gain a split must have to be made
    gamma: f64 = 0.0,
        Shrinkage, Allowed::from(0.0), aliases ["min_split_gain"], only [GREEDY, TREES];
    /// least sum of hessians (squared error: of row weights) in a leaf
    min_child_weight: f64 = 1.0,
        Shrinkage, Allowed::from(0.0), aliases [], only [GREEDY, TREES];
    /// share of the rows each tree is grown on
    subsample: f64 = 1.0,
        Sampling, Allowed::above(0.0, 1.0), aliases [], only [GREEDY, TREES];
    /// share of the features each tree may use
    colsample_bytree: f64 = 1.0,
        Sampling, Allowed::above(0.0, 1.0), aliases ["colsample"], only [GREEDY, TREES];
    /// greatest number of bins a feature is cut into
    max_bin: usize = 255,
        Sampling, Allowed::whole(2, 255), aliases ["max_bins"], only [TREES];
    /// start of every random stream; the same seed gives the same model, whatever the number of threads
    seed: u64 = 0,
        Sampling, Allowed::whole(0, u64::MAX), aliases ["random_state"], only [];
    /// loss that training minimises
    objective: ObjectiveChoice = ObjectiveChoice::Auto,
        Objective, Allowed::Choices(ObjectiveChoice::CHOICES), aliases ["loss"], only [];
    /// distance from which the Huber loss is linear
    huber_delta: f64 = 1.0,
        Objective, Allowed::above(0.0, f64::INFINITY), aliases [],
        only [Condition::Objective(&[ObjectiveChoice::Huber])];
    /// the quantile to predict
    quantile: f64 = 0.5,
        Objective, Allowed::between(0.0, 1.0), aliases [],
        only [Condition::Objective(&[ObjectiveChoice::Quantile])];
    /// share of the training rows held out for validation; 0 is none
    valid_fraction: f64 = 0.0,
        Validation, Allowed::below(0.0, 1.0), aliases ["validation_fraction"], only [];
    /// rounds without a better validation metric after which training stops; 0 never stops
    early_stopping_rounds: usize = 0,
        Validation, Allowed::whole(0, 1_000_000), aliases ["early_stopping"], only [GREEDY];
    /// validation metric that early stopping watches
    metric: MetricChoice = MetricChoice::Auto,
        Validation, Allowed::Choices(MetricChoice::CHOICES), aliases ["eval_metric"], only [GREEDY];
    /// particles of the swarm; auto is 50 for classes and 200 for numbers
    population: Auto<usize> = Auto::Auto,
        Swarm, Allowed::whole(1, 1_000_000), aliases [], only [SWARM];
    /// iterations of the swarm, the initial one counted; the paper does not tell its own number
    iterations: usize = 100,
        Swarm, Allowed::whole(1, 1_000_000), aliases [], only [SWARM];
    /// chance that a dimension takes the value of the particle's own best
    alpha: f64 = 0.45,
        Swarm, Allowed::within(0.0, 1.0), aliases [], only [SWARM];
    /// chance that a dimension takes the value of the global best
    beta: f64 = 0.45,
        Swarm, Allowed::within(0.0, 1.0), aliases [], only [SWARM];
    /// what the swarm makes best on the training rows
    fitness: FitnessChoice = FitnessChoice::Auto,
        Swarm, Allowed::Choices(FitnessChoice::CHOICES), aliases [], only [SWARM];
    /// whether alpha and beta follow the state of the swarm; not in the paper
    adaptive: bool = false,
        Swarm, Allowed::Switch, aliases [], only [SWARM];
    /// chance that a dimension is drawn anew after a move; not in the paper
    mutation: f64 = 0.0,
        Swarm, Allowed::within(0.0, 1.0), aliases [], only [SWARM];
    /// whether one particle starts at trees that were grown greedily; not in the paper
    greedy_seed: bool = false,
        Swarm, Allowed::Switch, aliases [], only [SWARM];
    /// whether rules of the best particle are then replaced one at a time as long as that helps; not in the paper
    local_search: bool = false,
        Swarm, Allowed::Switch, aliases [], only [SWARM, OBLIVIOUS];
    /// chance of each earlier round to be left out
    rate_drop: f64 = 0.1,
        Dart, Allowed::within(0.0, 1.0), aliases ["drop_rate"], only [GREEDY, DART];
    /// chance that nothing is left out
    skip_drop: f64 = 0.5,
        Dart, Allowed::within(0.0, 1.0), aliases [], only [GREEDY, DART];
    /// greatest number of rounds left out at once; 0 is no limit
    max_drop: usize = 50,
        Dart, Allowed::whole(0, 1_000_000), aliases [], only [GREEDY, DART];
    /// seconds after which training stops with the best model so far; 0 is no limit
    time_limit: f64 = 0.0,
        Validation, Allowed::from(0.0), aliases [], only [];
    /// threads to use; 0 is one a core; never changes the model
    threads: usize = 0,
        Machine, Allowed::whole(0, 1024), aliases ["n_jobs", "nthread"], only [];
}
