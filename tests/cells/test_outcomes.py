"""Files of two items and an outcome are refused, not misread."""

from __future__ import annotations

import pytest

from privrank_jax._cells.errors import DataError
from privrank_jax._cells.outcomes import advice_on_outcomes, check_outcomes


@pytest.mark.parametrize(
    ("header", "winner", "loser", "message"),
    [
        (["model_a", "model_b", "winner"], "model_a", "model_b", "'winner' looks like the outcome"),
        (["home", "away", "Result"], "home", "away", "'Result' looks like the outcome"),
        (["m", "n", "Winner: M"], "m", "n", "'Winner: M' looks like the outcome"),
        (
            ["model_a", "model_b", "winner"],
            "winner",
            "model_b",
            "'model_b' and 'model_a' look like",
        ),
        (["left dish", "right dish", "verdict"], "verdict", "left dish", "like the two items"),
    ],
)
def test_outcomes_are_refused(header, winner, loser, message):
    with pytest.raises(DataError, match=message):
        check_outcomes("votes.csv", header, winner, loser)


@pytest.mark.parametrize(
    ("header", "winner", "loser"),
    [
        (["winner", "loser", "result"], "winner", "loser"),
        (["user", "liked", "other"], "liked", "other"),
        (["better", "worse", "weight_a", "weight_b"], "better", "worse"),
        (["preferred", "rejected"], "preferred", "rejected"),
    ],
)
def test_columns_of_items_are_not_taken_for_outcomes(header, winner, loser):
    check_outcomes("votes.csv", header, winner, loser)


def test_advice_is_given_where_it_applies():
    assert "'a1' and 'a2' are the items and 'won' says" in advice_on_outcomes(["a1", "a2", "won"])
    assert advice_on_outcomes(["a1", "a2", "loser", "won"]) == ""
    assert advice_on_outcomes(["a1", "b1", "won"]) == ""
    assert advice_on_outcomes(["a1", "a2"]) == ""
