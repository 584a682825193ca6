"""Shared parts of the studies of Xu, Sun and Cheng: names, fits and their errors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Mask, Numbers, Scores
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.old_claims import Claim
from privrank_jax.pairwise.debiased_fit import DebiasedSums, scores_from_sums
from privrank_jax.simulate.study import Metrics, Study, grid

AXES = ("link", "estimator", "metric")

PAPER = "Xu, Sun and Cheng, Rate-optimal rank aggregation with private pairwise rankings"
LINKS = {"BTL": "logistic", "TM": "normal"}
L2, LINF = "l2_error", "linf_error"
RANKING, TOP = "full_ranking_error", "top_k_error"
ADRR, COUNT, CLASSIC, LAPLACE = "ADRR", "Count", "Classic RR", "Laplace"
FAILED = "failed_fits"
# Not stated in the paper and chosen once here: γ of λ = γ/(2 L B(ε)), and p where no scenario states it.
GAMMA, PROBABILITY = 2.0, 0.5

DRAWN_ANEW = (
    "θ: drawn anew in every replicate (the paper does not say), and centered: its uniform draws are not, but its model "
    "(section 2) and its estimates (supplement) have Σθ = 0"
)
COMMON_DIFFERENCES = (
    f"ridge: the paper asks for λ of the order of 1/(L B(ε)) and states no constant; here λ = γ/(2 L B(ε)) with "
    f"γ = {GAMMA:g}, the default of the library, in every cell of every study",
    DRAWN_ANEW,
    "printed standard errors are the printed standard deviations over √200 where the table prints deviations",
)
HALF = f"p: no value is printed for this scenario; here {PROBABILITY:g}, that of Scenarios I and IV"
NOT_WORSE = "at or below the printed mean within 3 standard errors"


@dataclass(frozen=True)
class Config:
    """What the grids of most studies have.

    Attributes:
        name: name of the study.
        gamma: ridge γ added to the sums; 2 is λ = 1/(L B(ε)).
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    gamma: float = GAMMA
    dtype: str = "float32"


@dataclass(frozen=True)
class AskedConfig(Config):
    """What the grids of crowds have whose users are asked some pairs.

    Attributes:
        items: m, padded to the largest.
        users: L; smaller numbers take the first users of the largest.
        low: ε_l ~ Unif(low, high).
        high: see ``low``.
        probability: p that a user is asked a pair.
    """

    items: tuple[int, ...] = (10, 20, 30)
    users: tuple[int, ...] = (100, 200, 400, 800)
    low: float = 1.0
    high: float = 5.0
    probability: float = PROBABILITY


@dataclass(frozen=True)
class SpreadConfig(Config):
    """What the grids have whose ε vary between replicates.

    Attributes:
        low: A ~ Unif(low, high).
        high: see ``low``.
        width: ε_l ~ Unif(A, A + width).
    """

    low: float = 0.5
    high: float = 2.5
    width: float = 0.5


def fits(sums: DebiasedSums, link: str, gamma: Numbers = GAMMA) -> tuple[Array, Array]:
    """Fit θ̂ ``(K, m)`` of K problems, stacked along the first axis; also returns how many did not converge, ``()``.

    ``gamma``: one ridge for all, or ``(K,)``.
    """
    gammas = jnp.broadcast_to(jnp.asarray(gamma, sums.weights.dtype), sums.weights.shape[:1])
    found = jax.vmap(lambda one, gamma: scores_from_sums(one, LINKS[link], gamma))(sums, gammas)
    return found.value, jnp.sum(found.diagnostics.fit.code >= 2)


def by_link(one: Callable[[int, str], tuple[Any, Array]]) -> Metrics:
    """What is found at each link, by its number and name, and how many fits did not converge in all."""
    found: dict[str, Any] = {}
    failed: Array | int = 0
    for number, link in enumerate(LINKS):
        found[link], codes = one(number, link)
        failed += codes
    return {**found, FAILED: failed}


def score_errors(value: Array, theta: Scores, mask: Mask | None = None) -> dict[str, Array]:
    """m^(-1/2) ‖θ̂ - θ‖₂ and ‖θ̂ - θ‖_∞ over real items."""
    gap = value - theta
    gap = gap if mask is None else jnp.where(mask, gap, 0)
    count = gap.shape[0] if mask is None else jnp.sum(mask)
    return {L2: jnp.sqrt(jnp.sum(gap * gap) / count), LINF: jnp.max(jnp.abs(gap))}


def stacked(*sums: DebiasedSums) -> DebiasedSums:
    """The sums of several problems, along a first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *sums)


def as_sizes_grow(text: str, sign: int, **wanted: Any) -> list[Claim]:
    """Claims that all values of a selection rise (``sign`` 1) or fall (-1) with users, and with items."""
    return [
        claims.trend(text.format(what), f"num_{what}", sign, **wanted)
        for what in ("users", "items")
    ]


def padded(
    config: Any, trial: Callable[..., Metrics], axes: tuple[str, ...], **columns: Sequence[int]
) -> tuple[Study, ...]:
    """Build one study with one compilation: a cell per combination, each ``num_x`` padded to its maximum ``max_x``."""
    most = {column.replace("num_", "max_"): max(values) for column, values in columns.items()}
    run = functools.partial(trial, config=config)
    cells = grid(**columns, **most)
    # These sums and fits were measured: they run about as fast as fully optimized ones, and compile sooner.
    return (Study(config.name, run, cells, tuple(most), axes, optimized="some"),)
