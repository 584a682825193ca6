"""Ledgers for the tests of this folder, and radii that are drawn thousands of times."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from privrank_jax.release.ledger import create
from privrank_jax.release.radius import Radius
from tests.release.ledgers import promise


@pytest.fixture
def made(tmp_path):
    """Make a ledger with some budget and return its path."""

    def make(epsilon, delta=0, name="votes.ledger", **protects):
        path = tmp_path / name
        create(path, promise(epsilon, delta, **protects), data="votes.csv", sha256="ab" * 32)
        return path

    return make


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
