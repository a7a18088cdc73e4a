"""The estimators, written by `python -m swarmwood._generate`: do not edit."""

from __future__ import annotations

from typing import Any

from swarmwood._classifier import Classifier
from swarmwood._regressor import Regressor
from swarmwood._rules import Rules, SingleTree


class GreedyBoostClassifier(Rules, Classifier):
    """Gradient boosting with histograms: every split is the best one at its node.

    Trees are grown depth-wise, leaf-wise or obliviously.

    Parameters
    ----------
    booster : str, default='gbtree'
        What a boosting round adds to the model. One of 'gbtree' (one tree per round); 'dart'
        (one tree per round, fitted while some earlier trees are dropped (DART)); 'gblinear' (a
        step of a linear function).
    growth : str, default='auto'
        Order in which a tree grows. One of 'auto' (depth for greedy; leaf for swarm, or
        oblivious if its cross-validated score is better; oblivious for the other swarms);
        'depth' (level by level, every node with a positive gain); 'leaf' (the leaf with the
        largest gain first, until max_leaves is reached); 'oblivious' (level by level, with one
        split for the whole level).
    n_estimators : int, default=100
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. A whole number from 0 to 1000000.
    max_depth : int, default=6
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. A whole number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. A whole number from 0 to
        1048576.
    lookahead : int, default=1
        Levels of splits that are chosen together: 1 takes the best split of each node; 2 also
        tries trees over pairs and triples of features that interact, where no first split gains
        anything; the default method decides by itself. A whole number from 1 to 2.
    learning_rate : float, default=0.1
        Learning rate: the share of each step that is taken. A number above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. A number from 0.
    reg_alpha : float, default=0.0
        L1 penalty on the weights of a linear function. A number from 0.
    gamma : float, default=0.0
        Minimum gain of a split. A number from 0.
    min_child_weight : float, default=1.0
        Minimum sum of hessians in a leaf; for squared error, of row weights. A number from 0.
    subsample : float, default=1.0
        Share of the rows each tree is grown on. A number above 0, at most 1.
    colsample_bytree : float, default=1.0
        Share of the features each tree may use. A number above 0, at most 1.
    max_bin : int, default=255
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : Any, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'logistic' (log loss of two classes); 'softmax' (log loss of
        three or more classes). Or a function of (y_true, raw_score) that returns the gradient
        and the hessian, or an `Objective`, which swarm needs.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    early_stopping_rounds : int, default=0
        Rounds without a better validation metric after which training stops; 0 never stops. A
        whole number from 0 to 1000000.
    eval_metric : Any, default='auto'
        Validation metric of early stopping. One of 'auto' (the loss of the objective);
        'logloss' (log loss); 'accuracy' (share of rows whose class is predicted correctly);
        'balanced-accuracy' (mean recall of the classes); 'brier' (mean squared error of the
        probabilities); 'auc' (area under the ROC curve; the mean over three or more classes);
        'f1' (harmonic mean of precision and recall; the mean over three or more classes). Or a
        function of (y_true, y_pred) to be minimised, or a `Metric`.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. A dict of feature names, or a list with one value per
        feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. A string such as 'age<=25' or 'region in
        {a,b}', or a nested dict with feature, threshold or in, missing, left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. A dict of
        feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. A number from 0.
    threshold : float, default=0.5
        Two classes: the second one is predicted where its probability is greater than this. A
        number above 0, below 1.
    threshold_for : str | None, default=None
        What the threshold of two classes is chosen for, on rows that the fits have not seen;
        the second class is the positive one. None, f1, cost=FN:FP with the costs of a false
        negative and a false positive (cost=5:1), precision=P or recall=R with a number above 0
        and below 1 (precision=0.9).
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    rate_drop : float, default=0.1
        Probability that an earlier round is dropped, of which at least one is; 0 drops none. A
        number from 0 to 1.
    skip_drop : float, default=0.5
        Probability that no round is dropped. A number from 0 to 1.
    max_drop : int, default=50
        Maximum number of rounds dropped at once; 0 is no limit. A whole number from 0 to
        1000000.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    scale_pos_weight : float, default=1.0
        Weight of the second of two classes; the first has 1.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    warm_start : bool, default=False
        Whether `fit` continues the model of the last fit: its trees stay, and others are added
        until there are `n_estimators` rounds.
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
        lookahead: int = 1,
        learning_rate: float = 0.1,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        objective: Any = "auto",
        validation_fraction: float = 0.0,
        early_stopping_rounds: int = 0,
        eval_metric: Any = "auto",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        threshold: float = 0.5,
        threshold_for: str | None = None,
        interval: float = 0.0,
        points: str | None = None,
        integer_leaves: int = 0,
        rate_drop: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        scale_pos_weight: float = 1.0,
        categorical_features: Any = "from_dtype",
        warm_start: bool = False,
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.booster = booster
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.lookahead = lookahead
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
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.threshold = threshold
        self.threshold_for = threshold_for
        self.interval = interval
        self.points = points
        self.integer_leaves = integer_leaves
        self.rate_drop = rate_drop
        self.skip_drop = skip_drop
        self.max_drop = max_drop
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.scale_pos_weight = scale_pos_weight
        self.categorical_features = categorical_features
        self.warm_start = warm_start
        self.importance_type = importance_type
        self.verbose = verbose


class GreedyBoostRegressor(Rules, Regressor):
    """Gradient boosting with histograms: every split is the best one at its node.

    Trees are grown depth-wise, leaf-wise or obliviously.

    Parameters
    ----------
    booster : str, default='gbtree'
        What a boosting round adds to the model. One of 'gbtree' (one tree per round); 'dart'
        (one tree per round, fitted while some earlier trees are dropped (DART)); 'gblinear' (a
        step of a linear function).
    growth : str, default='auto'
        Order in which a tree grows. One of 'auto' (depth for greedy; leaf for swarm, or
        oblivious if its cross-validated score is better; oblivious for the other swarms);
        'depth' (level by level, every node with a positive gain); 'leaf' (the leaf with the
        largest gain first, until max_leaves is reached); 'oblivious' (level by level, with one
        split for the whole level).
    n_estimators : int, default=100
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. A whole number from 0 to 1000000.
    max_depth : int, default=6
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. A whole number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. A whole number from 0 to
        1048576.
    lookahead : int, default=1
        Levels of splits that are chosen together: 1 takes the best split of each node; 2 also
        tries trees over pairs and triples of features that interact, where no first split gains
        anything; the default method decides by itself. A whole number from 1 to 2.
    learning_rate : float, default=0.1
        Learning rate: the share of each step that is taken. A number above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. A number from 0.
    reg_alpha : float, default=0.0
        L1 penalty on the weights of a linear function. A number from 0.
    gamma : float, default=0.0
        Minimum gain of a split. A number from 0.
    min_child_weight : float, default=1.0
        Minimum sum of hessians in a leaf; for squared error, of row weights. A number from 0.
    subsample : float, default=1.0
        Share of the rows each tree is grown on. A number above 0, at most 1.
    colsample_bytree : float, default=1.0
        Share of the features each tree may use. A number above 0, at most 1.
    max_bin : int, default=255
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : Any, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'squared' (squared error: predicts the mean); 'squared-log'
        (squared error of ln(1 + y), for targets above -1 that grow by factors);
        'squaredlogerror' (squared error of ln(1 + y) with scores on the scale of y, as in
        XGBoost); 'absolute' (absolute error: predicts the median); 'huber' (squared error near
        the target, absolute error further away than huber_delta); 'quantile' (pinball loss:
        predicts the given quantile); 'poisson' (Poisson deviance with a log link, for counts);
        'gamma' (gamma deviance with a log link, for positive amounts); 'tweedie' (Tweedie
        deviance with a log link, for amounts that are often 0). Or a function of (y_true,
        raw_score) that returns the gradient and the hessian, or an `Objective`, which swarm
        needs.
    huber_delta : float, default=1.0
        Residual from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    tweedie_power : float, default=1.5
        Power of the mean that the variance of the Tweedie loss is proportional to, between 1
        (Poisson) and 2 (gamma). A number above 1, below 2.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    early_stopping_rounds : int, default=0
        Rounds without a better validation metric after which training stops; 0 never stops. A
        whole number from 0 to 1000000.
    eval_metric : Any, default='auto'
        Validation metric of early stopping. One of 'auto' (the loss of the objective); 'rmse'
        (root mean squared error); 'mae' (mean absolute error); 'r2' (share of the target's
        variance that the predictions explain); 'medae' (median absolute error); 'mape' (mean
        absolute error as a share of the target). Or a function of (y_true, y_pred) to be
        minimised, or a `Metric`.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. A dict of feature names, or a list with one value per
        feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. A string such as 'age<=25' or 'region in
        {a,b}', or a nested dict with feature, threshold or in, missing, left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. A dict of
        feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. A number from 0.
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    interval_kind : str, default='constant'
        How wide intervals of numbers are. One of 'constant' (the same width for all rows);
        'adaptive' (wider where errors are larger: a small tree predicts their size from the
        features).
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    rate_drop : float, default=0.1
        Probability that an earlier round is dropped, of which at least one is; 0 drops none. A
        number from 0 to 1.
    skip_drop : float, default=0.5
        Probability that no round is dropped. A number from 0 to 1.
    max_drop : int, default=50
        Maximum number of rounds dropped at once; 0 is no limit. A whole number from 0 to
        1000000.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    warm_start : bool, default=False
        Whether `fit` continues the model of the last fit: its trees stay, and others are added
        until there are `n_estimators` rounds.
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
        lookahead: int = 1,
        learning_rate: float = 0.1,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        objective: Any = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        validation_fraction: float = 0.0,
        early_stopping_rounds: int = 0,
        eval_metric: Any = "auto",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        interval: float = 0.0,
        interval_kind: str = "constant",
        points: str | None = None,
        integer_leaves: int = 0,
        rate_drop: float = 0.1,
        skip_drop: float = 0.5,
        max_drop: int = 50,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        warm_start: bool = False,
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.booster = booster
        self.growth = growth
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.lookahead = lookahead
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
        self.tweedie_power = tweedie_power
        self.validation_fraction = validation_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.interval = interval
        self.interval_kind = interval_kind
        self.points = points
        self.integer_leaves = integer_leaves
        self.rate_drop = rate_drop
        self.skip_drop = skip_drop
        self.max_drop = max_drop
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.warm_start = warm_start
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmBoostClassifier(Rules, Classifier):
    """A small ensemble whose trees are optimised together.

    The default method compares its search with greedy boosting by cross-validation and keeps
    the better one. The others are the published particle swarms (Rao 2022).

    Parameters
    ----------
    method : str, default='swarm'
        Training method. One of 'swarm' (search over all trees of the ensemble; greedy boosting
        where its cross-validated score is better); 'sgbdt' (discrete particle swarm over every
        distinct value, as published (SGBDT)); 'sgbdt-bins' (the same swarm over the boundaries
        of bins (SGBDT-bins)); 'psgbdt' (the same swarm over the splits of a pretrained model
        (PSGBDT)); 'policy-gradient' (sequences of rules drawn by a policy network that is
        trained by REINFORCE, at the fitness of the swarms).
    growth : str | None, default=None
        Order in which a tree grows. None is auto for swarm; oblivious for sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. One of 'auto' (depth for greedy; leaf for swarm, or oblivious
        if its cross-validated score is better; oblivious for the other swarms); 'depth' (level
        by level, every node with a positive gain); 'leaf' (the leaf with the largest gain
        first, until max_leaves is reached); 'oblivious' (level by level, with one split for the
        whole level).
    n_estimators : int | None, default=None
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. None is 0 for swarm; 6 for sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A whole number from 0 to 1000000.
    max_depth : int | None, default=None
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. None is 0 for swarm; 5 for sgbdt, sgbdt-bins, psgbdt, policy-gradient. A whole
        number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. Only with swarm. A whole
        number from 0 to 1048576.
    total_leaves : int, default=0
        Total number of leaves of the ensemble (of each class for three or more);
        cross-validation chooses between few large and many small trees; 0 is 192 unless trees,
        max_leaves or depth is given. Only with swarm. A whole number from 0 to 1048576.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. A whole number from 0 to 1000000000.
    learning_rate : float, default=1.0
        Learning rate: the share of each step that is taken. Only with sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A number above 0, at most 1.
    reg_lambda : float, default=0.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with sgbdt,
        sgbdt-bins, psgbdt, policy-gradient. A number from 0.
    max_bin : int | None, default=None
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. None is 255 for swarm, sgbdt, psgbdt, policy-gradient; 100 for
        sgbdt-bins. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : Any, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'logistic' (log loss of two classes); 'softmax' (log loss of
        three or more classes). Or a function of (y_true, raw_score) that returns the gradient
        and the hessian, or an `Objective`, which swarm needs.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. Only with swarm. A dict of feature names, or a list
        with one value per feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Only with swarm. Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. Only with swarm. A string such as
        'age<=25' or 'region in {a,b}', or a nested dict with feature, threshold or in, missing,
        left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. Only with swarm. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. Only with
        swarm. A dict of feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. Only with swarm.
        A number from 0.
    threshold : float, default=0.5
        Two classes: the second one is predicted where its probability is greater than this. A
        number above 0, below 1.
    threshold_for : str | None, default=None
        What the threshold of two classes is chosen for, on rows that the fits have not seen;
        the second class is the positive one. None, f1, cost=FN:FP with the costs of a false
        negative and a false positive (cost=5:1), precision=P or recall=R with a number above 0
        and below 1 (precision=0.9).
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    population : int | str, default='auto'
        Number of particles, or of episodes per iteration; auto is 50 for classes and 200 for
        numbers, 100 for apso-tree, and 4 trees for swarm-tree. Only with sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A whole number from 1 to 1000000.
    iterations : int, default=100
        Iterations of the swarm or of the policy, including the initial one; the paper of sgbdt
        does not state its number. Only with sgbdt, sgbdt-bins, psgbdt, policy-gradient. A whole
        number from 1 to 1000000.
    alpha : float, default=0.45
        Probability that a dimension takes the value of the particle's own best. Only with
        sgbdt, sgbdt-bins, psgbdt. A number from 0 to 1.
    beta : float, default=0.45
        Probability that a dimension takes the value of the global best. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    fitness : str, default='auto'
        What the swarm optimises on the training rows. Only with sgbdt, sgbdt-bins, psgbdt,
        policy-gradient. One of 'auto' (accuracy for classes, rmse for numbers, as published);
        'accuracy' (share of rows whose class is predicted correctly); 'recall' (mean recall
        over the classes: sensitivity and specificity for two classes; for single trees); 'loss'
        (the mean loss of the objective).
    adaptive : bool, default=False
        Whether alpha and beta adapt to the state of the swarm; not in the paper. Only with
        sgbdt, sgbdt-bins, psgbdt.
    mutation : float, default=0.0
        Probability that a dimension is redrawn after a move; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    initial : str, default='auto'
        How the rules of the first particles, or of the first policy, are drawn. Only with
        sgbdt, sgbdt-bins, psgbdt, policy-gradient. One of 'auto' (uniform for psgbdt,
        feature-first for the other methods, as in the paper); 'uniform' (all rules of the table
        alike); 'feature-first' (a feature first and then one of its rules (the paper's
        algorithm 4)).
    greedy_seed : bool, default=False
        Whether one particle starts at greedily grown trees; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt.
    local_search : bool, default=False
        Whether local search then replaces rules of the best particle one at a time; not in the
        paper. Only with sgbdt, sgbdt-bins, psgbdt.
    rule_table : str, default='pretrained'
        Where the rules of the sequences come from. Only with policy-gradient. One of 'distinct'
        (every distinct value, as for sgbdt); 'bins' (the boundaries of bins, as for
        sgbdt-bins); 'pretrained' (the splits of a pretrained model, as for psgbdt).
    hidden_units : int, default=32
        Number of hidden units of the policy's network. Only with policy-gradient. A whole
        number from 1 to 256.
    policy_rate : float, default=0.05
        Learning rate of the policy (Adam). Only with policy-gradient. A number above 0, at most
        1.
    entropy_weight : float, default=0.01
        Weight of the policy's entropy, which keeps it from converging early. Only with
        policy-gradient. A number from 0.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    scale_pos_weight : float, default=1.0
        Weight of the second of two classes; the first has 1.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt, policy-gradient, split-tree start from: a file,
        or a model of XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm", "sgbdt", "sgbdt-bins", "psgbdt", "policy-gradient")

    def __init__(
        self,
        *,
        method: str = "swarm",
        growth: str | None = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        max_leaves: int = 0,
        total_leaves: int = 0,
        budget: int = 0,
        learning_rate: float = 1.0,
        reg_lambda: float = 0.0,
        max_bin: int | None = None,
        random_state: Any = None,
        objective: Any = "auto",
        validation_fraction: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        threshold: float = 0.5,
        threshold_for: str | None = None,
        interval: float = 0.0,
        points: str | None = None,
        integer_leaves: int = 0,
        population: int | str = "auto",
        iterations: int = 100,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        adaptive: bool = False,
        mutation: float = 0.0,
        initial: str = "auto",
        greedy_seed: bool = False,
        local_search: bool = False,
        rule_table: str = "pretrained",
        hidden_units: int = 32,
        policy_rate: float = 0.05,
        entropy_weight: float = 0.01,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        scale_pos_weight: float = 1.0,
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
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.threshold = threshold
        self.threshold_for = threshold_for
        self.interval = interval
        self.points = points
        self.integer_leaves = integer_leaves
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.adaptive = adaptive
        self.mutation = mutation
        self.initial = initial
        self.greedy_seed = greedy_seed
        self.local_search = local_search
        self.rule_table = rule_table
        self.hidden_units = hidden_units
        self.policy_rate = policy_rate
        self.entropy_weight = entropy_weight
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.scale_pos_weight = scale_pos_weight
        self.categorical_features = categorical_features
        self.pretrained = pretrained
        self.importance_type = importance_type
        self.verbose = verbose


class SwarmBoostRegressor(Rules, Regressor):
    """A small ensemble whose trees are optimised together.

    The default method compares its search with greedy boosting by cross-validation and keeps
    the better one. The others are the published particle swarms (Rao 2022).

    Parameters
    ----------
    method : str, default='swarm'
        Training method. One of 'swarm' (search over all trees of the ensemble; greedy boosting
        where its cross-validated score is better); 'sgbdt' (discrete particle swarm over every
        distinct value, as published (SGBDT)); 'sgbdt-bins' (the same swarm over the boundaries
        of bins (SGBDT-bins)); 'psgbdt' (the same swarm over the splits of a pretrained model
        (PSGBDT)); 'policy-gradient' (sequences of rules drawn by a policy network that is
        trained by REINFORCE, at the fitness of the swarms).
    growth : str | None, default=None
        Order in which a tree grows. None is auto for swarm; oblivious for sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. One of 'auto' (depth for greedy; leaf for swarm, or oblivious
        if its cross-validated score is better; oblivious for the other swarms); 'depth' (level
        by level, every node with a positive gain); 'leaf' (the leaf with the largest gain
        first, until max_leaves is reached); 'oblivious' (level by level, with one split for the
        whole level).
    n_estimators : int | None, default=None
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. None is 0 for swarm; 6 for sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A whole number from 0 to 1000000.
    max_depth : int | None, default=None
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. None is 0 for swarm; 5 for sgbdt, sgbdt-bins, psgbdt, policy-gradient. A whole
        number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. Only with swarm. A whole
        number from 0 to 1048576.
    total_leaves : int, default=0
        Total number of leaves of the ensemble (of each class for three or more);
        cross-validation chooses between few large and many small trees; 0 is 192 unless trees,
        max_leaves or depth is given. Only with swarm. A whole number from 0 to 1048576.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. A whole number from 0 to 1000000000.
    learning_rate : float, default=1.0
        Learning rate: the share of each step that is taken. Only with sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A number above 0, at most 1.
    reg_lambda : float, default=0.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with sgbdt,
        sgbdt-bins, psgbdt, policy-gradient. A number from 0.
    max_bin : int | None, default=None
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. None is 255 for swarm, sgbdt, psgbdt, policy-gradient; 100 for
        sgbdt-bins. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : Any, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'squared' (squared error: predicts the mean); 'squared-log'
        (squared error of ln(1 + y), for targets above -1 that grow by factors);
        'squaredlogerror' (squared error of ln(1 + y) with scores on the scale of y, as in
        XGBoost); 'absolute' (absolute error: predicts the median); 'huber' (squared error near
        the target, absolute error further away than huber_delta); 'quantile' (pinball loss:
        predicts the given quantile); 'poisson' (Poisson deviance with a log link, for counts);
        'gamma' (gamma deviance with a log link, for positive amounts); 'tweedie' (Tweedie
        deviance with a log link, for amounts that are often 0). Or a function of (y_true,
        raw_score) that returns the gradient and the hessian, or an `Objective`, which swarm
        needs.
    huber_delta : float, default=1.0
        Residual from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    tweedie_power : float, default=1.5
        Power of the mean that the variance of the Tweedie loss is proportional to, between 1
        (Poisson) and 2 (gamma). A number above 1, below 2.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. Only with swarm. A dict of feature names, or a list
        with one value per feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Only with swarm. Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. Only with swarm. A string such as
        'age<=25' or 'region in {a,b}', or a nested dict with feature, threshold or in, missing,
        left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. Only with swarm. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. Only with
        swarm. A dict of feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. Only with swarm.
        A number from 0.
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    interval_kind : str, default='constant'
        How wide intervals of numbers are. One of 'constant' (the same width for all rows);
        'adaptive' (wider where errors are larger: a small tree predicts their size from the
        features).
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    population : int | str, default='auto'
        Number of particles, or of episodes per iteration; auto is 50 for classes and 200 for
        numbers, 100 for apso-tree, and 4 trees for swarm-tree. Only with sgbdt, sgbdt-bins,
        psgbdt, policy-gradient. A whole number from 1 to 1000000.
    iterations : int, default=100
        Iterations of the swarm or of the policy, including the initial one; the paper of sgbdt
        does not state its number. Only with sgbdt, sgbdt-bins, psgbdt, policy-gradient. A whole
        number from 1 to 1000000.
    alpha : float, default=0.45
        Probability that a dimension takes the value of the particle's own best. Only with
        sgbdt, sgbdt-bins, psgbdt. A number from 0 to 1.
    beta : float, default=0.45
        Probability that a dimension takes the value of the global best. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    fitness : str, default='auto'
        What the swarm optimises on the training rows. Only with sgbdt, sgbdt-bins, psgbdt,
        policy-gradient. One of 'auto' (accuracy for classes, rmse for numbers, as published);
        'rmse' (root mean squared error); 'loss' (the mean loss of the objective).
    adaptive : bool, default=False
        Whether alpha and beta adapt to the state of the swarm; not in the paper. Only with
        sgbdt, sgbdt-bins, psgbdt.
    mutation : float, default=0.0
        Probability that a dimension is redrawn after a move; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt. A number from 0 to 1.
    initial : str, default='auto'
        How the rules of the first particles, or of the first policy, are drawn. Only with
        sgbdt, sgbdt-bins, psgbdt, policy-gradient. One of 'auto' (uniform for psgbdt,
        feature-first for the other methods, as in the paper); 'uniform' (all rules of the table
        alike); 'feature-first' (a feature first and then one of its rules (the paper's
        algorithm 4)).
    greedy_seed : bool, default=False
        Whether one particle starts at greedily grown trees; not in the paper. Only with sgbdt,
        sgbdt-bins, psgbdt.
    local_search : bool, default=False
        Whether local search then replaces rules of the best particle one at a time; not in the
        paper. Only with sgbdt, sgbdt-bins, psgbdt.
    rule_table : str, default='pretrained'
        Where the rules of the sequences come from. Only with policy-gradient. One of 'distinct'
        (every distinct value, as for sgbdt); 'bins' (the boundaries of bins, as for
        sgbdt-bins); 'pretrained' (the splits of a pretrained model, as for psgbdt).
    hidden_units : int, default=32
        Number of hidden units of the policy's network. Only with policy-gradient. A whole
        number from 1 to 256.
    policy_rate : float, default=0.05
        Learning rate of the policy (Adam). Only with policy-gradient. A number above 0, at most
        1.
    entropy_weight : float, default=0.01
        Weight of the policy's entropy, which keeps it from converging early. Only with
        policy-gradient. A number from 0.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt, policy-gradient, split-tree start from: a file,
        or a model of XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm", "sgbdt", "sgbdt-bins", "psgbdt", "policy-gradient")

    def __init__(
        self,
        *,
        method: str = "swarm",
        growth: str | None = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        max_leaves: int = 0,
        total_leaves: int = 0,
        budget: int = 0,
        learning_rate: float = 1.0,
        reg_lambda: float = 0.0,
        max_bin: int | None = None,
        random_state: Any = None,
        objective: Any = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        validation_fraction: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        interval: float = 0.0,
        interval_kind: str = "constant",
        points: str | None = None,
        integer_leaves: int = 0,
        population: int | str = "auto",
        iterations: int = 100,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        adaptive: bool = False,
        mutation: float = 0.0,
        initial: str = "auto",
        greedy_seed: bool = False,
        local_search: bool = False,
        rule_table: str = "pretrained",
        hidden_units: int = 32,
        policy_rate: float = 0.05,
        entropy_weight: float = 0.01,
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
        self.tweedie_power = tweedie_power
        self.validation_fraction = validation_fraction
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.interval = interval
        self.interval_kind = interval_kind
        self.points = points
        self.integer_leaves = integer_leaves
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.adaptive = adaptive
        self.mutation = mutation
        self.initial = initial
        self.greedy_seed = greedy_seed
        self.local_search = local_search
        self.rule_table = rule_table
        self.hidden_units = hidden_units
        self.policy_rate = policy_rate
        self.entropy_weight = entropy_weight
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
        Training method. One of 'swarm-tree' (search over one whole tree); 'cart' (one tree,
        grown greedily and pruned by cross-validation (CART)); 'apso-tree' (the thresholds of a
        CART tree optimised together by adaptive PSO, as published (CART and APSO)); 'tso-tree'
        (one tree whose nodes take the symbols of greatest score, as published (TSO));
        'split-tree' (one tree by a discrete particle swarm over the splits of a pretrained
        model).
    n_estimators : int, default=6
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. Only with split-tree. A whole number from 0 to
        1000000.
    max_depth : int | None, default=None
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. None is 0 for swarm-tree, cart, apso-tree; 3 for tso-tree; 4 for split-tree. A
        whole number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. Only with swarm-tree,
        cart, apso-tree. A whole number from 0 to 1048576.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. Only with swarm-tree. A whole number from 0 to 1000000000.
    criterion : str, default='auto'
        Split criterion of a single tree. Only with swarm-tree, cart. One of 'auto' (gini for
        cart and mix for swarm-tree if the target has classes, squared if it is a number);
        'accuracy' (misclassification rate); 'mix' (mean of misclassification rate and Gini
        impurity); 'gini' (Gini impurity); 'entropy' (entropy, which is the log loss);
        'gain-ratio' (decrease of the entropy divided by the entropy of the split itself, as
        C4.5; only for cart).
    costs : Any, default=None
        Misclassification costs, one row per true class, one column per predicted class: with
        '0,1;5,0' misclassifying the second class costs five times as much. Only with
        swarm-tree, cart.
    min_samples_leaf : int | str, default='auto'
        Minimum number of rows in a leaf; auto is 1, for tree-sum 10, and for swarm-tree 5 for
        classes and 20 for numbers. Only with swarm-tree, cart, apso-tree. A whole number from 1
        to 4294967296.
    thresholds : int, default=0
        Maximum number of candidate thresholds per feature; 0 is one between any two values. A
        whole number from 0 to 65534.
    guard : bool | str, default='auto'
        Whether a simpler way is kept where its cross-validated error is lower: CART's tree for
        swarm-tree, one tree for tree-sum; auto is yes for tree-sum and for classes without a
        criterion. Only with swarm-tree.
    prune : str, default='best'
        How a grown tree is pruned. Only with cart, apso-tree. One of 'best' (to the size with
        the least cross-validated error); '1-se' (to the smallest size within one standard error
        of it); 'none' (no pruning).
    folds : int, default=5
        Number of cross-validation folds. Only with swarm-tree, cart, apso-tree. A whole number
        from 2 to 100.
    grid_thresholds : int, default=0
        Maximum number of thresholds of a grid; a preliminary tree with more is pruned further;
        0 is no limit. Only with apso-tree. A whole number from 0 to 65534.
    variables : str, default='cart'
        What chooses the variables of a grid. Only with apso-tree. One of 'cart' (the
        preliminary CART tree, as published); 'forest' (importances of a random forest of CART
        trees).
    optimizer : str, default='apso'
        What places the thresholds of a grid, with population times iterations evaluations. Only
        with apso-tree. One of 'apso' (adaptive particle swarm optimisation, as published);
        'pso' (particle swarm optimisation with constant coefficients); 'ga' (genetic
        algorithm); 'de' (differential evolution); 'annealing' (simulated annealing); 'cmaes'
        (CMA-ES); 'aco' (ant colony optimisation); 'random' (random search, for comparison).
    empty_cells : str, default='nearest'
        What cells of the grid without training rows predict. Only with apso-tree. One of
        'nearest' (the class of the nearest cell with rows, counted in thresholds); 'random' (a
        random class per cell, as published).
    repeats : int, default=1
        Grids to search, each after the first on a random half of the features; the best is
        kept. Only with apso-tree. A whole number from 1 to 1000.
    select_by : str, default='training'
        Which of several grids is kept. Only with apso-tree. One of 'training' (the one with the
        best fitness on the training rows, as published); 'cross-validation' (the one with the
        best cross-validated fitness).
    learning_rate : float, default=1.0
        Learning rate: the share of each step that is taken. Only with split-tree. A number
        above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with split-tree.
        A number from 0.
    max_bin : int, default=255
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. Only with split-tree. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. Only with swarm-tree, cart. A dict of feature names, or
        a list with one value per feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Only with swarm-tree, cart. Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. Only with swarm-tree, cart. A string
        such as 'age<=25' or 'region in {a,b}', or a nested dict with feature, threshold or in,
        missing, left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. Only with swarm-tree, cart. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. Only with
        swarm-tree, cart. A dict of feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. Only with
        swarm-tree, cart. A number from 0.
    threshold : float, default=0.5
        Two classes: the second one is predicted where its probability is greater than this. A
        number above 0, below 1.
    threshold_for : str | None, default=None
        What the threshold of two classes is chosen for, on rows that the fits have not seen;
        the second class is the positive one. None, f1, cost=FN:FP with the costs of a false
        negative and a false positive (cost=5:1), precision=P or recall=R with a number above 0
        and below 1 (precision=0.9).
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    population : int | str, default='auto'
        Number of particles, or of episodes per iteration; auto is 50 for classes and 200 for
        numbers, 100 for apso-tree, and 4 trees for swarm-tree. Only with swarm-tree, apso-tree,
        tso-tree, split-tree. A whole number from 1 to 1000000.
    iterations : int | None, default=None
        Iterations of the swarm or of the policy, including the initial one; the paper of sgbdt
        does not state its number. None is 500 for apso-tree; 200 for tso-tree; 100 for
        split-tree. Only with apso-tree, tso-tree, split-tree. A whole number from 1 to 1000000.
    alpha : float, default=0.45
        Probability that a dimension takes the value of the particle's own best. Only with
        split-tree. A number from 0 to 1.
    beta : float, default=0.45
        Probability that a dimension takes the value of the global best. Only with split-tree. A
        number from 0 to 1.
    fitness : str, default='auto'
        What the swarm optimises on the training rows. Only with apso-tree, tso-tree,
        split-tree. One of 'auto' (accuracy for classes, rmse for numbers, as published);
        'accuracy' (share of rows whose class is predicted correctly); 'recall' (mean recall
        over the classes: sensitivity and specificity for two classes; for single trees); 'loss'
        (the mean loss of the objective).
    sensitivity : float, default=0.5
        Weight of sensitivity in the fitness recall for two classes; the rest is specificity.
        Only with apso-tree, tso-tree, split-tree. A number from 0 to 1.
    adaptive : bool, default=False
        Whether alpha and beta adapt to the state of the swarm; not in the paper. Only with
        split-tree.
    mutation : float, default=0.0
        Probability that a dimension is redrawn after a move; not in the paper. Only with
        split-tree. A number from 0 to 1.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    scale_pos_weight : float, default=1.0
        Weight of the second of two classes; the first has 1.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt, policy-gradient, split-tree start from: a file,
        or a model of XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
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
        grid_thresholds: int = 0,
        variables: str = "cart",
        optimizer: str = "apso",
        empty_cells: str = "nearest",
        repeats: int = 1,
        select_by: str = "training",
        learning_rate: float = 1.0,
        reg_lambda: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        validation_fraction: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        threshold: float = 0.5,
        threshold_for: str | None = None,
        interval: float = 0.0,
        points: str | None = None,
        integer_leaves: int = 0,
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
        scale_pos_weight: float = 1.0,
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
        self.variables = variables
        self.optimizer = optimizer
        self.empty_cells = empty_cells
        self.repeats = repeats
        self.select_by = select_by
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.validation_fraction = validation_fraction
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.threshold = threshold
        self.threshold_for = threshold_for
        self.interval = interval
        self.points = points
        self.integer_leaves = integer_leaves
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
        self.scale_pos_weight = scale_pos_weight
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
        Training method. One of 'swarm-tree' (search over one whole tree); 'cart' (one tree,
        grown greedily and pruned by cross-validation (CART)); 'split-tree' (one tree by a
        discrete particle swarm over the splits of a pretrained model).
    n_estimators : int, default=6
        Boosting rounds; each adds one tree, or one tree per class for three or more classes; 0,
        only for swarm, is 6, or chosen with total_leaves; for split-tree the rounds of the
        model that split points are taken from. Only with split-tree. A whole number from 0 to
        1000000.
    max_depth : int | None, default=None
        Maximum depth of a tree; 0 is no limit, only for leaf growth; at most 16 for oblivious
        trees. None is 0 for swarm-tree, cart; 4 for split-tree. A whole number from 0 to 32.
    max_leaves : int, default=0
        Maximum number of leaves; 0 is 31 for leaf growth, what the depth allows, for swarm 32
        or chosen with total_leaves, or for swarm-tree the size with the best cross-validated
        error; for apso-tree the size that the final tree is pruned to. Only with swarm-tree,
        cart. A whole number from 0 to 1048576.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. Only with swarm-tree. A whole number from 0 to 1000000000.
    criterion : str, default='auto'
        Split criterion of a single tree. Only with swarm-tree, cart. One of 'auto' (gini for
        cart and mix for swarm-tree if the target has classes, squared if it is a number);
        'squared' (squared error around the mean of the leaf); 'absolute' (absolute error around
        the median of the leaf).
    min_samples_leaf : int | str, default='auto'
        Minimum number of rows in a leaf; auto is 1, for tree-sum 10, and for swarm-tree 5 for
        classes and 20 for numbers. Only with swarm-tree, cart. A whole number from 1 to
        4294967296.
    thresholds : int, default=0
        Maximum number of candidate thresholds per feature; 0 is one between any two values. A
        whole number from 0 to 65534.
    guard : bool | str, default='auto'
        Whether a simpler way is kept where its cross-validated error is lower: CART's tree for
        swarm-tree, one tree for tree-sum; auto is yes for tree-sum and for classes without a
        criterion. Only with swarm-tree.
    prune : str, default='best'
        How a grown tree is pruned. Only with cart. One of 'best' (to the size with the least
        cross-validated error); '1-se' (to the smallest size within one standard error of it);
        'none' (no pruning).
    folds : int, default=5
        Number of cross-validation folds. Only with swarm-tree, cart. A whole number from 2 to
        100.
    learning_rate : float, default=1.0
        Learning rate: the share of each step that is taken. Only with split-tree. A number
        above 0, at most 1.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values, or on the weights of a linear function. Only with split-tree.
        A number from 0.
    max_bin : int, default=255
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. Only with split-tree. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    huber_delta : float, default=1.0
        Residual from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    tweedie_power : float, default=1.5
        Power of the mean that the variance of the Tweedie loss is proportional to, between 1
        (Poisson) and 2 (gamma). A number above 1, below 2.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    monotonic_cst : Any, default=None
        Features in which predictions never fall (+) or never rise (-) as the value grows;
        missing values are not compared. Only with swarm-tree, cart. A dict of feature names, or
        a list with one value per feature.
    interaction_cst : Any, default=None
        Which features may interact: those on one path of a tree must all be in one group, where
        * is every feature that no group names; features in no group are a group of their own.
        Only with swarm-tree, cart. Or a list of lists or sets of feature names or positions.
    first_split : Any, default=None
        Splits that every tree begins with; rows that fulfil the condition go left, and the side
        of missing values is chosen if it is not given. Only with swarm-tree, cart. A string
        such as 'age<=25' or 'region in {a,b}', or a nested dict with feature, threshold or in,
        missing, left and right.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. Only with swarm-tree, cart. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. Only with
        swarm-tree, cart. A dict of feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. Only with
        swarm-tree, cart. A number from 0.
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    interval_kind : str, default='constant'
        How wide intervals of numbers are. One of 'constant' (the same width for all rows);
        'adaptive' (wider where errors are larger: a small tree predicts their size from the
        features).
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    population : int | str, default='auto'
        Number of particles, or of episodes per iteration; auto is 50 for classes and 200 for
        numbers, 100 for apso-tree, and 4 trees for swarm-tree. Only with swarm-tree,
        split-tree. A whole number from 1 to 1000000.
    iterations : int, default=100
        Iterations of the swarm or of the policy, including the initial one; the paper of sgbdt
        does not state its number. Only with split-tree. A whole number from 1 to 1000000.
    alpha : float, default=0.45
        Probability that a dimension takes the value of the particle's own best. Only with
        split-tree. A number from 0 to 1.
    beta : float, default=0.45
        Probability that a dimension takes the value of the global best. Only with split-tree. A
        number from 0 to 1.
    fitness : str, default='auto'
        What the swarm optimises on the training rows. Only with split-tree. One of 'auto'
        (accuracy for classes, rmse for numbers, as published); 'rmse' (root mean squared
        error); 'loss' (the mean loss of the objective).
    adaptive : bool, default=False
        Whether alpha and beta adapt to the state of the swarm; not in the paper. Only with
        split-tree.
    mutation : float, default=0.0
        Probability that a dimension is redrawn after a move; not in the paper. Only with
        split-tree. A number from 0 to 1.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    pretrained : Any, default=None
        Model whose splits the methods psgbdt, policy-gradient, split-tree start from: a file,
        or a model of XGBoost, LightGBM, CatBoost, scikit-learn or swarmwood.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("swarm-tree", "cart", "split-tree")

    def __init__(
        self,
        *,
        method: str = "swarm-tree",
        n_estimators: int = 6,
        max_depth: int | None = None,
        max_leaves: int = 0,
        budget: int = 0,
        criterion: str = "auto",
        min_samples_leaf: int | str = "auto",
        thresholds: int = 0,
        guard: bool | str = "auto",
        prune: str = "best",
        folds: int = 5,
        learning_rate: float = 1.0,
        reg_lambda: float = 1.0,
        max_bin: int = 255,
        random_state: Any = None,
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        validation_fraction: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        first_split: Any = None,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        interval: float = 0.0,
        interval_kind: str = "constant",
        points: str | None = None,
        integer_leaves: int = 0,
        population: int | str = "auto",
        iterations: int = 100,
        alpha: float = 0.45,
        beta: float = 0.45,
        fitness: str = "auto",
        adaptive: bool = False,
        mutation: float = 0.0,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
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
        self.min_samples_leaf = min_samples_leaf
        self.thresholds = thresholds
        self.guard = guard
        self.prune = prune
        self.folds = folds
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.max_bin = max_bin
        self.random_state = random_state
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.tweedie_power = tweedie_power
        self.validation_fraction = validation_fraction
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.first_split = first_split
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.interval = interval
        self.interval_kind = interval_kind
        self.points = points
        self.integer_leaves = integer_leaves
        self.population = population
        self.iterations = iterations
        self.alpha = alpha
        self.beta = beta
        self.fitness = fitness
        self.adaptive = adaptive
        self.mutation = mutation
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.pretrained = pretrained
        self.importance_type = importance_type
        self.verbose = verbose


class TreeSumClassifier(Rules, Classifier):
    """A sum of a few small trees with a total number of splits.

    Splits and leaf values of all trees are optimised together; a single tree is kept where that
    is better in cross-validation. `rules_` has the model as rules with points.

    Parameters
    ----------
    max_splits : int, default=15
        Total number of splits of all trees, which three or more classes share. A whole number
        from 1 to 256.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. A whole number from 0 to 1000000000.
    min_samples_leaf : int | str, default='auto'
        Minimum number of rows in a leaf; auto is 1, for tree-sum 10, and for swarm-tree 5 for
        classes and 20 for numbers. A whole number from 1 to 4294967296.
    guard : bool | str, default='auto'
        Whether a simpler way is kept where its cross-validated error is lower: CART's tree for
        swarm-tree, one tree for tree-sum; auto is yes for tree-sum and for classes without a
        criterion.
    folds : int, default=4
        Number of cross-validation folds. A whole number from 2 to 100.
    max_bin : int, default=64
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'logistic' (log loss of two classes); 'softmax' (log loss of
        three or more classes).
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. A dict of
        feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. A number from 0.
    threshold : float, default=0.5
        Two classes: the second one is predicted where its probability is greater than this. A
        number above 0, below 1.
    threshold_for : str | None, default=None
        What the threshold of two classes is chosen for, on rows that the fits have not seen;
        the second class is the positive one. None, f1, cost=FN:FP with the costs of a false
        negative and a false positive (cost=5:1), precision=P or recall=R with a number above 0
        and below 1 (precision=0.9).
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
        from 0.
    n_jobs : int | None, default=None
        Number of threads. None and -1 are one per core. The model does not depend on it.
    class_weight : dict[Any, float] | str | None, default=None
        Class weights, or 'balanced'.
    scale_pos_weight : float, default=1.0
        Weight of the second of two classes; the first has 1.
    categorical_features : Any, default='from_dtype'
        Numerical columns to read as categories: names, indices or a mask. Strings and
        categorical columns always are.
    importance_type : str, default='gain'
        Importance in `feature_importances_`: 'gain', 'cover' or 'splits'.
    verbose : int, default=0
        1 shows the progress of training.
    """

    _methods = ("tree-sum",)

    def __init__(
        self,
        *,
        max_splits: int = 15,
        budget: int = 0,
        min_samples_leaf: int | str = "auto",
        guard: bool | str = "auto",
        folds: int = 4,
        max_bin: int = 64,
        random_state: Any = None,
        objective: str = "auto",
        validation_fraction: float = 0.0,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        threshold: float = 0.5,
        threshold_for: str | None = None,
        interval: float = 0.0,
        points: str | None = None,
        integer_leaves: int = 0,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        class_weight: dict[Any, float] | str | None = None,
        scale_pos_weight: float = 1.0,
        categorical_features: Any = "from_dtype",
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.max_splits = max_splits
        self.budget = budget
        self.min_samples_leaf = min_samples_leaf
        self.guard = guard
        self.folds = folds
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.validation_fraction = validation_fraction
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.threshold = threshold
        self.threshold_for = threshold_for
        self.interval = interval
        self.points = points
        self.integer_leaves = integer_leaves
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.scale_pos_weight = scale_pos_weight
        self.categorical_features = categorical_features
        self.importance_type = importance_type
        self.verbose = verbose


class TreeSumRegressor(Rules, Regressor):
    """A sum of a few small trees with a total number of splits.

    Splits and leaf values of all trees are optimised together; a single tree is kept where that
    is better in cross-validation. `rules_` has the model as rules with points.

    Parameters
    ----------
    max_splits : int, default=15
        Total number of splits of all trees, which three or more classes share. A whole number
        from 1 to 256.
    budget : int, default=0
        Maximum work of a search: trees grown (swarm), descents (swarm-tree), iterations
        (tree-sum; 0 is 300), or candidates evaluated (searches over rule sequences); 0 is no
        limit. A whole number from 0 to 1000000000.
    min_samples_leaf : int | str, default='auto'
        Minimum number of rows in a leaf; auto is 1, for tree-sum 10, and for swarm-tree 5 for
        classes and 20 for numbers. A whole number from 1 to 4294967296.
    guard : bool | str, default='auto'
        Whether a simpler way is kept where its cross-validated error is lower: CART's tree for
        swarm-tree, one tree for tree-sum; auto is yes for tree-sum and for classes without a
        criterion.
    folds : int, default=4
        Number of cross-validation folds. A whole number from 2 to 100.
    max_bin : int, default=64
        Maximum number of bins per feature; 0 (only greedy): exact splits, a candidate threshold
        between any two values, at most 65534 values per feature; sgbdt uses bins only for the
        trees of greedy_seed. A whole number from 0 to 255.
    random_state : Any, default=None
        Random seed; the same seed gives the same model for any number of threads. None is 0:
        the same data give the same model.
    objective : str, default='auto'
        Loss that training minimises. One of 'auto' (squared for numbers, logistic for two
        classes, softmax for more); 'squared' (squared error: predicts the mean); 'squared-log'
        (squared error of ln(1 + y), for targets above -1 that grow by factors);
        'squaredlogerror' (squared error of ln(1 + y) with scores on the scale of y, as in
        XGBoost); 'absolute' (absolute error: predicts the median); 'huber' (squared error near
        the target, absolute error further away than huber_delta); 'quantile' (pinball loss:
        predicts the given quantile); 'poisson' (Poisson deviance with a log link, for counts);
        'gamma' (gamma deviance with a log link, for positive amounts); 'tweedie' (Tweedie
        deviance with a log link, for amounts that are often 0).
    huber_delta : float, default=1.0
        Residual from which the Huber loss is linear. A number above 0.
    quantile : float, default=0.5
        The quantile to predict. A number above 0, below 1.
    tweedie_power : float, default=1.5
        Power of the mean that the variance of the Tweedie loss is proportional to, between 1
        (Poisson) and 2 (gamma). A number above 1, below 2.
    validation_fraction : float, default=0.0
        Share of the training rows held out for validation; 0 is none. A number from 0, below 1.
    max_features : int, default=0
        Maximum number of features that the model uses; which ones is part of the search; 0 is
        no limit. A whole number from 0 to 1048576.
    feature_cost : Any, default=None
        Cost of using a feature in the model, once; 1 for features that are not named. A dict of
        feature names, or a list with one value per feature.
    max_feature_cost : float, default=0.0
        Maximum total cost of the features that the model uses; 0 is no limit. A number from 0.
    interval : float, default=0.0
        Share of future targets that prediction intervals contain, or of future rows whose class
        is in their prediction set; 0 stores neither. A number from 0, below 1.
    interval_kind : str, default='constant'
        How wide intervals of numbers are. One of 'constant' (the same width for all rows);
        'adaptive' (wider where errors are larger: a small tree predicts their size from the
        features).
    points : str | None, default=None
        Whole points that the leaves of trees may have, times one unit for all; the points of
        all leaves are searched together. None, or a range of whole numbers from 0 to at most
        10000 such as 0..100.
    integer_leaves : int, default=0
        Bits of the signed integers that leaf values are, times one unit for all; the integers
        of all leaves are searched together; 0 is any number. A whole number from 0 to 16.
    time_limit : float, default=0.0
        Seconds after which training ends with the best model so far; 0 is no limit. A number
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

    _methods = ("tree-sum",)

    def __init__(
        self,
        *,
        max_splits: int = 15,
        budget: int = 0,
        min_samples_leaf: int | str = "auto",
        guard: bool | str = "auto",
        folds: int = 4,
        max_bin: int = 64,
        random_state: Any = None,
        objective: str = "auto",
        huber_delta: float = 1.0,
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        validation_fraction: float = 0.0,
        max_features: int = 0,
        feature_cost: Any = None,
        max_feature_cost: float = 0.0,
        interval: float = 0.0,
        interval_kind: str = "constant",
        points: str | None = None,
        integer_leaves: int = 0,
        time_limit: float = 0.0,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        importance_type: str = "gain",
        verbose: int = 0,
    ) -> None:
        self.max_splits = max_splits
        self.budget = budget
        self.min_samples_leaf = min_samples_leaf
        self.guard = guard
        self.folds = folds
        self.max_bin = max_bin
        self.random_state = random_state
        self.objective = objective
        self.huber_delta = huber_delta
        self.quantile = quantile
        self.tweedie_power = tweedie_power
        self.validation_fraction = validation_fraction
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_feature_cost = max_feature_cost
        self.interval = interval
        self.interval_kind = interval_kind
        self.points = points
        self.integer_leaves = integer_leaves
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.importance_type = importance_type
        self.verbose = verbose
