"""Audited footrule costs: two users and three items, one user is replaced; and the report of one user.

For three items the tree of least error has a single level, so noise is K-norm noise of the cube of all prefix counts,
which are half of the differences between the costs of adjacent places. Its scale follows from the standard deviation
that the mechanism reports.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.aggregation.footrule import PositionHistograms
from privrank_jax.aggregation.footrule_cuts import cut_design
from privrank_jax.aggregation.footrule_levels import footrule_levels, mean_square_error
from privrank_jax.aggregation.local_footrule import ldp_footrule, ldp_footrule_report
from privrank_jax.aggregation.private_footrule import dp_footrule
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors, shapes
from privrank_jax.privacy_audit.audited_consensus import NUM_ITEMS, USER, USERS
from privrank_jax.privacy_audit.audited_local import broken_ties
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import audited, gaussian, k_norm, on, reported, under_k_norm

Array = jax.Array

_CUTS = NUM_ITEMS * (NUM_ITEMS - 1)
_SINGLE = mean_square_error(footrule_levels(NUM_ITEMS, "k-norm"))
# Mean squared error of a cost for noise of variance 1 on each prefix count.
_SPREAD = 2 * (NUM_ITEMS**2 - 1) / (3 * NUM_ITEMS)


def histograms(rankings: np.ndarray, missing: str = "last") -> np.ndarray:
    """Counts ``(K, m, m)`` of one user each."""
    made = [PositionHistograms.from_ranks(ranking[None], missing=missing) for ranking in rankings]
    return np.stack([np.asarray(one.counts) for one in made])


def every_user() -> np.ndarray:
    """Different counts of one user, with ties and gaps under both rules."""
    ranks = np.array(list(itertools.product(range(-1, NUM_ITEMS), repeat=NUM_ITEMS)))
    both = [histograms(ranks, missing) for missing in ("last", "unknown")]
    return np.unique(np.concatenate(both), axis=0)


def instances() -> neighbors.Instances:
    """All profiles of two users, added up."""
    return neighbors.profiles(every_user(), USERS, functools.partial(np.sum, axis=0))


def _two(first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
    return histograms(np.array([first, second])).sum(axis=0)


_APART, _AGREED = _two((0, 1, 2), (2, 1, 0)), _two((2, 1, 0), (2, 1, 0))


def _prefixes(counts: np.ndarray) -> np.ndarray:
    """F, flattened."""
    shares = np.cumsum(counts, axis=-1)[..., :-1] / (4 * USERS)
    return shares.reshape(*counts.shape[:-2], _CUTS)


def _noisy_prefixes(costs: Array) -> Array:
    """F with noise, of published costs."""
    return 0.5 * (1 + jnp.diff(costs, axis=1).reshape(-1))


def _on_counts(noise: str) -> Release:
    return on(dp_footrule, lambda counts: PositionHistograms(counts, USERS), noise=noise)


def _one_report(key: Array, ranks: Array, epsilon: Array) -> Array:
    """The cut at items of the set, and its opposite at others."""
    cut, chosen = ldp_footrule_report(key, ranks, epsilon)
    return jnp.where(chosen, cut, -cut)


def _report_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of cut and set, ties broken at random."""
    items, epsilon = ranks.shape[1], float(privacy.epsilon)
    design, orders = cut_design(items, epsilon), neighbors.strict_orders(items)
    columns = []
    for cut, size, threshold, odds in zip(range(1, items), *design[:2], design.odds):
        sets = [np.array(one) for one in itertools.combinations(range(items), int(size))]
        held = np.array([np.sum(orders[:, one] < cut, axis=1) for one in sets]).T
        chances = np.where(held >= threshold, math.exp(epsilon), 1.0)
        chances *= odds / design.odds.sum() / chances.sum(axis=1, keepdims=True)
        columns.append(chances)
    return np.log(broken_ties(ranks, orders) @ np.hstack(columns))


_MOVE = (_prefixes(_APART) - _prefixes(_AGREED)) * USERS  # entries 0, 1 and -1
_CUBE = shapes.cube_facets(_CUTS)
_LAW = k_norm(_prefixes, _CUBE, lambda facts: facts["cost_deviation"] / _SINGLE**0.5)
_REPORT: dict[str, Any] = {
    "neighbors": (np.arange(NUM_ITEMS), np.arange(NUM_ITEMS)[::-1]),
    "promise": USER,
    "instances": lambda: neighbors.of_values(*neighbors.weak_orders(NUM_ITEMS)),
    "law": _report_law,
    "trust": "local",
}

AUDITED = (
    audited(
        "dp-footrule",
        "footrule costs + noise of the least error under pure ε",
        _on_counts("tree"),
        promise=USER,
        instances=instances,
        commands=(
            "aggregate --method footrule",
            "aggregate --method footrule --missing unknown",
            "aggregate --method footrule --noise k-norm",
        ),
        **under_k_norm(_prefixes, _CUBE, _APART, _AGREED, read=_noisy_prefixes, law=_LAW),
    ),
    audited(
        "dp-footrule-gaussian",
        "footrule costs + Gaussian noise at δ = 0.01",
        _on_counts("gaussian"),
        neighbors=(_APART, _AGREED),
        promise=dataclasses.replace(USER, delta=0.01),
        instances=instances,
        reduce=lambda costs: jnp.sum((_noisy_prefixes(costs) - _prefixes(_APART)) * _MOVE),
        sees="the sum of the prefix counts that differ, each in its direction",
        loss=gaussian(_prefixes, lambda facts: facts["cost_deviation"] / _SPREAD**0.5),
        commands=("aggregate --method footrule --noise gaussian --delta 1e-6",),
    ),
    audited(
        "ldp-footrule",
        "footrule costs of one user by a cut of the ranking and a set of items",
        on(ldp_footrule, lambda ranks: ranks[None]),
        reduce=lambda costs: costs[0, 0] - costs[-1, 0],
        sees="the cost of the first place for item 0 less that for item 2",
        commands=(
            "aggregate --method footrule --trust local",
            "aggregate --method footrule --trust local --missing unknown",
        ),
        **_REPORT,
    ),
    audited(
        "ldp-footrule-report",
        "the report of one user to ldp_footrule",
        reported(ldp_footrule_report, _one_report),
        reduce=lambda report: jnp.sign(report[0]) - jnp.sign(report[-1]),
        sees="which of items 0 and 2 is in the set, if not both or neither",
        **_REPORT,
    ),
)
