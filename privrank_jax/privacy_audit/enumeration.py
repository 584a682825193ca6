"""Exact losses by enumeration over all relevant outputs and all neighbors of small instances.

Nothing is drawn. The law of each mechanism (:mod:`privrank_jax.privacy_audit.laws`) is computed with the noise scale
that the mechanism reports, so that a wrong scale in the code shows up here too. Where none is reported, it is that of
the functions that the mechanism calls, or of the theorem, and draws check that the mechanism has that law.

The scores of a perturbed likelihood are searched at a thousand outputs, and reports of vectors use a list of vectors:
there the loss is exact, but may not be the largest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Shaped

from privrank_jax._validate import check_epsilon
from privrank_jax.estimate import Estimate
from privrank_jax.privacy_audit.neighbors import Instances
from privrank_jax.privacy_audit.registry import Audited, get

_SCALES = ("noise_scale", "gradient_scale", "cycle_scale", "pair_scale")
_FACTS = (*_SCALES, "gamma", "rate", "max_queries")


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The largest loss among small data sets.

    Attributes:
        loss: the largest over all outputs of the row's law and all neighbors; at δ > 0 the smallest ε for that δ.
        first: one of the two data sets where it is attained.
        second: the other one.
        data_sets: number of data sets that were enumerated.
        pairs: number of pairs of neighbors among them.
    """

    loss: float
    first: Shaped[np.ndarray, "*data"]
    second: Shaped[np.ndarray, "*data"]
    data_sets: int
    pairs: int


def worst_case(
    mechanism: Audited | str, epsilon: float | None = None, *, less: float = 0.0
) -> WorstCase:
    """The largest privacy loss of a mechanism over all neighbors of its small instances, exactly.

    Args:
        mechanism: an :class:`~privrank_jax.privacy_audit.Audited` row, or the name of one.
        epsilon: ε > 0, finite, in place of that of the row's promise.
        less: share of the noise that is left out, in [0, 1): it is drawn as for ε/(1 - less).

    Returns:
        :class:`WorstCase`; a private mechanism loses at most its claim, up to rounding of about 1e-12.

    Raises:
        ValueError: an unknown name, an ε or a share out of range, a row without instances or without a law.

    >>> worst = worst_case("randomized-response", 1.0)
    >>> round(worst.loss, 6), worst.pairs
    (1.0, 1)
    """
    row = get(mechanism) if isinstance(mechanism, str) else mechanism
    if row.instances is None:
        raise ValueError(
            f"{row.name} lists no small instances: give the row `instances` to search."
        )
    if not 0 <= less < 1:
        raise ValueError(f"less must be a share of the noise, at least 0 and below 1, got {less}.")
    instances = row.instances()
    found = losses(row, checked_epsilon(row, epsilon) / (1 - less), instances)
    number = int(np.argmax(found))
    first, second = instances.data[instances.pairs[number]]
    return WorstCase(float(found[number]), first, second, len(instances.data), len(instances.pairs))


def exact_loss(mechanism: Audited | str, epsilon: float | None = None) -> float:
    """The loss between the two neighbors of a row; at δ > 0 the smallest ε for that δ.

    >>> exact_loss("noisy-counts-users-published", 1.0)
    2.0
    """
    row = get(mechanism) if isinstance(mechanism, str) else mechanism
    pair = Instances(np.stack(row.neighbors), np.array([[0, 1]]))
    return float(losses(row, checked_epsilon(row, epsilon), pair)[0])


def losses(mechanism: Audited, epsilon: float, instances: Instances) -> np.ndarray:
    """The loss of each pair of neighbors, ``(P,)``."""
    data, (first, second) = instances.data, instances.pairs.T
    if mechanism.loss is None:
        logs = log_densities(mechanism, epsilon, data)
        return np.max(np.abs(logs[first] - logs[second]), axis=1)
    with jax.enable_x64(True):
        facts = _facts(mechanism, data[0], epsilon)
        return mechanism.loss(data[first], data[second], mechanism.at(epsilon), facts)


def log_densities(mechanism: Audited, epsilon: float, data: np.ndarray) -> np.ndarray:
    """The law of a mechanism under stacked data sets, ``(D, K)``; ``ValueError`` if it has none."""
    if mechanism.law is None:
        raise ValueError(
            f"{mechanism.name} has neither a law nor a loss: give the row one, or bound its loss by `audit`."
        )
    with jax.enable_x64(True):
        return mechanism.law(data, mechanism.at(epsilon), _facts(mechanism, data[0], epsilon))


def _facts(mechanism: Audited, data: np.ndarray, epsilon: float) -> dict[str, float]:
    """What a release reports about its noise in single numbers; empty for functions that return a bare report."""
    told = _diagnostics_of(mechanism)(data, np.asarray(epsilon))
    return {name: float(one) for name, one in told.items() if one is not None and not np.ndim(one)}


@functools.cache
def _diagnostics_of(mechanism: Audited) -> Callable[..., dict[str, Any]]:
    """The diagnostics of a release as a function of data and ε; its value, which is not returned, is not computed."""

    def diagnostics(data: jax.Array, epsilon: jax.Array) -> dict[str, Any]:
        released = mechanism.release(jax.random.key(0), data, mechanism.at(epsilon))
        told = released.diagnostics if isinstance(released, Estimate) else {}
        told = told if isinstance(told, dict) else vars(told)
        return {name: told[name] for name in _FACTS if name in told}

    return jax.jit(diagnostics)


def checked_epsilon(mechanism: Audited, epsilon: Any) -> float:
    """``epsilon``, or that of the promise for None; ``ValueError`` unless it is one positive, finite number."""
    epsilon = check_epsilon(mechanism.promise.epsilon if epsilon is None else epsilon)
    if np.ndim(epsilon) or not np.isfinite(epsilon):
        raise ValueError(f"epsilon must be one finite number to be audited, got {epsilon!r}.")
    return float(epsilon)
