from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.moved_by_numpy import MOVES, moved_by_numpy

pytestmark = pytest.mark.skipif(
    jax.__version_info__ >= (0, 11), reason="not tried with this release of JAX"
)

WHOLE = np.arange(-12, 12).reshape(2, 3, 4)
EDGES = np.array([0.0, -0.0, 1 / 3, -1e300, 1e-300, 5e-324, np.inf, -np.inf, np.nan])


def compiled_only(*arguments, **parameters):
    raise AssertionError("this was to be moved by NumPy")


def cases():
    """Primitive, arguments, parameters."""
    for dtype in (np.float64, np.float32, np.int32, np.uint8, np.bool_):
        x = jnp.asarray(WHOLE.astype(dtype))
        into = {"shape": (2, 5, 3, 4), "broadcast_dimensions": (0, 2, 3), "sharding": None}
        yield lax.broadcast_in_dim_p, (x,), into
        to = {"shape": (3, 2), "broadcast_dimensions": (), "sharding": None}
        yield lax.broadcast_in_dim_p, (np.asarray(1, dtype),), to
        yield lax.concatenate_p, (x, x[:, :1]), {"dimension": 1}
        for starts in ((0, 1, 2), (-5, 9, 1)):
            yield lax.dynamic_slice_p, (x, *map(np.int32, starts)), {"slice_sizes": (1, 2, 2)}
        sizes = {"new_sizes": (4, 6), "dimensions": None, "sharding": None}
        yield lax.reshape_p, (x,), sizes
        for strides in (None, (1, 2, 3)):
            ends = {"start_indices": (1, 0, 1), "limit_indices": (2, 3, 4), "strides": strides}
            yield lax.slice_p, (x,), ends
        yield lax.squeeze_p, (x[:1, :, :1],), {"dimensions": (0, 2)}
        yield lax.transpose_p, (x,), {"permutation": (2, 0, 1)}
    kept = EDGES[[0, 1, 2, 3, 6, 7, 8]]
    for x in (WHOLE, WHOLE.astype(np.int8), WHOLE > 0, kept, kept.astype(np.float32)):
        integers = () if x.dtype.kind == "f" else (np.int32, np.uint8, np.bool_)
        for dtype in (np.float32, np.float64, *integers):
            to = {"new_dtype": np.dtype(dtype), "weak_type": False, "sharding": None}
            yield lax.convert_element_type_p, (jnp.asarray(x),), to


def test_what_numpy_moves_is_what_a_program_moves():
    seen = set()
    for primitive, arguments, parameters in cases():
        moved = moved_by_numpy(Named(primitive), MOVES[primitive])(*arguments, **parameters)
        wanted = jax.jit(lambda *x, p=primitive, s=parameters: p.bind(*x, **s))(*arguments)
        assert moved.aval == wanted.aval
        assert (moved.committed, moved.sharding) == (wanted.committed, wanted.sharding)
        assert np.asarray(moved).tobytes() == np.asarray(wanted).tobytes(), primitive
        seen.add(primitive)
    assert seen == set(MOVES)


class Named:
    """A primitive that must not be compiled."""

    impl = staticmethod(compiled_only)

    def __init__(self, primitive):
        self.abstract_eval = primitive.abstract_eval


def test_what_may_differ_is_compiled():
    usual = moved_by_numpy(Named(lax.convert_element_type_p), MOVES[lax.convert_element_type_p])

    def convert(x, dtype, weak_type=False):
        return usual(x, new_dtype=np.dtype(dtype), weak_type=weak_type, sharding=None)

    committed = jax.device_put(jnp.ones(3), jax.devices()[0])
    for x, dtype, weak in (
        (EDGES, np.float32, False),  # a denormal number
        (np.array([1e-40]), np.float32, False),  # denormal after it
        (np.array([1.5]), np.int32, False),
        (np.ones(3), jnp.bfloat16, False),
        (np.ones(3), np.float16, False),
        (np.ones(3), np.float32, True),
        (committed, np.float32, False),
    ):
        with pytest.raises(AssertionError, match="moved by NumPy"):
            convert(x, dtype, weak)
    keys = moved_by_numpy(Named(lax.reshape_p), MOVES[lax.reshape_p])
    with pytest.raises(AssertionError, match="moved by NumPy"):
        keys(
            jax.random.split(jax.random.key(0), 4), new_sizes=(2, 2), dimensions=None, sharding=None
        )


def test_it_leaves_the_array_that_it_copies_alone():
    x = jnp.arange(6.0)
    moved = lax.reshape(x, (2, 3))
    assert moved.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    x.delete()
    np.testing.assert_array_equal(moved, np.arange(6.0).reshape(2, 3))
