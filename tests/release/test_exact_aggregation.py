"""Exact noise for the aggregation of rankings: laws compared with enumeration and with the simulated twins."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.borda import dp_borda_scale
from privrank_jax.aggregation.noisy_weights import noise_all_scale
from privrank_jax.exact import integer_noise
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.privacy import Privacy
from privrank_jax.release import (
    exact_aggregation,
    exact_borda,
    exact_kwiksort,
    exact_noise_all,
    exact_weights,
    weights_in_parts,
)
from privrank_jax.release.exact_aggregation import _sort
from tests.promises import noise_of, user

ALARM = 1e-4  # false-alarm rate of each test on fresh noise; the noise can't be seeded
RANKS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, -1], [0, 0, 1]])


def laplace_tail(k, scale):
    """P(X > k) of the discrete Laplace law, k an integer."""
    alpha = math.exp(-1 / scale)
    if k < 0:
        return 1 - laplace_tail(-k - 1, scale)
    return alpha ** (k + 1) / (1 + alpha)


def kwiksort_law(counts, users, scale):
    """Law of the order of three items: pivots enumerated, answers independent, no budget."""
    items, law = range(len(counts)), {}

    def sort(segment, chance):
        """All ways to sort a list of segments, the first that is unsorted first."""
        unsorted = next((k for k, s in enumerate(segment) if len(s) > 1), None)
        if unsorted is None:
            order = tuple(s[0] for s in segment)
            law[order] = law.get(order, 0.0) + chance
            return
        part = segment[unsorted]
        for pivot in part:
            others = [i for i in part if i != pivot]
            for answers in itertools.product([True, False], repeat=len(others)):
                p = chance / len(part)
                for item, ahead in zip(others, answers):
                    yes = laplace_tail(users - counts[item][pivot], scale)
                    p *= yes if ahead else 1 - yes
                left = [i for i, ahead in zip(others, answers) if ahead]
                right = [i for i, ahead in zip(others, answers) if not ahead]
                split = [s for s in (left, [pivot], right) if s]
                sort([*segment[:unsorted], *split, *segment[unsorted + 1 :]], p)

    sort([list(items)], 1.0)
    return law


@pytest.fixture
def prepare_once(monkeypatch):
    """Count and calibrate once for all the draws from some rankings; returns the counts."""
    for name in ("discrete_laplace", "discrete_gaussian"):
        kept = functools.cache(getattr(integer_noise, name))
        monkeypatch.setattr(integer_noise, name, kept)

    def prepare(ranks):
        counts = exact_aggregation.twice_counts(ranks, "last")
        monkeypatch.setattr(exact_aggregation, "twice_counts", lambda ranks, missing: counts)
        return counts

    return prepare


def test_kwiksort_has_the_enumerated_law_and_no_other_scale(prepare_once):
    draws = 1000
    counts = prepare_once(RANKS)
    orders = [
        tuple(np.argsort(exact_kwiksort(RANKS, user(4.0)).value).tolist()) for _ in range(draws)
    ]
    every = list(itertools.permutations(range(3)))
    observed = [orders.count(order) for order in every]

    def p_value(scale):
        law = kwiksort_law(counts.tolist(), len(RANKS), scale)
        assert sum(law.values()) == pytest.approx(1)
        return stats.chisquare(observed, [draws * law[order] for order in every]).pvalue

    def noncentrality(other):
        law, right = (kwiksort_law(counts.tolist(), len(RANKS), s) for s in (other, scale))
        return draws * sum((law[order] - right[order]) ** 2 / law[order] for order in every)

    scale = 2 * 3 / 4.0  # 2q/ε on twice the counts, q = 3
    assert p_value(scale) > ALARM
    assert noncentrality(scale / 3) > 90
    assert noncentrality(scale * 3) > 90
    # At 5 degrees of freedom these p-values exceed the alarm with probability below 1e-6.
    assert p_value(scale / 3) < ALARM
    assert p_value(scale * 3) < ALARM


def test_many_users_give_the_law_of_the_simulated_twin(key, prepare_once):
    """With 400 users the grid of 1/2 is invisible in noise of scale 100 and more; one order against the others."""
    draws, epsilon, delta = 400, 0.06, 1e-5
    ranks = np.repeat(RANKS[:4], 100, axis=0)
    weights, privacy = PairWeights.from_ranks(ranks), user(epsilon, delta)
    noise = noise_of(delta)
    twin = jax.vmap(
        lambda key: aggregation.dp_kwiksort(key, weights, privacy, noise=noise).value
    )(jax.random.split(key, 20_000))  # fmt: skip
    chance = float(np.mean(np.all(np.asarray(twin) == [0, 1, 2], axis=1)))
    assert 0.2 < chance < 0.8
    prepare_once(ranks)
    found = sum(
        exact_kwiksort(ranks, privacy, noise=noise).value.tolist() == [0, 1, 2]
        for _ in range(draws)
    )
    # 5 standard deviations, and what rounding may change.
    slack = 5 * math.sqrt(chance * (1 - chance) / draws) + 0.02
    assert abs(found / draws - chance) < slack


@pytest.mark.parametrize(("noise", "slack"), [("k-norm", 0.01), ("laplace", 1e-12)])
def test_borda_without_noise_is_the_mean_of_the_scores(noise, slack):
    """Laplace noise other than 0 has probability below 1e-100, K-norm noise beyond the slack below 1e-9."""
    estimate = exact_borda(np.repeat(RANKS, 2, axis=0), user(5000.0), noise=noise)
    w = np.asarray(PairWeights.from_ranks(RANKS).matrix)
    np.testing.assert_allclose(estimate.value, w.sum(axis=1), atol=slack)
    unknown = exact_borda(RANKS, user(5000.0), missing="unknown", noise=noise).value
    w = np.asarray(PairWeights.from_ranks(RANKS, missing="unknown").matrix)
    np.testing.assert_allclose(unknown, w.sum(axis=1), atol=slack)


def test_k_norm_noise_on_scores_is_whole_on_their_doubles_and_sums_to_nothing():
    for ranks, missing in ((RANKS, "last"), (RANKS, "unknown"), (RANKS[:1], "last")):
        value = exact_borda(ranks, user(0.3), missing=missing).value
        twice = 2 * len(ranks) * value
        np.testing.assert_allclose(twice, np.round(twice), atol=1e-9)
        assert twice.sum() == pytest.approx(len(ranks) * 6)


@pytest.mark.parametrize("release", [exact_borda, exact_noise_all])
def test_k_norm_noise_has_the_change_of_one_user(release, monkeypatch):
    """The mechanism gets twice the counts, what replacing a user changes of them, and ε itself."""
    asked = []

    def record(shape, change, epsilon, _=()):
        asked.append((shape, change, epsilon))
        return lambda values: asked.append(values) or np.asarray(values, float), change / epsilon

    for name in ("discrete_cube", "discrete_zonotope"):
        monkeypatch.setattr(integer_noise, name, record)
    found = release(RANKS, user(0.3))
    (shape, change, epsilon), values = asked
    assert (change, epsilon) == (2, 0.3)
    w = np.asarray(PairWeights.from_ranks(RANKS).matrix)
    if release is exact_borda:
        assert shape == Graph.of_all_pairs(3)
        np.testing.assert_allclose(values, 10 * w.sum(axis=1))
    else:
        assert shape == 3
        np.testing.assert_allclose(values, 10 * w[np.triu_indices(3, 1)])
    assert found.diagnostics.noise_scale == pytest.approx(1 / (5 * 0.3))


@pytest.mark.parametrize(
    ("release", "noise"),
    [
        *((exact_borda, noise) for noise in ("k-norm", "laplace", "gaussian")),
        *((exact_weights, noise) for noise in ("k-norm", "gaussian")),
    ],
)
def test_one_user_more_moves_the_integers_by_what_the_noise_is_for(release, noise, monkeypatch):
    """What noise is added to moves, for every ranking that joins, by what the sampler is told, at most, and so far."""
    told, seen, spent = [], [], []

    def sampler(shape, change, *_, **__):
        told.append((shape, change))
        return lambda values: seen.append(np.array(values)) or np.asarray(values, float), 1.0

    def gaussian(values, parts, _, budget):
        spent.append(
            (np.repeat([float(s) for _, s in parts], [n for n, _ in parts]), float(budget))
        )
        seen.append(np.array(values))
        return values.astype(float)

    for module, names in (
        (integer_noise, ("discrete_cube", "discrete_zonotope")),
        (weights_in_parts, ("discrete_cube", "discrete_zonotope")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, sampler)
    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(integer_noise, name, lambda change, *_: sampler(None, change))
    monkeypatch.setattr(weights_in_parts, "gaussian_mechanism", gaussian)
    privacy = Privacy(
        1.0, unit="user", adjacency="add-remove", delta=1e-5 if noise == "gaussian" else 0.0
    )
    options = {"focus": 0.5, "shrink": "none"} if release is exact_weights else {}
    joining = [*itertools.product(range(-1, 3), repeat=3)]
    found = {}
    for own in [None, *joining]:
        seen.clear()
        rows = np.array([*RANKS, *([] if own is None else [own])])
        with jax.enable_x64(True):
            value = release(rows, privacy, noise=noise, **options).value
            margins = np.asarray(PairWeights.from_ranks(rows).matrix) - 0.5 * (1 - np.eye(3))
        wanted = len(rows) * (margins.sum(1) if release is exact_borda else margins)
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
            order = {"k-norm": np.inf, "laplace": 1, "gaussian": 2}[noise]
            gauge = max(np.linalg.norm(one, order) for one in moved)
        assert gauge == pytest.approx(change)


def test_noise_all_without_noise_is_the_weights():
    estimate = exact_noise_all(RANKS, user(5000.0))
    w = np.asarray(PairWeights.from_ranks(RANKS).matrix)
    np.testing.assert_allclose(estimate.value, w, rtol=1e-12)
    assert set(exact_noise_all(RANKS, user(1e-9)).value.ravel().tolist()) == {0.0, 1.0}  # clipped
    unknown = exact_noise_all(RANKS, user(5000.0), missing="unknown").value
    w = np.asarray(PairWeights.from_ranks(RANKS, missing="unknown").matrix)
    np.testing.assert_allclose(unknown, w, rtol=1e-12)
    assert estimate.guarantee.as_dict() == {
        "epsilon": 5000.0, "delta": 0.0, "unit": "user", "adjacency": "replace", "trust": "central",
        "numerics": "exact",
    }  # fmt: skip


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("items", [2, 5, 12])
def test_scales_are_those_of_the_simulated_twins(items, delta):
    ranks = np.tile(np.arange(items), (50, 1))
    privacy, noise = user(0.7, delta), noise_of(delta)
    for release, twin in (
        (exact_borda, dp_borda_scale),
        (exact_noise_all, noise_all_scale),
    ):
        if not delta:
            shaped = release(ranks, privacy).diagnostics.noise_scale
            assert shaped == pytest.approx(twin(items, 50, privacy))
        scale = release(ranks, privacy, noise=noise).diagnostics.noise_scale
        known = float(twin(items, 50, privacy, noise=noise))
        assert scale == pytest.approx(known, rel=1e-9)
    found = exact_kwiksort(ranks, privacy, noise=noise).diagnostics
    weights = PairWeights.from_ranks(ranks)
    twin = aggregation.dp_kwiksort(jax.random.key(0), weights, privacy, noise=noise).diagnostics
    assert found.max_queries == twin.max_queries
    known = float(twin.noise_scale)
    assert found.noise_scale == pytest.approx(known, rel=1e-9)


def test_a_budget_that_is_exceeded_falls_back_on_noise_for_all_pairs():
    ranks = np.tile([3, 0, 2, 1], (500, 1))
    # One query can't sort four items, so every run falls back, at half of ε.
    estimate = exact_kwiksort(ranks, user(400.0), max_queries=1)
    assert estimate.diagnostics.exceeded is True
    assert estimate.diagnostics.queries == 0
    assert estimate.value.tolist() == [3, 0, 2, 1]
    assert estimate.guarantee.epsilon == 400.0


def test_the_two_shares_never_exceed_epsilon(monkeypatch):
    spent = []
    monkeypatch.setattr(
        integer_noise,
        "discrete_laplace",
        lambda change, each: (spent.append(each), (lambda values: values, 1.0))[1],
    )
    monkeypatch.setattr(
        exact_aggregation,
        "exact_noise_all",
        lambda weights, privacy: (
            spent.append(privacy.epsilon),
            SimpleNamespace(value=weights.matrix),
        )[1],
    )
    ranks = np.tile(np.arange(5), (9, 1))
    for epsilon in (0.1, 0.3, 1 / 3, 0.7, 1.0, 2.9):
        for split in (0.5, 0.9, 1 / 3):
            spent.clear()
            exact_kwiksort(ranks, user(epsilon), max_queries=3, split=split)
            each, fallback = spent
            total = 3 * Fraction(each) + Fraction(fallback)
            assert Fraction(epsilon) * (1 - Fraction(1, 2**50)) < total <= Fraction(epsilon)


@pytest.mark.parametrize("items", [2, 3, 9, 40])
def test_the_sort_sorts_and_asks_each_pair_once(items):
    seen = []
    value = np.random.default_rng(items).permutation(items)

    def before(asked):
        seen.extend(asked)
        return [value[i] < value[j] for i, j in asked]

    order, queries = _sort(items, before, items * items)
    assert order == np.argsort(value).tolist()
    assert queries == len(seen) == len({frozenset(pair) for pair in seen})
    assert _sort(items, before, 0) == (None, 0)


@pytest.mark.parametrize("release", [exact_borda, exact_noise_all, exact_kwiksort])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"privacy": user(math.inf)}, "epsilon must be finite"),
        ({"privacy": user(np.ones(2))}, "epsilon must be one number"),
        ({"noise": "gaussian"}, "needs delta > 0"),
        ({"missing": "first"}, "missing must be one of"),
        ({"data": [0, 1]}, "one user and two items at least"),
        ({"data": [[0], [0]]}, "one user and two items at least"),
        ({"data": [[0.0, 1.0]]}, "integers"),
    ],
)
def test_refusals(release, change, message):
    with pytest.raises(ValueError, match=message):
        release(**{"data": [[0, 1]], "privacy": user(1.0)} | change)
