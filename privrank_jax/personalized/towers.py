"""Scorers of items for users: what is trained. Frozen settings, and plain pytrees of arrays as parameters.

A scorer is anything with ``init(key, user_size, item_size, dtype) -> params`` and
``score(params, user, items) -> (m,)`` that is hashable (it is static under ``jit``).

**Only differences within a user count.** A term of the score that depends on the user alone cancels in every pair. In
the linear scorer αᵀx_u + βᵀy_i so does the whole part of the user: α is never learned, and every user gets the same
ranking. Personal rankings need an interaction of x_u and y_i, as the dot product of two towers has.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, PyTree

from privrank_jax._types import Key, Scores

Tower = list[dict[str, Array]]


@runtime_checkable
class Scorer(Protocol):
    """What :func:`~privrank_jax.personalized.train` can train."""

    def init(
        self, key: Key, user_size: int, item_size: int, dtype: DTypeLike | None = None
    ) -> PyTree:
        """Parameters to start from, for features of these lengths."""
        ...

    def score(
        self, params: PyTree, user: Float[Array, "p"], items: Float[Array, "items q"]
    ) -> Scores:
        """Scores ``(m,)``, high = best, of ``items`` ``(m, q)`` for one user ``(p,)``."""
        ...


@dataclass(frozen=True)
class Linear:
    """αᵀx_u + βᵀy_i; starts at 0. With one-hot items β holds a free score for every item."""

    def init(
        self, key: Key, user_size: int, item_size: int, dtype: DTypeLike | None = None
    ) -> dict[str, Array]:
        """``{"user": α, "item": β}``, zeros; the key is not used."""
        del key
        return {"user": jnp.zeros(user_size, dtype), "item": jnp.zeros(item_size, dtype)}

    def score(
        self, params: Mapping[str, Array], user: Float[Array, "p"], items: Float[Array, "items q"]
    ) -> Scores:
        """Scores ``(m,)`` of ``items`` ``(m, q)`` for one user ``(p,)``."""
        return user @ params["user"] + items @ params["item"]


@dataclass(frozen=True)
class TwoTowers:
    """Dot product of two networks, one of the user's features, one of the item's.

    Each is a perceptron of ``layers`` dense layers with ``width`` units in every one: ReLU after all but the last,
    whose units are the representation. (How we read "a 3-layer multilayer perceptron with 10 hidden units in each
    layer".) All start uniform on ±1/√inputs. Larger starts do harm: scores then begin with personal differences that
    synthetic rankings are too noisy to unlearn before training stops.

    Attributes:
        width: units of every layer, the representation included.
        layers: dense layers of a tower, at least 1.
    """

    width: int = 10
    layers: int = 3

    def __post_init__(self) -> None:
        if self.width < 1 or self.layers < 1:
            raise ValueError(f"width and layers must be at least 1, got {self}.")

    def init(
        self, key: Key, user_size: int, item_size: int, dtype: DTypeLike | None = None
    ) -> dict[str, Tower]:
        """``{"user": tower, "item": tower}``, a tower a list of ``{"weight": (inputs, width), "bias": (width,)}``."""
        user_key, item_key = jax.random.split(key)
        return {
            "user": self._tower(user_key, user_size, dtype),
            "item": self._tower(item_key, item_size, dtype),
        }

    def score(
        self, params: Mapping[str, Tower], user: Float[Array, "p"], items: Float[Array, "items q"]
    ) -> Scores:
        """Scores ``(m,)`` of ``items`` ``(m, q)`` for one user ``(p,)``."""
        return _represent(params["item"], items) @ _represent(params["user"], user)

    def _tower(self, key: Key, inputs: int, dtype: DTypeLike | None) -> Tower:
        dtype = jnp.result_type(float) if dtype is None else dtype
        sizes = [inputs, *(self.width for _ in range(self.layers))]
        shapes = [(size + 1, self.width) for size in sizes[:-1]]  # the last row is the bias
        # All in one draw: each costs a second to compile.
        ends = list(itertools.accumulate(rows * columns for rows, columns in shapes))
        draws = jnp.split(jax.random.uniform(key, ends[-1:], dtype, -1, 1), ends[:-1])
        tower = []
        for shape, values in zip(shapes, draws, strict=True):
            layer = values.reshape(shape) * max(shape[0] - 1, 1) ** -0.5
            tower.append({"weight": layer[:-1], "bias": layer[-1]})
        return tower


def _represent(tower: Tower, features: Float[Array, "*rows inputs"]) -> Float[Array, "*rows width"]:
    for layer in tower[:-1]:
        features = jax.nn.relu(features @ layer["weight"] + layer["bias"])
    return features @ tower[-1]["weight"] + tower[-1]["bias"]
