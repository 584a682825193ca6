"""LAPACK's threads, kept out of the way of XLA's.

LAPACK's own threads spin while they wait: with other work on two cores, a Cholesky factor took 80 times as long.

Upstream: https://github.com/jax-ml/jax/issues/39292 (on machines with many cores the threads of both corrupt the heap)
and https://github.com/jax-ml/jax/pull/39383, which would limit LAPACK's threads in jaxlib.
Remove when: the lowest JAX that the package allows limits them itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep LAPACK, within the context, to the thread that calls it."""
    import scipy.linalg  # noqa: F401  (loads the LAPACK that jaxlib calls)
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1, "blas"):
        yield
