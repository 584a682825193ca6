"""The promise: checked once, a pytree of its numbers, and compared by its neighbors."""

from __future__ import annotations

import math
from decimal import Decimal

import jax
import pytest

from privrank_jax import Privacy
from privrank_jax._neighbors import COVERS

USER = {"unit": "user", "adjacency": "replace"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": Decimal(0)}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": [1.0, -1.0]}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"unit": "voter"}, "unit"),
        ({"adjacency": "swap"}, "adjacency"),
        ({"unit": "rank", "adjacency": "flip"}, "combination"),
        ({"contributions": 0}, "contributions"),
        ({"contributions": math.inf}, "contributions"),
        ({"unit": "comparison", "contributions": 3}, "unit='user'"),
        ({"public": ("who",)}, "'who'"),
        ({"public": "items"}, "tuple"),
    ],
)
def test_bad_promises_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Privacy(**{"epsilon": 1.0, **USER, **arguments})


def test_unit_and_adjacency_have_no_default_and_numbers_may_be_traced_or_exact():
    for missing in USER:
        with pytest.raises(TypeError, match=missing):
            Privacy(1.0, **{name: value for name, value in USER.items() if name != missing})
    assert float(jax.jit(lambda epsilon: Privacy(epsilon, **USER))(2.0).epsilon) == 2.0
    assert Privacy(Decimal("0.1"), delta=Decimal("1e-9"), **USER).epsilon == Decimal("0.1")
    assert Privacy.proven(0.0, **USER).epsilon == 0.0


def test_comparisons_per_unit():
    assert Privacy(1.0, unit="comparison", adjacency="flip").comparisons_per_unit == 1
    assert Privacy(1.0, contributions=7, **USER).comparisons_per_unit == 7
    with pytest.raises(ValueError, match="bound_contributions"):
        _ = Privacy(1.0, **USER).comparisons_per_unit
    with pytest.raises(ValueError, match="rankings"):
        _ = Privacy(1.0, unit="rank", adjacency="replace").comparisons_per_unit


@pytest.mark.parametrize("promised", sorted(COVERS))
@pytest.mark.parametrize("released", sorted(COVERS))
def test_covers_is_that_of_the_neighbors(promised, released):
    one, other = (
        Privacy(1.0, unit=unit, adjacency=adjacency) for unit, adjacency in (released, promised)
    )
    assert one.covers(other) == (released in COVERS[promised])
    assert bool(one.lacks(other)) != one.covers(other)


def test_covers_counts_contributions_and_public_facts():
    three, ten, all_of_them = (Privacy(1.0, contributions=n, **USER) for n in (3, 10, None))
    assert ten.covers(three)
    assert all_of_them.covers(ten)
    assert "at most 3" in three.lacks(ten)
    assert "at most 10" in ten.lacks(all_of_them)
    assert not three.given(public=["items"]).covers(three)
    flips = Privacy(1.0, unit="user", adjacency="flip", public=("items", "ties"))
    assert flips.public == ("ties",)  # a flip keeps the items
