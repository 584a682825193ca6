"""Exact private weights: budgets in fractions, and the noise of both parts."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import jax
import numpy as np
import pytest

from privrank_jax.aggregation.split_weights import deviations, private_weights, split_epsilon
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import k_norm, rounded_gaussian
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.gaussian import gaussian_budget
from tests.exact.laws import assert_mean
from tests.promises import user
from tests.quick import thorough
from tests.reference import borda as reference_borda
from tests.reference import private_weights as reference

RANKS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, -1], [0, 0, 1]])
NOISES = ("k-norm", "gaussian")
DRAWS = 400


def promised(noise, epsilon=1.0):
    return user(epsilon, 1e-5 if noise == "gaussian" else 0.0)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 7.3, 1e9])
@pytest.mark.parametrize("share", [0.0, 1e-12, 0.1, 1 / 3, 0.7, 1 - 2**-53, 1.0])
def test_the_parts_of_epsilon_never_exceed_it(epsilon, share):
    first, second = split_epsilon(epsilon, share)
    assert Fraction(first) + Fraction(second) <= Fraction(epsilon)
    assert first + second == pytest.approx(epsilon)
    assert min(first, second) >= 0
    assert (first == 0) == (share == 0)


@pytest.mark.parametrize("items", [2, 3, 40])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_deviations_spend_the_gaussian_budget_and_no_more(items, share):
    """In fractions, for the changes that a ranking and its reversal attain; and so do the scales of simulations."""
    budget = gaussian_budget(0.7, 1e-6)
    of_totals, of_pairs = deviations(items, 2, Fraction(share), budget)
    ranks = np.arange(items)
    up, down = (reference_borda.pair_shares(r) for r in (ranks, ranks[::-1]))
    pairs = (2 * (up - down))[np.triu_indices(items, 1)]
    totals = 2 * (up - down).sum(1)
    spent = Fraction(0)
    for change, deviation, part in ((totals, of_totals, share), (pairs, of_pairs, 1 - share)):
        assert (deviation is None) == (part == 0)
        if deviation is not None:
            spent += Fraction(int((change**2).sum())) / deviation**2
    assert budget**2 * (1 - Fraction(1, 10**9)) < spent <= budget**2
    scales = private_weights.scale(user(0.7, 1e-6), Facts(items, 9), "gaussian", focus=share)
    first, second = (0 if one is None else float(1 / one**2) for one in (of_totals, of_pairs))
    precision = 4 * 9**2 * np.array([items * first + second, second])  # of shares of 9 users
    np.testing.assert_allclose(1 / np.square(scales), precision, rtol=1e-6)


@pytest.mark.parametrize(
    ("noise", "focus"),
    [
        thorough("k-norm", 0.0),
        ("k-norm", 0.6),
        thorough("gaussian", 0.6),
        thorough("gaussian", 1.0),
    ],
)
def test_noise_of_both_parts(noise, focus):
    """Means of squares of 400 fresh draws are those of the simulated twin; false-alarm rate 10^-9 each."""
    w = np.asarray(PairWeights.from_ranks(RANKS).matrix, float)
    wanted = private_weights.scale(promised(noise), Facts(3, 5), noise, focus=focus)
    squares = []
    for _ in range(DRAWS):
        value = private_weights.release(
            counted_weights(RANKS), promised(noise), noise=noise, focus=focus, shrink="none"
        ).value
        parts = reference.parts(np.where(np.eye(3), 0, value - w + 0.5))
        squares.append([reference.square(part) for part in parts])
    for column, dimension, scale in ((0, 2, wanted[0]), (1, 1, wanted[1])):
        if math.isinf(scale):
            continue
        found = np.array(squares)[:, column] / dimension
        # Lattices and rounding change the variance a little: at most by 1/12 in doubled counts.
        assert_mean(found / float(scale) ** 2, 1, 1.05 * found.std() / float(scale) ** 2)


@pytest.mark.parametrize("noise", NOISES)
def test_values_diagnostics_and_guarantee(noise):
    privacy = promised(noise, 1e5)
    for missing in ("last", "unknown"):
        w = counted_weights(RANKS, missing)
        found = private_weights.release(w, privacy, noise=noise, focus=0.5, shrink="none")
        np.testing.assert_allclose(found.value, w.matrix, atol=1e-3)
    rough = private_weights.release(counted_weights(RANKS), promised(noise), noise=noise, focus=0.2)
    assert rough.value.dtype == np.float64
    np.testing.assert_allclose(rough.value + rough.value.T, 1 - np.eye(3), atol=1e-12)
    np.testing.assert_allclose(
        (rough.diagnostics.gradient_scale, rough.diagnostics.cycle_scale),
        private_weights.scale(promised(noise), Facts(3, 5), noise, focus=0.2),
        rtol=1e-5,
    )
    assert rough.guarantee.numerics == "exact"
    assert (rough.guarantee.epsilon, rough.guarantee.delta) == (1.0, promised(noise).delta)


@pytest.mark.parametrize("noise", NOISES)
def test_one_user_more_moves_the_integers_by_what_the_noise_is_for(noise, monkeypatch):
    """What noise is added to moves, for every ranking that joins, by what the sampler is told, at most, and so far."""
    told, seen, spent = [], [], []

    def sampler(shape, change, *_, **__):
        told.append((shape, change))
        return lambda values: seen.append(np.array(values)) or np.asarray(values, float), 1.0

    def gaussian(values, parts, _, budget):
        scales = np.repeat([float(s) for _, s in parts], [n for n, _ in parts])
        spent.append((scales, float(budget)))
        seen.append(np.array(values))
        return values.astype(float)

    for name in ("discrete_cube", "discrete_zonotope"):
        monkeypatch.setattr(k_norm, name, sampler)
    monkeypatch.setattr(rounded_gaussian, "gaussian_mechanism", gaussian)
    privacy = dataclasses.replace(promised(noise), adjacency="add-remove")
    options = {"focus": 0.5, "shrink": "none"}
    joining = [*itertools.product(range(-1, 3), repeat=3)]
    found = {}
    for own in [None, *joining]:
        seen.clear()
        rows = np.array([*RANKS, *([] if own is None else [own])])
        with jax.enable_x64(True):
            value = private_weights.release(
                counted_weights(rows), privacy, noise=noise, **options
            ).value
            margins = np.asarray(PairWeights.from_ranks(rows).matrix) - 0.5 * (1 - np.eye(3))
        wanted = len(rows) * margins
        np.testing.assert_allclose(value, wanted, atol=1e-9)  # the noise is 0 here
        found[own] = [*seen]
    parts = len(found[None])
    for part in range(parts):
        moved = [found[own][part] - found[None][part] for own in joining]
        if spent:
            scales, budget = spent[0]
            assert max(np.linalg.norm(one / scales) for one in moved) == pytest.approx(budget)
            continue
        shape, change = told[part]
        if isinstance(shape, Graph):
            gauge = max(abs(one).max() / 2 for one in moved)  # of three items
        else:
            gauge = max(abs(one).max() for one in moved)
        assert gauge == pytest.approx(change)
