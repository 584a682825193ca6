"""The grid of the study ``continual``, names of its methods and metrics, and the deviations of its noise."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.privacy import Privacy, gaussian_scale
from privrank_jax.privacy.prefix_sums import prefix_sum_error_bound, prefix_sum_errors

ROOT, TREE, INDEPENDENT, ADDED = "square root", "tree", "independent", "added budgets"
ENDLESS = "no last step"
ONE, PLAIN = "a single release", "no privacy"
INCREMENTS, BOUND = "increments", "any strategy (bound)"
PURE = ", pure ε"  # ends the names of strategies with Laplace noise
SCORE, KENDALL, NOISE = "score_error", "kendall_distance", "noise_variance"
LARGEST, MEAN = "largest_deviation", "mean_square_deviation"
END = 1.0  # share of the time after the last step
ALONE = "noise"  # study of the rows that are about noise alone

SHARES = 10  # the time of all steps is looked at after each tenth
STRATEGIES = {
    ROOT: "square-root",
    TREE: "tree",
    INDEPENDENT: "independent",
    ENDLESS: "unbounded-root",
}


@dataclass(frozen=True)
class ContinualConfig:
    """Grid of ``continual``.

    Attributes:
        name: name of the study.
        epsilon: ε of all steps together.
        contributions: L, comparisons of one user in all steps together.
        delta: δ of all steps together.
        steps: T.
        lengths: further T, of which the deviations of noise alone are compared.
        per_pair: comparisons of each pair of items in all steps together, multiples of 10.
        items: m.
    """

    name: str
    epsilon: float
    contributions: int
    delta: float = 1e-6
    steps: tuple[int, ...] = (1, 10, 100, 365, 1000)
    lengths: tuple[int, ...] = (52, 3650)
    per_pair: tuple[int, ...] = (100, 1000, 10_000)
    items: int = 10

    @property
    def privacy(self) -> Privacy:
        """The promise for all steps together; who compared what, and when, is public."""
        return Privacy(
            self.epsilon,
            unit="user",
            adjacency="flip",
            delta=self.delta,
            contributions=self.contributions,
        )

    @property
    def scale(self) -> float:
        """σ of a single release."""
        alone = continual_totals(jax.random.key(0), np.zeros((1, 2)), self.privacy)
        return float(alone.diagnostics.noise_scale)


def ends_of(steps: int) -> dict[int, int]:
    """The step that ends with each tenth of the time, for the tenths that end with one where there are few steps.

    >>> ends_of(1), ends_of(5)
    ({10: 1}, {2: 1, 4: 2, 6: 3, 8: 4, 10: 5})
    """
    return {
        tenth: -(-tenth * steps // SHARES)
        for tenth in range(1, SHARES + 1)
        if steps >= SHARES or tenth * steps % SHARES == 0
    }


def deviations(config: ContinualConfig, steps: int) -> dict[str, np.ndarray]:
    """Standard deviation of the noise of one total after each of T steps, by method, in units of one release's.

    Returns:
        ``(T,)`` float64 for Gaussian noise by its strategy, and for budgets that are added up; for Laplace noise by its
        strategy; and the bound, ``(1,)``, that holds for the largest deviation of any strategy with Gaussian noise.
    """
    found = {name: prefix_sum_errors(own, steps, "gaussian") for name, own in STRATEGIES.items()}
    with jax.enable_x64(True):
        alone = float(gaussian_scale(1.0, config.epsilon, config.delta))
        split = float(gaussian_scale(1.0, config.epsilon / steps, config.delta / steps))
    found[ADDED] = np.full(steps, split / alone)
    for name, own in (
        *((TREE, "tree"), (INCREMENTS, "increments"), (INDEPENDENT, "independent")),
        (ENDLESS, "unbounded-tree"),
    ):
        found[f"{name}{PURE}"] = prefix_sum_errors(own, steps, "laplace")
    return found | {BOUND: np.array([prefix_sum_error_bound(steps)])}
