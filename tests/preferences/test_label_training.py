"""Training on labels of whole users: against the naive twin, the change of one user, the noise, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.preferences import train_on_labels
from privrank_jax.privacy import gaussian_scale
from privrank_jax.privacy.gaussian import calibrate_gaussian
from tests.promises import promise
from tests.quick import thorough
from tests.reference import label_training as reference

USERS = np.array([7, 3, 7, 7, 9, 3, 3, 7])
PAIRS = np.array(
    [[1.0, 0.2], [0.1, -1.0], [0.9, 0.4], [1.2, -0.1], [0.3, 0.3], [-0.2, 0.8], [0.1, -0.9], [-1.0, 0.1]]
)  # fmt: skip
LABELS = np.array([1, 0, 1, 1, 1, 1, 0, 0])
FREE = promise(np.inf, "user", "flip", delta=1e-5)
PRIVATE = promise(1.0, "user", "flip", delta=1e-5)
PLAIN = optax.sgd(0.5)
WHOLE = optax.sgd(float(len(LABELS)))  # one step from 0 ends at the noisy sum itself


def linear(params, pair):
    return params @ pair


def product(params, pair):
    a, b = params["a"], params["b"]
    return a * b * pair[0] + a * pair[1]


def steep(params, pair):
    """Has no finite slope at 0."""
    return jnp.sqrt(params[0]) * pair[0] + params[1] * pair[1]


def on_linear(key, labels, privacy, **told):
    told = {"optimizer": WHOLE, "steps": 1, "users": USERS} | told
    return train_on_labels(key, labels, privacy, linear, jnp.zeros(2), jnp.asarray(PAIRS), **told)


@pytest.mark.parametrize(
    ("clip", "releases", "steps"), [thorough(0.4, 1, 7), (1.0, 3, 2), (np.inf, 3, 2)]
)
def test_without_noise_it_is_the_twin(key, clip, releases, steps):
    told = {"releases": releases, "steps": steps, "clip": clip, "optimizer": PLAIN, "users": USERS}
    start = {"a": jnp.array(0.5), "b": jnp.array(-0.3)}
    found = train_on_labels(key, LABELS, FREE, product, start, jnp.asarray(PAIRS), **told).value
    expected = reference.trained(
        reference.product, [0.5, -0.3], PAIRS, LABELS, USERS, clip, releases, steps, 0.5
    )
    np.testing.assert_allclose([found["a"], found["b"]], expected, rtol=1e-12)


def test_every_release_has_the_noise_of_its_bound(key):
    """Its scale is told, grows as the root of their number, and is what is drawn: 3,000 draws of two numbers."""
    bound = reference.bound_of(list(PAIRS), list(USERS), 0.8)
    for releases in (1, 4):
        told = on_linear(key, LABELS, PRIVATE, clip=0.8, releases=releases).diagnostics.noise_scale
        assert told.shape == (releases,)
        expected = calibrate_gaussian(1.0, 1e-5, 2 * bound, releases=releases)
        np.testing.assert_allclose(told, expected, rtol=1e-6)
    keys = jax.random.split(key, 3000)
    drawn = jax.jit(jax.vmap(lambda k: on_linear(k, LABELS, PRIVATE, clip=0.8).value))(keys)
    center = on_linear(key, LABELS, FREE, clip=0.8).value
    scale = float(gaussian_scale(2 * bound, 1.0, 1e-5))
    # Standard errors of mean and deviation are 1.8 % and 0.9 % of the scale; half or twice the noise is far outside.
    np.testing.assert_allclose(np.mean(drawn, 0), center, atol=5 * scale / 3000**0.5)
    np.testing.assert_allclose(np.std(drawn, 0), scale, rtol=0.065)


def test_releases_have_noise_of_their_own(key):
    """Steps so short that only noise is seen, added up over two releases: √2 times one's; the same twice would be 2."""
    told = {"releases": 2, "clip": 0.8, "optimizer": optax.sgd(8e-6)}
    keys = jax.random.split(key, 1500)
    found = jax.jit(jax.vmap(lambda k: on_linear(k, LABELS, PRIVATE, **told)))(keys)
    scale = 2**0.5 * float(found.diagnostics.noise_scale[0, 0])
    np.testing.assert_allclose(1e6 * np.std(found.value, 0), scale, rtol=0.1)  # 5 standard errors


def test_every_input_is_protected(key):
    """Traced labels beyond [0, 1] count as its ends, NaN as 0; without finite slopes nothing is told."""
    run = jax.jit(lambda labels: on_linear(key, labels, FREE).value)
    wild = np.array([5.0, -np.inf, 1.0, np.inf, 1.0, 2.0, np.nan, -3.0])
    np.testing.assert_array_equal(run(wild), run(LABELS.astype(float)))
    told = {"users": USERS, "optimizer": PLAIN, "steps": 1}
    found = train_on_labels(key, LABELS, PRIVATE, steep, jnp.zeros(2), PAIRS, **told)
    assert np.isnan(found.value).all()
    same = train_on_labels(key, LABELS, PRIVATE, linear, jnp.zeros(2), 0 * PAIRS, **told)
    np.testing.assert_array_equal(same.value, np.zeros(2))


def test_the_guarantee_is_for_users_with_any_number_of_labels(key):
    found = on_linear(key, LABELS, promise(1.0, "user", "flip", contributions=1, delta=1e-5))
    assert found.guarantee.attained.contributions is None
    assert (found.guarantee.trust, found.guarantee.numerics) == ("central", "simulation")
    single = on_linear(key, LABELS, promise(1.0, "comparison", "flip", delta=1e-5))
    assert single.guarantee.unit == "user"


def test_functions_of_a_model_stay_and_users_may_have_names(key):
    model = {"weights": jnp.zeros(2), "activation": jnp.tanh}
    names = [f"user {user}" for user in USERS]
    plain = on_linear(key, LABELS, PRIVATE, clip=0.8)

    def score(model, pair):
        return linear(model["weights"], pair)

    told = {"users": names, "clip": 0.8, "optimizer": WHOLE, "steps": 1}
    found = train_on_labels(key, LABELS, PRIVATE, score, model, PAIRS, **told)
    np.testing.assert_allclose(found.value["weights"], plain.value, rtol=1e-6)
    assert found.value["activation"] is jnp.tanh
