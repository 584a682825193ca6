"""What every record with noise in its objective keeps: its minimizer, losses, the law of its noise, use, refusals."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import optimize

from privrank_jax._balls import middle, precision
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact import minimizer
from privrank_jax.exact.balls import Laplace, Normal
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_answers, perturbed_choices, perturbed_covariates
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import laplace
from tests.mechanism import objectives
from tests.mechanism.objectives import CHOICES, ITEMS, OBJECTIVES, TABLE, WINS
from tests.promises import promise
from tests.quick import soon
from tests.reference import conditional_logit as naive

EACH = [
    pytest.param(case, adjacency, id=f"{name}-{adjacency}")
    for name, case in OBJECTIVES.items()
    for adjacency in case.adjacencies
]
each = pytest.mark.parametrize(("case", "adjacency"), EACH)
# The adjacency changes the scale alone, and the quick tier has one of each record.
FITTED = soon(EACH, "*-flip", "*ties-replace", "choices-replace")
cases = pytest.mark.parametrize("case", OBJECTIVES.values(), ids=OBJECTIVES)


def drawn(case, key, estimate):
    """The tilt of a simulation."""
    scale = float(estimate.diagnostics.noise_scale)
    noise = np.asarray(laplace(key, (len(case.multiples),), scale, estimate_dtype(estimate)), float)
    return case.sign * np.array(case.multiples) * noise


def estimate_dtype(estimate):
    return jax.tree.leaves(estimate.value)[0].dtype


def minimized(case, tilt, gamma):
    """The minimizer at this noise by SciPy, scores centered."""

    def slope(beta):
        return naive.derivatives(case.answers, beta, gamma)[0] + tilt

    def bend(beta):
        return naive.derivatives(case.answers, beta, gamma)[1]

    found = optimize.root(slope, np.zeros(len(tilt)), jac=bend, tol=1e-13)
    assert np.abs(slope(found.x)).max() < 1e-8
    return np.append(found.x[:ITEMS] - found.x[:ITEMS].mean(), found.x[ITEMS:])


@pytest.mark.parametrize(("case", "adjacency"), soon(FITTED, "*-flip", "*d ties*", "choices*"))
def test_a_simulation_is_the_naive_minimizer_at_its_noise(case, adjacency, key):
    """At usual and at large noise, and without noise at a given ridge; so noise has its law."""
    with jax.enable_x64(True):
        data = jax.tree.map(_wide, case.data)
        for epsilon, gamma in ((2.0, None), (0.1, None), (math.inf, 0.7), (2.0, 50.0)):
            asked = promise(epsilon, adjacency=adjacency)
            found = case.record(key, data, asked, gamma=gamma, **case.public)
            wanted = minimized(case, drawn(case, key, found), float(found.diagnostics.gamma))
            np.testing.assert_allclose(case.numbers(found.value), wanted, atol=1e-6)
            assert int(found.diagnostics.fit.code) == 0
            if gamma is not None:
                assert float(found.diagnostics.gamma) == gamma
            if math.isinf(epsilon):
                assert float(found.diagnostics.noise_scale) == 0
            exact = adjacency == "flip"
            assert found.guarantee.numerics == ("simulation" if exact else "idealized")
            assert found.guarantee.attained == asked


def _wide(leaf):
    return leaf.astype(float) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


@each
def test_scale_and_ridge_are_those_of_the_theorem(case, adjacency, key):
    """By hand, of L answers, from public facts and from data; at a larger γ log-determinants cost less."""
    change, spread = case.scale
    times = {"flip": 2.0, "replace": 2 * change, "add-remove": change}[adjacency]
    spread = 0.5 if spread else 0.0  # of three items, V = (m - 2)/(m - 1)
    for unit, answers in (("comparison", 1), ("user", 3)):
        asked = promise(0.5, unit, adjacency, answers)
        floor = 0.0 if adjacency == "flip" else (times + spread) * answers / 0.5
        facts = Facts(ITEMS, rules=_rules(case))
        _, least = map(float, case.record.scale(asked, facts))
        assert least == pytest.approx(max(floor, 1.0))
        found = case.record(key, case.data, asked, **case.public).diagnostics
        assert float(found.gamma) >= least  # more where it is public how much was answered
        scale = times * answers / (0.5 - spread * answers / float(found.gamma))
        assert float(found.noise_scale) == pytest.approx(scale)
        large = times * answers / (0.5 - spread * answers / 57.0)
        given = case.record(key, case.data, asked, gamma=57.0, **case.public).diagnostics
        assert (float(given.noise_scale), float(given.gamma)) == pytest.approx((large, 57.0))
        both = case.record.scale(asked, facts, gamma=57.0)
        assert tuple(map(float, both)) == pytest.approx((large, 57.0))


def _rules(case):
    if case.record is perturbed_covariates:
        return 2, bool(case.public)
    return (0, True) if case.record.name == "perturbed_davidson" else ()


def points(numbers, near):
    """Random points far and near, and a given one, of which numbers beyond its end are 1."""
    rng = np.random.default_rng(0)
    some = rng.choice([-60.0, -12.0, -1.0, 0.0, 1.0, 12.0, 60.0], (60, numbers))
    return np.concatenate([[[*near, *[1.0] * (numbers - len(near))]], some])


@pytest.mark.parametrize(("case", "adjacency"), soon(EACH, "[!c]*", "covariates and*", "choices*"))
def test_exact_losses_reach_epsilon_and_no_more(case, adjacency):
    """Over all answers of four items and random points; with 5 % less noise ε is exceeded."""
    numbers = len(case.base[0][0][0])
    weights = np.array([1] * 4 + [2] * (numbers - 4))
    davidson = bool(case.public) or case.record.name == "perturbed_davidson"
    at, facts = points(numbers, case.near), Facts(4, rules=_rules_of_four(case, numbers, davidson))
    asked = promise(1.0, "comparison", adjacency)
    if case.record is perturbed_choices:
        facts = Facts(3)  # sets of three of four items
    scale, gamma = map(float, case.record.scale(asked, facts, gamma=None))
    contents = [[], *case.kinds]

    def worst(shrunk):
        each = shrunk * scale * weights
        ridge = shrunk * gamma
        told = {} if adjacency != "flip" else {"group": lambda kind: kind and case.group(kind)}
        return naive.worst_loss([[], case.base], contents, at, each, ridge, adjacency, **told)

    assert 0.98 < worst(1.0) <= 1 + 1e-9
    assert worst(0.95) > 1.02


def _rules_of_four(case, numbers, davidson):
    if case.record.name == "perturbed_mle":
        return ()
    return numbers - 4 - davidson, davidson


def test_users_of_two_answers_lose_epsilon_and_no_more():
    case = OBJECTIVES["covariates and ties"]
    contents = [
        [one for kind in some for one in kind]
        for size in range(3)
        for some in itertools.combinations_with_replacement(case.kinds, size)
    ]
    asked = promise(1.0, "user", "replace", 2)
    scale, gamma = map(float, case.record.scale(asked, Facts(4, rules=(1, True))))
    weights = np.array([1] * 4 + [2] * 2)
    at = points(6, case.near)[:6]
    bases = [[], case.base]
    worst = naive.worst_loss(bases, contents, at, scale * weights, gamma, "replace")
    assert 0.99 < worst <= 1 + 1e-9


# --- exact releases --------------------------------------------------------------------------------


GAUSSIAN = pytest.param(OBJECTIVES["wins"], "flip", "gaussian", id="gaussian")


@pytest.mark.parametrize(
    ("case", "adjacency", "noise"),
    [pytest.param(*one.values, "laplace", id=one.id, marks=one.marks) for one in FITTED]
    + [GAUSSIAN],
)
def test_a_release_is_a_minimizer_with_many_digits_on_the_same_noise(
    case, adjacency, noise, monkeypatch
):
    numbers, sizes = [], []
    name, law = {"laplace": ("Laplace", Laplace), "gaussian": ("Normal", Normal)}[noise]

    def kept(size):
        numbers.append(law(size))
        sizes.append(size)
        return numbers[-1]

    monkeypatch.setattr(minimizer, name, kept)
    asked = promise(2.0, adjacency=adjacency, delta=0.01 if noise == "gaussian" else 0.0)
    told = {"gamma": 0.5} if adjacency == "flip" else {}
    told |= {"noise": noise} if noise == "gaussian" else {}
    found = case.record.release(case.data, asked, **told, **case.public)
    assert found.guarantee.numerics == "exact"
    assert found.guarantee.attained == asked
    scale, weight = found.diagnostics.noise_scale, found.diagnostics.gamma
    raised = Fraction(scale) * (1 + Fraction(1, 2**30))
    least = Fraction(weight) if adjacency == "flip" else max(Fraction(weight), raised)
    if noise == "gaussian":
        least *= 1 + Fraction(1, 2**30)
    assert sizes == [times * raised for times in case.multiples]
    with precision(400):
        tilt = [middle(one.ball(300)) for one in numbers]
    with mpmath.workdps(80):
        tilt = [mpmath.mpf(w.numerator) / w.denominator for w in tilt]
        gamma = mpmath.mpf(least.numerator) / least.denominator
        true = naive.exact_minimizer(case.answers, tilt, gamma, ITEMS, digits=30)
        grid = float(minimizer.GRID)
        steps = [int(mpmath.floor(t / grid + mpmath.mpf(1) / 2)) for t in true]
    assert [round(t / grid) for t in case.numbers(found.value)] == steps


def test_equal_rows_in_any_order_and_padding_are_one_release(monkeypatch):
    """What reaches the fit is a set of rows: as without padding, whatever the order of rows and who gave them."""
    seen = []

    def kept(rows, *_):
        seen.append(sorted(map(tuple, rows.tolist())))
        return [0] * 5

    monkeypatch.setattr(perturbed_answers, "perturbed_meetings", kept)
    turned = jax.tree.map(lambda leaf: leaf[::-1] if leaf.shape[:1] == (40,) else leaf, TABLE)
    padded = _of(mask=jnp.arange(40) < 30)
    for one in (TABLE, turned, padded):
        perturbed_covariates.release(one, promise(2.0))
    assert seen[0] == seen[1]
    assert len(seen[2]) == 30


NOTHING = WinCounts(jnp.zeros((ITEMS, ITEMS)), None, 0)
EMPTY = {
    "wins": NOTHING,
    "ties": NOTHING,
    "choices": dataclasses.replace(CHOICES, weights=jnp.zeros_like(CHOICES.weights)),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_extreme_budgets_and_no_answers_end_in_finite_numbers(name):
    case = OBJECTIVES[name]
    asked = [(case.data, 1e-9), (case.data, 1000.0), (EMPTY.get(name, case.data), 1.0)]
    for data, epsilon in asked:
        told = promise(epsilon, adjacency="add-remove")
        found = case.numbers(case.record.release(data, told, **case.public).value)
        assert np.all(np.isfinite(found))
        assert np.ptp(found) > 0


# --- refusals --------------------------------------------------------------------------------------


@cases
def test_what_does_not_fit_is_refused(case, key):
    record, good = case.record, promise(1.0)
    calls = [functools.partial(record, key), record.release]
    ranks = Privacy(1.0, unit="rank", adjacency="replace")
    users = Privacy(1.0, unit="user", adjacency="replace")
    loose = dataclasses.replace(good, delta=1e-6)
    for data, asked, told, error, word in (
        (np.ones((2, 2)), good, {}, TypeError, record.name),
        (case.data, 1.0, {}, TypeError, "Privacy"),
        (case.data, ranks, {}, ValueError, "promise"),
        (case.data, users, {}, ValueError, "contributions"),
        (case.data, good, {"gamma": 0.5}, ValueError, "least ridge"),
        (case.data, good, {"gamma": -1.0}, ValueError, "gamma"),
        (case.data, good, {"noise": "cauchy"}, ValueError, "noise"),
        (case.data, good, {"noise": "gaussian"}, ValueError, "noise"),
        (case.data, loose, {"noise": "k-norm"}, ValueError, "noise"),
    ):
        for call in calls:
            with pytest.raises(error, match=word):
                call(data, asked, **told, **case.public)
    if "flip" not in case.adjacencies:
        for call in calls:
            with pytest.raises(ValueError, match=r"pairwise\.fit"):
                call(case.data, promise(1.0, adjacency="flip"), **case.public)
    for epsilon in (math.inf, np.ones(2)):
        with pytest.raises(ValueError, match="epsilon"):
            record.release(case.data, promise(epsilon), **case.public)
    if case.more is not None:
        with pytest.raises(ValueError, match="no padding"):
            record.release(case.more, good, **case.public)


def _of(**changed):
    return dataclasses.replace(TABLE, design=dataclasses.replace(TABLE.design, **changed))


def _users(contributions):
    return Privacy(1.0, unit="user", adjacency="replace", contributions=contributions)


def _weighing(*weights):
    return dataclasses.replace(CHOICES, weights=jnp.asarray(weights))


PAIR = jnp.zeros((2, 2))


@pytest.mark.parametrize(
    ("name", "data", "told", "words"),
    [
        ("covariates", _of(users=jnp.zeros(40, int)), {"privacy": _users(3)}, "40 comparisons"),
        ("covariates", TABLE, {"ties": "never"}, "ties"),
        ("covariates", dataclasses.replace(TABLE, outcomes=jnp.full(40, 0.25)), {}, "outcomes"),
        ("covariates", _of(features=jnp.full((40, 2), 0.3)), {}, "multiples"),
        ("covariates", objectives.table_of(private=False), {}, "private="),
        ("ties", WinCounts(PAIR), {}, "ties"),
        ("ties", WinCounts(PAIR, None, 0.5), {}, "whole"),
        ("choices", _weighing(9.0, 5.0, 0.5), {}, "whole"),
        ("choices", _weighing(9.0, 5.0, np.nan), {}, "whole"),
        ("choices", dataclasses.replace(CHOICES, public_sets=False), {}, "not public"),
        ("wins", WinCounts(jnp.array([[0.0, -1.0], [2.0, 0.0]])), {}, "at least 0"),
        ("wins", WinCounts(jnp.array([[1.0, 0.0], [0.0, 0.0]])), {}, "meet itself"),
        ("wins", WinCounts(jnp.array([[0.0, 0.3], [0.0, 0.0]])), {}, "multiples of 1/2"),
        ("wins", WinCounts(jnp.array([[0.0, np.nan], [0.0, 0.0]])), {}, "multiples of 1/2"),
        ("wins", WinCounts(np.float32([[0.0, 2.0**30], [0.0, 0.0]])), {}, "exact counts"),
        ("wins", WINS, {"link": "normal"}, "unbounded score"),
        ("wins", WINS, {"link": "probit"}, "unknown link"),
        ("wins", WINS, {"gamma": 0.0, "privacy": promise(1.0, adjacency="flip")}, "above 0"),
    ],
)
def test_data_that_are_wrong_are_not_released(name, data, told, words):
    with pytest.raises(ValueError, match=words):
        OBJECTIVES[name].record.release(data, **{"privacy": promise(1.0)} | told)


def test_users_of_one_comparison_are_taken():
    assert perturbed_covariates.release(TABLE, _users(1)).guarantee.numerics == "exact"
