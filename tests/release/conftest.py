"""Ledgers for the tests of this folder."""

from __future__ import annotations

import pytest

from privrank_jax.release.ledger import create
from tests.exact.conftest import odds_once
from tests.release.ledgers import promise


@pytest.fixture
def made(tmp_path):
    """Make a ledger with some budget and return its path."""

    def make(epsilon, delta=0, name="votes.ledger", **protects):
        path = tmp_path / name
        create(path, promise(epsilon, delta, **protects), data="votes.csv", sha256="ab" * 32)
        return path

    return make


__all__ = ["odds_once"]
