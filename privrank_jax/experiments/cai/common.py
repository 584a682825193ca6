"""Shared parts of the studies of Cai, Chakraborty and Wang: calibrations, and the errors of one data set.

Names: the paper's n items are ``num_items`` here, its m users ``num_users``. Three calibrations are compared:

- ``published``: perturbed MLE with λ = 8/ε and γ = max(2√(np log n), 1/ε) (one comparison) or λ = 8L/ε and γ = 2L/ε
  (a user); counts with 2/ε or L/ε.

  The last is unsound under replacement: it is proven for 2ε only. The factor 2 of the
  root and κ₂ = 1/4 in 1/ε and 2L/ε are those of the published code; Theorem 2.1 leaves the first open, and assumption
  (A2) asks for a larger κ₂ (:mod:`privrank_jax.links`).
- ``tight replace``: sound and tight where a comparison (a user's L comparisons) is replaced by any other, the adjacency
  of the paper: λ = 4/ε (4L/ε), γ ≥ λ; counts 2/ε (2L/ε).
- ``tight flip``: answers are private, who compared what is public: λ = 2/ε (2L/ε), the same noise as the counts. The
  fair comparison of the two methods.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._backend import on_cpu
from privrank_jax._types import Count, Key, Numbers, Scores
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.experiments.claims import minus
from privrank_jax.mechanism.data import Facts
from privrank_jax.metrics import relative_error, top_k_error
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.pairwise.perturbed_fit import perturbed_mle
from privrank_jax.pairwise.published import published_counts, published_mle
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics

PAPER = (
    "Cai, Chakraborty and Wang, Optimal differentially private ranking from pairwise comparisons"
)

# Up to this size all fits of a replicate run as one batch; larger ones run one after another on a CPU, to stay in
# cache.
_BATCH_ITEMS = 64


@dataclass(frozen=True)
class Calibration:
    """How ε becomes noise: its name here, the adjacency, and the private fit and counts."""

    name: str
    adjacency: str
    fit: Any = perturbed_mle
    counts: Any = noisy_counts


CALIBRATIONS = (
    Calibration("published", "replace", published_mle, published_counts),
    Calibration("tight replace", "replace"),
    Calibration("tight flip", "flip"),
)
NAMES = tuple(calibration.name for calibration in CALIBRATIONS)
LINF, L2, TOP = "log_linf_error", "log_l2_error", "top_k_error"
RANKS = "mean_rank_difference"
FAILED = "failed_fits"
MLE, COUNTS = "mle", "counts"
DIFFERENCE = minus(MLE, COUNTS)
AXES = ("metric", "estimator", "calibration", "epsilon")
# [e(1) - e(2.5)] - [e(2.5) - e(∞)] of an estimator: the gain of 2.5 over 1 minus the gain of no privacy over 2.5.
NEAR, FAR, BEND = 2.5, 1.0, "{}: gain up to 2.5 minus gain beyond"
# How pictures write calibrations and methods; counts last, so that they stay visible where curves coincide.
WRITTEN = {
    "published": "published noise",
    "tight replace": "tight noise, replacement",
    "tight flip": "tight noise, flips",
    MLE: "MLE",
    COUNTS: "counts",
}

PUBLISHED_GRID = "the paper prints no grid of this figure; here it is that of the published code"

# How the published code (github.com/abhinavc3/DP-Ranking) differs, study by study.
EDGE_DIFFERENCES = (
    "the published code of Figures 1 to 4 gives the MLE one noise vector, of a fixed seed, in all replicates and "
    "studies (counts have fresh noise), so its MLE curves depend on a single draw; here every replicate has its own",
    "the published code draws θ once per n (in Experiment 4 per n and ε); here every replicate draws its own",
    "the published code breaks ties of counts without privacy by index, with the top items last; here at random",
    "the published code starts the search at the true θ, stops it after 100 BFGS steps, and compares estimates that "
    "are not centered; here fits know nothing of the truth, converge, and are centered",
    "noise: MLE 8/ε published, 4/ε tight under replacement, 2/ε tight under flips; counts 2/ε in all three",
    "without privacy, the published MLE keeps its ridge γ = 2√(np log n); the tight one has γ = 1",
    "with little budget the tight MLE raises its ridge with the noise, so its error of θ goes to that of θ = 0, log 1 "
    "= 0, and may rise with ε at first; the published ridge hardly grows, and its error has no bound",
)
USER_NOISE = (
    "noise, with L comparisons per user: MLE 8L/ε published, 4L/ε tight under replacement, 2L/ε tight under flips; "
    "counts L/ε published, which is unsound (proven for 2ε only), and 2L/ε tight"
)
USER_DIFFERENCES = (
    "the published code compares a centered estimate with a θ that is not centered; here both are centered",
    "the published code takes the top k from a partial sort at the wrong end (argpartition at k, then the last k), "
    "which need not hold the k largest; here the top k are the k largest",
    USER_NOISE,
)


@dataclass(frozen=True)
class Unit:
    """What ε protects: one comparison, or a user with L of them."""

    name: str = "comparison"
    per_user: Count = 1

    def promise(self, epsilon: Numbers, adjacency: str) -> Privacy:
        """The promise at this ε, or at several."""
        contributions = self.per_user if self.name == "user" else None
        return Privacy(epsilon, unit=self.name, adjacency=adjacency, contributions=contributions)


def noise_settings(
    wins: WinCounts, unit: Unit, epsilons: Array, calibration: Calibration
) -> tuple[Array, Array]:
    """Noise scale λ and ridge γ of the perturbed MLE at each ε, two arrays of shape ``(E,)``."""
    privacy = unit.promise(epsilons, calibration.adjacency)
    found = calibration.fit.scale(privacy, Facts(wins.num_items), numbers=wins)
    scale, gamma = (jnp.broadcast_to(one, epsilons.shape) for one in found)
    return scale.astype(wins.matrix.dtype), gamma.astype(wins.matrix.dtype)


def private_scores(key: Key, wins: WinCounts, scales: Array, gammas: Array) -> tuple[Array, Array]:
    """Perturbed MLE at several (λ, γ) with one draw of noise: scores ``(S, m)`` and solver codes ``(S,)``.

    Any (λ, γ) is :func:`~privrank_jax.pairwise.perturbed_mle` under flips at ε = 2/λ, so one compiled
    fit serves all calibrations.
    """

    def fit(setting: tuple[Array, Array]) -> tuple[Array, Array]:
        scale, gamma = setting
        privacy = Privacy(2.0 / scale, unit="comparison", adjacency="flip")
        estimate = perturbed_mle(key, wins, privacy, gamma=gamma)
        return estimate.value, estimate.diagnostics.fit.code

    together = scales.shape[0] if wins.num_items <= _BATCH_ITEMS or not on_cpu() else None
    return jax.lax.map(fit, (scales, gammas), batch_size=together)


def private_totals(
    key: Key,
    wins: WinCounts,
    promise: Callable[[Array], Privacy],
    epsilons: Array,
    mechanism: Callable[..., Estimate] = noisy_counts,
    **options: Any,
) -> Array:
    """Noisy counts at each ε with the noise of :func:`private_scores`, ``(E, m)``; options of the mechanism.

    The perturbed MLE fits N - w. Noisy totals N + w are turned into N - w, which have the same law. So with the same
    key and scale both methods use the same numbers and differ only in the estimator; at p = 1 they agree.
    """

    def count(epsilon: Array) -> Array:
        return mechanism(key, wins, promise(epsilon), **options).value

    return 2 * wins.totals - jax.vmap(count)(epsilons)


def private_estimates(
    key: Key, wins: WinCounts, unit: Unit, epsilons: Sequence[float]
) -> tuple[Array, Array, Array]:
    """Scores and noisy totals of all calibrations, ``(C, E, m)`` each, and the number of failed fits, ``()``."""
    levels = jnp.asarray(epsilons, wins.matrix.dtype)
    settings = [noise_settings(wins, unit, levels, calibration) for calibration in CALIBRATIONS]
    scales, gammas = (jnp.concatenate(parts) for parts in zip(*settings, strict=True))
    scores, codes = private_scores(key, wins, scales, gammas)
    totals = [
        private_totals(
            key, wins, functools.partial(unit.promise, adjacency=one.adjacency), levels, one.counts
        )
        for one in CALIBRATIONS
    ]
    shape = (len(CALIBRATIONS), len(epsilons), wins.num_items)
    return scores.reshape(shape), jnp.stack(totals), jnp.sum(codes >= 2)


def errors(
    keys: tuple[Array, Array],
    wins: WinCounts,
    theta: Scores,
    top: Count,
    unit: Unit,
    epsilons: tuple[float, ...],
) -> Metrics:
    """Every metric of the paper's Figures 1 to 7 along ``AXES`` on one data set, and the number of failed fits.

    The MLE and the counts share the keys of the noise and of the coins that break ties, so their difference is more
    precise than either; see :func:`private_totals`. θ ``(m,)`` has Σθ = 0 and its first k items on top, as
    ``worlds.cai_scores`` draws it; ``top`` is k, may be traced; ε = ∞ adds no noise.
    """
    noise_key, tie_key = keys
    mask = wins.item_mask
    scores, totals, failed = private_estimates(noise_key, wins, unit, epsilons)
    truth = jnp.arange(wins.num_items)  # ranks: the order below the top k does not matter

    def missed(values: Array) -> Array:
        return top_k_error(ranks_from_scores(values, mask, tie_key), truth, top, mask)

    def distances(values: Array) -> Array:
        both = [relative_error(values, theta, order, mask) for order in (jnp.inf, 2)]
        return jnp.log(jnp.stack(both))

    flat = jnp.concatenate([scores, totals]).reshape(-1, wins.num_items)
    by_mle, by_counts = jax.vmap(missed)(flat).reshape(2, *scores.shape[:2])
    log_linf, log_l2 = jnp.moveaxis(jax.vmap(jax.vmap(distances))(scores), -1, 0)
    found: dict[str, Any] = {
        LINF: {MLE: log_linf},
        L2: {MLE: log_l2},
        TOP: {MLE: by_mle, COUNTS: by_counts, DIFFERENCE: by_mle - by_counts},
    }
    levels = (FAR, NEAR, math.inf)
    bent = {*levels} <= {*epsilons}
    for metric, tables in found.items():
        found[metric] = {name: labeled(table, NAMES, epsilons) for name, table in tables.items()}
        for name in set(tables) - {DIFFERENCE} if bent else ():
            far, near, none = (tables[name][:, epsilons.index(level)] for level in levels)
            bend = (far - 2 * near + none)[:, None]
            found[metric][BEND.format(name)] = labeled(bend, NAMES, (NEAR,))
    return {**found, FAILED: failed}
