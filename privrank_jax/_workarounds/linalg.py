"""Positive definite systems and eigenvalues that stay safe under ``vmap`` on a CPU.

jaxlib splits a large batch of LAPACK calls over XLA's thread pool and *blocks* a thread of that pool until all
parts are done. A program that runs two such batches at once on two cores (two Newton fits in one vmapped trial) then
deadlocks, and so do two devices with one batch each. Batches below 200,000 floating-point operations run in place, so
here a batch goes one by one, which costs little: 20,000 systems of 10 items take 34 ms, not 16.

Upstream: none known for LAPACK; in https://github.com/PyAutoLabs/PyAutoFit/issues/1530 XLA's FFT waits for that pool
too. To reproduce: a program with two batches of 600 or 2,000 matrices on each of two devices, which hung in 5 of 5
processes with JAX 0.10.2 and in none of 8 with 0.11.2 and 0.12.0.1 (``tests/simulate/test_devices.py`` runs one).
Remove when: the lowest JAX that the package allows is 0.11, and that test passes without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from privrank_jax._backend import product
from privrank_jax._chunks import with_batch_axis


def one_by_one(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """``function`` of arrays, which calls LAPACK on large matrices: on a CPU a batch, also a nested one, goes one by
    one; elsewhere it is batched."""

    @jax.custom_batching.custom_vmap
    def run(*arguments: Array) -> PyTree:
        return function(*arguments)

    @run.def_vmap
    def batch(
        axis_size: int, in_batched: Sequence[bool], *arguments: Array
    ) -> tuple[PyTree, PyTree]:
        whole = with_batch_axis(axis_size, in_batched, arguments)
        found = jax.lax.platform_dependent(
            *whole,
            cpu=lambda *parts: jax.lax.map(lambda one: run(*one), parts),
            default=jax.vmap(function),
        )
        return found, jax.tree.map(lambda _: True, found)

    return run


@one_by_one
def _solve(
    matrix: Float[Array, "items items"], right: Float[Array, "items columns"]
) -> Float[Array, "items columns"]:
    factor = jax.lax.linalg.cholesky(matrix, symmetrize_input=False)
    return jax.scipy.linalg.cho_solve((factor, True), right)


def solve_positive_definite(
    matrix: Float[Array, "items items"], right: Float[Array, "items *columns"]
) -> Float[Array, "items *columns"]:
    """Solve ``matrix @ x = right`` by Cholesky, differentiable in both, on one problem.

    Args:
        matrix: ``(m, m)`` symmetric positive definite; the lower triangle is read.
        right: ``(m,)`` or ``(m, k)``.

    Returns:
        x, of the shape of ``right``; NaN where ``matrix`` is not positive definite.
    """
    columns = right[:, None] if right.ndim == 1 else right
    found = jax.lax.custom_linear_solve(
        lambda x: product(matrix, x), columns, solve=lambda _, b: _solve(matrix, b), symmetric=True
    )
    return found[:, 0] if right.ndim == 1 else found


_eigenvalues = one_by_one(jnp.linalg.eigvalsh)


def eigenvalues(matrix: Float[Array, "items items"]) -> Float[Array, "items"]:
    """Eigenvalues of a symmetric ``(m, m)`` matrix, ascending, ``(m,)``; not differentiable."""
    return _eigenvalues(jax.lax.stop_gradient(matrix))


_decomposed = one_by_one(lambda matrix: tuple(jnp.linalg.eigh(matrix)))


def decomposed(
    matrix: Float[Array, "items items"],
) -> tuple[Float[Array, "items"], Float[Array, "items items"]]:
    """Eigenvalues of a symmetric ``(m, m)`` matrix, ascending, and its eigenvectors as columns; not differentiable."""
    return _decomposed(jax.lax.stop_gradient(matrix))
