"""The registry of private mechanisms: one row buys the shared suite of ``test_mechanisms.py``.

A private function that has no row fails there, so a new one can't be forgotten.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from privrank_jax import pairwise
from privrank_jax.estimate import Estimate


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """One private function with everything bound but key, win counts and ε.

    Attributes:
        name: of the row.
        run: ``(key, wins, epsilon) -> Estimate``.
        function: the public function behind it.
        scores: whether the value is a score per item (else: indices of the chosen items).
        reference: for scores, what the value tends to as ε → ∞.
    """

    name: str
    run: Callable[[Any, Any, Any], Estimate]
    function: str
    scores: bool = True
    reference: Callable[[Any], Any] | None = None


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
)  # fmt: skip
