"""Differentially private ranking as jitted, vmapped JAX.

:mod:`~privrank_jax.pairwise` ranks by pairwise comparisons, and :mod:`~privrank_jax.aggregation` finds a consensus of
whole rankings. :mod:`~privrank_jax.mallows` draws one private ranking from each user, and
:mod:`~privrank_jax.personalized` learns personal rankings from those. :mod:`~privrank_jax.preferences` has losses for
private preference labels. :mod:`~privrank_jax.privacy` has guarantees and noise, and :mod:`~privrank_jax.privacy_audit`
tests them. :mod:`~privrank_jax.simulate` and :mod:`~privrank_jax.experiments` run studies, and
:mod:`~privrank_jax.data` reads real data of any size. Modules are loaded on first use, so ``import privrank_jax`` takes
little more time than importing JAX. Nothing here changes JAX's global configuration.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax import (
        aggregation,
        comparisons,
        data,
        experiments,
        links,
        mallows,
        metrics,
        pairwise,
        personalized,
        plotting,
        preferences,
        privacy,
        privacy_audit,
        rankings,
        release,
        simulate,
    )
    from privrank_jax.data.look import look
    from privrank_jax.data.reader import read
    from privrank_jax.estimate import Estimate
    from privrank_jax.jobs.consensus import consensus
    from privrank_jax.jobs.leaderboard import leaderboard
    from privrank_jax.jobs.plan import plan
    from privrank_jax.jobs.randomize import randomize
    from privrank_jax.jobs.rank import rank
    from privrank_jax.jobs.result import Ranking
    from privrank_jax.privacy.guarantee import Guarantee
    from privrank_jax.privacy.privacy import Privacy
    from privrank_jax.release.ledger import Ledger

__version__ = "0.2.0"

_NAMES = {
    "Estimate": "privrank_jax.estimate",
    "Guarantee": "privrank_jax.privacy.guarantee",
    "Ledger": "privrank_jax.release.ledger",
    "Privacy": "privrank_jax.privacy.privacy",
    "leaderboard": "privrank_jax.jobs.leaderboard",
    "plan": "privrank_jax.jobs.plan",
    "Ranking": "privrank_jax.jobs.result",
    "consensus": "privrank_jax.jobs.consensus",
    "randomize": "privrank_jax.jobs.randomize",
    "rank": "privrank_jax.jobs.rank",
    "look": "privrank_jax.data.look",
    "read": "privrank_jax.data.reader",
}

__all__ = [
    "Estimate",
    "Guarantee",
    "Ledger",
    "Privacy",
    "Ranking",
    "__version__",
    "aggregation",
    "comparisons",
    "consensus",
    "data",
    "experiments",
    "leaderboard",
    "links",
    "look",
    "mallows",
    "metrics",
    "pairwise",
    "personalized",
    "plan",
    "plotting",
    "preferences",
    "privacy",
    "privacy_audit",
    "randomize",
    "rank",
    "rankings",
    "read",
    "release",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
