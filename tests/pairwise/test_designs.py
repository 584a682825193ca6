"""Designs of conditional logits: means, information and objectives against loops over answers and JAX's derivatives."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import Choices, Counts
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.designs import Meetings
from privrank_jax.pairwise.fits import DesignObjective
from tests.quick import quick_jit
from tests.reference import conditional_logit as naive

ITEMS = 4
ROWS = [(0, 1, 1.0), (0, 1, 0.5), (1, 2, 0.0), (2, 3, 0.5), (0, 3, 1.0), (2, 0, 1.0)]
FEATURES = np.linspace(-1, 0.8, 12).reshape(6, 2) ** 3
CHOSEN = [(0, [1, 2]), (2, [0]), (3, [1, 0, 2]), (1, [2, 0])]


def of_counts(ties):
    """With a fifth item that is padding."""
    won, met = np.zeros(ITEMS + 1), np.zeros((ITEMS + 1,) * 2)
    for i, j, y in ROWS:
        won[[i, j]] += y, 1 - y
        met[[i, j], [j, i]] += 1
    won[-1] = 9.0
    answers = [naive.meeting(*row, items=ITEMS + 1, davidson=ties) for row in ROWS]
    return Counts(jnp.asarray(met), jnp.arange(ITEMS + 1) < ITEMS, ties), won, answers


def of_rows(ties):
    """With two rows that are padding."""
    first, second, outcomes = np.array([*ROWS, (3, 1, 0.5), (1, 0, 0.5)]).T
    design = CovariateDesign(
        jnp.asarray(first, int),
        jnp.asarray(second, int),
        jnp.asarray(np.concatenate([FEATURES, np.full((2, 2), 7.0)])),
        jnp.zeros(8, int),
        jnp.array([1.0, 4.0]),
        jnp.arange(8) < 6,
        num_items=ITEMS,
        ties=ties,
    )
    answers = [
        naive.meeting(*row, features=x, items=ITEMS, davidson=ties)
        for row, x in zip(ROWS, FEATURES)
    ]
    return design, np.asarray(design.total(jnp.asarray(outcomes))), answers


def of_sets(_):
    choices = Choices.from_top1(CHOSEN, num_items=ITEMS)
    answers = [naive.choice([one, *rest], one, items=ITEMS) for one, rest in CHOSEN]
    return choices.design, np.asarray(choices.totals), answers


KINDS = [(of_counts, False), (of_counts, True), (of_rows, False), (of_rows, True), (of_sets, False)]


@pytest.mark.parametrize(("made", "ties"), KINDS)
def test_derivatives_are_those_of_the_naive_twin_and_of_jax(made, ties):
    design, counted, answers = made(ties)
    answers = [one for several in answers for one in several]
    if ties:
        counted = np.append(counted, 2.0)
    numbers = design.size + ties
    beta = jnp.asarray(np.linspace(1, -0.7, numbers) ** 3)
    ridge = jnp.asarray(np.linspace(0.3, 0.9, numbers))
    objective = DesignObjective.of(design, jnp.asarray(counted), ridge)

    @quick_jit
    def everything(objective, beta):
        design, value = objective.design, objective.__call__
        logit = design.mean(beta) - objective.excess, design.information(beta), design.bend(beta)
        ours = jax.grad(design.log_partition)(beta), objective.gradient(beta)
        return logit, ours, (jax.grad(value)(beta), jax.hessian(value)(beta))

    logit, (mean, slope), by_jax = everything(objective, beta)
    unit = np.append(np.ones(design.size), [2.0] * ties)  # the twin's τ is 2 log ν
    push, bend = naive.derivatives(answers, np.asarray(beta) * unit, 0.0)
    np.testing.assert_allclose(logit[0], push * unit, atol=1e-12)
    np.testing.assert_allclose(logit[1], bend * np.outer(unit, unit), atol=1e-12)
    np.testing.assert_allclose(mean, design.mean(beta), atol=1e-12)
    np.testing.assert_allclose(slope, by_jax[0], atol=1e-12)
    np.testing.assert_allclose(objective.hessian(beta), by_jax[1], atol=1e-12)
    each = np.exp(logit[2])  # the information of single answers
    if isinstance(design, Meetings):
        again = design.gram(jnp.asarray(each[0]))
        np.testing.assert_allclose(again, logit[1][: design.size, : design.size], atol=1e-12)
        for own in each[1:]:
            assert float(design.count(jnp.asarray(own))) == pytest.approx(logit[1][-1, -1])
    else:
        one, rest = CHOSEN[0]
        odds = np.exp(np.asarray(beta)[[one, *rest]])
        shares = odds / odds.sum()
        np.testing.assert_allclose(np.sort(each[0, 0, :3]), np.sort(shares * (1 - shares)))


@pytest.mark.parametrize(("made", "ties"), KINDS)
def test_values_are_centered_and_lead_back(made, ties):
    design, *_ = made(ties)
    beta = jnp.linspace(1.0, 2.0, design.size + ties)
    value = design.value_of(beta)
    scores = value.scores if made is of_rows or ties else value
    assert float(jnp.sum(scores)) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.diff(scores[:ITEMS]), np.diff(beta[:ITEMS]))
    linked = np.asarray(design.linked)[:ITEMS, :ITEMS]
    assert linked.tolist() == (~np.eye(ITEMS, dtype=bool) & (linked | linked.T)).tolist()
    if made is of_rows or ties:
        again = design.beta_of(value)
        np.testing.assert_allclose(again[design.num_items :], beta[design.num_items :])


def test_scores_that_nothing_tells_apart_stay_equal_at_the_start():
    design, won, _ = of_counts(True)
    excess = design.excess(jnp.append(won, 2.0))
    assert float(excess[ITEMS]) == 0.0  # of padding
    start = np.asarray(design.start(excess))
    assert start[-1] == pytest.approx(np.log(2 * (2 / 6) / (4 / 6)))
    assert not start[:-1].any()
    assert not np.any(dataclasses.replace(design, ties=False).start(excess[:-1]))
