"""What rows of the registry share: releases of arrays, laws of additive noise, and statistics that lose the most.

For noise on several numbers the statistic says how far they lie, beyond the first neighbor and away from the second,
where every density differs by its largest factor: for Laplace noise in all of the numbers that the neighbors differ in,
for K-norm noise inside the facets next to the change (:mod:`privrank_jax.privacy_audit.shapes`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, shapes
from privrank_jax.privacy_audit.registry import Audited, Facts, Law, Loss, Release

Array = jax.Array
Numbers = Callable[[np.ndarray], np.ndarray]
"""Maps stacked data sets to the numbers that noise is added to, ``(D, d)``."""


PUBLISHED = {"calibration": "published", "sound": False}
"""Of rows that show a published calibration to be wrong."""


def audited(name: str, title: str, release: Release, **fields: Any) -> Audited:
    """A row on a function of the library: tight unless told otherwise, with a note that names the function's file.

    Args:
        name, title: as of :class:`~privrank_jax.privacy_audit.Audited`.
        release: of :func:`on` or :func:`named`.
        fields: likewise, or a ``remark`` that the note adds.
    """
    home = release.__module__.removeprefix("privrank_jax.").replace(".", "/")
    note = "; ".join([f"{home}.py", *filter(None, [fields.pop("remark", "")])])
    told = {"calibration": "tight", "note": note, **fields}
    return Audited(name=name, title=title, release=release, **told)


def named(function: Callable[..., Any], release: Callable[..., Any]) -> Release:
    """Say of a release which function it calls."""
    release.__name__, release.__module__ = function.__name__, function.__module__
    return release


def on(
    function: Callable[..., Any], made: Callable[[Array], Any], *args: Any, **options: Any
) -> Release:
    """Turn a private function into a release of arrays; a value of several parts becomes one vector.

    Args:
        function: takes key, data and privacy.
        made: the data that it takes, of an array.
        args, options: further arguments.
    """

    def release(key: Array, data: Array, privacy: Privacy) -> Any:
        found = function(key, made(data), privacy, *args, **options)
        if isinstance(found, Estimate) and len(parts := jax.tree.leaves(found.value)) > 1:
            return dataclasses.replace(found, value=jnp.concatenate([*map(jnp.ravel, parts)]))
        return found

    return named(function, release)


def reported(function: Callable[..., Any], report: Callable[..., Any] | None = None) -> Release:
    """Turn a randomizer ``(key, data, epsilon)``, which each user runs alone, or a ``report`` by it, into a release."""
    run = report or function
    return named(function, lambda key, data, privacy: run(key, data, privacy.epsilon))


# --- laws of additive noise ------------------------------------------------------------------------


def laplace(numbers: Numbers) -> Law:
    """The law of Laplace noise of one scale on all numbers."""
    return lambda data, _, facts: laws.additive_laplace(numbers(data), facts["noise_scale"])


def k_norm(numbers: Numbers, facets: np.ndarray) -> Law:
    """The law of K-norm noise in the body with these facets."""
    return lambda data, _, facts: laws.k_norm(numbers(data), facets, facts["noise_scale"])


def gaussian(numbers: Numbers) -> Loss:
    """The loss of Gaussian noise of one scale on all numbers."""

    def loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
        shifts = np.linalg.norm(numbers(first) - numbers(second), axis=1)
        return laws.gaussian_epsilon(np.round(shifts, 12), facts["noise_scale"], privacy.delta)

    return loss


# --- rows of additive noise ------------------------------------------------------------------------


def under_laplace(
    numbers: Numbers,
    first: np.ndarray,
    second: np.ndarray,
    *,
    read: Callable[[Array], Array] | None = None,
    law: Law | None = None,
) -> dict[str, Any]:
    """Neighbors, law and statistic of Laplace noise.

    Args:
        numbers: those that noise is added to.
        first, second: the neighbors.
        read: finds the noisy numbers in a value, where it is another.
        law: where it is not that of the noise.
    """
    center, other = numbers(np.stack([first, second]))
    moved = np.flatnonzero(center != other)
    signs = np.sign(center - other)[moved]

    def least_shift(value: Array) -> Array:
        noisy = read(value) if read else value
        shift = noisy - jnp.asarray(center, noisy.dtype)
        return jnp.min(shift[moved] * jnp.asarray(signs, noisy.dtype))

    return {
        "neighbors": (first, second),
        "law": law or laplace(numbers),
        "reduce": least_shift,
        "sees": "the least shift, away from the neighbor, of the numbers in which they differ",
    }


def under_k_norm(
    numbers: Numbers,
    facets: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    *,
    read: Callable[[Array], Array] | None = None,
) -> dict[str, Any]:
    """The same for K-norm noise in the body with these facets."""
    center, other = numbers(np.stack([first, second]))
    change = (center - other) / shapes.body_norm(facets, center - other)

    def inside(value: Array) -> Array:
        noisy = read(value) if read else value
        return shapes.margin(noisy - jnp.asarray(center, noisy.dtype), facets, change)

    return {
        "neighbors": (first, second),
        "law": k_norm(numbers, facets),
        "reduce": inside,
        "sees": "how far the noise lies inside the facets next to the change",
    }
