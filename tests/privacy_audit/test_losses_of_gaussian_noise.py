"""(ε, δ) of the perturbed MLE with Gaussian noise, by its exact loss.

For two items the gap of the scores carries the whole loss, and the registry has its law
(:mod:`privrank_jax.privacy_audit.audited_fits`), which is compared here with its density.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_mle
from privrank_jax.privacy_audit import laws, worst_case
from privrank_jax.privacy_audit.audited_fits import gap_distribution
from tests import reference
from tests.privacy_audit.losses import counts, perturbed_mle_log_density
from tests.promises import promise
from tests.quick import thorough

EPSILON = 1.0


def scale_of(link, asked, **told):
    return perturbed_mle.scale(asked, Facts(2, rules=(get_link(link), False)), **told)


def gap_density(wins, gaps, scale, gamma, link):
    """Density of θ_0 - θ_1 by the change of variables; their sum is N(0, 2σ²/γ²) whatever the data."""
    told = {"noise_scale": scale, "gamma": gamma, "link": link, "noise": "gaussian"}

    def log_density(u):
        return perturbed_mle_log_density(jnp.array([u / 2, -u / 2]), wins, **told)

    logs = jax.jit(jax.vmap(log_density))(jnp.asarray(gaps))
    return np.exp(np.asarray(logs)) * np.sqrt(np.pi) * scale / gamma


@pytest.mark.parametrize("link", ["logistic", thorough("laplace")])
@pytest.mark.parametrize(("scale", "gamma"), [thorough(1.5, 0.8), (6.0, 40.0)])
def test_loss_of_the_gap_is_that_of_its_density(link, scale, gamma):
    """Hockey-stick divergence of two densities by quadrature, at the smallest ε that the cells have for δ: δ."""
    one, other = counts(2, (0, 1, 2), (1, 0, 1)), counts(2, (0, 1, 1), (1, 0, 2))
    end = (10 * scale + 8) / gamma
    gaps = np.linspace(-end, end, 40_000)  # even: the kink of the Laplace link lies between two
    first, second = (gap_density(wins, gaps, scale, gamma, link) for wins in (one, other))
    assert scipy.integrate.trapezoid(first, gaps) == pytest.approx(1.0, abs=1e-6)
    cells = gap_distribution(
        np.asarray(one.matrix), np.asarray(other.matrix), scale=scale, gamma=gamma, link=link
    )
    for law in cells:
        assert law.min() >= 0
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
    for delta in (0.001, 0.02):
        epsilon = float(laws.least_epsilon(cells[0][None], cells[1][None], delta)[0])
        assert epsilon > 0.05
        excess = [
            scipy.integrate.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0), gaps)
            for p, q in ((first, second), (second, first))
        ]
        assert delta * (1 - 1e-6) <= max(excess) <= 1.005 * delta  # a cell may hide a little


def test_smallest_epsilon_between_two_normal_laws():
    """Cells of N(0, 1) and N(r, 1) against the closed form, and that against its own δ."""
    ends = np.linspace(-9, 10, 4000)
    for shift in (0.3, 1.0, 2.5):
        one, other = (
            np.diff(scipy.stats.norm.cdf(np.concatenate([[-np.inf], ends - at, [np.inf]])))
            for at in (0.0, shift)
        )
        for delta in (1e-6, 0.01):
            exact = laws.gaussian_epsilon(np.array([2 * shift]), 2.0, delta)[0]
            found = float(reference.gaussian_delta(1 / shift, 1.0, exact))
            assert found == pytest.approx(delta, rel=1e-9)
            found = laws.least_epsilon(one[None], other[None], delta)[0]
            assert found == pytest.approx(exact, rel=1e-4)
    assert laws.least_epsilon(one[None], one[None], 0.01)[0] == 0.0
    assert laws.gaussian_epsilon(np.array([0.0, 1e-3]), 1.0, 0.01).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("row", "adjacency"),
    [
        ("perturbed-mle-gaussian", "flip"),
        thorough("perturbed-mle-gaussian-add-remove", "add-remove"),
    ],
)
def test_five_percent_less_noise_breaks_the_delta(row, adjacency):
    """Under replacement no neighbors are known that need all the noise: gradients that add up share one item."""
    worst = worst_case(row, EPSILON)
    scale, gamma = scale_of(
        "logistic", promise(EPSILON, adjacency=adjacency, delta=0.01), noise="gaussian"
    )
    for factor, broken in ((1.0, False), (0.95, True)):
        cells = gap_distribution(
            worst.first,
            worst.second,
            scale=factor * float(scale),
            gamma=float(gamma),
            link="logistic",
        )
        least = laws.least_epsilon(cells[0][None], cells[1][None], 0.01)[0]
        assert (least > EPSILON) == broken


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("delta", [1e-5, 0.01])
def test_users_of_several_comparisons_keep_delta(adjacency, delta):
    """Three comparisons of two items that all leave, or turn round, against leads of all sizes."""
    asked = promise(EPSILON, "user", adjacency, delta=delta, contributions=3)
    scale, gamma = scale_of("logistic", asked, noise="gaussian")
    turned = 3.0 if adjacency == "replace" else 0.0
    lead = np.array([0.0, 3, 30, 300, 3000, 30_000])
    first, second = np.zeros((2, len(lead), 2, 2))
    first[:, 1, 0] = second[:, 1, 0] = lead
    first[:, 0, 1] += 3.0
    second[:, 1, 0] += turned
    found = []
    for factor in (1.0, 0.95):
        one, other = gap_distribution(
            first, second, scale=factor * float(scale), gamma=float(gamma), link="logistic"
        )
        excess = [
            np.maximum(p - np.exp(EPSILON) * q, 0).sum(-1) for p, q in ((one, other), (other, one))
        ]
        found.append(np.max(excess) / delta)
    assert found[0] <= 1.0
    if adjacency == "add-remove":
        assert found[0] > 0.8
        assert found[1] > 1.0
