//! The table: every parameter, declared once.
//!
//! A line gives a field of [`Params`], its default, its check, its command-line flag, its key in a
//! configuration file and its entry in `docs/parameters.md`. To add a parameter, add a line here
//! and its name to the learners in `methods` that use it. They say where their defaults differ.

use super::learner_spec::Method;
use super::objective_choice::ObjectiveChoice;
use super::spec::{AllowedValues, ParamCondition, ParamGroup, ParamSpec};
use super::value::{Auto, Matrix, ParamChoice, ParamType, choices};

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
        /// for greedy depth; for swarm leaf, or oblivious if better on unseen rows; oblivious for
        /// the other swarms
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
        /// mean share of each class's rows that is right: sensitivity and specificity of two
        /// classes; for single trees
        Recall = "recall",
        /// root of the mean squared error
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
        /// rows of another class than their leaf's
        Accuracy = "accuracy",
        /// half accuracy, half Gini impurity
        Mix = "mix",
        /// Gini impurity of the leaves
        Gini = "gini",
        /// entropy of the leaves, which is the log loss
        Entropy = "entropy",
        /// squared error around the mean of the leaf
        Squared = "squared",
        /// absolute error around the median of the leaf
        Absolute = "absolute",
    }
}

choices! {
    /// How far a grown tree is cut back.
    Prune {
        /// to the size with the least cross-validated error
        Best = "best",
        /// to the smallest size within one standard error of it
        OneStandardError = "1-se",
        /// not at all
        None = "none",
    }
}

choices! {
    /// What cells of a grid without training rows predict.
    EmptyCells {
        /// the class of the cell with rows that the fewest thresholds lie between
        Nearest = "nearest",
        /// any class, drawn for each cell, as published
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

auto_choices!(Growth, FitnessChoice, Criterion);

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
    /// how the model is found
    method: Method = Method::ALL[0],
        Method, AllowedValues::Choices(Method::CHOICES), aliases [], only [];
    /// what a round adds to the model
    booster: Booster = Booster::Gbtree,
        Method, AllowedValues::Choices(Booster::CHOICES), aliases [], only [];
    /// order in which a tree grows
    growth: Growth = Growth::Auto,
        Method, AllowedValues::Choices(Growth::CHOICES), aliases ["grow_policy"], only [TREES];
    /// rounds; each adds one tree, or one tree a class where there are three or more classes; for
    /// split-tree of the model before
    trees: usize = 100,
        Size, AllowedValues::whole(1, 1_000_000), aliases ["rounds", "n_estimators", "num_rounds"], only [];
    /// greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
    /// trees
    depth: usize = 6,
        Size, AllowedValues::whole(0, 32), aliases ["max_depth"], only [TREES];
    /// greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for swarm-tree
    /// the best size on unseen rows
    max_leaves: usize = 0,
        Size, AllowedValues::whole(0, 1 << 20), aliases ["leaves", "num_leaves"],
        only [TREES, ParamCondition::Growth(&[Growth::Auto, Growth::Depth, Growth::Leaf])];
    /// leaves of all trees together, to be spent on few large or many small trees; 0 keeps to trees
    /// and max_leaves
    total_leaves: usize = 0,
        Size, AllowedValues::whole(0, 1 << 20), aliases [], only [];
    /// work a search may do: trees grown (swarm) or descents (swarm-tree); 0 is as much as the
    /// method wants
    budget: usize = 0,
        Size, AllowedValues::whole(0, 1_000_000_000), aliases [], only [];
    /// what the rules of a single tree are chosen by
    criterion: Criterion = Criterion::Auto,
        Tree, AllowedValues::Choices(Criterion::CHOICES), aliases [], only [];
    /// whether rows are weighted so that every class counts the same
    balanced: bool = false,
        Tree, AllowedValues::Switch, aliases [], only [];
    /// what mistakes cost, a row a true class, a column a decision: '0,1;5,0' makes it five times
    /// as dear to miss the second
    costs: Matrix = Matrix::default(),
        Tree, AllowedValues::Matrix, aliases [], only [];
    /// fewest rows of a leaf; auto is 1, and for swarm-tree 5 for classes and 20 for numbers
    min_leaf: Auto<usize> = Auto::Auto,
        Tree, AllowedValues::whole(1, 1 << 32), aliases ["min_samples_leaf"], only [];
    /// most places where a number may be cut; 0 is between any two values
    thresholds: usize = 0,
        Tree, AllowedValues::whole(0, 65_534), aliases [], only [];
    /// whether CART's tree is kept unless the search is better on unseen rows; auto is yes for
    /// classes without a criterion
    guard: Auto<bool> = Auto::Auto,
        Tree, AllowedValues::Switch, aliases [], only [];
    /// how far a grown tree is cut back
    prune: Prune = Prune::Best,
        Tree, AllowedValues::Choices(Prune::CHOICES), aliases [], only [];
    /// parts of the rows for cross-validation
    folds: usize = 5,
        Tree, AllowedValues::whole(2, 100), aliases [], only [];
    /// most thresholds of a grid; a tree with more is refused, as few of its cells would hold rows
    grid_thresholds: usize = 15,
        Tree, AllowedValues::whole(1, 20), aliases [], only [];
    /// what cells of the grid without training rows predict
    empty_cells: EmptyCells = EmptyCells::Nearest,
        Tree, AllowedValues::Choices(EmptyCells::CHOICES), aliases [], only [];
    /// grids to search, each after the first on a random half of the features; the one that fits
    /// best is kept
    repeats: usize = 1,
        Tree, AllowedValues::whole(1, 1000), aliases [], only [];
    /// share of each step that is taken
    learning_rate: f64 = 0.1,
        Shrinkage, AllowedValues::above(0.0, 1.0), aliases ["eta"], only [];
    /// L2 penalty on leaf values, or on the weights of a linear function
    lambda: f64 = 1.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["reg_lambda", "l2"], only [];
    /// L1 penalty on the weights of a linear function
    l1: f64 = 0.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["reg_alpha"], only [LINEAR];
    /// gain a split must have to be made
    gamma: f64 = 0.0,
        Shrinkage, AllowedValues::from(0.0), aliases ["min_split_gain"], only [TREES];
    /// least sum of hessians (squared error: of row weights) in a leaf
    min_child_weight: f64 = 1.0,
        Shrinkage, AllowedValues::from(0.0), aliases [], only [TREES];
    /// share of the rows each tree is grown on
    subsample: f64 = 1.0,
        Sampling, AllowedValues::above(0.0, 1.0), aliases [], only [TREES];
    /// share of the features each tree may use
    colsample_bytree: f64 = 1.0,
        Sampling, AllowedValues::above(0.0, 1.0), aliases ["colsample"], only [TREES];
    /// greatest number of bins a feature is cut into
    max_bin: usize = 255,
        Sampling, AllowedValues::whole(2, 255), aliases ["max_bins"], only [TREES];
    /// start of every random stream; the same seed gives the same model, whatever the number of
    /// threads
    seed: u64 = 0,
        Sampling, AllowedValues::whole(0, u64::MAX), aliases ["random_state"], only [];
    /// loss that training minimises
    objective: ObjectiveChoice = ObjectiveChoice::Auto,
        Objective, AllowedValues::Choices(ObjectiveChoice::CHOICES), aliases ["loss"], only [];
    /// distance from which the Huber loss is linear
    huber_delta: f64 = 1.0,
        Objective, AllowedValues::above(0.0, f64::INFINITY), aliases [],
        only [ParamCondition::Objective(&["huber"])];
    /// the quantile to predict
    quantile: f64 = 0.5,
        Objective, AllowedValues::between(0.0, 1.0), aliases [],
        only [ParamCondition::Objective(&["quantile"])];
    /// share of the training rows held out for validation; 0 is none
    valid_fraction: f64 = 0.0,
        Validation, AllowedValues::below(0.0, 1.0), aliases ["validation_fraction"], only [];
    /// rounds without a better validation metric after which training stops; 0 never stops
    early_stopping_rounds: usize = 0,
        Validation, AllowedValues::whole(0, 1_000_000), aliases ["early_stopping"], only [];
    /// validation metric that early stopping watches
    metric: MetricChoice = MetricChoice::Auto,
        Validation, AllowedValues::Choices(MetricChoice::CHOICES), aliases ["eval_metric"], only [];
    /// members of the swarm; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and 4
    /// trees for swarm-tree
    population: Auto<usize> = Auto::Auto,
        Swarm, AllowedValues::whole(1, 1_000_000), aliases [], only [];
    /// iterations of the swarm, the initial one counted; the paper of sgbdt does not tell its own
    /// number
    iterations: usize = 100,
        Swarm, AllowedValues::whole(1, 1_000_000), aliases [], only [];
    /// chance that a dimension takes the value of the particle's own best
    alpha: f64 = 0.45,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// chance that a dimension takes the value of the global best
    beta: f64 = 0.45,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// what the swarm makes best on the training rows
    fitness: FitnessChoice = FitnessChoice::Auto,
        Swarm, AllowedValues::Choices(FitnessChoice::CHOICES), aliases [], only [];
    /// part of the sensitivity in the fitness recall if there are two classes; the rest is
    /// specificity
    sensitivity: f64 = 0.5,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// whether alpha and beta follow the state of the swarm; not in the paper
    adaptive: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [];
    /// chance that a dimension is drawn anew after a move; not in the paper
    mutation: f64 = 0.0,
        Swarm, AllowedValues::within(0.0, 1.0), aliases [], only [];
    /// whether one particle starts at trees that were grown greedily; not in the paper
    greedy_seed: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [];
    /// whether rules of the best particle are then replaced one at a time as long as that helps;
    /// not in the paper
    local_search: bool = false,
        Swarm, AllowedValues::Switch, aliases [], only [OBLIVIOUS];
    /// chance of each earlier round to be left out
    rate_drop: f64 = 0.1,
        Dart, AllowedValues::within(0.0, 1.0), aliases ["drop_rate"], only [DART];
    /// chance that nothing is left out
    skip_drop: f64 = 0.5,
        Dart, AllowedValues::within(0.0, 1.0), aliases [], only [DART];
    /// greatest number of rounds left out at once; 0 is no limit
    max_drop: usize = 50,
        Dart, AllowedValues::whole(0, 1_000_000), aliases [], only [DART];
    /// seconds after which training stops with the best model so far; 0 is no limit
    time_limit: f64 = 0.0,
        Validation, AllowedValues::from(0.0), aliases [], only [];
    /// threads to use; 0 is one a core; never changes the model
    threads: usize = 0,
        Machine, AllowedValues::whole(0, 1024), aliases ["n_jobs", "nthread"], only [];
}
