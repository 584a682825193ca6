"""One thread for LAPACK."""

from __future__ import annotations

import scipy.linalg  # noqa: F401  (loads its LAPACK before the limits)
import threadpoolctl

from privrank_jax._workarounds.threads import one_blas_thread


def test_one_blas_thread_holds_for_the_lapack_that_jax_calls():
    def threads():
        found = threadpoolctl.threadpool_info()
        return [pool["num_threads"] for pool in found if "scipy" in pool["prefix"]]

    with threadpoolctl.threadpool_limits(2, "blas"):
        with one_blas_thread():
            inside = threads()
        assert inside
        assert set(inside) == {1}
        assert set(threads()) == {2}
