"""Training on rows that other processes hold: what Dask and Ray have in common.

A run reads every partition on the workers: for targets and types, for the sample that bins are made
from, and to bin all rows. The binned rows go to hosts, each of which holds some of the shards; the
driver trains, and sends messages to the hosts (`_core.ShardHost`). A host that is lost is made
again from the partitions. The driver holds targets, weights and the sample.
"""

from __future__ import annotations

import os
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from swarmwood import _core
from swarmwood._errors import parameter_error
from swarmwood._estimator import Estimator
from swarmwood._table import categorical_mask, category_text, is_pandas, table_of

#: Hosts that nobody has asked for so many seconds belong to a driver that is gone.
IDLE_SECONDS = 3600.0

#: How often a host is built on another worker before the run ends.
BUILD_ATTEMPTS = 5


class Part(NamedTuple):
    """The rows of one partition."""

    X: Any
    y: Any
    weight: Any


class WorkerPool(Protocol):
    """Processes that can read partitions and hold rows."""

    def count(self) -> int:
        """Return the number of workers."""

    def map_parts(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Call a function with every partition and its arguments, on any worker."""

    def build(
        self, hosts: Sequence[tuple[int, str]], plan: Plan, deals: Sequence[Deal]
    ) -> tuple[list[bool], list[int]]:
        """Make hosts, given by number and name, each on one of the workers.

        Returns whether each was made (its worker may have been lost), or the conflicts of the
        layout, with which none is made.
        """

    def exchange(self, messages: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Send a message to each of some hosts; None for those that are lost."""

    def drop(self, keys: Sequence[str]) -> None:
        """Forget hosts."""


class Plan(NamedTuple):
    """How all rows are binned and dealt out."""

    layout: bytes
    texts: list[list[str] | None]
    rows: int
    hosts: int
    names: list[str]
    mask: NDArray[np.bool_] | None


class Deal(NamedTuple):
    """The places of a partition's rows: consecutive ones, or those of some rows."""

    first: int
    rows: NDArray[np.uint32] | None = None
    places: NDArray[np.uint64] | None = None


# -- what workers do


class PartFacts(NamedTuple):
    """What the driver must know of a partition."""

    rows: int
    names: list[str] | None
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    texts: list[list[str] | None]


def read_part(source: Any, target: str, weight: str | None) -> Part:
    """Read a Parquet file, or take a data frame, and part the target from the features."""
    if isinstance(source, str):
        import pandas as pd

        source = pd.read_parquet(source)
    y = source[target]
    w = None if weight is None else source[weight]
    return Part(source.drop(columns=[target] if weight is None else [target, weight]), y, w)


def part_facts(part: Part, choice: Any) -> PartFacts:
    """Return the targets, weights and types of a partition."""
    rows = part.X.shape[0]
    y = np.asarray(part.y)
    weight = None if part.weight is None else np.asarray(part.weight, dtype=np.float64)
    for values, what in [(y, "y"), (weight, "sample_weight")]:
        if values is not None and len(values) != rows:
            raise ValueError(
                f"a partition of X has {rows} rows, but that of {what} has {len(values)}; "
                "they must have the same partitions"
            )
    names = part_names(part.X)
    if rows == 0:
        return PartFacts(0, names, y, weight, [])
    plain = names if names is not None else plain_names(part.X)
    table = table_of(readable_part(part.X), plain, categorical_mask(choice, plain))
    return PartFacts(rows, names, y, weight, _core.occurring_texts(table))


def part_rows(part: Part, rows: NDArray[np.int64] | None) -> Any:
    """Return some rows of a partition, or all."""
    X = readable_part(part.X)
    if rows is None:
        return X
    return X.iloc[rows] if is_pandas(X) else X[rows]


def part_pieces(part: Part, plan: Plan, deal: Deal) -> tuple[list[bytes], list[int]]:
    """Return the binned rows of a partition, one piece per host, or conflicts."""
    if part.X.shape[0] == 0:
        return [], []
    table = table_as(readable_part(part.X), plan.names, plan.mask, plan.texts)
    return _core.encode_rows(
        table,
        plan.layout,
        plan.texts,
        plan.rows,
        plan.hosts,
        first=deal.first,
        rows=None if deal.rows is None else deal.rows.tolist(),
        places=None if deal.places is None else deal.places.tolist(),
    )


def conflicts_of(pieces: tuple[list[bytes], list[int]]) -> list[int]:
    """Return the columns of shared features that turn out not to be exclusive."""
    return pieces[1]


def piece_of(pieces: tuple[list[bytes], list[int]], host: int) -> bytes:
    """Return the piece of a host."""
    if pieces[1]:
        raise _core.SwarmwoodError("the data changed between two readings")
    return pieces[0][host] if pieces[0] else b""


#: The hosts of this process, and when they were last asked.
_hosts: dict[str, tuple[_core.ShardHost, float]] = {}


def build_host(key: str, plan: Plan, host: int, pieces: Sequence[bytes], threads: int) -> bool:
    """Make a host in this process."""
    now = time.monotonic()
    for old in [name for name, (_, asked) in _hosts.items() if now - asked > IDLE_SECONDS]:
        _hosts.pop(old, None)
    filled = [piece for piece in pieces if piece]
    made = _core.ShardHost(plan.layout, plan.rows, host, plan.hosts, filled, threads)
    _hosts[key] = (made, now)
    return True


def ask_host(key: str, message: bytes) -> bytes | None:
    """Return the reply of a host of this process; None if it is not here."""
    entry = _hosts.get(key)
    if entry is None:
        return None
    _hosts[key] = (entry[0], time.monotonic())
    return entry[0].handle(message)


def drop_host(key: str) -> None:
    """Forget a host of this process."""
    _hosts.pop(key, None)


# -- tables of partitions


def part_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame; None for an array."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def plain_names(X: Any) -> list[str]:
    """Return the names of the columns of an array."""
    return [f"x{at}" for at in range(X.shape[1])]


def readable_part(X: Any) -> Any:
    """Return a partition as something that the core reads."""
    return X if is_pandas(X) else np.asarray(X)


def table_as(
    X: Any,
    names: list[str],
    mask: NDArray[np.bool_] | None,
    texts: Sequence[list[str] | None],
) -> _core.Table:
    """Return a table whose columns are of the kinds that all rows together have."""
    table = table_of(X, names, mask)
    for at, (is_category, levels) in enumerate(zip(table.categorical, texts, strict=True)):
        if levels is not None and not is_category:
            # A column of objects that are all missing, or numbers beside texts elsewhere.
            values = X.iloc[:, at] if is_pandas(X) else X[:, at]
            codes, found = values.factorize() if is_pandas(X) else (None, ())
            if codes is None:
                raise ValueError(f"column {names[at]!r} holds texts in some partitions only")
            table.set_codes(at, codes, [category_text(level) for level in found])
        if levels is None and is_category:
            raise ValueError(f"column {names[at]!r} holds texts in some partitions only")
    return table


def concatenate(parts: Sequence[Any]) -> Any:
    """Return the rows of several partitions in one table."""
    if not is_pandas(parts[0]):
        return np.concatenate(parts)
    import pandas as pd
    from pandas.api.types import union_categoricals

    whole = pd.concat(parts, ignore_index=True)
    for name in whole.columns:
        columns = [part[name] for part in parts]
        is_category = all(hasattr(column, "cat") for column in columns)
        if is_category and not hasattr(whole[name], "cat"):
            whole[name] = union_categoricals([column.array for column in columns])
    return whole


# -- the driver


class ClusterRun:
    """The rows of one fit: what the core asks for while it trains."""

    def __init__(
        self,
        pool: WorkerPool,
        names: list[str],
        mask: NDArray[np.bool_] | None,
        kinds: list[list[str] | None],
    ) -> None:
        self._pool = pool
        self._names = names
        self._mask = mask
        self._kinds = kinds
        self._run = uuid.uuid4().hex
        self._keys: list[str] = []
        self._built = 0
        self._plan: Plan | None = None
        self._deals: list[Deal] = []
        #: Rows of each partition, and the caller's row at each place if it is not all rows.
        self.sizes: list[int] = []
        self.kept: NDArray[np.int64] | None = None
        # What the core reads; no targets if the table holds all rows.
        self.hosts = max(pool.count(), 1)
        self.target: NDArray[np.float64] | None = None
        self.weight: NDArray[np.float64] | None = None
        self.texts: list[list[str] | None] = []

    def table(self, X: Any) -> _core.Table:
        """Return the table of a sample."""
        return table_as(X, self._names, self._mask, self._kinds)

    def load(self, fields: dict[str, Any]) -> list[int]:
        """Bin all rows and hand them to hosts; or return conflicts of the layout."""
        rows = fields["rows"]
        hosts = _core.host_count(rows, self.hosts)
        plan = Plan(fields["layout"], fields["texts"], rows, hosts, self._names, self._mask)
        order = fields["order"]
        self._deals = self._deal(self.kept if order is None else np.asarray(order))
        self._plan = plan
        self._keys = ["" for _ in range(hosts)]
        keys = [self._new_key(host) for host in range(hosts)]
        made, conflicts = self._pool.build(list(enumerate(keys)), plan, self._deals)
        if conflicts:
            return conflicts
        for host, is_made in enumerate(made):
            if is_made:
                self._keys[host] = keys[host]
            else:
                self.rebuild(host)
        return []

    def _new_key(self, host: int) -> str:
        """Return a new name: a worker that was only slow still has the old one."""
        self._built += 1
        return f"{self._run}-{host}-{self._built}"

    def _deal(self, order: NDArray[np.int64] | None) -> list[Deal]:
        """Return the places of the rows of each partition."""
        ends = np.cumsum(self.sizes, dtype=np.int64)
        starts = ends - self.sizes
        if order is None:
            return [Deal(int(first)) for first in starts]
        by_row = np.argsort(order, kind="stable")
        bounds = np.searchsorted(order[by_row], np.append(starts, ends[-1:]))
        deals = []
        for at, first in enumerate(starts):
            places = by_row[bounds[at] : bounds[at + 1]]
            rows = (order[places] - first).astype(np.uint32)
            deals.append(Deal(0, rows, places.astype(np.uint64)))
        return deals

    def exchange(self, messages: list[tuple[int, bytes]]) -> list[bytes | None]:
        """Send messages to hosts; None for hosts that are lost."""
        return self._pool.exchange([(self._keys[host], message) for host, message in messages])

    def rebuild(self, host: int) -> None:
        """Make a host from the partitions, on a worker that is there."""
        assert self._plan is not None
        for _ in range(BUILD_ATTEMPTS):
            key = self._new_key(host)
            made, conflicts = self._pool.build([(host, key)], self._plan, self._deals)
            if conflicts:
                raise _core.SwarmwoodError("the data changed between two readings")
            if made[0]:
                self._keys[host] = key
                return
        raise _core.SwarmwoodError(
            f"workers were lost {BUILD_ATTEMPTS} times while they took rows over"
        )

    def close(self) -> None:
        """Forget all hosts."""
        self._pool.drop([key for key in self._keys if key])


def fit(
    estimator: Estimator,
    pool: WorkerPool,
    partitions: int,
    eval_set: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Estimator:
    """Fit an estimator to the partitions of a pool."""
    if getattr(estimator, "warm_start", False):
        raise parameter_error("warm_start", "is not for rows on a cluster")
    choice = estimator.categorical_features
    facts = pool.map_parts(part_facts, [(choice,)] * partitions)
    filled = [part for part in facts if part.rows > 0]
    if not filled:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    for part in filled:
        if part.names != filled[0].names or len(part.texts) != len(filled[0].texts):
            raise ValueError("the partitions of X must have the same columns, in the same order")
    texts = merged_texts([part.texts for part in filled])

    y = np.concatenate([part.y for part in filled])
    weights = [part.weight for part in filled if part.weight is not None]
    weight = np.concatenate(weights) if weights else None
    stand_in = np.empty((len(y), 0))
    y, weight, classes = estimator._encode_training(
        stand_in, y, estimator._validate_weight(weight, stand_in)
    )

    names = filled[0].names
    plain = names if names is not None else [f"x{at}" for at in range(len(texts))]
    run = ClusterRun(pool, plain, categorical_mask(choice, plain), texts)
    run.sizes = [part.rows for part in facts]
    X, y, weight = _sampled(run, pool, y, weight, texts)
    try:
        path = None if checkpoint is None else os.fspath(checkpoint)
        return estimator._fit_cluster(X, y, weight, classes, eval_set, run, path, resume)
    finally:
        run.close()


def merged_texts(parts: Sequence[list[list[str] | None]]) -> list[list[str] | None]:
    """Return the texts that occur in any partition, by column."""
    merged: list[list[str] | None] = []
    for columns in zip(*parts, strict=True):
        known = [column for column in columns if column is not None]
        merged.append(sorted({text for column in known for text in column}) if known else None)
    return merged


def _sampled(
    run: ClusterRun,
    pool: WorkerPool,
    y: NDArray[Any],
    weight: NDArray[np.float64] | None,
    texts: list[list[str] | None],
) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
    """Gather the sample that bins are made from: rows, targets and weights."""
    if _core.sample_places(len(y)) is None:
        parts = pool.map_parts(part_rows, [(None,)] * len(run.sizes))
        return concatenate([X for X in parts if X.shape[0] > 0]), y, weight

    if weight is not None:
        # As the core leaves rows out that are too light to count.
        least = weight.max() * float(np.finfo(np.float32).eps)
        counts = (weight > 0) & (weight >= least)
        light = int(np.count_nonzero((weight > 0) & ~counts))
        if light:
            message = f"{light} rows are too light to count beside the heaviest one, and left out"
            warnings.warn(message, UserWarning, stacklevel=4)
        if not counts.all():
            run.kept = np.flatnonzero(counts)
            y, weight = y[run.kept], weight[run.kept]
    places = _core.sample_places(len(y))
    sample = np.arange(len(y)) if places is None else np.asarray(places)
    rows = sample if run.kept is None else run.kept[sample]
    ends = np.cumsum(run.sizes)
    starts = ends - run.sizes
    bounds = np.searchsorted(rows, np.append(starts, ends[-1:]))
    wanted = [
        (rows[bounds[at] : bounds[at + 1]] - first,) for at, first in enumerate(starts.tolist())
    ]
    parts = pool.map_parts(part_rows, wanted)
    run.target = y.astype(np.float64)
    run.weight = weight
    run.texts = texts
    X = concatenate([X for X in parts if X.shape[0] > 0])
    return X, y[sample], None if weight is None else weight[sample]
