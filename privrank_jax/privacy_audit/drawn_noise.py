"""The noise of audited mechanisms on three items, for pictures beside what one unit changes."""

from __future__ import annotations

import math

import jax
import numpy as np
from jaxtyping import Float

from privrank_jax._types import Key
from privrank_jax._validate import check_positive
from privrank_jax.privacy_audit import registry
from privrank_jax.privacy_audit.registry import Audited


def noise_draws(
    key: Key, mechanism: Audited | str, epsilon: float | None = None, *, draws: int = 4000
) -> Float[np.ndarray, "draws 3"]:
    """Draw what a mechanism adds to the numbers of three items, in their units.

    Args:
        key: PRNG key.
        mechanism: a row with ``changes``, or its name.
        epsilon: ε to run it at; by default the claimed one.
        draws: number of draws.

    Returns:
        ``(draws, 3)``: releases less the release at ε = ∞, on the first of the row's neighbors.

    Raises:
        ValueError: an unknown name, a row without ``changes``, ε <= 0.

    >>> noise_draws(jax.random.key(0), "noisy-counts-questionnaire", draws=5).shape
    (5, 3)
    """
    row = registry.get(mechanism) if isinstance(mechanism, str) else mechanism
    if row.changes is None:
        drawn = (name for name in registry.names() if registry.get(name).changes is not None)
        raise ValueError(
            f"{row.name} adds no noise to the numbers of three items; these do: {', '.join(drawn)}."
        )
    check_positive("epsilon", row.promise.epsilon if epsilon is None else epsilon)
    data, promise = row.neighbors[0], row.promise if epsilon is None else row.at(epsilon)
    release = jax.jit(jax.vmap(lambda key: row.value(key, data, promise)))
    # No noise, whatever the key.
    exact = np.asarray(row.value(jax.random.clone(key), data, row.at(math.inf)), float)
    return np.asarray(release(jax.random.split(key, draws)), float) - exact
