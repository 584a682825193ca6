r"""Empirical audits: a lower bound on the true ε of a mechanism, from draws on two neighbors.

For every event E and either order of the neighbors, (ε, δ)-DP requires P(E) ≤ e^ε Q(E) + δ; so a lower confidence bound
p of P(E) and an upper one q of Q(E) give ε ≥ log((p - δ)/q). Both are Clopper and Pearson's (1934).

**Choice of the event.** The first half of the draws selects among all candidates: for outcomes, each outcome and the
unions of those with the largest log ratios; for a real statistic, both tails beyond its quantiles. The best candidate
in each of the two directions is tested on the second half.

**Error.** Two events are tested with two one-sided intervals each, at (1 - confidence)/4: with probability at least
``confidence`` over the draws all four hold together, and then the larger of the two bounds is at most the true ε,
whatever event was selected. ``"consistent"`` is not a proof: these neighbors, events and draws show no violation.

Draws are those of the simulation: an audit tests the mathematics of a mechanism, not the bits of a release.

Source: Xu, Sun and Cheng (2023), section 6.1, who compare relative frequencies; Ding, Wang, Wang, Zhang and Kifer
(2018), *Detecting violations of differential privacy*; Jagielski, Ullman and Oprea (2020) for the bounds.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import special

from privrank_jax._types import Key
from privrank_jax._validate import check_level, check_whole
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.enumeration import (
    WorstCase,
    checked_epsilon,
    exact_loss,
    worst_case,
)
from privrank_jax.privacy_audit.registry import Audited, get

FEWEST_DRAWS = 1000
_EVENTS_TESTED = 2  # one for each direction
_TAILS = 40  # thresholds in each tail, down to 1e-5
_QUANTILES = 199
_NAMED = 6  # outcomes of an event that are listed in words


@dataclass(frozen=True, eq=False)
class AuditResult:
    """The result of testing a claim by draws.

    Attributes:
        mechanism: the row of the registry.
        promise: what the mechanism was asked to keep and claims to keep.
        exact: the exact loss between these neighbors, None if no law is known.
        worst: the largest exact loss over all neighbors of small instances, None if unknown.
        lower: lower confidence bound of the true ε, at least 0.
        estimate: log ratio of the relative frequencies of ``event``; ∞ if one of them is 0.
        event: the event that was tested, in words.
        frequencies: of the event under the likelier neighbor and under the other one, on the second half.
        swapped: whether the likelier neighbor is the second one.
        draws: number of draws under each neighbor, both halves together.
        confidence: the confidence of ``lower``, which accounts for both directions and all intervals.
        candidates: ``(events, 2)`` relative frequencies of all candidate events on the second half, for pictures.
    """

    mechanism: Audited
    promise: Privacy
    exact: float | None
    worst: WorstCase | None
    lower: float
    estimate: float
    event: str
    frequencies: tuple[float, float]
    swapped: bool
    draws: int
    confidence: float
    candidates: Float[np.ndarray, "events 2"]

    def __repr__(self) -> str:
        claim = f"claims epsilon = {self.promise.epsilon:g}, at least {self.lower:.4g} found"
        return f"<{type(self).__name__} of {self.mechanism.name!r}: {claim}, {self.verdict}>"

    @property
    def verdict(self) -> str:
        """``"violated"`` if the bound exceeds the claim, else ``"consistent"``."""
        return "violated" if self.lower > self.promise.epsilon else "consistent"

    def as_dict(self) -> dict[str, Any]:
        """Plain Python values, for JSON; None means unknown or infinite."""
        row, worst = self.mechanism, self.worst
        counted = ("data_sets", "pairs")
        found = None if worst is None else {"epsilon": worst.loss} | _told(worst, *counted)
        return {
            **_told(row, "name", "title", "function", "trust", "note"),
            **_told(self.promise, "unit", "adjacency", "epsilon", "delta"),
            **_told(self, "verdict", "event", "draws", "confidence"),
            "calibration": row.calibration or None,
            "known_to_be_unsound": not row.sound,
            "exact_epsilon": self.exact,
            "worst_case": found,
            "lower_bound": self.lower,
            "estimate": self.estimate if math.isfinite(self.estimate) else None,
            "frequencies": list(self.frequencies),
            "events_tested": _EVENTS_TESTED,
        }


def _told(thing: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def audit(
    key: Key,
    mechanism: Audited | str,
    epsilon: float | None = None,
    *,
    draws: int = 1_000_000,
    confidence: float = 0.999,
) -> AuditResult:
    """Draw from a mechanism on two neighbors and bound its true ε from below, in one compiled program.

    Args:
        key: PRNG key.
        mechanism: an :class:`~privrank_jax.privacy_audit.Audited` row, or the name of one.
        epsilon: ε > 0, finite, replaces that of the row's promise.
        draws: number of draws under each neighbor, at least 1,000; half of them choose the event.
        confidence: of the bound, in (0, 1); the head of this module explains how errors add up.

    Returns:
        :class:`AuditResult`.

    Raises:
        ValueError: an unknown name, ε, draws or a confidence out of range; a release that is not one real number, a
            statistic that is NaN, or an outcome without a name.

    >>> found = audit(jax.random.key(0), "randomized-response", 1.0, draws=20_000)
    >>> found.verdict, 0.8 < found.lower < found.exact, round(found.exact, 6), found.promise.epsilon
    ('consistent', True, 1.0, 1.0)
    """
    row = get(mechanism) if isinstance(mechanism, str) else mechanism
    epsilon, delta = checked_epsilon(row, epsilon), float(row.promise.delta)
    check_level(confidence)
    check_whole("draws", draws, FEWEST_DRAWS)
    drawn, half = draw(key, row, epsilon, draws=draws), draws // 2
    thresholds = None if row.outcomes else _thresholds(drawn[:, :half])
    chosen_on, tested_on = (
        _counts(part, row, thresholds) for part in (drawn[:, :half], drawn[:, half:])
    )
    members = _tails(len(thresholds)) if thresholds is not None else _unions(chosen_on)
    error = (1 - confidence) / (2 * _EVENTS_TESTED)
    tested = []
    for swapped in (False, True):
        number = int(np.argmax(_bounds(chosen_on, members, delta, error, swapped)))
        bound = _bounds(tested_on, members[[number]], delta, error, swapped)
        tested.append((float(bound[0]), number, swapped))
    lower, number, swapped = max(tested, key=lambda one: one[0])
    candidates = members @ tested_on.T / (draws - half)
    first, second = candidates[number][:: -1 if swapped else 1].tolist()
    ahead, known = first - delta, row.law or row.loss
    ratio = ahead / second if min(ahead, second) > 0 else None
    return AuditResult(
        mechanism=row,
        promise=row.at(epsilon),
        exact=exact_loss(row, epsilon) if known else None,
        worst=worst_case(row, epsilon) if known and row.instances else None,
        lower=max(lower, 0.0),
        estimate=math.copysign(math.inf, ahead) if ratio is None else math.log(ratio),
        event=_event_words(row, members[number], thresholds),
        frequencies=(first, second),
        swapped=swapped,
        draws=draws,
        confidence=confidence,
        candidates=candidates,
    )


def draw(
    key: Key, mechanism: Audited, epsilon: float, *, draws: int, batch_size: int = 1 << 15
) -> np.ndarray:
    """Outcomes or statistics of independent releases, ``(2, draws)``, one row per neighbor, in batches of draws."""
    batches = -(-draws // min(batch_size, draws))
    size = -(-draws // batches)
    at = jnp.asarray(epsilon, jnp.result_type(float))
    drawn = _draw(key, jnp.stack(mechanism.neighbors), at, mechanism, batches, size)
    return np.asarray(drawn)[:, :draws]


@functools.partial(jax.jit, static_argnames=("mechanism", "batches", "size"))
def _draw(
    key: Key, pair: jax.Array, epsilon: jax.Array, mechanism: Audited, batches: int, size: int
) -> jax.Array:
    key = fused(key)

    def batch(number: jax.Array) -> jax.Array:
        keys = jax.random.split(jax.random.fold_in(key, number), size)
        run = functools.partial(mechanism.run, data=pair[number % 2], privacy=mechanism.at(epsilon))
        return jax.vmap(run)(keys)

    drawn = jax.lax.map(batch, jnp.arange(2 * batches))
    return drawn.reshape(batches, 2, size).swapaxes(0, 1).reshape(2, batches * size)


# --- events ----------------------------------------------------------------------------------------


def clopper_pearson(successes: Any, trials: int, error: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided lower and upper confidence bounds of probabilities, each wrong with probability at most ``error``.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> float(low), round(float(high), 5), round(1 - 0.05 ** (1 / 100), 5)
    (0.0, 0.02951, 0.02951)
    """
    hits = np.asarray(successes, float)
    misses = trials - hits
    # P(X >= hits) at p is I_p(hits, misses + 1), and P(X <= hits) is I_{1-p}(misses, hits + 1).
    low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), misses + 1, error), 0.0)
    high = np.where(misses > 0, 1 - special.betaincinv(np.maximum(misses, 1), hits + 1, error), 1.0)
    return low, high


def _counts(drawn: np.ndarray, row: Audited, thresholds: np.ndarray | None) -> np.ndarray:
    """Counts of each outcome, or of each interval between thresholds, under either neighbor: ``(2, K)``."""
    if thresholds is not None:
        bins, drawn = len(thresholds) + 1, np.searchsorted(thresholds, drawn, side="right")
    else:
        bins = len(row.outcomes or ())
        if drawn.min() < 0 or drawn.max() >= bins:
            raise ValueError(f"{row.name}: an outcome outside of 0..{bins - 1} has no name.")
    return np.stack([np.bincount(side, minlength=bins) for side in drawn])


def _thresholds(drawn: np.ndarray) -> np.ndarray:
    """Quantiles of both neighbors' statistics together, and of their tails; distinct and increasing."""
    if np.isnan(drawn).any():
        raise ValueError("the statistic is NaN: nothing can be said about its tails.")
    tail = np.geomspace(1e-5, 1e-2, _TAILS)
    inner = np.linspace(0, 1, _QUANTILES + 2)[1:-1]
    levels = np.concatenate([tail, inner, 1 - tail])
    return np.unique(np.quantile(drawn, levels, method="inverted_cdf"))


def _tails(thresholds: int) -> np.ndarray:
    """Above each threshold, then below it, as sets of the intervals between them: ``(2 T, T + 1)``."""
    above = np.arange(thresholds + 1)[None, :] > np.arange(thresholds)[:, None]
    return np.concatenate([above, ~above])


def _unions(counts: np.ndarray) -> np.ndarray:
    """Single outcomes, unions of those with the largest log ratios and of those with the smallest: ``(E, K)``."""
    ratio = np.log(counts[0] + 0.5) - np.log(counts[1] + 0.5)
    place = np.argsort(np.argsort(-ratio, kind="stable"))
    largest = place[None, :] <= np.arange(len(place) - 1)[:, None]
    return np.concatenate([np.eye(len(place), dtype=bool), largest, ~largest])


def _bounds(
    counts: np.ndarray, members: np.ndarray, delta: float, error: float, swapped: bool
) -> np.ndarray:
    """Lower confidence bounds of ε from each event, ``(E,)``; -∞ where δ alone explains the event."""
    trials = int(counts[0].sum())
    hits = members @ (counts[::-1] if swapped else counts).T
    low, _ = clopper_pearson(hits[:, 0], trials, error)
    _, high = clopper_pearson(hits[:, 1], trials, error)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


def _event_words(row: Audited, member: np.ndarray, thresholds: np.ndarray | None) -> str:
    if thresholds is not None:
        above = bool(member[-1])
        edge = thresholds[np.argmax(member) - 1 if above else member.sum() - 1]
        return f"{row.sees} {'is at least' if above else 'is below'} {edge:.4g}"
    found = [name for name, inside in zip(row.outcomes or (), member) if inside]
    rest = len(found) - _NAMED
    words = " or ".join(found[:_NAMED]) + (f" or one of {rest} others" if rest > 0 else "")
    return f"{row.sees} is {words}"
