"""Exact fits of covariates, ties and choices: equal to a minimizer with many digits, on noise of the stated sizes."""

from __future__ import annotations

import dataclasses
import sys
from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax._balls import middle, precision
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.choices import Choices
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_perturbed_mle, perturbed_models
from privrank_jax.release.perturbed_models import GRID
from tests.promises import promise
from tests.reference import conditional_logit as naive

ASKED = promise(2.0, "comparison", "replace")
ITEMS = 3
BOUNDS = {"home": (0.0, 1.0), "length": (-2.0, 2.0)}


def table(rows=40, items=ITEMS):
    rng = np.random.default_rng(1)
    first = rng.integers(0, items, rows)
    second = (first + rng.integers(1, items, rows)) % items
    columns = {"home": np.ones(rows), "length": rng.uniform(-3, 3, rows)}
    outcomes = rng.choice([0.0, 0.5, 1.0], rows)
    told = {"num_items": items, "bounds": BOUNDS, "private": True}
    return pairwise.covariate_table(first, second, outcomes, columns, **told)


WINS = WinCounts.from_matrix([[0.0, 20.5, 9], [10.5, 0, 7], [3, 4, 0]], ties=1)
CHOICES = dataclasses.replace(
    Choices.from_top1([(0, [1, 2]), (1, [2]), (2, [1, 0])], num_items=3),
    weights=jnp.array([9.0, 5.0, 1.0]),
)


def answers_of_table(ties):
    given = table()
    design = given.design
    columns = (design.first, design.second, given.outcomes, design.features)
    told = {"items": ITEMS, "davidson": ties == "davidson"}
    return [
        answer
        for i, j, y, x in zip(*(np.asarray(column, float) for column in columns))
        for answer in naive.meeting(int(i), int(j), y, [float(one) for one in x], **told)
    ]


def answers_of_wins():
    matrix, found = np.asarray(WINS.matrix, float), []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        tied = 0.5 if (i, j) == (0, 1) else 0
        for y, n in ((1.0, matrix[i, j] - tied), (0.0, matrix[j, i] - tied), (0.5, 2 * tied)):
            found += naive.meeting(i, j, y, items=3, davidson=True, times=n)
    return found


def answers_of_choices():
    found = naive.choice((0, 1, 2), 0, items=3, times=9) + naive.choice((0, 1, 2), 2, items=3)
    return found + naive.choice((1, 2), 1, items=3, times=5)


def _numbers(value):
    """A released value in doubles, before units: scores, coefficients of features, τ."""
    if isinstance(value, np.ndarray):
        return value
    parts = [value.scores]
    if value.coefficients is not None:
        parts.append(value.coefficients * np.asarray(table().design.units, float))
    if value.log_tie is not None:
        parts.append(2 * np.atleast_1d(value.log_tie))
    return np.concatenate(parts)


RELEASES = {
    "covariates": (
        lambda: exact_perturbed_mle(table(), ASKED),
        lambda: answers_of_table("half"),
        2.5,
        2,
    ),
    "covariates and ties": (
        lambda: exact_perturbed_mle(table(), ASKED, ties="davidson"),
        lambda: answers_of_table("davidson"),
        2.5,
        3,
    ),
    "ties": (lambda: exact_perturbed_mle(WINS, ASKED, ties="davidson"), answers_of_wins, 2.0, 1),
    "choices": (lambda: exact_perturbed_mle(CHOICES, ASKED), answers_of_choices, 2.25, 0),
}


@pytest.mark.parametrize("name", RELEASES)
def test_equal_to_a_minimizer_with_many_digits_on_the_same_noise(name, monkeypatch):
    release, answers, scale, others = RELEASES[name]
    drawn, sizes = [], []

    def kept(size, law=perturbed_models.Laplace):
        drawn.append(law(size))
        sizes.append(size)
        return drawn[-1]

    monkeypatch.setattr(perturbed_models, "Laplace", kept)
    for _ in range(2):
        drawn.clear()
        sizes.clear()
        found = release()
        assert found.guarantee.numerics == "exact"
        assert found.guarantee.attained.epsilon == 2.0
        assert (found.diagnostics.noise_scale, found.diagnostics.gamma) == (scale, scale)
        raised = Fraction(scale) * (1 + Fraction(1, 2**30))
        with precision(400):
            tilt = [middle(one.ball(300)) for one in drawn]
        with mpmath.workdps(80):
            tilt = [mpmath.mpf(w.numerator) / w.denominator for w in tilt]
            gamma = mpmath.mpf(raised.numerator) / raised.denominator
            true = naive.exact_minimizer(answers(), tilt, gamma, 3, digits=30)
            steps = [int(mpmath.floor(t / float(GRID) + mpmath.mpf(1) / 2)) for t in true]
        assert sizes == [raised] * 3 + [2 * raised] * others
        assert [round(t / float(GRID)) for t in _numbers(found.value)] == steps


def test_rows_that_are_padding_or_in_another_order_are_the_same_release(monkeypatch):
    """What reaches the fit is a set of rows: as without padding, whatever the order of rows and who gave them."""
    given, seen = table(), []

    def kept(rows, **told):
        seen.append(sorted(map(tuple, rows.tolist())))
        return [0] * 5

    monkeypatch.setattr(sys.modules[exact_perturbed_mle.__module__], "perturbed_meetings", kept)
    design = given.design
    turned = jax.tree.map(lambda leaf: leaf[::-1] if leaf.shape[:1] == (40,) else leaf, given)
    padded = dataclasses.replace(
        given, design=dataclasses.replace(design, mask=jnp.arange(40) < 30)
    )
    for one in (given, turned, padded):
        exact_perturbed_mle(one, ASKED)
    assert seen[0] == seen[1]
    assert len(seen[2]) == 30


def _offered(*rows, weights):
    found = Choices.from_top1(list(rows), num_items=3)
    return dataclasses.replace(found, weights=jnp.asarray(weights))


def _of(**changed):
    return dataclasses.replace(table(), design=dataclasses.replace(table().design, **changed))


def _users(contributions):
    return Privacy(1.0, unit="user", adjacency="replace", contributions=contributions)


ONE_USER = {"users": jnp.zeros(40, jnp.int32)}
NOTHING = jnp.zeros((2, 2))


@pytest.mark.parametrize(
    ("data", "asked", "told", "words"),
    [
        (_of(**ONE_USER), _users(3), {}, "40 comparisons"),
        (table(), dataclasses.replace(ASKED, epsilon=np.inf), {}, "epsilon"),
        (table(), dataclasses.replace(ASKED, adjacency="flip"), {}, "noisy_sums"),
        (table(), ASKED, {"gamma": 0.1}, "gamma"),
        (table(), ASKED, {"ties": "never"}, "ties"),
        (dataclasses.replace(table(), outcomes=jnp.full(40, 0.25)), ASKED, {}, "outcomes"),
        (_of(features=jnp.full((40, 2), 0.3)), ASKED, {}, "multiples"),
        (WinCounts(NOTHING), ASKED, {"ties": "davidson"}, "ties"),
        (WinCounts(NOTHING, None, 0.5), ASKED, {"ties": "davidson"}, "whole"),
        (WinCounts(NOTHING, jnp.array([True, False]), 0), ASKED, {"ties": "davidson"}, "padding"),
        (_offered((0, [1]), weights=[0.5]), ASKED, {}, "whole"),
        (_offered((0, [1]), weights=[np.nan]), ASKED, {}, "whole"),
        (CHOICES, ASKED, {"gamma": 0.5}, "gamma"),
        (CHOICES, ASKED, {"weighted": True}, "leave them out"),
        (CHOICES, ASKED, {"noise": "gaussian"}, "leave them out"),
        (table(), ASKED, {"link": "laplace"}, "leave them out"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(data, asked, told, words):
    with pytest.raises(ValueError, match=words):
        exact_perturbed_mle(data, asked, **told)


def test_users_of_one_comparison_are_taken():
    assert exact_perturbed_mle(table(), _users(1)).guarantee.numerics == "exact"


@pytest.mark.parametrize("epsilon", [1e-9, 1000.0])
def test_extreme_budgets_end_in_finite_numbers(epsilon):
    asked = promise(epsilon, "comparison", "add-remove")
    found = exact_perturbed_mle(table(), asked, ties="davidson").value
    assert np.all(np.isfinite(_numbers(found)))
    assert np.all(np.isfinite(exact_perturbed_mle(CHOICES, asked).value))


def test_no_answers_are_fitted():
    nothing = WinCounts(jnp.zeros((3, 3)), None, 0)
    assert np.ptp(exact_perturbed_mle(nothing, ASKED, ties="davidson").value.scores) > 0
    empty = dataclasses.replace(CHOICES, weights=jnp.zeros_like(CHOICES.weights))
    assert np.ptp(exact_perturbed_mle(empty, ASKED).value) > 0
