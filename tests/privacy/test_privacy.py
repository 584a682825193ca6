"""The promise as a pytree, and how a mechanism keeps it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from privrank_jax import Privacy
from privrank_jax.privacy.privacy import check_privacy, kept

USER = {"unit": "user", "adjacency": "replace"}


def test_numbers_are_leaves_and_the_rest_is_static():
    privacy = Privacy(1.0, delta=1e-6, contributions=5, public=("items",), **USER)
    leaves, structure = jax.tree.flatten(privacy)
    assert leaves == [1.0, 1e-6, 5]
    assert jax.tree.unflatten(structure, leaves) == privacy
    assert structure != jax.tree.structure(Privacy(1.0, contributions=5, **USER))
    assert jax.tree.map(lambda x: -x, privacy).epsilon == -1.0  # nothing is checked again


def test_a_sweep_is_one_vmap_and_compiles_once():
    traced = []

    @jax.jit
    def loss(privacy: Privacy):
        traced.append(privacy.unit)
        return privacy.epsilon * privacy.contributions + privacy.delta

    sweep = Privacy(jnp.array([0.5, 1.0, 2.0]), contributions=4, **USER)
    found = jax.vmap(loss, in_axes=(sweep.axes(epsilon=0),))(sweep)
    assert found.tolist() == [2.0, 4.0, 8.0]
    loss(Privacy(1.0, contributions=4, **USER))
    loss(Privacy(3.0, contributions=9, **USER))
    assert len(traced) == 2  # one for the batch, one for all single promises
    with pytest.raises(ValueError, match="unit"):
        sweep.axes(unit=0)


def test_a_mechanism_keeps_what_its_kind_covers_and_refuses_the_rest():
    promised = Privacy(1.0, unit="user", adjacency="flip")
    found = kept(promised, "noise_all", ("user", "replace"))
    assert (found.unit, found.adjacency, found.epsilon) == ("user", "replace", 1.0)
    with pytest.raises(ValueError, match="'add-remove'"):
        kept(Privacy(1.0, unit="user", adjacency="add-remove"), "noise_all", ("user", "replace"))
    with pytest.raises(TypeError, match=r"Privacy\(1.0, unit="):
        check_privacy(1.0)


def test_facts_are_added_to_what_is_proven_too():
    """ε = 0 and arrays stay as they are; where a release bounds users itself, it is for any of them."""
    nothing = Privacy.proven(0.0, contributions=3, **USER)
    told = nothing.given(public=["items"], users="each row").neighbors
    assert (told.public, told.users) == (("items",), "each row")
    assert nothing.for_any_user() == Privacy.proven(0.0, **USER)
    with pytest.raises(ValueError, match="'who'"):
        nothing.given(public=["who"])
