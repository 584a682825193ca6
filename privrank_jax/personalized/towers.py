"""Trainable scorers of items for users: frozen settings, with plain pytrees of arrays as parameters.

A scorer is any hashable object with ``init(key, user_size, item_size, dtype) -> params`` and
``score(params, user, items) -> (m,)``; it is static under ``jit``.

**Only score differences within a user matter.** A term of the score that depends on the user alone cancels in every
pair. In the linear scorer αᵀx_u + βᵀy_i the whole user term cancels: α is never learned, and every user gets the
same ranking. Personalized rankings need an interaction of x_u and y_i, such as the dot product of two towers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, DTypeLike, Float, PyTree

from privrank_jax._backend import product
from privrank_jax._types import Key, Scores
from privrank_jax._workarounds.threefry import fused

Tower = list[dict[str, Array]]


@runtime_checkable
class Scorer(Protocol):
    """The interface of models that :func:`~privrank_jax.personalized.train` trains."""

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
    """Linear scorer αᵀx_u + βᵀy_i, started at 0. With one-hot items β holds a free score for every item."""

    def init(
        self, key: Key, user_size: int, item_size: int, dtype: DTypeLike | None = None
    ) -> dict[str, Float[Array, "..."]]:
        """``{"user": α, "item": β}``, zeros; the key is not used."""
        del key
        return {"user": jnp.zeros(user_size, dtype), "item": jnp.zeros(item_size, dtype)}

    def score(
        self,
        params: Mapping[str, Float[Array, "..."]],
        user: Float[Array, "p"],
        items: Float[Array, "items q"],
    ) -> Scores:
        """Scores ``(m,)`` of ``items`` ``(m, q)`` for one user ``(p,)``."""
        return product(user, params["user"]) + product(items, params["item"])


@dataclass(frozen=True)
class TwoTowers:
    """Dot product of two networks, one on the user's features, one on the item's.

    Each is a perceptron of ``layers`` dense layers with ``width`` units each: ReLU after all but the last, whose
    units are the representation. All parameters start uniform on ±1/√inputs: from larger ones, scores start with
    differences between users that synthetic rankings are too noisy to remove before training stops.

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
        user_key, item_key = jax.random.split(fused(key))
        return {
            "user": self._tower(user_key, user_size, dtype),
            "item": self._tower(item_key, item_size, dtype),
        }

    def score(
        self, params: Mapping[str, Tower], user: Float[Array, "p"], items: Float[Array, "items q"]
    ) -> Scores:
        """Scores ``(m,)`` of ``items`` ``(m, q)`` for one user ``(p,)``."""
        return product(_represent(params["item"], items), _represent(params["user"], user))

    def _tower(self, key: Key, inputs: int, dtype: DTypeLike | None) -> Tower:
        dtype = jnp.result_type(float) if dtype is None else dtype
        sizes = [inputs, *(self.width for _ in range(self.layers))]
        shapes = [(size + 1, self.width) for size in sizes[:-1]]  # the last row is the bias
        # All parameters come from one draw, because each draw takes a second to compile.
        ends = list(itertools.accumulate(rows * columns for rows, columns in shapes))
        draws = jnp.split(jax.random.uniform(fused(key), ends[-1:], dtype, -1, 1), ends[:-1])
        tower = []
        for shape, values in zip(shapes, draws, strict=True):
            layer = values.reshape(shape) * max(shape[0] - 1, 1) ** -0.5
            tower.append({"weight": layer[:-1], "bias": layer[-1]})
        return tower


def _represent(tower: Tower, features: Float[Array, "*rows inputs"]) -> Float[Array, "*rows width"]:
    for layer in tower[:-1]:
        features = jax.nn.relu(product(features, layer["weight"]) + layer["bias"])
    return product(features, tower[-1]["weight"]) + tower[-1]["bias"]
