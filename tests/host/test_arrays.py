"""Primitives that move, reduce, sort or multiply arrays, against JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tests.host.agreement import assert_agree

CUBE = np.round(np.random.default_rng(0).normal(size=(2, 3, 4)), 1)
SQUARE = np.random.default_rng(1).normal(size=(3, 4, 4))
DEFINITE = SQUARE @ SQUARE.transpose(0, 2, 1) + np.eye(4)

MOVED = {
    "broadcast": lambda x: x[:, None] + x[None],
    "iota": lambda x: jax.lax.broadcasted_iota(jnp.int32, (2, 3, 4), 1) + x,
    "empty": lambda x: jnp.empty((2, 3, 4), x.dtype) * 0 + x,
    "slices": lambda x: x[:, ::2, 1:],
    "reverse": lambda x: x[::-1, :, ::-1],
    "pad": lambda x: jnp.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=7.0),
    "cut": lambda x: jax.lax.pad(x, 7.0, ((-1, 0, 0), (0, 0, 2), (1, -2, 1))),
    "join": lambda x: jnp.concatenate([x, x + 1], axis=1),
    "stack": lambda x: jnp.stack([x, x + 1], axis=2),
    "split": lambda x: jnp.split(x, 2, axis=2),
    "unstack": lambda x: (*jnp.unstack(x, axis=1), *x[0, 0]),
    "shape": lambda x: x.reshape(4, 6).T.ravel(),
    "extremes": lambda x: (x.max(1), x.min((0, 2)), x.argmax(2), x.argmin(0)),
    "logic": lambda x: ((x > 0).all(1), (x > 0).any((0, 2))),
    "nothing": lambda x: (x[:, :0].sum(1), jnp.max(x[:, :0], axis=1, initial=-1.0)),
    "running": lambda x: (jax.lax.cummax(x, 2), jax.lax.cummin(x, 0, reverse=True)),
    "sort": lambda x: (jnp.sort(x, axis=1), jnp.argsort(-x, axis=2)),
    "keys": lambda x: jnp.lexsort((x[0, 0], (x[0, 1] > 0) * 1)),
    "barrier": lambda x: jax.lax.optimization_barrier((x, x + 1)),
    "platform": lambda x: jax.lax.platform_dependent(
        x, cpu=lambda y: y + 1, default=lambda y: y - 1
    ),
}
COMPUTED = {
    "sums": lambda x, a: (x.sum(), x.sum((0, 2)), x.mean(1), x.prod(1)),
    "running": lambda x, a: (jnp.cumsum(x, 1), jax.lax.cumsum(x, 0, reverse=True)),
    "products": lambda x, a: (a @ a, a[0] @ a[1, :, 0], a[0, 0] @ a[1, 0]),
    "dot": lambda x, a: jnp.einsum("bij,bkj->ikb", x, x[:, ::-1]),
    "outer": lambda x, a: jnp.tensordot(x, a, 0),
    "cholesky": lambda x, a: jnp.linalg.cholesky(a),
    "solve": lambda x, a: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a[0]), True), x[0].T),
    "triangle": lambda x, a: jax.scipy.linalg.solve_triangular(a[0], x[0, 0], trans=1),
    "right": lambda x, a: jax.lax.linalg.triangular_solve(
        jnp.linalg.cholesky(a), jnp.stack([x[0]] * 3), left_side=False, lower=True
    ),
    "eigenvalues": lambda x, a: jnp.linalg.eigvalsh(a),
    "flagged": lambda x, a: jnp.linalg.cholesky(a - 3 * jnp.eye(4)),
}


def test_moves_are_those_of_jax():
    assert_agree(MOVED, CUBE)
    assert_agree({"nan": lambda x: (jnp.sort(x), x.max(), x.argmax())}, np.array([1.0, np.nan, 0]))


def test_sums_and_systems_agree_to_rounding():
    assert_agree(COMPUTED, CUBE, DEFINITE, tolerance=1e-12)


def test_an_indefinite_matrix_of_a_batch_is_nan_alone():
    both = np.stack([np.eye(2), -np.eye(2)])
    assert_agree({"cholesky": jnp.linalg.cholesky}, both)
