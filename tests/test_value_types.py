"""What value types derive from their fields: of a batch, what each problem of it gives by itself."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import privrank_jax
from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.aggregation.scores import PointTotals
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import covariate_table
from privrank_jax.pairwise.debiased_fit import DebiasedSums
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.intervals import QuasiVariances
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy import Guarantee, Privacy
from privrank_jax.privacy.bodies import Independent, Law, Noise
from tests.quick import thorough

ITEMS, BATCH = 3, 4
# Objectives are made inside of a program, of one problem or along a trailing axis; and an outcome has
# its own axes.
OTHERS = {"_Budget", "Moves", "Facts", "_Edges", "_UserPairs", "Outcome"}


def _numbers(i, *shape):
    return np.random.default_rng(i).integers(1, 9, shape).astype(float)


def _wins(i):
    return _numbers(i, ITEMS, ITEMS) * (1 - np.eye(ITEMS))


def _met(i):
    return _wins(i) + _wins(i).T


def _mask(i):
    return jnp.arange(ITEMS) < (ITEMS - i % 2)


def _table(i):
    pairs = np.array([(0, 1), (0, 2), (1, 2), (1, 0)]).T
    x = {"x": _numbers(i, 4)}
    return covariate_table(*pairs, _numbers(i, 4) > 4, x, num_items=ITEMS, users=[0, 0, 1, 1])


def _errors(i):
    return standard_errors(_numbers(i, ITEMS) / 9, _met(i), noise=1.0 + i)


def _promise(i, most=2):
    return Privacy(jnp.asarray(1.0 + i), unit="user", adjacency="replace", contributions=most)


def _law(i):
    return Law(np.diag(_numbers(i, ITEMS)), np.asarray(1.0 + i))


MADE = {
    "WinCounts": lambda i: WinCounts(jnp.asarray(_wins(i)), _mask(i), jnp.asarray(1.0 * i)),
    "WinEdges": lambda i: WinEdges(
        jnp.array([0, 0, 1]), jnp.array([1, 2, 2]), jnp.asarray(_numbers(i, 3)), jnp.ones(3), ITEMS
    ),
    "PairWeights": lambda i: PairWeights(jnp.asarray(_wins(i) / 9), 2 + i, _mask(i)),
    "PositionHistograms": lambda i: dataclasses.replace(
        PositionHistograms.from_ranks(np.argsort(_numbers(i, 5, ITEMS))), mask=_mask(i)
    ),
    "PointTotals": lambda i: PointTotals.from_points(_numbers(i, 5, ITEMS).astype(int), most=9),
    "Choices": lambda i: Choices.from_top1([(i % 3, [(i + 1) % 3]), (2, [0, 1])], num_items=ITEMS),
    "Sets": lambda i: Choices.from_top1([(i % 3, [(i + 1) % 3]), (2, [0, 1])], num_items=3).design,
    "CovariateDesign": lambda i: _table(i).design,
    "CovariateTable": _table,
    "DebiasedSums": lambda i: DebiasedSums(jnp.asarray(_wins(i) - _wins(i).T), jnp.asarray(_met(i))),
    "ModelScores": lambda i: ModelScores(
        jnp.asarray(_numbers(i, ITEMS)), log_tie=jnp.asarray(0.1 * i)
    ),
    "Counts": lambda i: Counts(jnp.asarray(_met(i)), _mask(i)),
    "QuasiVariances": lambda i: QuasiVariances(jnp.asarray(_numbers(i, ITEMS)), jnp.asarray(0.1)),
    "Uncertainty": _errors,
    "Independent": lambda i: Independent((ITEMS,), (2.0,)),
    "Noise": lambda i: Noise("laplace", jnp.asarray(1.0 + i), Independent((ITEMS,), (2.0,))),
    "Privacy": lambda i: _promise(i),
    "Guarantee": lambda i: Guarantee(_promise(i, None), _promise(i, None)),
}  # fmt: skip


def derived(kind):
    """Names of its public properties."""
    found = inspect.getmembers(
        kind, lambda one: isinstance(one, property | functools.cached_property)
    )
    return [name for name, _ in found if not name.startswith("_")]


def value_types():
    """Classes of the package that are pytrees and derive something from their fields."""
    for module in pkgutil.walk_packages(privrank_jax.__path__, "privrank_jax."):
        if module.name.endswith("__main__"):
            continue
        found = importlib.import_module(module.name)
        for name, kind in vars(found).items():
            if (
                not inspect.isclass(kind)
                or not dataclasses.is_dataclass(kind)
                or kind.__module__ != module.name
            ):
                continue
            blank = object.__new__(kind)
            for field in dataclasses.fields(kind):
                object.__setattr__(blank, field.name, 0)
            if jax.tree.structure(blank) != jax.tree.structure(0) and derived(kind):
                yield name


def test_every_value_type_is_tested():
    found = set(value_types())
    assert found - OTHERS == set(MADE)
    assert found >= OTHERS


MORE = {
    "WinCounts without a mask": lambda i: WinCounts(jnp.asarray(_wins(i))),
    "Counts without a mask": lambda i: Counts(jnp.asarray(_met(i))),
    "Noise by its law": lambda i: Noise("k-norm", jnp.asarray(1.0 + i), _law(i)),
    "Uncertainty in parts": lambda i: standard_errors(
        _numbers(i, ITEMS) / 9, _met(i) * np.outer([1, 1, i % 2], [1, 1, i % 2])
    ),
}
ROWS = [(row, name) for row, make in (MADE | MORE).items() for name in derived(type(make(0)))]
ROWS.remove(("Noise", "excess"))  # of K-norm noise
SLOW = ("Sets", "linked"), ("CovariateDesign", "linked")


@pytest.mark.parametrize(
    ("row", "name"),
    [thorough(*one) if one in SLOW else one for one in ROWS],
)
def test_of_a_batch_it_is_what_each_problem_gives(row, name):
    """Words and what is static are the same for all; what takes the host to compute says that it is for one problem."""
    single = [(MADE | MORE)[row](i) for i in range(BATCH)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *single)
    if (row, name) == ("PairWeights", "twice"):
        with pytest.raises(ValueError, match="for one"):
            getattr(batch, name)
        return
    found = getattr(batch, name)
    each = [getattr(one, name) for one in single]
    assert jax.tree.structure(found) == jax.tree.structure(each[0])
    for leaf, *leaves in zip(*map(jax.tree.leaves, (found, *each))):
        if isinstance(leaf, str) or not hasattr(leaf, "dtype"):
            assert all(leaf == one for one in leaves)
            continue
        expected = np.stack([np.asarray(one) for one in leaves])
        whole = np.broadcast_to(np.asarray(leaf), expected.shape)
        np.testing.assert_allclose(whole, expected, rtol=1e-12)
