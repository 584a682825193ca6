"""Ledgers for tests."""

from __future__ import annotations

from decimal import Decimal

from privrank_jax import Privacy
from privrank_jax.release.ledger import Ledger

USERS = {"unit": "user", "adjacency": "replace"}


def promise(epsilon, delta=0, **kind):
    """A promise for replacing one user unless stated otherwise; strings mean decimals."""
    epsilon, delta = (Decimal(one) if isinstance(one, str) else one for one in (epsilon, delta))
    return Privacy(epsilon, delta=delta, **{**USERS, **kind})


def spent(path):
    with Ledger(path) as ledger:
        return ledger.spent()[0]
