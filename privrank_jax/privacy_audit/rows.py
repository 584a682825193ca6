"""What rows of the registry share: releases of arrays, and all that follows for additive noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._backend import product
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.registry import Audited, Facts, Loss, Release, Twin

Array = jax.Array

PUBLISHED = {"calibration": "published", "sound": False}
"""Of rows that show a published calibration to be wrong."""
LOG_RATIO = "the log ratio of the densities at the noisy numbers"
"""What the statistic of additive noise says, in units of the noise where ε = 1: no other tells more."""
DELTA = 0.01
"""Of rows with Gaussian noise."""
ANSWER = Privacy(1.0, unit="comparison", adjacency="replace")
USER = Privacy(1.0, unit="user", adjacency="replace")


def like(privacy: Privacy, other: str | None = None, **changed: Any) -> Privacy:
    """The promise under another adjacency, or with other changes."""
    return dataclasses.replace(privacy, adjacency=other or privacy.adjacency, **changed)


def protects(privacy: Privacy) -> str:
    """What a promise protects, in words."""
    of = f" of L = {privacy.contributions} answers" if privacy.contributions else ""
    return f"one {privacy.unit}{of}, {privacy.adjacency}"


def audited(name: str, title: str, release: Release, **fields: Any) -> Audited:
    """A row on a function of the library: tight unless told otherwise, with a note that names the function's file."""
    note = f"{release.__module__.removeprefix('privrank_jax.').replace('.', '/')}.py"
    told = {"calibration": "tight", "note": note, **fields}
    return Audited(name=name, title=title, release=release, **told)


def named(function: Callable[..., Any], release: Callable[..., Any]) -> Release:
    """Say of a release which function it calls."""
    release.__name__, release.__module__ = function.__name__, function.__module__
    return release


def on(
    function: Callable[..., Any], made: Callable[[Array], Any], *args: Any, **options: Any
) -> Release:
    """A private function as a release of arrays, of which data are made; values of several parts become one vector."""

    def release(key: Array, data: Array, privacy: Privacy) -> Any:
        found = function(key, made(data), privacy, *args, **options)
        if isinstance(found, Estimate) and len(parts := jax.tree.leaves(found.value)) > 1:
            return dataclasses.replace(found, value=jnp.concatenate([*map(jnp.ravel, parts)]))
        return found

    return named(function, release)


def reported(function: Callable[..., Any]) -> Release:
    """A randomizer ``(key, data, epsilon)``, which each user runs alone, as a release."""
    return named(function, lambda key, data, privacy: function(key, data, privacy.epsilon))


# --- additive noise --------------------------------------------------------------------------------


def additive(
    function: Callable[..., Any],
    numbers: str,
    *rows: tuple[str, Units, Privacy, str],
    given: dict[str, Any] | None = None,
    **fields: Any,
) -> tuple[Audited, ...]:
    """Rows on a mechanism that adds noise to linear numbers: all but names follows from units, promise and noise.

    Args:
        function: takes key, data and privacy.
        numbers: what is released, in words.
        rows: name, naive twins of data and numbers, promise (of Gaussian noise with δ = 0.01), kind of noise.
        given: further arguments of the function; by default the noise.
        fields: further fields, as of :func:`audited`.
    """
    found = []
    for name, units, promise, noise in rows:
        if noise == "gaussian":
            promise = like(promise, delta=DELTA)
        options = {"noise": noise} if given is None else given
        title = f"{numbers} + {noise.capitalize()} noise, {protects(promise)}"
        own = units.protecting(promise) | under(units, promise, noise) | fields
        own["twin"] = Twin(function, units, noise, options)
        found.append(audited(name, title, on(function, units.made, **options), **own))
    return tuple(found)


def gaussian(numbers: Callable[[np.ndarray, Facts], np.ndarray]) -> Loss:
    """The loss of Gaussian noise on numbers, which come in units of σ."""

    def loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
        apart = np.linalg.norm(numbers(first, facts) - numbers(second, facts), axis=1)
        return laws.gaussian_epsilon(np.round(apart, 14), 1.0, privacy.delta)

    return loss


def under(units: Units, promise: Privacy, noise: str) -> dict[str, Any]:
    """Law, hard neighbors, and the log ratio of their densities, of additive noise."""
    numbers, facets = units.released(promise.adjacency, noise), units.facets
    pair = units.hardest(promise.adjacency, noise)
    start, end = numbers(np.stack(pair))

    def in_units(data: np.ndarray, facts: Facts) -> np.ndarray:
        return numbers(data) / units.scales(facts, noise)

    def surprise(moved: Array) -> Array:
        """Minus the log density of noise, in usual units."""
        if noise == "k-norm":
            return jnp.max(jnp.abs(product(jnp.asarray(facets, moved.dtype), moved)))
        scaled = moved / jnp.asarray(units.scales(units.nominal, noise), moved.dtype)
        return jnp.sum(jnp.abs(scaled)) if noise == "laplace" else 0.5 * jnp.sum(scaled**2)

    def log_ratio(value: Array) -> Array:
        noisy = units.read(value).ravel()
        first, second = (surprise(noisy - jnp.asarray(one, noisy.dtype)) for one in (start, end))
        return second - first

    found: dict[str, Any] = {"neighbors": pair, "reduce": log_ratio, "sees": LOG_RATIO}
    if noise == "gaussian":
        found["loss"] = gaussian(in_units)
    elif noise == "laplace":
        found["law"] = lambda data, _, facts: laws.additive_laplace(in_units(data, facts), 1.0)
    else:
        assert facets is not None
        found["law"] = lambda data, _, facts: laws.k_norm(
            numbers(data), facets, facts["noise_scale"]
        )
    return found
