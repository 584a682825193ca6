"""Budgets as exact decimals, and promises and noise as the texts that a file keeps of them.

Numbers are decimals as people write them, added and compared exactly: ten times 0.1 is 1. A float means the shortest
decimal that denotes it, from which it differs by at most one part in 2^53.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from typing import SupportsFloat

from privrank_jax._promise import Privacy, check_changes
from privrank_jax.release.store import PROMISE, LedgerError, Row

# Doubles reach from 5e-324 to 1.8e308: every sum of such decimals is exact, or raises.
EXACT = Context(prec=1200, traps=[Inexact, InvalidOperation, Overflow])
_DECIMAL = re.compile(r"\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?|\.\d{1,40}", re.ASCII)
_RHO = "rho "  # before ρ in the text of noise
_BETWEEN = "; "  # separates facts in one text; no fact's name contains it


def amount(given: SupportsFloat | str, name: str, *, zero: bool = False) -> Decimal:
    """A budget as an exact decimal, of a float the shortest that denotes it as a double; ``zero``: whether 0 may be.

    >>> amount(0.1, "epsilon"), amount("2.50", "epsilon")
    (Decimal('0.1'), Decimal('2.50'))
    """
    exact = isinstance(given, (str, int, Decimal))
    text = str(given).strip() if exact else repr(float(given))
    number = Decimal(text) if _DECIMAL.fullmatch(text) else Decimal("nan")
    in_range = 0 < float(number) < math.inf  # as a double, which bounds the digits of sums
    if not in_range and not (zero and number == 0):
        raise LedgerError(
            f"{name} must be {'at least 0' if zero else 'a positive number'}, written such as 0.5, got {text!r}."
        )
    return number


def numbers(privacy: Privacy) -> tuple[Decimal, Decimal]:
    """ε and δ of a promise as exact decimals."""
    return amount(privacy.epsilon, "epsilon"), amount(privacy.delta, "delta", zero=True)


def plain(number: Decimal) -> str:
    """A decimal in the shortest usual notation.

    >>> plain(Decimal("2.50")), plain(Decimal("1E+2")), plain(Decimal("0E-9")), plain(Decimal("0.000001"))
    ('2.5', '100', '0', '1e-6')
    """
    if number == 0:
        return "0"
    text = EXACT.normalize(number)
    return f"{text:f}" if -5 <= text.adjusted() < 15 else f"{text:e}".replace("e+", "e")


def in_words(epsilon: Decimal, delta: Decimal, *others: Decimal) -> str:
    """ε, and δ unless it and all of ``others`` are 0."""
    words = f"epsilon {plain(epsilon)}"
    return f"{words}, delta {plain(delta)}" if any((delta, *others)) else words


def cells(privacy: Privacy) -> dict[str, str]:
    """A promise as texts, by the names in :data:`~privrank_jax.release.store.PROMISE`."""
    most = "" if privacy.contributions is None else str(int(privacy.contributions))
    facts = *privacy.kind, most, _BETWEEN.join(privacy.public), privacy.users
    return dict(zip(PROMISE, (*map(str, numbers(privacy)), *facts)))


def from_cells(row: Mapping[str, str]) -> Privacy:
    """A promise from such texts; ``ValueError`` if they hold none."""
    told: Row = {name: row[name] for name in PROMISE} | {
        "epsilon": amount(row["epsilon"], "epsilon"),
        "delta": amount(row["delta"], "delta", zero=True),
        "contributions": int(row["contributions"]) if row["contributions"] else None,
        "public": tuple(row["public"].split(_BETWEEN)) if row["public"] else (),
    }
    return Privacy(**told)


def noise_cell(changes: tuple[int, ...] = (), rho: SupportsFloat | None = None) -> str:
    """What is known of noise as text: each size of the changes and how often it occurs, or ρ.

    >>> noise_cell((2, 6, 2)), noise_cell(rho=0.005)
    ('2*2 6*1', 'rho 0.005')
    """
    check_changes(changes)
    if rho is not None:
        return f"{_RHO}{amount(rho, 'rho')}"
    return " ".join(f"{size}*{count}" for size, count in sorted(Counter(changes).items()))


def noise_from(cell: str) -> tuple[tuple[int, ...], Decimal | None]:
    """The changes and ρ that such a text holds; ``ValueError`` if it holds none."""
    if cell.startswith(_RHO):
        return (), amount(cell.removeprefix(_RHO), "rho")
    pairs = [[int(number) for number in part.split("*")] for part in cell.split()]
    changes = tuple(size for size, count in pairs for _ in range(count))
    check_changes(changes)
    return changes, None
