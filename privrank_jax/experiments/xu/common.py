"""Shared parts of the studies of Xu, Sun and Cheng: names, differences, fits and their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Key, Mask, Numbers, Scores
from privrank_jax.experiments.claims import Claim, close_to_printed, falls
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.pairwise.debiased_fit import DebiasedSums, scores_from_sums
from privrank_jax.simulate.study import Metrics, Parameters, grid

AXES = ("link", "estimator", "metric")
REPLICATES = 200

PAPER = "Xu, Sun and Cheng, Rate-optimal rank aggregation with private pairwise rankings"
LINKS = {"BTL": "logistic", "TM": "normal"}
L2, LINF = "l2_error", "linf_error"
RANKING, TOP = "full_ranking_error", "top_k_error"
ERRORS, RANKS = (L2, LINF), (RANKING, TOP)
ADRR, COUNT, CLASSIC, LAPLACE = "ADRR", "Count", "Classic RR", "Laplace"
FAILED = "failed_fits"
LABELS = {
    L2: "m^(-1/2) ‖θ̂ - θ‖₂",
    LINF: "‖θ̂ - θ‖∞",
    RANKING: "full ranking error",
    TOP: "top-K error, K = m/2",
}
DOTS = {
    "where": {"estimator": lambda name: " minus " not in name},
    "color": "link",
    "crosses": "printed",
    "from_zero": True,
    "note": "dots: ours ± 2 standard errors; crosses: printed",
}
"""Of a picture of methods: a dot for each, and none for their paired differences."""
NAMES = {"num_items": "items m", "num_users": "users L", "gap": "Δ"}

# Not stated in the paper and chosen once here: γ of λ = γ/(2 L B(ε)), and p where no scenario states it.
GAMMA = number(2.0, "ridge γ added to the sums; 2 is λ = 1/(L B(ε))")
ITEMS = whole((10, 20, 30), "m, padded to the largest", least=2)
ASKED = number(0.5, "p that a user is asked a pair", most=1)
USERS = "L; smaller numbers take the first users of the largest"

DRAWN_ANEW = (
    "θ: drawn anew in every replicate (the paper does not say), and centered: its uniform draws are not, but its "
    "model (section 2) and its estimates (supplement) have Σθ = 0"
)
RIDGE = (
    "ridge: the paper asks for λ of the order of 1/(L B(ε)) and states no constant; here λ = γ/(2 L B(ε)) with γ = 2, "
    "the default of the library, in every cell of every study"
)
DEVIATIONS = "printed standard errors are the printed standard deviations over √200 where the table prints deviations"
HALF = "p: no value is printed for this scenario; here 0.5, that of Scenarios I and IV"
UNWEIGHTED = "fits without weights keep the ridge λ = γ/(2 L B(ε))"
NOT_WORSE = "at or below the printed mean within 3 standard errors"


def levels(low: float, high: float, width: float | None = None) -> dict[str, Any]:
    """Parameters of ε_l ~ Unif(low, high), or Unif(A, A + width) with A ~ Unif(low, high), and their check."""
    law = "ε_l" if width is None else "A"
    found = {"low": number(low, f"{law} ~ Unif(low, high)"), "high": number(high, "see low")}
    found["check"] = _ascending
    if width is not None:
        found["width"] = number(width, "ε_l ~ Unif(A, A + width)", least=0)
    return found


def _ascending(p: P) -> str:
    """What is wrong with the range of ε."""
    low, high = p.low, p.high
    return f"low must be at most high; got low={low:g} and high={high:g}" if low > high else ""


def declare(name: str, title: str, place: str, **more: Any) -> Any:
    """:func:`study` of this paper, whose curves stand against users, a color per number of items.

    Programs are not fully optimized: these sums and fits were measured, run about as fast, and compile sooner.
    """
    usual: dict[str, Any] = {
        "axes": AXES,
        "static": ("max_items", "max_users"),
        "replicates": REPLICATES,
        "optimized": "some",
        "outline": ("num_users", "num_items"),
        "gamma": GAMMA,
    }
    return study(name, title, f"{PAPER}, {place}", **{**usual, **more})


def padded(p: P) -> tuple[Parameters, ...]:
    """A cell for each number of items, of one program."""
    return grid(num_items=p.items, max_items=max(p.items))


def picture(y: dict[str, str], *panel: str, **more: Any) -> dict[str, Any]:
    """Curves against users, a color per number of items, and the printed means as crosses."""
    return {
        "x": "num_users",
        "y": y,
        "color": "num_items",
        "panel": panel,
        "crosses": "printed",
        "from_zero": True,
        "names": NAMES,
        "note": "crosses: printed",
        "wide": 6,
        **more,
    }


def blocks(metrics: tuple[str, ...], **more: tuple[Any, ...]) -> list[Claim]:
    """A claim for each link, metric and further column that no error is above the printed one."""
    cells = grid(link=tuple(LINKS), metric=metrics, **more)
    words = [", ".join(str(value) for value in cell.values()) for cell in cells]
    return [close_to_printed(f"{NOT_WORSE}: {w}", **c) for w, c in zip(words, cells, strict=True)]


def as_sizes_grow(text: str, verb: Callable[..., Claim] = falls, **where: Any) -> list[Claim]:
    """Claims that all values of a selection fall, or rise, with users and with items."""
    return [verb(text.format(what), f"num_{what}", **where) for what in ("users", "items")]


def fits(sums: DebiasedSums, link: str, gamma: Numbers) -> tuple[Array, Array]:
    """Fit θ̂ ``(K, m)`` of K problems, stacked along the first axis; also returns how many did not converge, ``()``.

    ``gamma``: one ridge for all, or ``(K,)``.
    """
    gammas = jnp.broadcast_to(jnp.asarray(gamma, sums.weights.dtype), sums.weights.shape[:1])
    found = jax.vmap(lambda one, gamma: scores_from_sums(one, LINKS[link], gamma))(sums, gammas)
    return found.value, jnp.sum(found.diagnostics.fit.code >= 2)


def by_link(one: Callable[[int, str], tuple[Any, Array]]) -> Metrics:
    """The results at each link, from its number and name, and the number of fits that did not converge in all."""
    found: dict[str, Any] = {}
    failed: Array | int = 0
    for place, link in enumerate(LINKS):
        found[link], codes = one(place, link)
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


def spread_levels(keys: Sequence[Key] | Key, p: P, users: int) -> Array:
    """ε of users, around an A that varies between replicates."""
    base_key, own_key = keys
    base = jax.random.uniform(base_key, (), minval=p.low, maxval=p.high)
    return base + p.width * jax.random.uniform(own_key, (users,))
