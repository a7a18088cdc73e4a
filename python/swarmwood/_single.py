"""One tree, which can be read."""

from __future__ import annotations

import json
from typing import Any

from sklearn.utils.validation import check_is_fitted

from swarmwood import _core


class SingleTree:
    """What only estimators of one tree have."""

    _model: _core.Model

    @property
    def rules_(self) -> Any:
        """The tree as few rules in no order, as data: the document that `swarmwood rules --format json` writes."""
        check_is_fitted(self, "_model")
        return json.loads(self._model.rules("json"))

    def export_rules(self, format: str = "text") -> str:
        """Return the rules as 'text', 'markdown', 'json', 'sql' or 'python'."""
        check_is_fitted(self, "_model")
        return self._model.rules(format)
