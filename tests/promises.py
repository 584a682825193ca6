"""Promises of tests, in one line."""

from __future__ import annotations

from collections.abc import Callable

import jax

from privrank_jax.aggregation.bounds import bound
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Guarantee, Privacy


def promise(epsilon, unit="comparison", adjacency="replace", contributions=1, delta=0.0):
    """``contributions`` are left out where one comparison is protected."""
    most = contributions if unit == "user" else None
    return Privacy(epsilon, unit=unit, adjacency=adjacency, contributions=most, delta=delta)


def split(settings, **defaults):
    """A promise of those settings that speak of one, and the others."""
    fields = ("epsilon", "unit", "adjacency", "contributions", "delta")
    told = {name: settings[name] for name in fields if name in settings}
    return promise(**{"epsilon": 1.0, **defaults, **told}), {
        name: value for name, value in settings.items() if name not in fields
    }


def user(epsilon, delta=0.0):
    """All of a user is replaced, on rankings."""
    return Privacy(epsilon, unit="user", adjacency="replace", delta=delta)


def reported(method, items, users, epsilon, mechanism=None, **told):
    """The bound of a method on local reports."""
    return bound(method, items, users, user(epsilon), trust="local", noise=mechanism, **told)


def noise_of(delta):
    return "gaussian" if delta else "laplace"


def guarantee_of(release: Callable[[jax.Array], Estimate], key: jax.Array) -> Guarantee:
    """The guarantee of a release, which is not run."""
    told: list[Guarantee] = []
    jax.eval_shape(lambda key: told.append(release(key).guarantee), key)
    return told[0]
