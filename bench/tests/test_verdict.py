"""The one definition of a confirmed claim, and that all pages use it."""

from pathlib import Path

import numpy as np
import pytest

from evidence import verdict as module
from evidence.verdict import DEFINITION, extent, pooled, tally, verdict, verdict_of_equality
from paired import Gap

EVIDENCE = Path(module.__file__).parent
CLEAR, UNCLEAR = Gap(np.array([1.0, 2, 3, 4, 5, 6])), Gap(np.array([1.0, -2, 3, -4]))
AGAINST, NONE = Gap(-CLEAR.each), Gap(np.array([]))


def test_direction_and_p_decide():
    assert verdict(CLEAR) == "confirmed" and verdict(AGAINST) == "contradicted"
    assert verdict(UNCLEAR) == "not confirmed" and verdict(NONE) == "not measured"
    # Five pairs cannot reach p < .05, however large the differences are.
    assert verdict(Gap(np.array([9.0] * 5))) == "not confirmed"
    assert verdict(Gap(np.zeros(9))) == "not confirmed"
    # The ranks are clearly positive, the mean is not: the direction is that of the mean.
    skewed = Gap(np.array([*np.linspace(1, 2, 14), -90.0]))
    assert skewed.p_value < 0.05 and skewed.mean < 0 and verdict(skewed) == "contradicted"


def test_equality_is_never_confirmed():
    words = [verdict_of_equality(gap) for gap in (CLEAR, AGAINST, UNCLEAR, NONE)]
    assert words == ["contradicted", "contradicted", "no clear difference", "not measured"]


def test_the_pairs_of_several_sets_are_taken_together():
    five = Gap(np.array([1.0, 2, 3, 4, 5]))
    assert verdict(five) == "not confirmed" and verdict(pooled([five, five])) == "confirmed"
    assert len(pooled([]).each) == 0 and verdict(pooled([NONE])) == "not measured"
    assert tally([CLEAR, AGAINST, UNCLEAR, NONE, CLEAR]) == (2, 1)
    assert extent([five, CLEAR]) == "5-6 x 2" and extent([five]) == "5 x 1"


@pytest.mark.parametrize(
    "page",
    [
        "ablation_tables",
        "boosting_tables",
        "iris",
        "small_models",
        "tree_tables",
        "tuning_tables",
        "xgboost_tables",
    ],
)
def test_every_page_states_the_definition_and_has_no_other(page):
    text = (EVIDENCE / f"{page}.py").read_text()
    assert "DEFINITION" in text and '"confirmed' not in text and "in part" not in text
    assert all(word in DEFINITION for word in ("confirmed", "direction", "p < .05"))
