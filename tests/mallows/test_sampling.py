"""Insertion against a list, displacements against their distribution function, and invariance under batching.

The law of whole draws is tested with those of all finite releases (tests/privacy_audit). Statistical tests raise false
alarms once in 10^6 keys, and the key is fixed.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from privrank_jax._workarounds.threefry import threefry
from privrank_jax.mallows.distribution import TINY
from privrank_jax.mallows.sampling import LARGE, _crowd, insertion_codes, insertion_mass
from tests.quick import thorough
from tests.reference import mallows as naive

# users of one crowd: a center each, of the same five items, and an ε each
CROWD = [
    ([2, 0, 4, 1, 3], 2.0),
    ([0, 1, 2, 3, 4], 6.0),
    ([4, 3, 2, 1, 0], 1e-3),
    ([1, -1, 0, 3, 2], 3.0),
    ([-1, 1, -1, 0, -1], 0.5),
]


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_displacements_fall_where_the_distribution_function_says(dtype, error):
    """Uniform variables just beyond and just short of each step of F, by as much as is promised; and 0."""
    thetas = np.array([TINY, 1e-6, 1e-3, 0.1, 1.0, 30.0, LARGE], dtype)
    mass = np.asarray(jax.jit(insertion_mass, static_argnums=1)(thetas, 1000))
    np.testing.assert_allclose(
        mass,
        -np.expm1(-np.arange(1, 1001)[:, None] * thetas.astype(float)),
        rtol=1e-6 if error > 1e-9 else 1e-15,
    )
    cases = []
    for size in (1, 2, 7, 1000):
        for column, theta in enumerate(thetas.astype(float)):
            steps = np.append(0, np.cumsum(naive.displacement(size, theta)))
            for uniform in (steps[:-1] + error, steps[1:] - error, np.zeros(1)):
                place = np.searchsorted(steps[1:], uniform, side="right")
                sure = np.abs(uniform[:, None] - steps).min(axis=1) > 0.9 * error
                sure &= uniform < 1 - np.finfo(dtype).eps / 2
                sure |= uniform == 0
                rows = np.broadcast_arrays(uniform, size, column, place)
                cases.append(np.stack(rows)[:, sure])
    uniform, size, column, place = np.concatenate(cases, axis=1)
    assert len(place) > 5000
    most, column = (size - 1).astype(np.int32), column.astype(int)
    known = most, mass[most, column], 1000, thetas[column]
    codes = jax.jit(insertion_codes)(uniform.astype(dtype), *known)
    assert codes.dtype == dtype
    np.testing.assert_array_equal(most - codes, place)
    # the largest uniform variable rounds up to 1 on the way, and must not fall off the end
    last = np.full(uniform.shape, np.nextafter(dtype(1), dtype(0)))
    assert np.all(jax.jit(insertion_codes)(last, *known) >= 0)


@pytest.mark.slow
def test_batches_change_nothing(key):
    """A loop, vmap, vmap in vmap in jit, and arguments that users share."""
    keys = jax.random.split(key, (2, 3))
    centers = jnp.array([CROWD[0][0], CROWD[3][0], CROWD[4][0]])
    epsilons = jnp.array([2.0, 3.0, 0.5])
    alone = [
        [mallows.sample(keys[i, j], centers[j], epsilons[j]) for j in range(3)] for i in range(2)
    ]
    nested = jax.jit(jax.vmap(jax.vmap(mallows.sample), (0, None, None)))(keys, centers, epsilons)
    np.testing.assert_array_equal(nested, alone)
    shared = jax.vmap(mallows.sample, (0, None, None))(keys[:, 2], centers[2], epsilons[2])
    np.testing.assert_array_equal(shared, nested[:, 2])
    outer = jax.vmap(jax.vmap(mallows.sample, (None, None, 0)), (0, 0, None))
    found = outer(keys[0], centers, epsilons)
    for i, j in np.ndindex(3, 3):
        alone = mallows.sample(keys[0, i], centers[i], epsilons[j])
        np.testing.assert_array_equal(found[i, j], alone)


@pytest.mark.parametrize(
    ("items", "dtype"),
    [
        *((1, np.float64), (9, np.float32), (129, np.float64)),
        *(thorough(one, np.float32) for one in (1, 10, 128, 129)),
        *(thorough(one, np.float64) for one in (9, 128)),
        thorough(32_769, np.float32),
    ],
)
def test_draws_are_those_of_the_words_of_each_key(key, dtype, items):
    """Which word an item takes, and a loop in double precision over what it says."""
    users = 1 if items > 200 else 20
    rng = np.random.default_rng(items)
    centers = rng.permuted(np.tile(np.arange(items, dtype=np.int32), (users, 1)), axis=1)
    epsilons = rng.uniform(0.05, 1, users).astype(dtype) * dtype(items)
    seeds = np.asarray(jax.random.key_data(jax.random.split(key, users)))
    drawn = jax.jit(_crowd)(seeds, centers, epsilons)
    half = -(-items // 2)
    for seed, center, epsilon, ranks in zip(seeds, centers, epsilons.astype(float), drawn):
        blocks = np.arange(1, items + 1 if dtype == np.float64 else half + 1, dtype=np.uint32)
        high, low = threefry(seed[:1], seed[1:], blocks, np.uint32(0))
        if dtype == np.float64:
            uniform = np.ldexp(high.astype(float), -32) + np.ldexp((low >> 11).astype(float), -53)
        else:
            uniform = np.ldexp(np.concatenate([high, low])[:items] >> 8, -24)
        theta = epsilon / max(items - 1, 1)
        mass = -np.expm1(-theta * np.arange(1, items + 1))
        back = np.minimum(-np.log1p(-uniform * mass) / theta, np.arange(items)).astype(int)
        np.testing.assert_array_equal(ranks, naive.insert(np.arange(items) - back)[center])


def test_limits_in_epsilon_and_in_size(key):
    center = CROWD[3][0]
    for epsilon in (1e3, np.inf):
        np.testing.assert_array_equal(mallows.sample(key, center, epsilon), center)
    for short in ([0], [-5]):
        assert mallows.sample(key, short, 1.0).tolist() == np.maximum(short, -1).tolist()


def test_keys_of_any_kind(key):
    center = jnp.arange(5)
    raw = mallows.sample(jax.random.key_data(key), center, 1.0)
    np.testing.assert_array_equal(raw, mallows.sample(key, center, 1.0))
    other = jax.random.key(0, impl="rbg")
    assert sorted(mallows.sample(other, center, 1.0).tolist()) == list(range(5))


def test_any_negative_rank_is_of_an_item_not_ranked(key):
    """In a batch, where ranks are not known as the program is made, and also for users who ranked nothing."""
    rows = np.array([[-1, 0, -1, 1], [-1, -1, -1, -1]], np.int32)
    keys = jax.random.split(key, 2)
    draw = jax.vmap(mallows.sample, (0, 0, None))
    wanted = draw(keys, rows, 0.5)
    assert set(np.asarray(wanted[0])) == {-1, 0, 1}
    for dtype in (np.int8, np.int32, np.int64):
        lower = np.where(rows < 0, np.array([[-7], [-128]]), rows).astype(dtype)
        np.testing.assert_array_equal(draw(keys, lower, 0.5), wanted)
        np.testing.assert_array_equal(mallows.sample(keys[0], lower[0], 0.5), wanted[0])


def test_the_scale_is_what_items_move_back_at_small_budgets(key):
    """The last of many items, by 1/θ less 1/2 on average: 500 users, to 6 standard errors."""
    items, epsilon = 200, 40.0
    draw = jax.jit(jax.vmap(mallows.sample, (0, None, None)))
    drawn = np.asarray(draw(jax.random.split(key, 500), np.arange(items), epsilon))
    back = items - 1 - drawn[:, -1]
    scale = float(mallows.sample.scale(items, epsilon))
    assert abs(back.mean() - (scale - 0.5)) < 6 * scale / 500**0.5 + 0.05
