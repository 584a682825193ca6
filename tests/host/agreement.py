"""Rules of primitives held against JAX: all cases of a file in one compiled program."""

from __future__ import annotations

import jax
import numpy as np

from privrank_jax._host.evaluate import evaluate


def assert_agree(cases, *arguments, tolerance=0.0):
    """Each case, a function of the arguments, gives the same by NumPy and compiled: dtype, shape and values."""

    def everything(*values):
        return {name: case(*values) for name, case in cases.items()}

    wanted, found = jax.jit(everything)(*arguments), evaluate(everything, *arguments)
    for name in cases:
        for one, other in zip(jax.tree.leaves(wanted[name]), jax.tree.leaves(found[name])):
            assert isinstance(other, np.ndarray), name
            assert (other.dtype, other.shape) == (one.dtype, one.shape), name
            if tolerance and one.dtype.kind == "f":
                np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance, err_msg=name)
            else:
                np.testing.assert_array_equal(other, one, err_msg=name)
