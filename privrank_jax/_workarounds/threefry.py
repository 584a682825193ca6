"""JAX's own random numbers, to the last bit, from a generator that XLA compiles into the program around it.

On a CPU, JAX computes Threefry in a loop that writes its state to memory every few turns. Written out, it fuses with
what uses the numbers: a batch of 1,000 noisy counts takes 0.37 of the time, first calls 0.5 to 0.8. Barriers keep XLA
from computing keys and words again for each use. On other devices :func:`fused` returns the key as it is.

Upstream: https://github.com/jax-ml/jax/pull/37872 writes JAX's loop out on a CPU too; it is not in JAX 0.10.
Remove when: the lowest JAX that the package allows has it, and ``python -m tests.benchmarks mallows`` is not slower.
:func:`below` stays: it is not a workaround but another way to draw integers, with fewer words.
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeAlias, TypeVar

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped, UInt32

from privrank_jax._backend import on_cpu
from privrank_jax._types import Count

_Block: TypeAlias = UInt32[Array, "..."] | UInt32[np.ndarray, "..."] | np.uint32
"""One half of a block's number."""

_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_UNSIGNED = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}

Words = TypeVar("Words", Array, np.ndarray)


def threefry(
    key_high: UInt32[Words, "*keys"], key_low: UInt32[Words, "*keys"], high: _Block, low: _Block
) -> tuple[UInt32[Words, "..."], UInt32[Words, "..."]]:
    """Two words of 32 random bits: Threefry-2x32 of the block (high, low), of JAX's or NumPy's uint32, which broadcast.

    Source: Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
    """
    keys = (key_high, key_low, key_high ^ key_low ^ _PARITY)
    x, y = keys[0] + high, keys[1] + low
    for group in range(5):
        for turn in _TURNS[group % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn)))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


# One function of a program for all blocks of a shape: else each draw is traced and lowered operation by operation.
_words = jax.jit(threefry)


def fused(key: Shaped[Array, "*keys"]) -> Shaped[Array, "*keys"]:
    """The same key, on a CPU for the generator of this module: ``jax.random`` draws the same numbers from it, faster.

    :func:`~privrank_jax.simulate.run` does this for its trials; for a batch of your own do it before you split the key.

    Args:
        key: typed key, or an array of them; those of other generators than Threefry come back as they are, and so do
            all keys where JAX computes on another device by default.

    Returns:
        Keys of the same shape and content, for which ``key`` is used up: under ``jax.debug_key_reuse`` another draw
        from it is an error. ``jax.random.poisson`` takes JAX's own only.

    >>> key = jax.random.key(7)
    >>> bool(jax.random.normal(fused(key)) == jax.random.normal(key))
    True
    """
    if str(jax.random.key_impl(key)) != "threefry2x32" or not on_cpu():
        return key
    drawn = use_up(key)
    words = jax.random.key_data(key)
    if drawn is not None:  # a draw that nothing reads would be left out before the check
        words, _ = jax.lax.optimization_barrier((words, drawn))
    return jax.random.wrap_key_data(words, impl=_FUSED)


def use_up(key: Shaped[Array, "*keys"]) -> Array | None:
    """Tell JAX's check of reused keys (``jax.debug_key_reuse``) of a draw that it does not see: one from the content.

    Returns a draw of no words, None without the check. JAX 0.12 leaves out a draw that nothing reads: use it.
    """
    if not jax.config.jax_debug_key_reuse:  # type: ignore[attr-defined]
        return
    draw = functools.partial(jax.random.bits, shape=(0,))
    for _ in range(key.ndim):
        draw = jax.vmap(draw)
    return draw(key)


def below(
    words: UInt32[Array, "*shape"], count: Count | Int[Array, "*counts"]
) -> Int[Array, "*shape"]:
    """Uniform integers 0..count - 1 from uint32 ``words``: ⌊word · count / 2³²⌋, int32, for 0 <= count < 2³¹.

    A number is off its chance by less than 2⁻³². ``jax.random.randint`` is closer, by two words and three divisions;
    ``words`` and ``count`` broadcast.

    Source: Lemire (2019), Fast random integer generation in an interval.
    """
    half, low = np.uint32(16), np.uint32(0xFFFF)
    count = jnp.asarray(count).astype(jnp.uint32)
    middle = (words >> half) * (count & low) + ((words & low) * (count & low) >> half)
    other = (words & low) * (count >> half) + (middle & low)
    top = (words >> half) * (count >> half) + (middle >> half) + (other >> half)
    return top.astype(jnp.int32)


def _blocks(
    key: UInt32[Array, "2"], shape: tuple[int, ...]
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Both words of the blocks 0, 1, 2, ... in row order."""
    if math.prod(shape) > 2**32:
        raise NotImplementedError(f"at most 2**32 random numbers from one key, got shape {shape}")
    count = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _words(key[0], key[1], jnp.uint32(0), count)


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    return jax.lax.optimization_barrier(jnp.stack(_blocks(key, shape), axis=-1))


def _fold_in(key: UInt32[Array, "2"], data: Count) -> UInt32[Array, "2"]:
    return jax.lax.optimization_barrier(
        jnp.stack(_words(key[0], key[1], jnp.uint32(0), jnp.asarray(data, jnp.uint32)))
    )


def _random_bits(key: UInt32[Array, "2"], width: int, shape: tuple[int, ...]) -> Array:
    high, low = _blocks(key, shape)
    kind = _UNSIGNED[width]
    if width == 64:
        return (high.astype(kind) << 32) | low.astype(kind)
    return jax.lax.optimization_barrier(high ^ low).astype(kind)


_FUSED: Any = jax.extend.random.define_prng_impl(
    key_shape=(2,),
    seed=jax.extend.random.threefry_prng_impl.seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="threefry2x32-fused",
    tag="ftf",
)
