"""The estimators, written by `python -m swarmwood._generate`: do not edit."""

from __future__ import annotations

from typing import Any

from swarmwood._classifier import Classifier
from swarmwood._regressor import Regressor
from swarmwood._single import SingleTree


class GreedyBoostClassifier(Classifier):
    """Gradient boosting with histograms: every split is the best one at its node.

    Trees are grown depth-wise, leaf-wise or obliviously.

    Parameters
    ----------
    booster : str, default='gbtree'
        What a round adds to the model. One of 'gbtree' (a tree a round); 'dart' (a tree a
        round, while some earlier trees are left out); 'gblinear' (a step of a linear function).
    growth : str, default='auto'
        Order in which a tree grows. One of 'auto' (for greedy depth; for swarm leaf, or
        oblivious if better on unseen rows; oblivious for the other swarms); 'depth' (level
        after level, every node that gains); 'leaf' (the leaf that gains most, until there are
        enough leaves); 'oblivious' (level after level, one rule for the whole level).
    n_estimators : int, default=100
        Rounds; each adds one tree, or one tree a class where there are three or more classes;
        for split-tree of the model before. A whole number from 1 to 1000000.
    max_depth : int, default=6
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. A whole number from 0 to 32.
    max_leaves : int, default=0
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. A whole number from 0 to 1048576.
    learning_rate : float, default=0.1
        Share of each step that is taken. A number above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. A number from 0.
    reg_alpha : float, default=0.0
        L1 penalty on the weights of a linear function. A number from 0.
    gamma : float, default=0.0
        Gain a split must have to be made. A number from 0.
    min_child_weight : float, default=1.0
        Least sum of hessians (squared error: of row weights) in a leaf. A number from 0.
    subsample : float, default=1.0
        Share of the rows each tree is grown on. A number above 0, at most 1.
    colsample_bytree : float, default=1.0
        Share of the features each tree may use. A number above 0, at most 1.
    max_bin : int, default=255
        Greatest number of bins a feature is cut into. A whole number from 2 to 255.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'logistic' (log loss of two classes); 'softmax' (log loss of
        three or more classes).
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    early_stopping_rounds : int, default=0
        Rounds without a better validation metric after which training stops; 0 never stops. A
        whole number from 0 to 1000000.
    eval_metric : str, default='auto'
        Validation metric that early stopping watches. One of 'auto' (the loss of the
        objective); 'logloss' (log loss); 'accuracy' (share of rows whose class is right).
    rate_drop : float, default=0.1
        Chance of each earlier round to be left out. A number from 0 to 1.
    skip_drop : float, default=0.5
        Chance that nothing is left out. A number from 0 to 1.
    max_drop : int, default=50
        Greatest number of rounds left out at once; 0 is no limit. A whole number from 0 to
        1000000.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("greedy",)

    def __init__(
        self,
        *,
        booster: str = "gbtree",
        growth: str = "auto",
        n_estimators: int = 100,
        max_depth: int = 6,
        max_leaves: int = 0,
        learning_rate: float = 0.1,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        objective: str = "auto",
        validation_fraction: float = 0.0,
        early_stopping_rounds: int = 0,
        eval_metric: str = "auto",
        rate_drop: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        categorical_features: Any = "from_dtype",
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.booster = booster
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.rate_drop = rate_drop
        self.skip_drop = skip_drop
        self.max_drop = max_drop
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.importance_type = importance_type
        self.verbose = verbose


class GreedyBoostRegressor(Regressor):
    """Gradient boosting with histograms: every split is the best one at its node.

    Trees are grown depth-wise, leaf-wise or obliviously.

    Parameters
    ----------
    booster : str, default='gbtree'
        What a round adds to the model. One of 'gbtree' (a tree a round); 'dart' (a tree a
        round, while some earlier trees are left out); 'gblinear' (a step of a linear function).
    growth : str, default='auto'
        Order in which a tree grows. One of 'auto' (for greedy depth; for swarm leaf, or
        oblivious if better on unseen rows; oblivious for the other swarms); 'depth' (level
        after level, every node that gains); 'leaf' (the leaf that gains most, until there are
        enough leaves); 'oblivious' (level after level, one rule for the whole level).
    n_estimators : int, default=100
        Rounds; each adds one tree, or one tree a class where there are three or more classes;
        for split-tree of the model before. A whole number from 1 to 1000000.
    max_depth : int, default=6
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. A whole number from 0 to 32.
    max_leaves : int, default=0
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. A whole number from 0 to 1048576.
    learning_rate : float, default=0.1
        Share of each step that is taken. A number above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. A number from 0.
    reg_alpha : float, default=0.0
        L1 penalty on the weights of a linear function. A number from 0.
    gamma : float, default=0.0
        Gain a split must have to be made. A number from 0.
    min_child_weight : float, default=1.0
        Least sum of hessians (squared error: of row weights) in a leaf. A number from 0.
    subsample : float, default=1.0
        Share of the rows each tree is grown on. A number above 0, at most 1.
    colsample_bytree : float, default=1.0
        Share of the features each tree may use. A number above 0, at most 1.
    max_bin : int, default=255
        Greatest number of bins a feature is cut into. A whole number from 2 to 255.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'squared' (squared error: predicts the mean); 'squared-log'
        (squared error of ln(1 + y), for targets above -1 that grow by factors); 'absolute'
        (absolute error: predicts the median); 'huber' (squared error near the target, absolute
        error further away than huber_delta); 'quantile' (pinball loss: predicts the given
        quantile); 'poisson' (Poisson deviance with a log link, for counts).
    huber_delta : float, default=1.0
        Distance from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    early_stopping_rounds : int, default=0
        Rounds without a better validation metric after which training stops; 0 never stops. A
        whole number from 0 to 1000000.
    eval_metric : str, default='auto'
        Validation metric that early stopping watches. One of 'auto' (the loss of the
        objective); 'rmse' (root of the mean squared error); 'mae' (mean absolute error).
    rate_drop : float, default=0.1
        Chance of each earlier round to be left out. A number from 0 to 1.
    skip_drop : float, default=0.5
        Chance that nothing is left out. A number from 0 to 1.
    max_drop : int, default=50
        Greatest number of rounds left out at once; 0 is no limit. A whole number from 0 to
        1000000.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("greedy",)

    def __init__(
        self,
        *,
        booster: str = "gbtree",
        growth: str = "auto",
        n_estimators: int = 100,
        max_depth: int = 6,
        max_leaves: int = 0,
        learning_rate: float = 0.1,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        objective: str = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        validation_fraction: float = 0.0,
        early_stopping_rounds: int = 0,
        eval_metric: str = "auto",
        rate_drop: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.booster = booster
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.rate_drop = rate_drop
        self.skip_drop = skip_drop
        self.max_drop = max_drop
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmBoostClassifier(Classifier):
    """A small ensemble whose trees are optimised together.

    The default method compares its search with greedy boosting by cross-validation and keeps
    the better one. The others are the published particle swarms (Rao 2022).

    Parameters
    ----------
    method : str, default='swarm'
        How the model is found. One of 'swarm' (all trees are searched together; greedy boosting
        where that is better on unseen rows); 'sgbdt' (a discrete particle swarm over every
        distinct value, as published (SGBDT)); 'sgbdt-bins' (the same swarm over the boundaries
        of bins (SGBDT-bins)); 'psgbdt' (the same swarm over the splits of a model that was
        trained before (PSGBDT)).
    growth : str | None, default=None
        Order in which a tree grows. None is auto for swarm; oblivious for sgbdt, sgbdt-bins,
        psgbdt. One of 'auto' (for greedy depth; for swarm leaf, or oblivious if better on
        unseen rows; oblivious for the other swarms); 'depth' (level after level, every node
        that gains); 'leaf' (the leaf that gains most, until there are enough leaves);
        'oblivious' (level after level, one rule for the whole level).
    n_estimators : int, default=6
        Rounds; each adds one tree, or one tree a class where there are three or more classes;
        for split-tree of the model before. A whole number from 1 to 1000000.
    max_depth : int | None, default=None
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. None is 0 for swarm; 5 for sgbdt, sgbdt-bins, psgbdt. A whole number from 0 to
        32.
    max_leaves : int, default=32
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. Only with swarm. A whole number from 0 to
        1048576.
    total_leaves : int, default=0
        Leaves of all trees together, to be spent on few large or many small trees; 0 keeps to
        trees and max_leaves. Only with swarm. A whole number from 0 to 1048576.
    budget : int, default=0
        Work a search may do: trees grown (swarm) or descents (swarm-tree); 0 is as much as the
        method wants. Only with swarm. A whole number from 0 to 1000000000.
    learning_rate : float, default=1.0
        Share of each step that is taken. Only with sgbdt, sgbdt-bins, psgbdt. A number above 0,
        at most 1.
    reg_lambda : float, default=0.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0.
    max_bin : int | None, default=None
        Greatest number of bins a feature is cut into. None is 255 for swarm, sgbdt, psgbdt; 100
        for sgbdt-bins. A whole number from 2 to 255.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'logistic' (log loss of two classes); 'softmax' (log loss of
        three or more classes).
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    population : int | str, default='auto'
        Members of the swarm; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and
        4 trees for swarm-tree. Only with sgbdt, sgbdt-bins, psgbdt. A whole number from 1 to
        1000000.
    iterations : int, default=100
        Iterations of the swarm, the initial one counted; the paper of sgbdt does not tell its
        own number. Only with sgbdt, sgbdt-bins, psgbdt. A whole number from 1 to 1000000.
    alpha : float, default=0.45
        Chance that a dimension takes the value of the particle's own best. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    beta : float, default=0.45
        Chance that a dimension takes the value of the global best. Only with sgbdt, sgbdt-bins,
        psgbdt. A number from 0 to 1.
    fitness : str, default='auto'
        What the swarm makes best on the training rows. Only with sgbdt, sgbdt-bins, psgbdt. One
        of 'auto' (accuracy for classes, rmse for numbers, as published); 'accuracy' (share of
        rows whose class is right); 'recall' (mean share of each class's rows that is right:
        sensitivity and specificity of two classes; for single trees); 'loss' (the mean loss of
        the objective).
    adaptive : bool, default=False
        Whether alpha and beta follow the state of the swarm; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt.
    mutation : float, default=0.0
        Chance that a dimension is drawn anew after a move; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    greedy_seed : bool, default=False
        Whether one particle starts at trees that were grown greedily; not in the paper. Only
        with sgbdt, sgbdt-bins, psgbdt.
    local_search : bool, default=False
        Whether rules of the best particle are then replaced one at a time as long as that
        helps; not in the paper. Only with sgbdt, sgbdt-bins, psgbdt.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt and split-tree start from: a file, or a model of
        XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm", "sgbdt", "sgbdt-bins", "psgbdt")

    def __init__(
        self,
        *,
        method: str = "swarm",
        growth: str | None = None,
        n_estimators: int = 6,
        max_depth: int | None = None,
        max_leaves: int = 32,
        total_leaves: int = 0,
        budget: int = 0,
        learning_rate: float = 1.0,
        reg_lambda: float = 0.0,
        max_bin: int | None = None,
        random_state: Any = None,
        objective: str = "auto",
        validation_fraction: float = 0.0,
        population: int | str = "auto",
        iterations: int = 100,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        adaptive: bool = False,
        mutation: float = 0.0,
        greedy_seed: bool = False,
        local_search: bool = False,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        categorical_features: Any = "from_dtype",
        pretrained: Any = None,
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.total_leaves = total_leaves
        self.budget = budget
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.validation_fraction = validation_fraction
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.adaptive = adaptive
        self.mutation = mutation
        self.greedy_seed = greedy_seed
        self.local_search = local_search
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.pretrained = pretrained
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmBoostRegressor(Regressor):
    """A small ensemble whose trees are optimised together.

    The default method compares its search with greedy boosting by cross-validation and keeps
    the better one. The others are the published particle swarms (Rao 2022).

    Parameters
    ----------
    method : str, default='swarm'
        How the model is found. One of 'swarm' (all trees are searched together; greedy boosting
        where that is better on unseen rows); 'sgbdt' (a discrete particle swarm over every
        distinct value, as published (SGBDT)); 'sgbdt-bins' (the same swarm over the boundaries
        of bins (SGBDT-bins)); 'psgbdt' (the same swarm over the splits of a model that was
        trained before (PSGBDT)).
    growth : str | None, default=None
        Order in which a tree grows. None is auto for swarm; oblivious for sgbdt, sgbdt-bins,
        psgbdt. One of 'auto' (for greedy depth; for swarm leaf, or oblivious if better on
        unseen rows; oblivious for the other swarms); 'depth' (level after level, every node
        that gains); 'leaf' (the leaf that gains most, until there are enough leaves);
        'oblivious' (level after level, one rule for the whole level).
    n_estimators : int, default=6
        Rounds; each adds one tree, or one tree a class where there are three or more classes;
        for split-tree of the model before. A whole number from 1 to 1000000.
    max_depth : int | None, default=None
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. None is 0 for swarm; 5 for sgbdt, sgbdt-bins, psgbdt. A whole number from 0 to
        32.
    max_leaves : int, default=32
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. Only with swarm. A whole number from 0 to
        1048576.
    total_leaves : int, default=0
        Leaves of all trees together, to be spent on few large or many small trees; 0 keeps to
        trees and max_leaves. Only with swarm. A whole number from 0 to 1048576.
    budget : int, default=0
        Work a search may do: trees grown (swarm) or descents (swarm-tree); 0 is as much as the
        method wants. Only with swarm. A whole number from 0 to 1000000000.
    learning_rate : float, default=1.0
        Share of each step that is taken. Only with sgbdt, sgbdt-bins, psgbdt. A number above 0,
        at most 1.
    reg_lambda : float, default=0.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0.
    max_bin : int | None, default=None
        Greatest number of bins a feature is cut into. None is 255 for swarm, sgbdt, psgbdt; 100
        for sgbdt-bins. A whole number from 2 to 255.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'squared' (squared error: predicts the mean); 'squared-log'
        (squared error of ln(1 + y), for targets above -1 that grow by factors); 'absolute'
        (absolute error: predicts the median); 'huber' (squared error near the target, absolute
        error further away than huber_delta); 'quantile' (pinball loss: predicts the given
        quantile); 'poisson' (Poisson deviance with a log link, for counts).
    huber_delta : float, default=1.0
        Distance from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    population : int | str, default='auto'
        Members of the swarm; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and
        4 trees for swarm-tree. Only with sgbdt, sgbdt-bins, psgbdt. A whole number from 1 to
        1000000.
    iterations : int, default=100
        Iterations of the swarm, the initial one counted; the paper of sgbdt does not tell its
        own number. Only with sgbdt, sgbdt-bins, psgbdt. A whole number from 1 to 1000000.
    alpha : float, default=0.45
        Chance that a dimension takes the value of the particle's own best. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    beta : float, default=0.45
        Chance that a dimension takes the value of the global best. Only with sgbdt, sgbdt-bins,
        psgbdt. A number from 0 to 1.
    fitness : str, default='auto'
        What the swarm makes best on the training rows. Only with sgbdt, sgbdt-bins, psgbdt. One
        of 'auto' (accuracy for classes, rmse for numbers, as published); 'rmse' (root of the
        mean squared error); 'loss' (the mean loss of the objective).
    adaptive : bool, default=False
        Whether alpha and beta follow the state of the swarm; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt.
    mutation : float, default=0.0
        Chance that a dimension is drawn anew after a move; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    greedy_seed : bool, default=False
        Whether one particle starts at trees that were grown greedily; not in the paper. Only
        with sgbdt, sgbdt-bins, psgbdt.
    local_search : bool, default=False
        Whether rules of the best particle are then replaced one at a time as long as that
        helps; not in the paper. Only with sgbdt, sgbdt-bins, psgbdt.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt and split-tree start from: a file, or a model of
        XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm", "sgbdt", "sgbdt-bins", "psgbdt")

    def __init__(
        self,
        *,
        method: str = "swarm",
        growth: str | None = None,
        n_estimators: int = 6,
        max_depth: int | None = None,
        max_leaves: int = 32,
        total_leaves: int = 0,
        budget: int = 0,
        learning_rate: float = 1.0,
        reg_lambda: float = 0.0,
        max_bin: int | None = None,
        random_state: Any = None,
        objective: str = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        validation_fraction: float = 0.0,
        population: int | str = "auto",
        iterations: int = 100,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        adaptive: bool = False,
        mutation: float = 0.0,
        greedy_seed: bool = False,
        local_search: bool = False,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        pretrained: Any = None,
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.total_leaves = total_leaves
        self.budget = budget
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.validation_fraction = validation_fraction
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.adaptive = adaptive
        self.mutation = mutation
        self.greedy_seed = greedy_seed
        self.local_search = local_search
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.pretrained = pretrained
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmTreeClassifier(SingleTree, Classifier):
    """A single interpretable tree whose splits are optimised together.

    The default method searches whole trees and keeps the tree of CART where that is better in
    cross-validation. `rules_` has the tree as a small set of rules.

    Parameters
    ----------
    method : str, default='swarm-tree'
        How the model is found. One of 'swarm-tree' (one small tree whose rules are searched
        together); 'cart' (one tree, grown greedily and cut back by cross-validation (CART));
        'apso-tree' (the thresholds of such a tree moved together by an adaptive particle swarm,
        as published (CART and APSO)); 'tso-tree' (one tree whose every place is won by the
        symbol of greatest score, as published (TSO)); 'split-tree' (one tree by a discrete
        particle swarm over the splits of a model that was trained before).
    n_estimators : int, default=6
        Rounds; each adds one tree, or one tree a class where there are three or more classes;
        for split-tree of the model before. Only with split-tree. A whole number from 1 to
        1000000.
    max_depth : int | None, default=None
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. None is 0 for swarm-tree, cart, apso-tree; 3 for tso-tree; 4 for split-tree. A
        whole number from 0 to 32.
    max_leaves : int, default=0
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. Only with swarm-tree, cart, apso-tree. A whole
        number from 0 to 1048576.
    budget : int, default=0
        Work a search may do: trees grown (swarm) or descents (swarm-tree); 0 is as much as the
        method wants. Only with swarm-tree. A whole number from 0 to 1000000000.
    criterion : str, default='auto'
        What the rules of a single tree are chosen by. Only with swarm-tree, cart. One of 'auto'
        (gini for cart and mix for swarm-tree if the target has classes, squared if it is a
        number); 'accuracy' (rows of another class than their leaf's); 'mix' (half accuracy,
        half Gini impurity); 'gini' (Gini impurity of the leaves); 'entropy' (entropy of the
        leaves, which is the log loss).
    costs : Any, default=None
        What mistakes cost, a row a true class, a column a decision: '0,1;5,0' makes it five
        times as dear to miss the second. Only with swarm-tree, cart.
    min_samples_leaf : int | str, default='auto'
        Fewest rows of a leaf; auto is 1, and for swarm-tree 5 for classes and 20 for numbers.
        Only with swarm-tree, cart, apso-tree. A whole number from 1 to 4294967296.
    thresholds : int, default=0
        Most places where a number may be cut; 0 is between any two values. A whole number from
        0 to 65534.
    guard : bool | str, default='auto'
        Whether CART's tree is kept unless the search is better on unseen rows; auto is yes for
        classes without a criterion. Only with swarm-tree.
    prune : str, default='best'
        How far a grown tree is cut back. Only with cart, apso-tree. One of 'best' (to the size
        with the least cross-validated error); '1-se' (to the smallest size within one standard
        error of it); 'none' (not at all).
    folds : int, default=5
        Parts of the rows for cross-validation. Only with swarm-tree, cart, apso-tree. A whole
        number from 2 to 100.
    grid_thresholds : int, default=15
        Most thresholds of a grid; a tree with more is refused, as few of its cells would hold
        rows. Only with apso-tree. A whole number from 1 to 20.
    empty_cells : str, default='nearest'
        What cells of the grid without training rows predict. Only with apso-tree. One of
        'nearest' (the class of the cell with rows that the fewest thresholds lie between);
        'random' (any class, drawn for each cell, as published).
    repeats : int, default=1
        Grids to search, each after the first on a random half of the features; the one that
        fits best is kept. Only with apso-tree. A whole number from 1 to 1000.
    learning_rate : float, default=1.0
        Share of each step that is taken. Only with split-tree. A number above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with split-tree.
        A number from 0.
    max_bin : int, default=255
        Greatest number of bins a feature is cut into. Only with split-tree. A whole number from
        2 to 255.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    population : int | str, default='auto'
        Members of the swarm; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and
        4 trees for swarm-tree. Only with swarm-tree, apso-tree, tso-tree, split-tree. A whole
        number from 1 to 1000000.
    iterations : int | None, default=None
        Iterations of the swarm, the initial one counted; the paper of sgbdt does not tell its
        own number. None is 500 for apso-tree; 200 for tso-tree; 100 for split-tree. Only with
        apso-tree, tso-tree, split-tree. A whole number from 1 to 1000000.
    alpha : float, default=0.45
        Chance that a dimension takes the value of the particle's own best. Only with
        split-tree. A number from 0 to 1.
    beta : float, default=0.45
        Chance that a dimension takes the value of the global best. Only with split-tree. A
        number from 0 to 1.
    fitness : str, default='auto'
        What the swarm makes best on the training rows. Only with apso-tree, tso-tree,
        split-tree. One of 'auto' (accuracy for classes, rmse for numbers, as published);
        'accuracy' (share of rows whose class is right); 'recall' (mean share of each class's
        rows that is right: sensitivity and specificity of two classes; for single trees);
        'loss' (the mean loss of the objective).
    sensitivity : float, default=0.5
        Part of the sensitivity in the fitness recall if there are two classes; the rest is
        specificity. Only with apso-tree, tso-tree, split-tree. A number from 0 to 1.
    adaptive : bool, default=False
        Whether alpha and beta follow the state of the swarm; not in the paper. Only with
        split-tree.
    mutation : float, default=0.0
        Chance that a dimension is drawn anew after a move; not in the paper. Only with
        split-tree. A number from 0 to 1.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt and split-tree start from: a file, or a model of
        XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm-tree", "cart", "apso-tree", "tso-tree", "split-tree")

    def __init__(
        self,
        *,
        method: str = "swarm-tree",
        n_estimators: int = 6,
        max_depth: int | None = None,
        max_leaves: int = 0,
        budget: int = 0,
        criterion: str = "auto",
        costs: Any = None,
        min_samples_leaf: int | str = "auto",
        thresholds: int = 0,
        guard: bool | str = "auto",
        prune: str = "best",
        folds: int = 5,
        grid_thresholds: int = 15,
        empty_cells: str = "nearest",
        repeats: int = 1,
        learning_rate: float = 1.0,
        reg_lambda: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        validation_fraction: float = 0.0,
        population: int | str = "auto",
        iterations: int | None = None,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        sensitivity: float = 0.5,
        adaptive: bool = False,
        mutation: float = 0.0,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        categorical_features: Any = "from_dtype",
        pretrained: Any = None,
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.budget = budget
        self.criterion = criterion
        self.costs = costs
        self.min_samples_leaf = min_samples_leaf
        self.thresholds = thresholds
        self.guard = guard
        self.prune = prune
        self.folds = folds
        self.grid_thresholds = grid_thresholds
        self.empty_cells = empty_cells
        self.repeats = repeats
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.validation_fraction = validation_fraction
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.sensitivity = sensitivity
        self.adaptive = adaptive
        self.mutation = mutation
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.pretrained = pretrained
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmTreeRegressor(SingleTree, Regressor):
    """A single interpretable tree whose splits are optimised together.

    The default method searches whole trees and keeps the tree of CART where that is better in
    cross-validation. `rules_` has the tree as a small set of rules.

    Parameters
    ----------
    method : str, default='swarm-tree'
        How the model is found. One of 'swarm-tree' (one small tree whose rules are searched
        together); 'cart' (one tree, grown greedily and cut back by cross-validation (CART)).
    max_depth : int, default=0
        Greatest depth of a tree; 0 is no limit, for leaf growth alone; at most 16 for oblivious
        trees. A whole number from 0 to 32.
    max_leaves : int, default=0
        Greatest number of leaves; 0 is 31 for leaf growth, what the depth allows, or for
        swarm-tree the best size on unseen rows. A whole number from 0 to 1048576.
    budget : int, default=0
        Work a search may do: trees grown (swarm) or descents (swarm-tree); 0 is as much as the
        method wants. Only with swarm-tree. A whole number from 0 to 1000000000.
    criterion : str, default='auto'
        What the rules of a single tree are chosen by. One of 'auto' (gini for cart and mix for
        swarm-tree if the target has classes, squared if it is a number); 'squared' (squared
        error around the mean of the leaf); 'absolute' (absolute error around the median of the
        leaf).
    min_samples_leaf : int | str, default='auto'
        Fewest rows of a leaf; auto is 1, and for swarm-tree 5 for classes and 20 for numbers. A
        whole number from 1 to 4294967296.
    thresholds : int, default=0
        Most places where a number may be cut; 0 is between any two values. A whole number from
        0 to 65534.
    guard : bool | str, default='auto'
        Whether CART's tree is kept unless the search is better on unseen rows; auto is yes for
        classes without a criterion. Only with swarm-tree.
    prune : str, default='best'
        How far a grown tree is cut back. Only with cart. One of 'best' (to the size with the
        least cross-validated error); '1-se' (to the smallest size within one standard error of
        it); 'none' (not at all).
    folds : int, default=5
        Parts of the rows for cross-validation. A whole number from 2 to 100.
    random_state : Any, default=None
        Start of every random stream; the same seed gives the same model, whatever the number of
        threads. None is 0: the same data give the same model.
    huber_delta : float, default=1.0
        Distance from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    population : int | str, default='auto'
        Members of the swarm; auto is 50 for classes and 200 for numbers, 100 for apso-tree, and
        4 trees for swarm-tree. Only with swarm-tree. A whole number from 1 to 1000000.
    time_limit : float, default=0.0
        Seconds after which training stops with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm-tree", "cart")

    def __init__(
        self,
        *,
        method: str = "swarm-tree",
        max_depth: int = 0,
        max_leaves: int = 0,
        budget: int = 0,
        criterion: str = "auto",
        min_samples_leaf: int | str = "auto",
        thresholds: int = 0,
        guard: bool | str = "auto",
        prune: str = "best",
        folds: int = 5,
        random_state: Any = None,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        validation_fraction: float = 0.0,
        population: int | str = "auto",
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.budget = budget
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.thresholds = thresholds
        self.guard = guard
        self.prune = prune
        self.folds = folds
        self.random_state = random_state
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.validation_fraction = validation_fraction
        self.population = population
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.importance_type = importance_type
        self.verbose = verbose
