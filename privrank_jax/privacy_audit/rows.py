"""What rows of the registry share: releases of arrays, laws of additive noise, and statistics that lose the most.

For noise on several numbers the statistic says how far they lie, beyond the first neighbor and away from the second,
where every density differs by its largest factor: for Laplace noise in all of the numbers that the neighbors differ in,
for K-norm noise inside the facets next to the change (:mod:`privrank_jax.privacy_audit.laws`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.registry import Audited, Facts, Loss, Release, Twin

Array = jax.Array

PUBLISHED = {"calibration": "published", "sound": False}
"""Of rows that show a published calibration to be wrong."""
SHIFTS = {
    "k-norm": "how far the noise lies inside the facets next to the change",
    "laplace": "the least shift, away from the neighbor, of the numbers in which they differ",
    "gaussian": "the shift of the numbers along the neighbors' difference, in units of its noise",
}
"""What the statistics of additive noise say; without noise they are 0 for the first neighbor."""
_DELTA = 0.01


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


# --- additive noise --------------------------------------------------------------------------------


def additive(
    name: str,
    title: str,
    function: Callable[..., Any],
    units: Units,
    promise: Privacy,
    noise: str = "laplace",
    commands: tuple[str, ...] = (),
    *,
    given: Mapping[str, Any] | None = None,
    bases: tuple[np.ndarray, ...] = (),
    release: Release | None = None,
    **fields: Any,
) -> Audited:
    """A row on a mechanism that adds noise to linear numbers: all but words and commands follows from its units.

    Args:
        name, title: as of :class:`~privrank_jax.privacy_audit.Audited`.
        function: takes key, data and privacy.
        units: naive twins of its data and numbers.
        promise: of the row; of Gaussian noise with δ = 0.01.
        noise: its kind.
        commands: as of the row.
        given: further arguments of the function; by default the noise.
        bases: what the other units of the instances hold, where it matters.
        release: of the function, where :func:`on` is not enough.
        fields: further fields, as of :func:`audited`.
    """
    if noise == "gaussian":
        promise = dataclasses.replace(promise, delta=_DELTA)
    given = {"noise": noise} if given is None else given
    told = release or on(function, units.made, **given)
    fields["twin"] = Twin(function, units, noise, given)
    fields = units.protecting(promise, *bases) | under(units, promise, noise) | fields
    return audited(name, title, told, commands=commands, **fields)


def gaussian(numbers: Callable[[np.ndarray, Facts], np.ndarray]) -> Loss:
    """The loss of Gaussian noise.

    Args:
        numbers: (stacked data, facts) -> what it is added to, in units of σ.
    """

    def loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
        apart = np.linalg.norm(numbers(first, facts) - numbers(second, facts), axis=1)
        return laws.gaussian_epsilon(np.round(apart, 14), 1.0, privacy.delta)

    return loss


def under(units: Units, promise: Privacy, noise: str) -> dict[str, Any]:
    """Law, hard neighbors, and what shows their difference best, of additive noise.

    Args:
        units: whose numbers are released.
        promise: of the row.
        noise: its kind.
    """
    numbers = units.released(promise.adjacency, noise)
    pair = units.hardest(promise.adjacency, noise)
    start, end = numbers(np.stack(pair))
    change, scales = start - end, units.scales(units.nominal, noise)
    moved = np.flatnonzero(np.round(change, 9))

    def shift(value: Array) -> Array:
        noisy = units.read(value).ravel()
        return noisy - jnp.asarray(start, noisy.dtype)

    def in_units(data: np.ndarray, facts: Facts) -> np.ndarray:
        return numbers(data) / units.scales(facts, noise)

    found: dict[str, Any] = {"neighbors": pair}
    if noise == "k-norm":
        assert units.facets is not None
        facets, side = units.facets, change / laws.body_norm(units.facets, change)
        found |= {
            "law": lambda data, _, facts: laws.k_norm(numbers(data), facets, facts["noise_scale"]),
            "reduce": lambda value: laws.margin(shift(value), facets, side),
            "sees": SHIFTS["k-norm"],
        }
    elif noise == "laplace":
        found |= {
            "law": lambda data, _, facts: laws.additive_laplace(in_units(data, facts), 1.0),
            "reduce": lambda value: jnp.min(shift(value)[moved] * np.sign(change[moved])),
            "sees": SHIFTS["laplace"],
        }
    else:
        found |= {
            "loss": gaussian(in_units),
            "reduce": lambda value: jnp.sum(shift(value) * (change / scales**2)),
            "sees": SHIFTS["gaussian"],
        }
    return found
