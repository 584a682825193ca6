"""A whole ledger to damage."""

from __future__ import annotations

from pathlib import Path


def whole_ledger(folder: Path) -> bytes:
    """A ledger from which was spent, as one file."""
    from privrank_jax.release.ledger import Ledger, Privacy, create

    path = folder / "made.ledger"
    budget, quarter = (Privacy(n, unit="user", adjacency="replace") for n in (2.5, 0.25))
    create(path, budget, data="votes.csv", sha256="0" * 64)
    with Ledger(path) as ledger:
        for _ in range(2):
            ledger.mark_printed(ledger.spend(quarter, command="rank"))
    content = path.read_bytes()
    path.unlink()
    return content
