"""Figures 1 to 3 and 5 to 7 of Cai, Chakraborty and Wang: tournaments under edge DP, users under individual DP."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.cai import common, pictures
from privrank_jax.experiments.cai.common import Unit, errors
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import SLACK, Claim, Verdict
from privrank_jax.simulate import worlds
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
from privrank_jax.simulate.table_files import Row

# Tournaments fitted at once on a CPU: two keep two cores busy, four hide most of the waiting, more exceed the cache.
BATCH = 4

# --- tournaments ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class EdgeConfig:
    """Grid of a study under edge DP: every pair of items is compared at most once.

    Attributes:
        name: name of the study.
        items: n.
        probabilities: p, the chance that a pair is compared.
        epsilons: ε; ∞ means no privacy.
        programs: number of sizes that the n are padded to, each compiled once: fewer compile faster and run slower.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, ...]
    probabilities: tuple[float, ...]
    epsilons: tuple[float, ...]
    programs: int = 3
    dtype: str = "float32"


def tournament(key: Key, cell: Parameters, dtype: str) -> tuple[WinCounts, Array, Array]:
    """Draw scores and one tournament: win counts, θ ``(m,)``, and the size k of the top set."""
    world_key, data_key = jax.random.split(key)
    theta, mask = worlds.cai_scores(world_key, cell["num_items"], cell["max_items"], dtype)
    wins = worlds.tournament(data_key, theta, cell["probability"], mask=mask)
    return wins, theta, worlds.cai_top_k(cell["num_items"])


def edge_trial(key: Key, cell: Parameters, *, epsilons: tuple[float, ...], dtype: str) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one tournament."""
    data_key, noise_key, tie_key = jax.random.split(key, 3)
    wins, theta, top = tournament(data_key, cell, dtype)
    return errors((noise_key, tie_key), wins, theta, top, Unit(), epsilons)


def padded_sizes(sizes: Sequence[int], groups: int) -> dict[int, int]:
    """Map each size to its padded size, the largest of its group of neighbors.

    >>> padded_sizes([10, 20, 30, 40], 2)
    {10: 20, 20: 20, 30: 40, 40: 40}
    """
    ordered = sorted(set(sizes))
    each = math.ceil(len(ordered) / groups)
    return {
        size: ordered[min(k - k % each + each, len(ordered)) - 1] for k, size in enumerate(ordered)
    }


def build_edge(config: EdgeConfig) -> tuple[Study, ...]:
    """Build one study; cells with the same padded size share a compilation."""
    run = functools.partial(edge_trial, epsilons=config.epsilons, dtype=config.dtype)
    padded = padded_sizes(config.items, config.programs)
    cells = tuple(
        cell
        for items in config.items
        for cell in grid(
            num_items=items,
            probability=config.probabilities,
            max_items=padded[items],
        )
    )
    return (Study(config.name, run, cells, static=("max_items",), axes=common.AXES),)


# --- users ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UserConfig:
    """Grid of a study under individual DP: every user answers L pairs drawn at random.

    Attributes:
        name: name of the study.
        items: n, padded to the largest.
        users: m, padded to the largest.
        epsilons: ε; ∞ means no privacy.
        per_user: L, comparisons of each user.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, ...]
    users: tuple[int, ...]
    epsilons: tuple[float, ...]
    per_user: int = 5
    dtype: str = "float32"


def user_trial(
    key: Key, cell: Parameters, *, epsilons: tuple[float, ...], per_user: int, dtype: str
) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one set of users."""
    world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
    items = cell["num_items"]
    theta, mask = worlds.cai_scores(world_key, items, cell["max_items"], dtype)
    wins = worlds.user_comparisons(
        data_key, theta, cell["num_users"], per_user, mask=mask, max_users=cell["max_users"]
    )
    unit = Unit("user", per_user)
    return errors((noise_key, tie_key), wins, theta, worlds.cai_top_k(items), unit, epsilons)


def build_users(config: UserConfig) -> tuple[Study, ...]:
    """Build one study with one compilation: items and users are padded and masked."""
    run = functools.partial(
        user_trial, epsilons=config.epsilons, per_user=config.per_user, dtype=config.dtype
    )
    cells = grid(
        num_items=config.items,
        num_users=config.users,
        max_items=max(config.items),
        max_users=max(config.users),
    )
    static = ("max_items", "max_users")
    return (Study(config.name, run, cells, static, common.AXES, optimized="some"),)


# --- claims, one for each calibration -------------------------------------------------------------

# The errors of the figures: of θ by the MLE, of the top k by both.
ERRORS = {"metric": (common.LINF, common.L2, common.TOP), "estimator": (common.MLE, common.COUNTS)}


def trends(text: str, x: str, sign: int) -> tuple[Claim, ...]:
    """One claim per calibration: all four errors change with x as ``sign`` says."""
    return tuple(
        claims.trend(
            f"all errors {text} ({calibration.name})",
            x,
            sign,
            **ERRORS,
            calibration=calibration.name,
        )
        for calibration in common.CALIBRATIONS
    )


def counts_against_mle(
    published: str = "2/ε", replaced: str = "4/ε", flipped: str = "2/ε"
) -> tuple[Claim, ...]:
    """Counts have the smaller top-k error, with and without privacy, published and tight.

    Args:
        published: noise of the published counts (the MLE's is 8/ε or 8L/ε).
        replaced: noise of the tight MLE under replacement.
        flipped: noise of both methods under flips, and of the tight counts.
    """
    texts = (
        (f"privately (published: MLE 8{flipped[1:]}, counts {published})", "published", True),
        ("without privacy (published)", "published", False),
        (
            f"privately at tight noise (replace: MLE {replaced}, counts {flipped})",
            "tight replace",
            True,
        ),
        (f"privately at equal, tight noise (flip: both {flipped})", "tight flip", True),
        ("without privacy (MLE with the default ridge)", "tight flip", False),
    )
    return tuple(
        claims.better(
            f"counting recovers the top k better than the MLE, {text}",
            common.DIFFERENCE,
            private=private,
            metric=common.TOP,
            calibration=calibration,
        )
        for text, calibration, private in texts
    )


def closeness() -> tuple[Claim, ...]:
    """Per calibration: errors at ε = 2.5 are closer to those without privacy than to those at ε = 1."""
    return tuple(
        claims.claim(
            f"errors at ε = 2.5 are closer to those without privacy than to those at ε = 1 ({calibration.name})",
            closer,
            wanted={**ERRORS, "calibration": calibration.name},
        )
        for calibration in common.CALIBRATIONS
    )


def closer(table: StudyResult, *, wanted: dict[str, Any]) -> Verdict:
    """Is |e(2.5) - e(∞)| < |e(1) - e(2.5)|, e the error at an ε?

    "Tend to" is read as "in at least three quarters of the (curve, x) cells". The claim holds if the inequality holds
    by more than ``SLACK`` SE in that many cells; it does not hold if the inequality fails by as much in more than a
    quarter.
    """
    estimators = wanted["estimator"]
    bent = {**wanted, "estimator": tuple(map(common.BEND.format, estimators))}
    paired = {_place(row): row["standard_error"] for row in claims.selected(table.rows, bent)}
    gaps, shares = [], []
    chosen = claims.selected(table.rows, wanted)
    for points in claims.curves(chosen, "epsilon").values():
        by_level = {row["epsilon"]: row for row in points}
        if not {common.NEAR, common.FAR, math.inf} <= set(by_level):
            continue
        at, low, best = by_level[common.NEAR], by_level[common.FAR], by_level[math.inf]
        to_best, to_low = at["mean"] - best["mean"], low["mean"] - at["mean"]
        error = math.sqrt(
            4 * at["standard_error"] ** 2 + low["standard_error"] ** 2 + best["standard_error"] ** 2
        )
        if min(to_best, to_low) >= 0:  # then the paired metric is this very difference
            error = paired.get(
                _place({**at, "estimator": common.BEND.format(at["estimator"])}), error
            )
        gaps.append(claims.in_errors(abs(to_low) - abs(to_best), error))
        shares.append(to_best / (to_best + to_low) if to_best + to_low else math.nan)
    if not gaps:
        return Verdict(None, f"no cell has ε = {common.FAR:g}, {common.NEAR:g} and ∞")
    yes, no = sum(gap > SLACK for gap in gaps), sum(gap < -SLACK for gap in gaps)
    known = sorted(share for share in shares if math.isfinite(share)) or [math.nan]
    evidence = (
        f"of {len(gaps)} cells, closer in {yes} and farther in {no} by more than {SLACK:g} SE, the others between; of "
        f"the loss at ε = {common.FAR:g}, {known[len(known) // 2]:.0%} remains at ε = {common.NEAR:g} (median)"
    )
    if 4 * yes >= 3 * len(gaps):
        return Verdict(True, evidence)
    return Verdict(False if 4 * no > len(gaps) else None, evidence)


def _place(row: Row) -> tuple[object, ...]:
    """Everything that distinguishes a row from others."""
    return tuple(row[column] for column in sorted(row) if column not in claims.VALUES)


# --- registered ----------------------------------------------------------------------------------


def _study(
    number: int,
    title: str,
    config: EdgeConfig | UserConfig,
    changes: tuple[str, str, int],
    label: str,
    curve: str = "epsilon",
    differences: tuple[str, ...] = (),
) -> Experiment:
    """A study of all four errors.

    Args:
        number: of the experiment and of its figure.
        title: subject.
        config: the grid.
        changes: how the errors change, with the column of the horizontal axis and the sign, see :func:`trends`.
        label: of the horizontal axis; of the curves where that is ε.
        curve: column with a color per value.
        differences: further ones.
    """
    edge = isinstance(config, EdgeConfig)
    x = changes[1]
    return Experiment(
        name=config.name,
        title=title,
        paper=f"{common.PAPER}, Experiment {number} and Figure {number}",
        config=config,
        build=build_edge if edge else build_users,
        claims=(
            *trends(*changes),
            *counts_against_mle(*(() if edge else ("L/ε", "4L/ε", "2L/ε"))),
            *closeness(),
        ),
        draw=functools.partial(pictures.all_errors, x=x, curve=curve, label=label),
        replicates=100 if edge else 1000,
        outline=(x, curve),
        differences=(
            *(differences or (common.PUBLISHED_GRID,)),
            *(common.EDGE_DIFFERENCES if edge else common.USER_DIFFERENCES),
        ),
        batch_size=BATCH if edge else None,
    )


_LEVELS = (0.5, 1.0, 2.5, math.inf)
_MORE_LEVELS = (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0, 3 / 2, 2.0, 5 / 2, 5.0, math.inf)
_SEVENTH = (0.25, 1.0, 2.0, 4.0, 8.0, 10.0)  # of Figure 7 in the published code
_MORE_PROBABILITIES = tuple(round(0.1 + 0.075 * step, 3) for step in range(13))

EXPERIMENTS = (
    _study(
        1,
        "Edge DP: errors against the number of items, p = 1",
        EdgeConfig("cai-fig1", tuple(range(100, 701, 75)), (1.0,), _LEVELS),
        ("decrease as the number of items grows", "num_items", -1),
        "items n",
    ),
    _study(
        2,
        "Edge DP: errors against the chance p that a pair is compared, 300 items",
        EdgeConfig("cai-fig2", (300,), _MORE_PROBABILITIES, _LEVELS),
        ("decrease as p grows", "probability", -1),
        "chance p of a comparison",
    ),
    _study(
        3,
        "Edge DP: errors against ε at four chances p of a comparison, 300 items",
        EdgeConfig("cai-fig3", (300,), (0.25, 0.5, 0.75, 1.0), _MORE_LEVELS),
        ("decrease as ε grows", "epsilon", -1),
        "p",
        "probability",
    ),
    _study(
        5,
        "Individual DP: errors against the number of items, 1000 users with 5 comparisons each",
        UserConfig("cai-fig5", (12, 16, 20, 24, 28, 32), (1000,), _LEVELS),
        ("increase as the number of items grows", "num_items", 1),
        "items n",
    ),
    _study(
        6,
        "Individual DP: errors against the number of users, 16 items, 5 comparisons each",
        UserConfig("cai-fig6", (16,), (250, 500, 750, 1000, 1500, 2000), _LEVELS),
        ("decrease as the number of users grows", "num_users", -1),
        "users m",
    ),
    _study(
        7,
        "Individual DP: errors against ε at four numbers of users, 16 items",
        UserConfig(
            "cai-fig7", (16,), (250, 500, 1000, 2000), (*_SEVENTH, 0.5, 1.5, 2.5, 5.0, math.inf)
        ),
        ("decrease as ε grows", "epsilon", -1),
        "users m",
        "num_users",
        (
            "the paper prints no grid of ε; here that of the published code, 0.25, 1, 2, 4, 8, 10, and beside it "
            "0.5, 1.5, 2.5, 5, ∞, which the claims on ε = 2.5 need",
        ),
    ),
)
