"""Audited mechanisms on comparisons: win totals, scores, selections, and reports of single users.

The neighbours are as small as the loss allows. For Laplace noise on several numbers the statistic is the least shift
of any of them in the direction in which the neighbours differ: where it is at least 0 all densities differ by their
largest factor at once, so the loss of that event is the largest there is, and its probability 2^-numbers.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise, privacy
from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy_audit.exact import top_item_loss
from privrank_jax.privacy_audit.registry import Audited

Array = jax.Array


def _wins(num_items: int, *rows: tuple[int, int, int]) -> np.ndarray:
    """``(m, m)`` win counts from (winner, loser, times)."""
    matrix = np.zeros((num_items, num_items))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return matrix


def _twice(epsilon: float) -> float:
    return 2 * epsilon


# --- reports of one comparison or one vector ------------------------------------------------------

_BITS = (np.array(1), np.array(0))
_AXIS = np.array([1.0, 0.0, 0.0, 0.0])


def _randomised_response(key: Array, bit: Array, epsilon: Array) -> Array:
    return privacy.randomized_response(key, bit, epsilon)


def _laplace_report(key: Array, bit: Array, epsilon: Array) -> Array:
    return privacy.laplace_reports(key, bit, epsilon)


def _vector(key: Array, vector: Array, epsilon: Array, *, report: Any) -> Array:
    return report(key, vector, epsilon)[0]


_LOCAL = (
    Audited(
        "randomised-response",
        "randomised response, one answer",
        "randomized_response",
        _BITS,
        _randomised_response,
        "the report",
        ("0", "1"),
        adjacency="flip",
        trust="local",
        exact=float,
        note="Warner (1965); privacy/local.py",
    ),
    Audited(
        "laplace-reports",
        "an answer plus Laplace(1/ε)",
        "laplace_reports",
        _BITS,
        _laplace_report,
        "the report",
        adjacency="flip",
        trust="local",
        exact=float,
        note="privacy/local.py",
    ),
    Audited(
        "duchi-vectors",
        "Duchi's ℓ₂ mechanism, 4 dimensions",
        "duchi_vectors",
        (_AXIS, -_AXIS),
        functools.partial(_vector, report=privacy.duchi_vectors),
        "the first coordinate of the report",
        unit="user",
        trust="local",
        exact=float,
        note="privacy/vectors.py",
    ),
    Audited(
        "privunit-vectors",
        "PrivUnit with its best cap, 4 dimensions",
        "privunit_vectors",
        (_AXIS, -_AXIS),
        functools.partial(_vector, report=privacy.privunit_vectors),
        "the first coordinate of the report",
        unit="user",
        trust="local",
        exact=float,
        note="privacy/vectors.py",
    ),
)

# --- win totals ------------------------------------------------------------------------------------

# Of two users one answered that item 0 beats item 1; the other user's answer differs between the neighbours.
_ONE_ANSWER = (_wins(2, (0, 1, 2)), _wins(2, (0, 1, 1), (1, 0, 1)))
# A user with 3 answers who reverses them all: totals move by (-3, 3).
_ONE_USER = (_wins(2, (0, 1, 4), (1, 0, 2)), _wins(2, (0, 1, 1), (1, 0, 5)))
# The same, with item 1 far ahead: where "item 0 is on top" has nearly its largest loss.
_FAR_APART = (_wins(2, (0, 1, 3), (1, 0, 5)), _wins(2, (1, 0, 8)))
_L = 3


def _shift(
    key: Array, matrix: Array, epsilon: Array, *, centre: tuple[int, int], **bound: Any
) -> Array:
    """How far item 0 rose above its total and item 1 fell below its own, whichever is less."""
    noisy = pairwise.noisy_counts(key, WinCounts(matrix), epsilon, **bound).value
    return jnp.minimum(noisy[0] - centre[0], centre[1] - noisy[1])


def _gap(key: Array, matrix: Array, epsilon: Array, **bound: Any) -> Array:
    noisy = pairwise.noisy_counts(key, WinCounts(matrix), epsilon, **bound).value
    return noisy[0] - noisy[1]


def _top(key: Array, matrix: Array, epsilon: Array, **bound: Any) -> Array:
    noisy = pairwise.noisy_counts(key, WinCounts(matrix), epsilon, **bound).value
    return (noisy[1] > noisy[0]).astype(jnp.int32)


def _top_loss(epsilon: float, *, scale: float) -> float:
    """Of "which item is on top?" between the totals (3, 5) and (0, 8), Laplace(scale/ε)."""
    gaps = np.array([-2.0, -8.0]) * epsilon / scale
    return float(_top_item_loss64(gaps[0], gaps[1]))


def _top_item_loss64(gap: float, other: float) -> float:
    """:func:`top_item_loss` at scale 1 in double precision, whatever JAX is set to."""
    with jax.enable_x64(True):
        return float(top_item_loss(np.float64(gap), np.float64(other), 1.0))


_USER: dict[str, Any] = {"unit": "user", "comparisons_per_user": _L}
_SHIFT = "the least of item 0's rise above its total and item 1's fall below its own"

_TOTALS = (
    Audited(
        "noisy-counts",
        "win totals + Laplace(2/ε), one comparison",
        "noisy_counts",
        _ONE_ANSWER,
        functools.partial(_shift, centre=(2, 0)),
        _SHIFT,
        exact=float,
        note="pairwise/noisy_counts.py",
    ),
    Audited(
        "noisy-counts-users",
        "win totals + Laplace(2L/ε), one user of L = 3 comparisons",
        "noisy_counts",
        _ONE_USER,
        functools.partial(_shift, centre=(4, 2), **_USER),
        _SHIFT,
        unit="user",
        exact=float,
        note="pairwise/noisy_counts.py",
    ),
    Audited(
        "noisy-counts-users-published",
        "win totals + Laplace(L/ε) as published for users, L = 3",
        "noisy_counts",
        _ONE_USER,
        functools.partial(_shift, centre=(4, 2), calibration="published", **_USER),
        _SHIFT,
        unit="user",
        calibration="published",
        exact=_twice,
        sound=False,
        note="Cai, Algorithm 3: replacing a user moves the totals by 2L in ℓ₁, so the loss is 2ε",
    ),
    Audited(
        "top-item",
        "the item with most wins + Laplace(2L/ε), one user of L = 3 comparisons",
        "noisy_counts",
        _FAR_APART,
        functools.partial(_top, **_USER),
        "the item on top",
        ("0", "1"),
        unit="user",
        exact=functools.partial(_top_loss, scale=6.0),
        note="pairwise/noisy_counts.py; the loss tends to ε far from a tie",
    ),
    Audited(
        "top-item-published",
        "the item with most wins + Laplace(L/ε) as published for users, L = 3",
        "noisy_counts",
        _FAR_APART,
        functools.partial(_top, calibration="published", **_USER),
        "the item on top",
        ("0", "1"),
        unit="user",
        calibration="published",
        exact=functools.partial(_top_loss, scale=3.0),
        sound=False,
        note="Cai, Algorithm 3: even the top item alone loses 2ε far from a tie",
    ),
    Audited(
        "noisy-counts-gaussian",
        "win totals + Gaussian noise at δ = 0.01, one comparison",
        "noisy_counts",
        _ONE_ANSWER,
        functools.partial(_gap, delta=0.01, noise="gaussian"),
        "the gap between the noisy totals",
        exact=float,
        delta=0.01,
        note="Balle and Wang (2018); privacy/calibration.py",
    ),
)

# --- scores and selections -------------------------------------------------------------------------

# Item 0 wins one of four comparisons, or none.
_FEW_WINS = (_wins(2, (0, 1, 1), (1, 0, 3)), _wins(2, (1, 0, 4)))
# One comparison, item 0 over item 1, replaced by one of item 2 over item 0; item 2 is ahead of both.
_THREE_ITEMS = (_wins(3, (0, 1, 1), (2, 1, 2)), _wins(3, (2, 0, 1), (2, 1, 2)))
_LISTS = tuple(f"{first}, {second}" for first in range(3) for second in range(3))


def _score(key: Array, matrix: Array, epsilon: Array, **bound: Any) -> Array:
    scores = pairwise.perturbed_mle(key, WinCounts(matrix), epsilon, **bound).value
    return scores[0] - scores[1]


def _select(key: Array, matrix: Array, epsilon: Array, *, choose: Any, k: int) -> Array:
    """The chosen items as the digits of a number."""
    chosen = choose(key, WinCounts(matrix), k, epsilon).value
    return chosen[0] if k == 1 else 3 * chosen[0] + chosen[1]


def _one_shot_loss(epsilon: float) -> float:
    """The larger of two noisy totals, Laplace(2/ε), between totals (1, 3) and (0, 4)."""
    return _top_item_loss64(-2.0 * epsilon / 2, -4.0 * epsilon / 2)


def _permute_and_flip_loss(epsilon: float) -> float:
    """One round at scale 2/ε: item 0, behind by g, is taken with probability e^(-gε/2)/2."""
    behind = [0.5 * math.exp(-gap * epsilon / 2) for gap in (2, 4)]
    ratios = (math.log(behind[0] / behind[1]), math.log((1 - behind[1]) / (1 - behind[0])))
    return max(ratios)


def _peeling_loss(epsilon: float) -> float:
    """Two rounds at scale 3/ε, by their probabilities."""
    logs = []
    for matrix in _THREE_ITEMS:
        odds = np.exp(matrix.sum(1) * epsilon / 3)
        table = {
            (i, j): odds[i] / odds.sum() * odds[j] / (odds.sum() - odds[i])
            for i in range(3)
            for j in range(3)
            if i != j
        }
        logs.append(np.log(list(table.values())))
    return float(np.max(np.abs(logs[0] - logs[1])))


_SELECTIONS = (
    Audited(
        "perturbed-mle",
        "perturbed MLE, outcomes flip, Laplace(2/ε)",
        "perturbed_mle",
        _FEW_WINS,
        _score,
        "the gap between the scores",
        adjacency="flip",
        exact=float,
        note="privacy/calibration.py; the loss of the gap tends to ε in its tails",
    ),
    Audited(
        "perturbed-mle-replace",
        "perturbed MLE, a comparison is replaced, Laplace(4/ε), γ ≥ λ",
        "perturbed_mle",
        _FEW_WINS,
        functools.partial(_score, adjacency="replace"),
        "the gap between the scores",
        calibration="sound",
        note="privacy/calibration.py",
    ),
    Audited(
        "perturbed-mle-published",
        "perturbed MLE, Laplace(8/ε) as published",
        "perturbed_mle",
        _FEW_WINS,
        functools.partial(_score, adjacency="replace", calibration="published"),
        "the gap between the scores",
        calibration="published",
        note="Cai, Proposition 2.1: sound, with four times the noise that this needs",
    ),
    Audited(
        "one-shot-top-k",
        "one-shot Laplace selection, k = 1",
        "one_shot_top_k",
        _FEW_WINS,
        functools.partial(_select, choose=pairwise.one_shot_top_k, k=1),
        "the item",
        ("0", "1"),
        exact=_one_shot_loss,
        note="privacy/selection.py; the loss tends to ε far from a tie",
    ),
    Audited(
        "peeling-top-k",
        "peeling, the two best of three in order",
        "peeling_top_k",
        _THREE_ITEMS,
        functools.partial(_select, choose=pairwise.peeling_top_k, k=2),
        "the list",
        _LISTS,
        exact=_peeling_loss,
        note="privacy/selection.py; the loss tends to ε as item 2 moves ahead",
    ),
    Audited(
        "permute-and-flip-top-k",
        "permute-and-flip, k = 1",
        "permute_and_flip_top_k",
        _FEW_WINS,
        functools.partial(_select, choose=pairwise.permute_and_flip_top_k, k=1),
        "the item",
        ("0", "1"),
        exact=_permute_and_flip_loss,
        note="privacy/selection.py",
    ),
)

AUDITED = _LOCAL + _TOTALS + _SELECTIONS
