"""Releases for tests of composition."""

from __future__ import annotations

from privrank_jax.privacy import Neighbors, compose

KIND = {"unit": "user", "adjacency": "replace"}
USERS = {"neighbors": Neighbors(**KIND)}


def epsilon(releases, delta, **kind):
    return compose(releases, delta=delta, **(kind or USERS)).epsilon
