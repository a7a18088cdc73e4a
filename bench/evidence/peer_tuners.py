"""Tuners of other libraries, driven one trial after the other: Optuna's TPE and CMA-ES, and
scikit-optimize's gradient boosted regression trees (GBRT)."""

import math
import warnings
from collections.abc import Callable, Sequence


def optuna_sampler(engine: str, seed: int, gamma: float | None = None):
    """Optuna's `cmaes` or `tpe`; `gamma` is the share of the trials that TPE counts as good, at
    most 25 of them, as in Optuna's default."""
    import optuna

    if engine == "cmaes":
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    if gamma is None:
        return optuna.samplers.TPESampler(seed=seed)
    with warnings.catch_warnings():
        # Optuna 6 will not have `gamma` any more.
        warnings.simplefilter("ignore", FutureWarning)
        return optuna.samplers.TPESampler(
            seed=seed, gamma=lambda trials: min(math.ceil(gamma * trials), 25)
        )


def search_with_optuna(
    sampler, suggest: Callable[..., dict], trials: int, loss: Callable[[dict], float]
) -> None:
    """`suggest` makes a configuration of one of Optuna's trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    study.optimize(lambda trial: loss(suggest(trial)), n_trials=trials)


def search_with_skopt(
    places: Sequence, initial: int, seed: int, trials: int, loss: Callable[[list], float], **more
) -> None:
    """scikit-optimize with boosted trees as the model of the losses; `places` are its dimensions,
    and `loss` gets a value of each."""
    from sklearn.ensemble import GradientBoostingRegressor
    from skopt import Optimizer
    from skopt.learning import GradientBoostingQuantileRegressor

    class Quantiles(GradientBoostingQuantileRegressor):
        """What "GBRT" stands for, mended for libraries that are newer than it: scikit-learn must be
        told that it is a regressor, and its own way to the 16th, 50th and 84th percentile calls
        what numpy no longer has."""

        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.estimator_type = "regressor"
            return tags

        def predict(self, x, return_std=False, return_quantiles=False):
            low, middle, high = (one.predict(x) for one in self.regressors_)
            return (middle, (high - low) / 2) if return_std else middle

    model = Quantiles(base_estimator=GradientBoostingRegressor(n_estimators=30, loss="quantile"))
    optimizer = Optimizer(
        places, base_estimator=model, n_initial_points=initial, random_state=seed, **more
    )
    with warnings.catch_warnings():
        # It says so whenever it asks for a point again.
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(trials):
            point = optimizer.ask()
            optimizer.tell(point, loss(point))
