from __future__ import annotations

import json
import math

import jax
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
    assert "epsilon = 0.5, delta = 1e-06" in words
    assert (
        "any set of published results is at most 1.65 times what it was, plus 1e-06, when " in words
    )
    assert {"comparison": "one comparison", "user": "one user", "rank": "the rank of one item"}[
        unit
    ] in words
    expected = {
        "flip": "answers differently",
        "replace": "replaced",
        "add-remove": "added or removed",
    }
    assert expected[adjacency] in words
    assert "trusted curator" in words


def test_words_of_pure_large_infinite_and_noted_guarantees():
    assert "delta" not in Guarantee(Privacy.proven(1.0, **ONE)).in_words()
    assert "factor of at most e^200" in Guarantee(Privacy.proven(200.0, **ONE)).in_words()
    assert Guarantee(Privacy.proven(math.inf, **ONE)).in_words().startswith("Not private")
    assert (
        Guarantee(
            Privacy.proven(1.0, **ONE),
            note="proven only for twice that.",
        )
        .in_words()
        .endswith("Note: proven only for twice that.")
    )
    assert (
        "exact minimizer" in Guarantee(Privacy.proven(1.0, **ONE), numerics="idealized").in_words()
    )
    assert (
        "users' hands" in Guarantee(Privacy.proven(1.0, **ONE), trust="local").in_words()
        or "user's hands" in Guarantee(Privacy.proven(1.0, **ONE), trust="local").in_words()
    )


def test_words_of_an_approximate_guarantee_promise_nothing_about_the_loss():
    """(ε, δ)-DP does not imply that the loss exceeds ε with probability δ at most (Meiser 2018)."""
    user = Guarantee(Privacy.proven(2.0, delta=1e-05, **USER))
    words = Guarantee(Privacy.proven(1.0, **ONE), also=(user.attained,)).in_words()
    assert "except" not in words
    assert (
        "probability of any set of published results changes by a factor of at most 2.72" in words
    )
    assert "As well, with epsilon = 2, delta = 1e-05, it is at most 7.39 times" in words
    assert "any published result changes" in Guarantee(Privacy.proven(1.0, **ONE)).in_words()


def test_as_dict_is_json_and_keeps_the_note_only_if_there_is_one():
    plain = json.loads(
        json.dumps(
            Guarantee(Privacy.proven(jnp.float32(0.5), delta=np.float64(0.25), **ONE)).as_dict()
        )
    )
    assert plain == {
        "epsilon": 0.5,
        "delta": 0.25,
        "unit": "comparison",
        "adjacency": "replace",
        "trust": "central",
        "numerics": "simulation",
    }
    assert Guarantee(Privacy.proven(1.0, **ONE), note="n").as_dict()["note"] == "n"
    assert Guarantee(Privacy.proven(jnp.array([0.5, 1.0]), **ONE)).as_dict()["epsilon"] == [
        0.5,
        1.0,
    ]


def test_guarantee_is_a_pytree_of_its_budgets():
    guarantee = Guarantee(Privacy.proven(1.0, delta=0.1, **USER))
    leaves, structure = jax.tree.flatten(guarantee)
    assert leaves == [1.0, 0.1, 1.0, 0.1]  # of the promise, and of what was attained
    assert jax.tree.unflatten(structure, leaves) == guarantee
    batch = jax.vmap(lambda e: Guarantee(Privacy.proven(2 * e, **USER)))(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(batch.epsilon, [2.0, 4.0])
    assert batch.unit == "user"


def test_what_is_public_and_what_a_user_is_stand_in_every_sentence_and_in_json():
    whole = Guarantee(Privacy.proven(2.0, **USER), trust="local")
    told = Guarantee(
        Privacy.proven(1.0, unit="rank", adjacency="replace"), trust="local", also=(whole.attained,)
    ).given(public=["ranked-items", "budgets"], users="column 'voter'")
    assert told.attained.public == told.also[0].public == ("budgets", "ranked-items")
    words = told.in_words()
    shared = (
        "the epsilon of each user or answer and which items each user ranked are taken as public"
    )
    assert words.count(shared) == words.count("column 'voter' names the users") == 2
    assert told.as_dict()["also"][0]["public"] == ["budgets", "ranked-items"]
    assert told.as_dict()["users"] == "column 'voter'"
    flipped = Guarantee(
        Privacy.proven(1.0, adjacency="flip", public=("ties",), unit="comparison")
    ).in_words()
    assert "who compared which items and which answers are ties are taken as public" in flipped
    assert (
        "each row is one user"
        in Guarantee(Privacy.proven(1.0, users="each row", **USER)).in_words()
    )
    with pytest.raises(ValueError, match="'who'"):
        Guarantee(Privacy.proven(1.0, public=("who",), **ONE))
    with pytest.raises(ValueError, match="single text"):
        Guarantee(Privacy.proven(1.0, public="items", **ONE))


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
