"""The registry of private mechanisms: one row buys the shared suite of ``test_mechanisms.py``.

A private function that has no row fails there, so a new one can't be forgotten.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import mallows, pairwise, privacy, rankings
from privrank_jax.estimate import Estimate

USERS = 30  # who compare every pair once, in the win counts that the suite runs on


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """One private function with everything bound but key, win counts and ε.

    Attributes:
        name: of the row.
        run: ``(key, wins, epsilon) -> Estimate``.
        function: the public function behind it.
        scores: whether the value is a score per item (else: indices of the chosen items).
        reference: for scores, what the value tends to as ε → ∞.
        trust: that its guarantee asks for.
    """

    name: str
    run: Callable[[Any, Any, Any], Estimate]
    function: str
    scores: bool = True
    reference: Callable[[Any], Any] | None = None
    trust: str = "central"


def _totals(wins: Any) -> Any:
    return wins.totals


def _ridge_fit(wins: Any) -> Any:
    return pairwise.mle(wins, ridge=0.7).value


def _row(
    name: str, function: Any, *args: Any, scores: bool = True, reference: Any = None, **bound: Any
) -> Mechanism:
    def run(key: Any, wins: Any, epsilon: Any) -> Estimate:
        return functools.partial(function, **bound)(key, wins, *args, epsilon=epsilon)

    return Mechanism(name, run, function.__name__, scores, reference)


def _local(
    name: str, randomise: Any, estimator: Any, reference: Any = None, **bound: Any
) -> Mechanism:
    """Users whose answers have the given win counts report them by ``randomise``."""

    def run(key: Any, wins: Any, epsilon: Any) -> Estimate:
        counts = wins.matrix[np.triu_indices(wins.num_items, 1)]
        bits = jnp.arange(USERS)[:, None] < counts
        reports = randomise(key, bits, epsilon)
        personal = jnp.full(USERS, epsilon, wins.matrix.dtype)
        if jnp.issubdtype(reports.dtype, jnp.floating):
            reports = reports.astype(personal.dtype)
        return estimator(reports, jnp.ones(bits.shape, bool), personal, **bound)

    return Mechanism(name, run, randomise.__name__, reference=reference, trust="local")


def _vectors(name: str, randomise: Any) -> Mechanism:
    """Users with the answers of :func:`_local` report all of them at once, as one vector of signs."""

    def run(key: Any, wins: Any, epsilon: Any) -> Estimate:
        pairs = np.triu_indices(wins.num_items, 1)
        signs = jnp.where(jnp.arange(USERS)[:, None] < wins.matrix[pairs], 1, -1)
        reports = randomise(key, signs.astype(wins.matrix.dtype), epsilon, len(pairs[0]) ** 0.5)
        won = 0.5 * jnp.sum(1 + reports, axis=0)
        totals = jnp.zeros(wins.num_items, won.dtype).at[pairs[0]].add(won)
        guarantee = privacy.Guarantee(epsilon, unit="user", trust="local")
        return Estimate(totals.at[pairs[1]].add(USERS - won), guarantee)

    return Mechanism(name, run, randomise.__name__, reference=_totals, trust="local")


def _order(wins: Any) -> Any:
    return USERS * (wins.num_items - 1.0 - rankings.ranks_from_scores(wins.totals))


def _rankings(name: str, randomise: Any) -> Mechanism:
    """Users who all rank the items by the win totals report such a ranking each; the value is a Borda count."""

    def run(key: Any, wins: Any, epsilon: Any) -> Estimate:
        ranks = rankings.ranks_from_scores(wins.totals)
        keys = jax.random.split(key, USERS)
        reports = jax.vmap(lambda one: randomise(one, ranks, epsilon))(keys)
        scores = jnp.sum(wins.num_items - 1 - reports, axis=0).astype(wins.matrix.dtype)
        return Estimate(scores, mallows.guarantee(wins.num_items, epsilon))

    return Mechanism(name, run, randomise.__name__, reference=_order, trust="local")


MECHANISMS = (
    _row("perturbed MLE", pairwise.perturbed_mle, gamma=0.7, reference=_ridge_fit),
    _row("perturbed MLE, users", pairwise.perturbed_mle, unit="user", comparisons_per_user=4),
    _row("perturbed MLE, replace", pairwise.perturbed_mle, adjacency="replace"),
    _row("perturbed MLE, Laplace link", pairwise.perturbed_mle, link="laplace", adjacency="add-remove"),
    _row("perturbed MLE, Gaussian", pairwise.perturbed_mle, noise="gaussian", delta=1e-6),
    _row("perturbed MLE, published", pairwise.perturbed_mle, calibration="published"),
    _row("noisy counts", pairwise.noisy_counts, reference=_totals),
    _row("noisy counts, users", pairwise.noisy_counts, unit="user", comparisons_per_user=4, reference=_totals),
    _row("noisy counts, Gaussian", pairwise.noisy_counts, noise="gaussian", delta=1e-6, reference=_totals),
    _row("one-shot", pairwise.one_shot_top_k, 2, scores=False),
    _row("one-shot, approximate", pairwise.one_shot_top_k, 2, delta=0.01, scores=False),
    _row("peeling", pairwise.peeling_top_k, 2, scores=False),
    _row("permute and flip", pairwise.permute_and_flip_top_k, 2, scores=False),
    _local("debiased RR", privacy.randomized_response, pairwise.debiased_rr, _ridge_fit, ridge_constant=0.35),
    _local("counted reports", privacy.randomized_response, pairwise.report_counts, _totals),
    _local("Laplace reports", privacy.laplace_reports, pairwise.debiased_rr, _ridge_fit,
           mechanism="laplace", weighted=False, ridge_constant=0.35),
    _vectors("Duchi's vectors", privacy.duchi_vectors),
    _vectors("PrivUnit", privacy.privunit_vectors),
    _rankings("synthetic rankings", mallows.sample),
    _rankings("Laplace ranks", mallows.laplace_ranks),
)  # fmt: skip
