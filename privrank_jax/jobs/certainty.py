"""Uncertainty of fitted scores: intervals of scores and ranks, and items told apart, from the release alone."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from privrank_jax._components import components
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrixLike
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs import result
from privrank_jax.jobs.result import ANSWERS, Certainty
from privrank_jax.pairwise.designs import Design, ModelScores
from privrank_jax.pairwise.intervals import Intervals, confidence_intervals, quasi_variances
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.private_design import NoisyDesign, errors_under_private_design
from privrank_jax.pairwise.uncertainty import Uncertainty, clustered_covariance, standard_errors
from privrank_jax.privacy.bodies import Noise

TOO_FAR = (
    "no intervals: the scores are shrunk toward 0 too strongly to recover the true ranks, as where some items "
    "hardly ever lose or win, or where noise or gamma is large compared with the number of comparisons"
)


def of_fit(
    value: ModelScores | np.ndarray,
    design: Design | PairMatrixLike,
    *,
    level: float,
    words: str,
    link: str = "logistic",
    noise: Noise | float = 0.0,
    **told: Any,
) -> tuple[Certainty, Intervals]:
    """:func:`of_errors` of a fit to a public design, with noise on what was counted.

    ``told``: what else :func:`~privrank_jax.pairwise.standard_errors` is told, such as ridges and ties.
    """
    told["noise"] = noise.known if isinstance(noise, Noise) else noise  # a program sees no body

    def about(target: str) -> Uncertainty:
        return quickly(functools.partial(_errors, target=target, link=link), value, design, told)

    return of_errors(about("truth"), lambda: about("penalized"), level=level, words=words)


def _errors(value: Any, design: Any, told: Any, *, target: str, link: str) -> Uncertainty:
    return standard_errors(value, design, target=target, link=link, **told)


@functools.partial(jax.jit, static_argnames="level")
def _intervals(errors: Uncertainty, *, level: float) -> tuple[Intervals, Any]:
    """With quasi-variances, NaN where there are none: one program is compiled sooner than two."""
    return confidence_intervals(errors, level), quasi_variances(errors).variances


def of_errors(
    errors: Uncertainty,
    shrunk: Callable[[], Uncertainty] | None = None,
    *,
    level: float,
    words: str,
) -> tuple[Certainty, Intervals]:
    """Certainty where the shrinkage of the ridge can be undone, else only what tells items apart; and all intervals.

    ``errors`` are about the true scores, those of ``shrunk`` about the scores as shrunk by the ridge.
    """
    both = functools.partial(_intervals, level=level)
    found, quasi = quickly(both, errors)
    better = np.asarray(found.better)
    if not bool(errors.near):
        better = None if shrunk is None else np.asarray(quickly(both, shrunk())[0].better)
        return Certainty(better, notes=(TOO_FAR,)), found
    if not np.all(np.isfinite(np.asarray(found.standard_errors))):
        return Certainty(better), found
    known = np.all((quasi >= 0) & (quasi < np.inf))
    more = {"quasi_standard_error": np.sqrt(quasi)} if known else {}
    return Certainty(better, ends(found) | more, words, errors=errors), found


def of_private_design(
    scores: np.ndarray, design: NoisyDesign, *, level: float, **told: Any
) -> Certainty:
    """Certainty of scores where only noisy numbers about the comparisons are known; ``told``: their noise and ridge."""
    errors, spread = quickly(_of_private_design, scores, design, told)
    cover = (
        f"{ANSWERS}, the privacy noise, the ridge bias and how little is known of who met whom, on average over "
        f"items, if the root mean square of the true scores is at most {float(spread):.2g}"
    )
    words = result.each_by_itself("the true score", cover)
    return of_errors(errors, level=level, words=words)[0]


def _of_private_design(scores: Any, design: NoisyDesign, told: Any) -> tuple[Uncertainty, Any]:
    return errors_under_private_design(scores, design, **told)


def ends(found: Intervals) -> dict[str, np.ndarray]:
    """The ends of score and rank intervals as NumPy arrays."""
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}


def components_of(weights: PairMatrixLike) -> int:
    """Groups of items linked by comparisons."""
    return np.unique(components(np.asarray(weights))).size


def doubts_of(components: int, code: int) -> list[str]:
    """Warnings where the items fall into groups, or the solver did not converge."""
    near = f"the fit did not converge ({CODES[code]}); try a larger `gamma`, or the logistic link."
    groups = [result.SEVERAL_GROUPS.format(components)] if components > 1 else []
    return [*groups, near] if code > 1 else groups


_MOST_CLUSTERED = 2**23  # comparisons, of some 200 bytes each while they are added up


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How answers vary."""

    told: dict[str, Any]  # what standard errors are told
    words: str = ANSWERS  # what intervals cover
    facts: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sampling_of(table: Any, weights: np.ndarray | None, scores: np.ndarray, link: str) -> Sampling:
    """How comparisons vary, weighted or not, to which scores were fitted: those of one user may hang together."""
    several = table.has_users and table.num_users > 1 and table.comparisons_per_user > 1
    if weights is None and (not several or len(table) > _MOST_CLUSTERED):
        told = {"ties": table.ties_of_pairs() if table.ties else None}
        note = "more than {:,} comparisons: intervals take all of them as independent"
        return Sampling(told, notes=(note.format(_MOST_CLUSTERED),) if several else ())
    held = table if isinstance(table, Comparisons) else table.in_memory()
    rows = {"winners": held.winners, "losers": held.losers, "tied": held.tied}
    rows["users"] = held.users if several else np.arange(len(held))
    rows["weights"] = np.ones(len(held)) if weights is None else weights
    told = {"outcomes": np.asarray(clustered_covariance(scores, **rows, link=link))}
    if not several:
        note = "standard errors are those of weighted comparisons, each independent of the others"
        return Sampling(told, notes=(note,))
    number = table.num_users
    note = "answers of one user may hang together, so standard errors are clustered by user"
    return Sampling(told, result.OF_USERS, {"clusters": number}, (f"{note} ({number:,} users)",))
