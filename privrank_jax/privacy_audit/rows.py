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
LOG_RATIO = "the log ratio of the densities at the noisy numbers, in percent of that without noise"
"""The statistic of additive noise, which tells neighbors apart best; rounded, so that it tells nothing of float32."""
DELTA = 0.01
"""Of rows with Gaussian noise."""
ANSWER = Privacy(1.0, unit="comparison", adjacency="replace")
USER = Privacy(1.0, unit="user", adjacency="replace")


def like(privacy: Privacy, other: str | None = None, **changed: Any) -> Privacy:
    """The promise under another adjacency, or with other changes."""
    return dataclasses.replace(privacy, adjacency=other or privacy.adjacency, **changed)


def audited(name: str, release: Release, words: str = "", **fields: Any) -> Audited:
    """A row on a function of the library, tight unless told otherwise; title and note follow from both."""
    promise = fields["promise"]
    of = f" of L = {promise.contributions} answers" if promise.contributions else ""
    title = f"{words or release.__name__.replace('_', ' ')}, one {promise.unit}{of}, {promise.adjacency}"
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
    """Rows on a mechanism that adds noise to ``numbers``: name, naive twins, promise (δ follows) and kind of each.

    Further arguments of the function are ``given``, by default the noise.
    """
    found = []
    for name, units, promise, noise in rows:
        if noise == "gaussian":
            promise = like(promise, delta=DELTA)
        options = {"noise": noise} if given is None else given
        words = f"{numbers} + {noise.capitalize()} noise"
        own = units.protecting(promise) | under(units, promise, noise) | fields
        own["twin"] = Twin(function, units, noise, options)
        found.append(audited(name, on(function, units.made, **options), words, **own))
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
    apart = units.norm(noise, start - end)
    whole = 0.5 * apart**2 if noise == "gaussian" else apart

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
        return jnp.round(100 / whole * (second - first))

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
