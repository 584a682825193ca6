"""Ledgers for the tests of this folder."""

from __future__ import annotations

from decimal import Decimal

import pytest

from privrank_jax import Privacy
from privrank_jax.release.ledger import Ledger, create

USERS = {"unit": "user", "adjacency": "replace"}


def promise(epsilon, delta=0, **kind):
    """A promise for replacing one user unless stated otherwise; strings mean decimals."""
    epsilon, delta = (Decimal(one) if isinstance(one, str) else one for one in (epsilon, delta))
    return Privacy(epsilon, delta=delta, **USERS | kind)


def spent(path):
    with Ledger(path) as ledger:
        return ledger.spent()[0]


@pytest.fixture
def made(tmp_path):
    """Make a ledger with some budget and return its path."""

    def make(epsilon, delta=0, name="votes.ledger", slack=0, **protects):
        path, budget = tmp_path / name, promise(epsilon, delta, **protects)
        create(path, budget, data="votes.csv", sha256="ab" * 32, slack=slack)
        return path

    return make
