"""Plots of models, searches and tuning with matplotlib: `pip install swarmwood[plot]`.

Every function draws into `ax`, or into a new figure if it is None, and returns the `Axes` (the
`Figure` where there are several). None of them uses `matplotlib.pyplot` or shows a window: save a
plot with `ax.figure.savefig("plot.png")`, or create the axes with pyplot and show them.

>>> from sklearn.datasets import load_iris
>>> from swarmwood import SwarmTreeClassifier, plot
>>> X, y = load_iris(return_X_y=True, as_frame=True)
>>> tree = SwarmTreeClassifier(max_leaves=3).fit(X, y)
>>> ax = plot.tree(tree)
>>> ax.get_title()
'Tree for target: 3 leaves, 150 training rows'

- Search: `convergence`, `diversity`, `coefficients`, `search`.
- Model: `tree`, `decision_map`, `importance`, `effects`, `waterfall`, `learning_curve`.
- Tuning: `tuning_history`, `tuning_importance`, `tuning_parallel`, `tuning_slice`, `tuning_slices`.
"""

try:
    import matplotlib
except ImportError as error:  # pragma: no cover - the tests have it
    raise ImportError("swarmwood.plot needs matplotlib: pip install swarmwood[plot]") from error

from swarmwood.plot._effects import effects, waterfall
from swarmwood.plot._map import decision_map
from swarmwood.plot._model import importance, learning_curve
from swarmwood.plot._search import coefficients, convergence, diversity, search
from swarmwood.plot._tree import tree
from swarmwood.plot._tuning import (
    tuning_history,
    tuning_importance,
    tuning_parallel,
    tuning_slice,
    tuning_slices,
)

del matplotlib

__all__ = [
    "coefficients",
    "convergence",
    "decision_map",
    "diversity",
    "effects",
    "importance",
    "learning_curve",
    "search",
    "tree",
    "tuning_history",
    "tuning_importance",
    "tuning_parallel",
    "tuning_slice",
    "tuning_slices",
    "waterfall",
]
