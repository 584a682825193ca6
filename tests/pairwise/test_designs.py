"""What fits minimize, by design and link: values, gradients and products against loops over answers and JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.links import get_link
from privrank_jax.pairwise import Choices
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.designs import Counts, Meetings
from privrank_jax.pairwise.fits import Ridged, _Edges, _of_counts, edge_objective, signed_objective
from tests import reference
from tests.pairwise.problems import dense_objective
from tests.quick import quick_jit, thorough, thorough_but
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


def of_edges(_):
    """A pair may stand in several rows."""
    first, second, outcomes = np.array(ROWS).T
    first, second, outcomes = (
        jnp.asarray(first, int),
        jnp.asarray(second, int),
        jnp.asarray(outcomes),
    )
    design = _Edges(first, second, jnp.ones(6), ITEMS)
    won = jnp.zeros(ITEMS).at[first].add(outcomes).at[second].add(1 - outcomes)
    return design, np.asarray(won), [naive.meeting(*row, items=ITEMS) for row in ROWS]


KINDS = [
    thorough(of_counts, False), (of_counts, True),
    (of_rows, False), thorough(of_rows, True),
    thorough(of_sets, False), thorough(of_edges, False),
]  # fmt: skip


@quick_jit
def hessian_of(objective, beta):
    """By products with unit vectors, and the diagonal that is told."""
    bent, unit = objective.bent(beta), jnp.eye(len(beta))
    return jax.vmap(lambda one: objective.times(bent, one))(unit), objective.diagonal(bent)


@pytest.mark.parametrize(("made", "ties"), KINDS)
def test_derivatives_are_those_of_the_naive_twin_and_of_jax(made, ties):
    design, counted, answers = made(ties)
    answers = [one for several in answers for one in several]
    if ties:
        counted = np.append(counted, 2.0)
    numbers = design.size + ties
    beta = jnp.asarray(np.linspace(1, -0.7, numbers) ** 3)
    ridge = jnp.asarray(np.linspace(0.3, 0.9, numbers))
    objective = jax.jit(Ridged.of)(design, jnp.asarray(counted), ridge)

    @quick_jit
    def everything(objective, beta):
        design, value, slope = objective.loss, objective.__call__, objective.gradient
        mean = design.mean(beta)
        logit = mean - objective.excess, design.information(beta), design.bend(beta), mean
        ours = jax.grad(design.log_partition)(beta), slope(beta), jax.jacobian(slope)(beta)
        return logit, ours, (jax.grad(value)(beta), jax.hessian(value)(beta))

    logit, (mean, slope, bent), by_jax = everything(objective, beta)
    unit = np.append(np.ones(design.size), [2.0] * ties)  # the twin's τ is 2 log ν
    push, bend = naive.derivatives(answers, np.asarray(beta) * unit, 0.0)
    np.testing.assert_allclose(logit[0], push * unit, atol=1e-12)
    np.testing.assert_allclose(logit[1], bend * np.outer(unit, unit), atol=1e-12)
    level = np.asarray(objective.held) * (np.asarray(objective.held) @ np.asarray(beta))
    pulled = (push * unit + np.asarray(objective.ridge * beta)) / float(objective.scale) + level
    np.testing.assert_allclose(slope, pulled, atol=1e-12)
    np.testing.assert_allclose(mean, logit[3], atol=1e-12)
    np.testing.assert_allclose(slope, by_jax[0], atol=1e-12)
    hessian, diagonal = hessian_of(objective, beta)
    np.testing.assert_allclose(hessian, by_jax[1], atol=1e-12)
    np.testing.assert_allclose(hessian, bent, atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(hessian), atol=1e-12)
    each = np.exp(logit[2])  # the information of single answers
    if isinstance(design, Meetings):
        again = jax.jit(design.gram)(each[0])
        np.testing.assert_allclose(again, logit[1][: design.size, : design.size], atol=1e-12)
        for own in each[1:]:
            assert float(jax.jit(design.count)(own)) == pytest.approx(logit[1][-1, -1])
    else:
        one, rest = CHOSEN[0]
        odds = np.exp(np.asarray(beta)[[one, *rest]])
        shares = odds / odds.sum()
        np.testing.assert_allclose(np.sort(each[0, 0, :3]), np.sort(shares * (1 - shares)))


@pytest.mark.parametrize(("made", "ties"), KINDS)
def test_values_are_centered_and_lead_back(made, ties):
    design, *_ = made(ties)
    beta = np.linspace(1.0, 2.0, design.size + ties)
    value = jax.jit(design.value_of)(beta)
    plain = made is not of_rows and not ties
    scores = np.asarray(value if plain else value.scores)
    assert np.sum(scores) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(np.diff(scores[:ITEMS]), np.diff(beta[:ITEMS]))
    if not plain:
        again = np.asarray(jax.jit(design.beta_of)(value))
        np.testing.assert_allclose(again[design.num_items :], beta[design.num_items :])


WINS = np.random.default_rng(3).integers(1, 9, (4, 4)) * (1 - np.eye(4))
THETA = np.random.default_rng(4).normal(size=4)
LINKS = ("logistic", "normal", "laplace")


def as_edges(wins, link, gamma):
    first, second = np.triu_indices(4, 1)
    edges = WinEdges(first, second, wins[first, second], wins[second, first], 4)
    return edge_objective(edges, get_link(link), gamma=gamma)


def as_counts(wins, link, gamma):
    return dense_objective(WinCounts(jnp.asarray(wins)), get_link(link), gamma=gamma)


def as_sums(wins, link, gamma):
    halves = jnp.asarray((wins - wins.T) / 2), jnp.asarray(wins + wins.T)
    return signed_objective(*halves, gamma, link=get_link(link))


@pytest.mark.parametrize("link", thorough_but(LINKS, "logistic"))
@pytest.mark.parametrize("form", [as_counts, as_edges, as_sums])
def test_likelihoods_of_links_are_the_naive_ones(form, link):
    """Near 0 and beyond the range of exponentials in float32; values up to a constant, and a factor as of the ridge."""
    objective = form(WINS, link, 0.7)
    factor = 0.7 / float(objective.ridge[0]) * float(objective.scale)

    @quick_jit
    def both(theta):
        return objective(theta), objective.gradient(theta)

    values = []
    for theta in (THETA, 2 * THETA, 60 * THETA):
        value, slope, bend = 0.35 * theta @ theta, 0.7 * theta, np.diag(np.full(4, 0.7))
        for i, j in np.argwhere(WINS):
            _, log_cdf, score, curvature = reference.link(link, theta[i] - theta[j])
            z = np.eye(4)[i] - np.eye(4)[j]
            value -= WINS[i, j] * log_cdf
            slope = slope - WINS[i, j] * score * z
            bend += WINS[i, j] * curvature * np.outer(z, z)
        level = factor * theta.sum() / 4
        found, gradient = both(jnp.asarray(theta))
        values.append((factor * float(found), value + level * theta.sum() / 2))
        np.testing.assert_allclose(factor * gradient, slope + level, rtol=1e-9, atol=1e-11)
        hessian, diagonal = hessian_of(objective, jnp.asarray(theta))
        np.testing.assert_allclose(factor * hessian, bend + factor / 4, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(diagonal, np.diag(hessian), rtol=1e-9)
    ours, theirs = np.diff(values, axis=0).T
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("mask", [thorough(None), (True, True, False, True)])
@pytest.mark.parametrize("link", thorough_but(LINKS, "logistic"))
def test_problems_in_lanes_are_those_alone(link, mask):
    real = np.ones(4, bool) if mask is None else np.array(mask)
    counts = np.array([np.where(np.outer(real, real), one, 0) for one in (WINS, 2 * WINS.T + 1)])
    masks = None if mask is None else np.stack([real] * 2)
    tilt, gamma = np.array([THETA, 2 * THETA]), np.array([0.3, 0.0])
    parts = counts * (1 - np.eye(4)), masks, tilt, gamma
    thetas = np.where(real, [THETA, -60 * THETA], 0)  # near and far

    @quick_jit
    def evaluated(parts, theta):
        objective = _of_counts(*parts, get_link(link))
        bent = objective.bent(theta)
        products = objective.times(bent, jnp.sin(theta + 1))
        return objective.gradient(theta), products, objective.diagonal(bent)

    lanes = jax.tree.map(lambda x: np.moveaxis(x, 0, -1), (parts, thetas))
    together = jax.tree.map(np.asarray, evaluated(*lanes))
    for place in range(2):
        alone = evaluated(*jax.tree.map(lambda x, place=place: x[place], (parts, thetas)))
        for ours, theirs in zip(together, alone):
            np.testing.assert_allclose(ours[:, place], theirs, rtol=1e-9, atol=1e-13)
    # Padding is held at 0.
    np.testing.assert_allclose(together[0][~real], 0)
    np.testing.assert_allclose(together[2][~real], 1)
