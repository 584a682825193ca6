"""Radii that are drawn thousands of times."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from privrank_jax.exact.radius import Radius


@pytest.fixture(scope="package", autouse=True)
def odds_once() -> Iterator[None]:
    """The bounds of a radius's odds are computed when it is first proposed.

    Tests of laws propose the same few radii thousands of times. The package keeps no odds: how long a draw takes would
    say which radii were drawn before.
    """
    odds = Radius._odds

    @functools.cache
    def kept(self, radius, block):
        return functools.cache(odds(self, radius, block))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Radius, "_odds", kept)
        yield
