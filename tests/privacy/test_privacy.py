"""The promise: checked once, a pytree of its numbers, and compared by its neighbors."""

from __future__ import annotations

import math
from decimal import Decimal

import jax
import jax.numpy as jnp
import pytest

from privrank_jax import Privacy
from privrank_jax._neighbors import COVERS
from privrank_jax.privacy.privacy import check_privacy, kept

USER = {"unit": "user", "adjacency": "replace"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"epsilon": math.nan}, "epsilon must be positive"),
        ({"epsilon": "1"}, "epsilon must be positive"),
        ({"epsilon": [1.0, -1.0]}, "epsilon must be positive"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": -1e-9}, "delta must be"),
        ({"unit": "voter"}, "unit must be one of"),
        ({"adjacency": "swap"}, "adjacency must be one of"),
        ({"unit": "rank", "adjacency": "flip"}, "means nothing"),
        ({"contributions": 0}, "contributions must be"),
        ({"contributions": math.inf}, "contributions must be"),
        ({"unit": "comparison", "contributions": 3}, "leave them out"),
        ({"public": ("who",)}, "'who'"),
        ({"public": "items"}, "tuple of names"),
    ],
)
def test_bad_promises_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Privacy(**{"epsilon": 1.0, **USER, **arguments})


def test_unit_and_adjacency_have_no_default():
    for missing in USER:
        with pytest.raises(TypeError, match=missing):
            Privacy(1.0, **{name: value for name, value in USER.items() if name != missing})


def test_numbers_are_leaves_and_the_rest_is_static():
    privacy = Privacy(1.0, delta=1e-6, contributions=5, public=("items",), **USER)
    leaves, structure = jax.tree.flatten(privacy)
    assert leaves == [1.0, 1e-6, 5]
    assert jax.tree.unflatten(structure, leaves) == privacy
    assert structure != jax.tree.structure(Privacy(1.0, contributions=5, **USER))
    # Transformations put anything in the place of numbers; nothing is checked again.
    assert jax.tree.map(lambda _: None, privacy).epsilon is None
    assert jax.tree.map(lambda x: -x, privacy).epsilon == -1.0


def test_a_sweep_is_one_vmap_and_compiles_once():
    traced = []

    @jax.jit
    def loss(privacy: Privacy):
        traced.append(privacy.unit)
        return privacy.epsilon * privacy.contributions + privacy.delta

    sweep = Privacy(jnp.array([0.5, 1.0, 2.0]), contributions=4, **USER)
    found = jax.vmap(loss, in_axes=(sweep.axes(epsilon=0),))(sweep)
    assert found.tolist() == [2.0, 4.0, 8.0]
    both = Privacy(jnp.array([0.5, 1.0]), delta=jnp.array([0.25, 0.5]), **USER)
    axes = both.axes(epsilon=0, delta=0)
    assert jax.vmap(lambda p: p.epsilon + p.delta, (axes,))(both).tolist() == [0.75, 1.5]
    loss(Privacy(1.0, contributions=4, **USER))
    loss(Privacy(3.0, contributions=9, **USER))
    assert len(traced) == 2  # one for the batch, one for all single promises
    with pytest.raises(ValueError, match="unit"):
        sweep.axes(unit=0)


def test_promises_are_made_of_traced_numbers():
    made = jax.jit(lambda epsilon: Privacy(epsilon, **USER))(2.0)
    assert float(made.epsilon) == 2.0
    assert made.unit == "user"


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
    assert "at most 3 comparisons, not 10" in three.lacks(ten)
    assert "at most 10" in ten.lacks(all_of_them)
    assert not three.given(public=["items"]).covers(three)
    flips = Privacy(1.0, unit="user", adjacency="flip", public=("items", "ties"))
    assert flips.public == ("ties",)  # a flip keeps the items


def test_a_mechanism_keeps_what_its_kind_covers_and_refuses_the_rest():
    promised = Privacy(1.0, unit="user", adjacency="flip")
    found = kept(promised, "noise_all", ("user", "replace"))
    assert (found.unit, found.adjacency, found.epsilon) == ("user", "replace", 1.0)
    assert kept(found, "noise_all", ("user", "replace")) is found
    with pytest.raises(
        ValueError, match="noise_all can't promise unit 'user', adjacency 'add-remove'"
    ):
        kept(Privacy(1.0, unit="user", adjacency="add-remove"), "noise_all", ("user", "replace"))
    with pytest.raises(TypeError, match=r"Privacy\(1.0, unit="):
        check_privacy(1.0)


def test_exact_numbers_of_the_host_are_taken():
    assert Privacy(Decimal("0.1"), delta=Decimal("1e-9"), **USER).epsilon == Decimal("0.1")
    with pytest.raises(ValueError, match="positive"):
        Privacy(Decimal(0), **USER)


def test_what_is_proven_of_nothing_may_be_zero():
    assert Privacy.proven(0.0, **USER).epsilon == 0.0
    with pytest.raises(ValueError, match="unit must be"):
        Privacy.proven(0.0, unit="voter", adjacency="replace")
