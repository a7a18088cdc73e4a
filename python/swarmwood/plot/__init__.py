"""Pictures of models, searches and tunings, with matplotlib: `pip install swarmwood[plot]`.

Every function draws into `ax` if it is given one, else into a figure of its own, and returns the `Axes` (or, where there
are several, the `Figure`). None of them shows anything and none touches `matplotlib.pyplot`: save a picture with
`ax.figure.savefig("picture.png")`, or make the axes with pyplot and show them yourself.

>>> from sklearn.datasets import load_iris
>>> from swarmwood import SwarmTreeClassifier, plot
>>> X, y = load_iris(return_X_y=True, as_frame=True)
>>> tree = SwarmTreeClassifier(max_leaves=3).fit(X, y)
>>> ax = plot.tree(tree)
>>> ax.get_title()
'Tree for target: 3 leaves, 150 training rows'

| of a search | of a model | of a tuning |
|---|---|---|
| `convergence`, `diversity`, `coefficients`, `search` | `tree`, `decision_map`, `importance`, `learning_curve` | `tuning_history`, `tuning_importance`, `tuning_parallel`, `tuning_slice`, `tuning_slices` |
"""  # noqa: E501

try:
    import matplotlib
except ImportError as fault:  # pragma: no cover - the tests have it
    raise ImportError("swarmwood.plot needs matplotlib: pip install swarmwood[plot]") from fault

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
    "importance",
    "learning_curve",
    "search",
    "tree",
    "tuning_history",
    "tuning_importance",
    "tuning_parallel",
    "tuning_slice",
    "tuning_slices",
]
