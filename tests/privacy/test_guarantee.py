from __future__ import annotations

import json
import math

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Guarantee
from privrank_jax._neighbors import COVERS
from privrank_jax.privacy import Privacy

ONE = {"unit": "comparison", "adjacency": "replace"}
USER = {"unit": "user", "adjacency": "replace"}


@pytest.mark.parametrize(("unit", "adjacency"), sorted(COVERS))
def test_words_state_every_part(unit, adjacency):
    words = Guarantee(Privacy.proven(0.5, unit=unit, adjacency=adjacency, delta=1e-06)).in_words()
    units = {"comparison": "one comparison", "user": "one user", "rank": "one item"}
    changes = {"flip": "differently", "replace": "replaced", "add-remove": "removed"}
    for part in ("0.5", "1e-06", "1.65", "trusted curator", units[unit], changes[adjacency]):
        assert part in words


def test_words_of_pure_large_infinite_and_noted_guarantees():
    def words(epsilon, **told):
        return Guarantee(Privacy.proven(epsilon, **ONE), **told).in_words()

    assert "delta" not in words(1.0)
    assert "e^200" in words(200.0)
    assert words(math.inf).startswith("Not private")
    assert words(1.0, note="proven.").endswith("Note: proven.")
    assert "exact minimizer" in words(1.0, numerics="idealized")
    assert "hands" in words(1.0, trust="local")
    # (ε, δ)-DP does not imply that the loss exceeds ε with probability δ at most (Meiser 2018).
    also = words(1.0, also=(Privacy.proven(2.0, delta=1e-05, **USER),))
    assert "except" not in also
    assert "set of published results" in also
    assert "7.39" in also


def test_as_dict_is_json():
    told = Privacy.proven(jnp.float32(0.5), delta=np.float64(0.25), **ONE)
    assert json.loads(json.dumps(Guarantee(told, note="n").as_dict())) == {
        "epsilon": 0.5, "delta": 0.25, "unit": "comparison", "adjacency": "replace",
        "trust": "central", "numerics": "simulation", "note": "n",
    }  # fmt: skip
    several = Guarantee(Privacy.proven(jnp.array([0.5, 1.0]), **ONE)).as_dict()
    assert several["epsilon"] == [0.5, 1.0]
    assert "note" not in several


def test_what_is_public_and_what_a_user_is_stand_in_every_sentence_and_in_json():
    whole = Guarantee(Privacy.proven(2.0, **USER), trust="local")
    told = Guarantee(
        Privacy.proven(1.0, unit="rank", adjacency="replace"), trust="local", also=(whole.attained,)
    ).given(public=["ranked-items", "budgets"], users="column 'voter'")
    assert told.attained.public == told.also[0].public == ("budgets", "ranked-items")
    words = told.in_words()
    assert words.count("taken as public") == words.count("column 'voter'") == 2
    assert told.as_dict()["also"][0]["public"] == ["budgets", "ranked-items"]
    assert told.as_dict()["users"] == "column 'voter'"
    for public, word in ((("who",), "'who'"), ("items", "single text")):
        with pytest.raises(ValueError, match=word):
            Privacy.proven(1.0, public=public, **ONE)


def test_a_promise_covers_what_takes_as_much_as_public():
    strong = Privacy.proven(1.0, **USER)
    weak = Privacy.proven(1.0, public=("items",), **USER)
    assert strong.covers(weak.neighbors)
    assert not weak.covers(strong.neighbors)
    assert weak.covers(Privacy.proven(1.0, unit="user", adjacency="flip").neighbors)


def test_a_release_that_bounds_users_itself_is_for_any_user():
    few = Privacy(1.0, contributions=3, **USER)
    whole = Guarantee(few, also=(few,)).for_any_user()
    assert [one.contributions for one in (whole.promise, whole.attained, *whole.also)] == [None] * 3
    assert not few.covers(Privacy(1.0, **USER))
    assert whole.attained.covers(Privacy(1.0, **USER))
