"""The table of what releases come to in ``notebooks/releases.md``: ``python -m tests.composition_table``."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path

import numpy as np

from privrank_jax.aggregation import dp_borda, dp_scores, noise_all
from privrank_jax.aggregation.scores import PointTotals
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.pairwise import noisy_counts
from privrank_jax.privacy import Guarantee, Privacy, compose
from privrank_jax.release.ledger_filter import Filter
from tests.methods_table import placed
from tests.totals import wins_of

PAGE = Path(__file__).parent.parent / "notebooks" / "releases.md"
START, END = "<!-- sums: python -m tests.composition_table -->\n", "<!-- end of sums -->\n"
BUDGET, DELTA, ITEMS = 3, "1e-6", 10
_USERS = Privacy(0.1, unit="user", adjacency="replace")
_HEAD = (
    "| releases at ε = 0.1 each | ε of 100, fixed in advance | how many have ε = 3, fixed in advance | "
    "a ledger with `--slack` allows |\n|---|---|---|---|\n"
)


def rows() -> dict[str, Guarantee]:
    """Guarantees of releases for ten items."""
    ranks = np.arange(ITEMS)[None].repeat(20, 0)
    flips = Privacy(0.1, unit="user", adjacency="flip", contributions=5)
    points, weights = PointTotals.from_points(ranks % 2), counted_weights(ranks)
    released = {
        "Laplace noise on win totals": noisy_counts.release(wins_of(np.arange(10.0)), flips),
        "the same on approvals": dp_scores.release(points, _USERS, noise="laplace"),
        "on Borda scores": dp_borda.release(weights, _USERS, noise="laplace"),
        "on all pairs (`noise-all`)": noise_all.release(weights, _USERS, noise="laplace"),
        "Gaussian noise on Borda scores, each at δ = 10⁻⁸": dp_borda.release(
            weights, dataclasses.replace(_USERS, delta=1e-8), noise="gaussian"
        ),
    }
    found = {name: one.guarantee for name, one in released.items() if one.guarantee is not None}
    return {"K-norm noise, randomized answers, any other": Guarantee(_USERS)} | found


def ahead(guarantee: Guarantee, count: int) -> float:
    """ε of so many releases that are fixed in advance."""
    return float(compose([guarantee] * count, delta=float(DELTA)).epsilon)


def most_ahead(guarantee: Guarantee) -> int:
    """How many releases fixed in advance fit into the budget."""
    low, high = 1, 2
    while ahead(guarantee, high) <= BUDGET:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ahead(guarantee, middle) <= BUDGET else (low, middle)
    return low


def most_in_ledger(guarantee: Guarantee) -> int:
    """How many releases a ledger allows that keeps all of its δ for adding up."""
    rule = Filter.of(Decimal(BUDGET), Decimal(DELTA))
    rho = None if guarantee.rho is None else Decimal(guarantee.rho)
    return int(rule.most / rule.cost(Decimal("0.1"), guarantee.changes, rho))


def table() -> str:
    """The table, as Markdown."""
    lines = [
        f"| {name} | {ahead(one, 100):.2f} | {most_ahead(one):,} | {most_in_ledger(one):,} |\n"
        for name, one in rows().items()
    ]
    return _HEAD + "".join(lines)


def written(page: str) -> str:
    """The page with the table as it is now."""
    return placed(page, START, table(), END)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
