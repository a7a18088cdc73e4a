"""Estimators of a single tree."""

from __future__ import annotations

import json
from typing import Any

from sklearn.utils.validation import check_is_fitted

from swarmwood import _core


class SingleTree:
    """Rules of an estimator that is a single tree."""

    _model: _core.Model

    @property
    def rules_(self) -> Any:
        """The tree as an unordered set of rules: the JSON document of `swarmwood rules`."""
        check_is_fitted(self, "_model")
        return json.loads(self._model.rules("json"))

    def export_rules(self, format: str = "text") -> str:
        """Return the rules in the format 'text', 'markdown', 'json', 'sql', 'mysql' or 'python'."""
        check_is_fitted(self, "_model")
        return self._model.rules(format)
