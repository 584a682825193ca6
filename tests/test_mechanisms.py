"""What every private function must do, over the registry in ``mechanisms.py``."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows, pairwise, privacy, rankings
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Guarantee
from tests.mechanisms import MECHANISMS, Mechanism

ITEMS = 6
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)


def _wins(seed: int = 0, dtype: type = np.float64) -> WinCounts:
    rng = np.random.default_rng(seed)
    strength = np.linspace(1.0, -1.0, ITEMS)
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    upper = np.triu(rng.binomial(30, chance), 1)
    return WinCounts.from_matrix((upper + np.triu(30 - upper, 1).T).astype(dtype))


def test_every_private_function_has_a_row() -> None:
    private = {
        name
        for module in (pairwise, privacy, mallows)
        for name, function in vars(module).items()
        if inspect.isfunction(function)
        and list(inspect.signature(function).parameters)[:1] == ["key"]
        and "epsilon" in inspect.signature(function).parameters
    }
    assert private == {mechanism.function for mechanism in MECHANISMS}


@every_mechanism
def test_contract(mechanism: Mechanism, key: jax.Array) -> None:
    """Same key same value; another key another; a guarantee with the ε asked for; jit changes nothing."""
    wins = _wins()
    estimate = mechanism.run(key, wins, 0.5)
    assert isinstance(estimate, Estimate)
    assert isinstance(estimate.guarantee, Guarantee)
    assert float(estimate.guarantee.epsilon) == 0.5
    assert estimate.guarantee.trust == mechanism.trust
    assert "Differentially private" in estimate.guarantee.in_words()
    again = mechanism.run(key, wins, 0.5).value
    np.testing.assert_array_equal(estimate.value, again)
    jitted = jax.jit(mechanism.run)(key, wins, 0.5).value
    np.testing.assert_allclose(jitted, estimate.value, rtol=1e-9, atol=1e-9)
    others = jax.vmap(lambda k: mechanism.run(k, wins, 0.02).value)(jax.random.split(key, 40))
    assert len(np.unique(np.asarray(others), axis=0)) > 3


@every_mechanism
def test_vmap_is_the_loop(mechanism: Mechanism, key: jax.Array) -> None:
    keys = jax.random.split(key, 3)
    epsilons = jnp.array([0.3, 1.0, 5.0])
    batch = WinCounts(jnp.stack([_wins(seed).matrix for seed in range(3)]))
    together = jax.vmap(lambda k, w, e: mechanism.run(k, w, e).value)(keys, batch, epsilons)
    for place in range(3):
        alone = mechanism.run(keys[place], WinCounts(batch.matrix[place]), epsilons[place]).value
        np.testing.assert_allclose(together[place], alone, rtol=1e-8, atol=1e-8)


@every_mechanism
def test_dtype_follows_the_counts(mechanism: Mechanism, key: jax.Array) -> None:
    single = mechanism.run(key, _wins(dtype=np.float32), 1.0).value
    double = mechanism.run(key, _wins(), 1.0).value
    if mechanism.scores:
        assert single.dtype == jnp.float32
        assert double.dtype == jnp.float64
    else:
        assert single.dtype == double.dtype == jnp.int32


@every_mechanism
def test_a_sweep_compiles_once(mechanism: Mechanism, key: jax.Array) -> None:
    traces = []

    @jax.jit
    def sweep(key: jax.Array, wins: WinCounts, epsilon: jax.Array) -> jax.Array:
        traces.append(epsilon)
        return mechanism.run(key, wins, epsilon).value

    for epsilon in (0.1, 1.0, 10.0, np.inf):
        sweep(key, _wins(), epsilon)
    assert len(traces) == 1


@pytest.mark.slow
@every_mechanism
def test_error_falls_with_epsilon(mechanism: Mechanism, key: jax.Array) -> None:
    """Mean rank error of 400 replicates at ε = 0.02, 0.5, 20; the gaps are over ten standard errors."""
    wins = _wins()
    keys = jax.random.split(key, 400)
    truth = np.arange(ITEMS)

    def error(epsilon: float) -> float:
        values = jax.vmap(lambda k: mechanism.run(k, wins, epsilon).value)(keys)
        if mechanism.scores:
            ranks = jax.vmap(rankings.ranks_from_scores)(values)
            return float(np.abs(np.asarray(ranks) - truth).mean())
        return float(np.mean(np.asarray(values) >= 2))

    tiny, middle, large = error(0.02), error(0.5), error(20.0)
    assert tiny > middle > large


@every_mechanism
def test_no_noise_at_infinite_epsilon(mechanism: Mechanism, key: jax.Array) -> None:
    value = mechanism.run(key, _wins(), np.inf).value
    if mechanism.reference is not None:
        np.testing.assert_allclose(value, mechanism.reference(_wins()), atol=1e-8)
    elif mechanism.scores:
        order = rankings.ranks_to_order(rankings.ranks_from_scores(_wins().totals))
        assert np.all(np.diff(np.asarray(value)[order]) <= 1e-9)
    else:
        assert set(np.asarray(value).tolist()) == {0, 1}


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), "one", True])
def test_bad_epsilon_is_refused(mechanism: Mechanism, key: jax.Array, epsilon: object) -> None:
    with pytest.raises(ValueError, match="epsilon must be positive"):
        mechanism.run(key, _wins(), epsilon)
