"""Ledgers for the tests of this folder."""

from __future__ import annotations

import pytest

from privrank_jax.release.ledger import create
from tests.exact.conftest import odds_once
from tests.release.ledgers import promise

__all__ = ["odds_once"]


@pytest.fixture
def made(tmp_path):
    """Make a ledger with some budget and return its path."""

    def make(epsilon, delta=0, name="votes.ledger", slack=0, **protects):
        path, budget = tmp_path / name, promise(epsilon, delta, **protects)
        create(path, budget, data="votes.csv", sha256="ab" * 32, slack=slack)
        return path

    return make
