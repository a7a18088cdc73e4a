"""Rules of estimators."""

from __future__ import annotations

import json
from typing import Any

from sklearn.utils.validation import check_is_fitted

from swarmwood import _core


class Rules:
    """Rules of an estimator: of one tree, or with points of a sum of trees."""

    _model: _core.Model

    @property
    def rules_(self) -> Any:
        """The JSON document of `swarmwood rules`.

        One tree is an unordered set of rules with predictions, a sum of trees an intercept and
        groups of rules with points.
        """
        check_is_fitted(self, "_model")
        return json.loads(self._model.rules("json"))

    def export_rules(self, format: str = "text") -> str:
        """Return the rules in the format 'text', 'markdown', 'json', 'sql', 'mysql' or 'python'."""
        check_is_fitted(self, "_model")
        return self._model.rules(format)


class SingleTree(Rules):
    """An estimator that is one tree."""
