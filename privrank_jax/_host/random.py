"""JAX's random numbers, to the last bit, by NumPy; a key is one number of 64 bits."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Shaped, UInt64

from privrank_jax._host.numbers import Params, Result, Rule
from privrank_jax._workarounds.threefry import threefry

_KEYS = (
    "key<fry>",
    "key<ftf>",
)  # JAX's own generator, and the same as written in _workarounds/threefry.py


_IN_CACHE = 1 << 14  # words drawn at once


def is_known_key(dtype: Any) -> bool:
    """Whether values of this dtype are not keys, or are keys of Threefry as JAX uses it by default."""
    if not jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return True
    return str(dtype) in _KEYS and bool(getattr(jax.config, "jax_threefry_partitionable", True))


def keys_as_numbers(keys: Shaped[Array, "*keys"]) -> UInt64[np.ndarray, "*keys"]:
    """Keys as numbers.

    >>> hex(int(keys_as_numbers(jax.random.key(7))))
    '0x700000000'
    """
    return _joined(np.asarray(jax.random.key_data(keys)))


def numbers_as_keys(numbers: UInt64[np.ndarray, "*keys"]) -> Shaped[Array, "*keys"]:
    """The keys of JAX's own generator that these numbers stand for.

    >>> bool(numbers_as_keys(keys_as_numbers(jax.random.key(7))) == jax.random.key(7))
    True
    """
    return jax.random.wrap_key_data(jax.device_put(_halves(numbers)), impl="threefry2x32")


def _joined(halves: np.ndarray) -> np.ndarray:
    return np.asarray(np.ascontiguousarray(halves).view(np.uint64)[..., 0])


def _halves(numbers: np.ndarray) -> np.ndarray:
    return np.asarray(numbers, order="C")[..., None].view(np.uint32)


def _blocks(keys: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Both words of the blocks 0, 1, 2, ... in row order, of shape (keys, shape)."""
    halves = _halves(np.ravel(keys))
    count = np.arange(math.prod(shape), dtype=np.uint64)
    high, low = (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)
    found = np.empty((2, len(halves), count.size), np.uint32)
    piece = max(_IN_CACHE // max(count.size, 1), 1)
    for start in range(0, len(halves), piece):
        part = slice(start, start + piece)
        of_key = halves[part, :1], halves[part, 1:]
        found[0, part], found[1, part] = threefry(*of_key, high, low)
    first, second = found.reshape(2, *np.shape(keys), *shape)
    return first, second


def _split(params: Params, keys: np.ndarray) -> Result:
    return _joined(np.stack(_blocks(keys, tuple(params["shape"])), axis=-1))


def _random_bits(params: Params, keys: np.ndarray) -> Result:
    width = params["bit_width"]
    high, low = _blocks(keys, tuple(params["shape"]))
    if width == 64:
        return (high.astype(np.uint64) << np.uint64(32)) | low
    return (high ^ low).astype(f"u{width // 8}")


def _fold_in(_: Params, keys: np.ndarray, data: np.ndarray) -> Result:
    halves = _halves(np.asarray(keys))
    found = threefry(halves[..., 0], halves[..., 1], np.uint32(0), np.asarray(data, np.uint32))  # type: ignore[arg-type]
    return _joined(np.stack([np.asarray(half) for half in found], axis=-1))


def _seed(_: Params, seeds: np.ndarray) -> Result:
    wide = np.asarray(seeds).astype(np.uint64 if np.asarray(seeds).itemsize == 8 else np.uint32)
    wide = wide.astype(np.uint64)
    return (wide << np.uint64(32)) | (wide >> np.uint64(32))  # the low word is the second half


RANDOM: dict[str, Rule] = {
    "random_seed": _seed,
    "random_wrap": lambda _, halves: _joined(halves),
    "random_unwrap": lambda _, keys: _halves(np.asarray(keys)),
    "random_split": _split,
    "random_bits": _random_bits,
    "random_fold_in": _fold_in,
}
"""Each rule by the name of its primitive."""
