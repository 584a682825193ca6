"""Noise for real releases, and budget ledgers: what is published, paid for and kept.

**Exact releases.** Every mechanism, such as :data:`privrank_jax.aggregation.dp_borda`, has a method ``release``, which
takes the same arguments but the key; where there is no exact sampler, it refuses and says what to use. It runs on the
host, takes nothing that is traced, and draws exact noise from the operating system's entropy
(:mod:`privrank_jax.exact`). The guarantee has ``numerics="exact"``, and arrays are NumPy arrays, of float64 unless said
otherwise. Beside the errors of the simulation it raises ``ValueError`` for ε = ∞, several ε, or an ε and δ so extreme
that no noise can be drawn. It refuses items that only pad the data too, as they would be published.

Names are loaded on first use, so that :mod:`~privrank_jax.release.ledger` needs no JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax.release.contributions import exact_bound
    from privrank_jax.release.leaderboard import Leaderboard
    from privrank_jax.release.ledger import Ledger
    from privrank_jax.release.preference_labels import privatize_preferences

_HOMES = {
    "Leaderboard": "leaderboard",
    "Ledger": "ledger",
    "exact_bound": "contributions",
    "privatize_preferences": "preference_labels",
}

__all__ = [
    "Leaderboard",
    "Ledger",
    "exact_bound",
    "privatize_preferences",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
