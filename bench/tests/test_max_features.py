"""The experiment `max-features`: what is planned, and its tables."""

from evidence import max_features
from evidence.max_features import CONFIRMATION, CONTENDERS, DEVELOPMENT
from evidence.request import Request


def test_every_contender_has_the_same_splits(tmp_path):
    request = Request("max-features", tmp_path, tmp_path, tmp_path, tmp_path, quick=True)
    jobs = list(max_features.plan(request))
    assert {job.contender for job in jobs} == set(CONTENDERS)
    cells = {
        who: {(j.name, j.split, j.size) for j in jobs if j.contender == who} for who in CONTENDERS
    }
    assert len({frozenset(known) for known in cells.values()}) == 1
    assert not set(DEVELOPMENT) & set(CONFIRMATION)


def test_the_table_compares_splits_that_all_contenders_have(tmp_path):
    losses = {CONTENDERS[0]: (1.0, 9.0), CONTENDERS[1]: (2.0,), CONTENDERS[2]: (1.5, 1.0)}
    lines = [
        {"set": "pima", "size": "3", "split": split, "contender": who, "test_logloss": loss}
        for who, known in losses.items()
        for split, loss in enumerate(known)
    ]
    table, ratios = max_features.table_of(lines, DEVELOPMENT, "3")
    assert ratios == [0.5] and "-50.0 %" in table
    assert max_features.table_of([], DEVELOPMENT, "3") == ("", [])
