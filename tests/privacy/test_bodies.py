from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy.bodies import Independent, Law, Noise
from privrank_jax.privacy.geometry import Zonotope

MET = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
NOISES = {
    "laplace": Noise.independent("laplace", 0.7, 3, (2.0,)),
    "gaussian": Noise.independent("gaussian", 0.7, 3, (11 / 9, 0.5)),
    "others": Noise("k-norm", 0.7, Zonotope(jnp.asarray(MET * 1.0))),
    "no answer": Noise("k-norm", 0.7, Zonotope.of_all_pairs(4), 3),
}
DRAWS = 20_000


def drawn(noise, key):
    keys = jax.random.split(key, DRAWS)
    return np.asarray(jax.jit(jax.vmap(lambda one: noise.draw(one, float)))(keys))


@pytest.mark.parametrize("name", NOISES)
def test_draws_have_the_law_that_is_told(name, key):
    """20,000 draws: covariances, tails and heavy parts of errors; 5 % off is refused."""
    noise = NOISES[name]
    found = drawn(noise, key)
    told = np.asarray(noise.covariance())
    spread = np.sqrt(np.maximum(np.diag(told), 1e-9))
    np.testing.assert_allclose(
        np.cov(found.T) / spread / spread[:, None], told / spread / spread[:, None], atol=0.05
    )
    np.testing.assert_allclose(noise.variances, np.diag(told))
    assert noise.deviation() == pytest.approx(spread.max())
    whole = dataclasses.replace(noise, kept=None)  # of all numbers of the body, kept or not
    share = whole.variances.sum() / (3 if name == "no answer" else 2)
    each = {"laplace": 2 * 0.7**2, "gaussian": 0.7**2}.get(name, share)
    assert noise.variance_per_dimension() == pytest.approx(each)
    even, of_even = noise, found
    if noise.kind != "k-norm":
        even = Noise.independent(name, 0.7, 3)
        of_even = drawn(even, key)
    inside = np.mean(np.all(np.abs(of_even) <= even.reach(0.9), axis=1))
    assert -0.012 < inside - 0.9 < 0.02  # 5.6 standard errors; for zonotopes on the safe side
    real = found[:, spread > 1e-3]
    excess = np.mean(real**4, 0) / np.mean(real**2, 0) ** 2 - 3
    if isinstance(noise.body, Independent):
        assert excess == pytest.approx(3.0 if name == "laplace" else 0.0, abs=0.7)
    else:
        assert np.all(excess < noise.excess + 0.3)
        assert noise.excess < 3.2


@pytest.mark.parametrize("name", NOISES)
def test_heavy_parts_are_those_of_their_definition(name):
    """Excess kurtosis 3s² of an error whose heavy part is a share s of its variance; by the law alone, traced."""
    noise = NOISES[name]
    size = len(noise.variances)
    rows = np.random.default_rng(4).standard_normal((5, size))
    apart = rows[:, None] - rows
    covariance, variances = np.asarray(noise.covariance()), np.asarray(noise.variances)

    def wanted(influence):
        if name == "gaussian":
            return 0.0
        if name == "laplace":
            return np.sqrt(np.sum((influence**2 * variances) ** 2))
        return np.sqrt(noise.excess / 3) * (influence @ covariance @ influence)

    known = noise.known
    assert isinstance(known.body, Independent | Law)
    items = jax.jit(lambda one: one.heavy_part(jnp.asarray(rows)))(known)
    pairs = jax.jit(lambda one: one.heavy_part_of_differences(jnp.asarray(rows)))(known)
    np.testing.assert_allclose(items, [wanted(row) for row in rows], rtol=1e-9)
    np.testing.assert_allclose(
        pairs, [[wanted(one) for one in row] for row in apart], rtol=1e-7, atol=1e-6
    )


def test_what_a_traced_body_tells():
    noise = NOISES["no answer"]
    with pytest.raises(ValueError, match="give gamma"):
        jax.jit(lambda one: one.known)(noise)
    assert jax.jit(lambda one: one.draw(jax.random.key(0), float))(noise).shape == (3,)
