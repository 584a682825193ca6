"""Audited mechanisms on comparisons: win totals, and scores from a perturbed likelihood.

The neighbors are as small as the loss allows. For Laplace noise on several numbers the statistic is the least shift
of any of them in the direction in which the neighbors differ: where it is at least 0, every density differs by its
largest factor, so that event has the largest possible loss; its probability is 2^-numbers.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, neighbors
from privrank_jax.privacy_audit.losses import perturbed_mle_log_density, top_item_log_probability
from privrank_jax.privacy_audit.registry import Audited, Facts, Release

Array = jax.Array


def win_matrix(num_items: int, *rows: tuple[int, int, int]) -> np.ndarray:
    """``(m, m)`` win counts from (winner, loser, times)."""
    matrix = np.zeros((num_items, num_items))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return matrix


def on_wins(function: Callable[..., Estimate], *args: Any, **options: Any) -> Release:
    """Turn a function of win counts into ``(key, matrix, privacy) -> Estimate``."""

    def release(key: Array, matrix: Array, privacy: Privacy) -> Estimate:
        return function(key, WinCounts(matrix), privacy, *args, **options)

    return release


def all_comparisons(promise: Privacy, *bases: np.ndarray) -> Callable[[], neighbors.Instances]:
    """Each base with every content of one unit of the promise, and the neighbors under its adjacency."""
    return functools.partial(
        neighbors.comparisons, bases, promise.comparisons_per_unit, promise.adjacency
    )


# One of two users answered that item 0 beats item 1; the other user's answer differs between the neighbors.
_ONE_ANSWER = (win_matrix(2, (0, 1, 2)), win_matrix(2, (0, 1, 1), (1, 0, 1)))
# A user with 3 answers who reverses them all: totals move by (-3, 3).
_ONE_USER = (win_matrix(2, (0, 1, 4), (1, 0, 2)), win_matrix(2, (0, 1, 1), (1, 0, 5)))
# The same with item 1 far ahead, where "item 0 is on top" has nearly its largest loss.
_FAR_APART = (win_matrix(2, (0, 1, 3), (1, 0, 5)), win_matrix(2, (1, 0, 8)))
_L = 3
COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace")
FLIPPED = dataclasses.replace(COMPARISON, adjacency="flip")
ADDED = dataclasses.replace(COMPARISON, adjacency="add-remove")
USER = Privacy(1.0, unit="user", adjacency="replace", contributions=_L)
_TWO_EACH = dataclasses.replace(USER, contributions=2)

_PAIR, _TRIPLE = np.zeros((2, 2)), np.zeros((3, 3))
_UNEVEN = win_matrix(3, (0, 1, 2), (2, 1, 1))
# Item 1 is ahead by up to 5,000 wins, where "item 0 is on top" loses all but 0.01 ε for ε >= 0.3.
_GAPS = tuple(win_matrix(2, (1, 0, ahead)) for ahead in (0, 4, 60, 5000))

# --- win totals ------------------------------------------------------------------------------------


def _totals_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.additive_laplace(data.sum(-1), facts["noise_scale"])


def _top_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Law of the item on top, after Laplace noise on two totals."""
    gaps = data[:, 0, 1] - data[:, 1, 0]
    scale = facts["noise_scale"]
    return np.stack([top_item_log_probability(sign * gaps, scale) for sign in (1, -1)], axis=1)


def _shift(noisy: Array, *, center: tuple[int, int]) -> Array:
    """The rise of item 0 above its total or the fall of item 1 below its own, whichever is smaller."""
    return jnp.minimum(noisy[0] - center[0], center[1] - noisy[1])


def _gap(noisy: Array) -> Array:
    return noisy[0] - noisy[1]


def _top(noisy: Array) -> Array:
    return (noisy[1] > noisy[0]).astype(jnp.int32)


_SHIFT = "the least of item 0's rise above its total and item 1's fall below its own"
_COUNTS: dict[str, Any] = {"function": "noisy_counts", "law": _totals_law, "sees": _SHIFT}
_RISE: dict[str, Any] = _COUNTS | {"sees": "item 0's rise above its total"}
_TOP: dict[str, Any] = {
    "function": "noisy_counts",
    "law": _top_law,
    "sees": "the item on top",
    "outcomes": ("0", "1"),
    "finite": True,
    "reduce": _top,
    "neighbors": _FAR_APART,
    "instances": all_comparisons(USER, *_GAPS),
    "promise": USER,
}

_TOTALS = (
    Audited(
        name="noisy-counts",
        title="win totals + Laplace(2/ε), one comparison",
        calibration="tight",
        neighbors=_ONE_ANSWER,
        release=on_wins(pairwise.noisy_counts),
        promise=COMPARISON,
        reduce=functools.partial(_shift, center=(2, 0)),
        instances=all_comparisons(COMPARISON, _TRIPLE, _UNEVEN),
        released_by="exact_noisy_totals",
        commands=(
            "rank --method counts --unit comparison",
            "rank --method counts --unit comparison --adjacency flip",
        ),
        note="pairwise/noisy_counts.py",
        **_COUNTS,
    ),
    Audited(
        name="noisy-counts-add-remove",
        title="win totals + Laplace(1/ε), one comparison added or removed",
        calibration="tight",
        neighbors=(win_matrix(2, (0, 1, 2)), win_matrix(2, (0, 1, 1))),
        release=on_wins(pairwise.noisy_counts),
        reduce=lambda noisy: noisy[0] - 2,
        instances=all_comparisons(ADDED, _TRIPLE, _UNEVEN),
        promise=ADDED,
        released_by="exact_noisy_totals",
        commands=(
            "rank --method counts --unit comparison --adjacency add-remove",
            "rank --method counts --max-per-user 2 --adjacency add-remove",
        ),
        note="pairwise/noisy_counts.py",
        **_RISE,
    ),
    Audited(
        name="noisy-counts-users",
        title="win totals + Laplace(2L/ε), one user of L = 3 comparisons",
        calibration="tight",
        neighbors=_ONE_USER,
        release=on_wins(pairwise.noisy_counts),
        reduce=functools.partial(_shift, center=(4, 2)),
        instances=all_comparisons(USER, _PAIR, win_matrix(2, (0, 1, 2), (1, 0, 1))),
        promise=USER,
        released_by="exact_noisy_totals",
        commands=(
            "rank --method counts --max-per-user 2",
            "rank --method counts --max-per-user 2 --adjacency flip",
            "rank --method counts --max-per-user 2 --top-k 2",
            "rank --method scores --max-per-user 2 --adjacency flip",
            "rank --unit comparison --adjacency flip",
        ),
        note="pairwise/noisy_counts.py",
        **_COUNTS,
    ),
    Audited(
        name="noisy-counts-users-published",
        title="win totals + Laplace(L/ε) as published for users, L = 3",
        neighbors=_ONE_USER,
        release=on_wins(pairwise.noisy_counts, calibration="published"),
        reduce=functools.partial(_shift, center=(4, 2)),
        instances=all_comparisons(USER, _PAIR, win_matrix(2, (0, 1, 2), (1, 0, 1))),
        promise=USER,
        calibration="published",
        sound=False,
        note="Cai, Algorithm 3: replacing a user moves the totals by 2L in ℓ₁, so the loss is 2ε",
        **_COUNTS,
    ),
    Audited(
        name="top-item",
        title="the item with most wins + Laplace(2L/ε), one user of L = 3 comparisons",
        calibration="tight",
        release=on_wins(pairwise.noisy_counts),
        note="pairwise/noisy_counts.py; the loss tends to ε far from a tie",
        **_TOP,
    ),
    Audited(
        name="top-item-published",
        title="the item with most wins + Laplace(L/ε) as published for users, L = 3",
        release=on_wins(pairwise.noisy_counts, calibration="published"),
        calibration="published",
        sound=False,
        note="Cai, Algorithm 3: even the top item alone loses 2ε far from a tie",
        **_TOP,
    ),
)

# Two pairs compared so often that they fix the signs of the noise, where replacements lose all of ε.
_CHAIN = win_matrix(3, (0, 1, 5000), (1, 2, 5000))

# --- scores ----------------------------------------------------------------------------------------

# Item 0 wins one of four comparisons, or none.
FEW_WINS = (win_matrix(2, (0, 1, 1), (1, 0, 3)), win_matrix(2, (1, 0, 4)))


def _outputs(num_items: int) -> np.ndarray:
    """Uncentered scores ``(T, m)`` at which losses are large: far and near corners, ladders, and points in between."""
    rng = np.random.default_rng(0)
    far = rng.choice([-40.0, -8.0, -1.0, 0.0, 1.0, 8.0, 40.0], (600, num_items))
    ladder = np.linspace(-1, 1, num_items) * rng.uniform(-40, 40, (200, 1))
    near = rng.standard_normal((200, num_items)) * rng.choice([0.01, 1.0, 5.0], (200, 1))
    return np.concatenate([far, ladder, near])


def _scores_law(
    data: np.ndarray, _: Privacy, facts: Facts, *, link: str = "logistic", noise: str = "laplace"
) -> np.ndarray:
    """Log densities of the exact, uncentered minimizer, of which the centered one is a function."""
    outputs = _outputs(data.shape[-1])
    found = _densities(outputs, data, facts["noise_scale"], facts["gamma"], link, noise)
    return np.asarray(found)


@functools.partial(jax.jit, static_argnames=("link", "noise"))
def _densities(
    outputs: Array, data: Array, scale: Array, gamma: Array, link: str, noise: str
) -> Array:
    def at(theta: Array, matrix: Array) -> Array:
        return perturbed_mle_log_density(
            theta, WinCounts(matrix), noise_scale=scale, gamma=gamma, link=link, noise=noise
        )

    return jax.lax.map(lambda matrix: jax.vmap(lambda theta: at(theta, matrix))(outputs), data)


_SCORES: dict[str, Any] = {
    "function": "perturbed_mle",
    "neighbors": FEW_WINS,
    "reduce": _gap,
    "sees": "the gap between the scores",
    "law": _scores_law,
}

_ADDED: dict[str, Any] = {
    "neighbors": (win_matrix(2, (1, 0, 4)), win_matrix(2, (1, 0, 3))),
    "law": functools.partial(_scores_law, link="laplace"),
}

_FITS = (
    Audited(
        name="perturbed-mle",
        title="perturbed MLE, outcomes flip, Laplace(2/ε)",
        calibration="tight",
        release=on_wins(pairwise.perturbed_mle),
        instances=all_comparisons(FLIPPED, _CHAIN, _TRIPLE),
        promise=FLIPPED,
        commands=("rank --method scores --max-per-user 2 --adjacency flip --link laplace",),
        released_by="exact_perturbed_mle",
        note="privacy/calibration.py; the loss of the gap tends to ε in its tails",
        **_SCORES,
    ),
    Audited(
        name="perturbed-mle-replace",
        title="perturbed MLE, a comparison is replaced, Laplace(4/ε), γ ≥ λ",
        calibration="tight",
        release=on_wins(pairwise.perturbed_mle),
        promise=COMPARISON,
        instances=all_comparisons(COMPARISON, _CHAIN, _TRIPLE),
        commands=("rank --unit comparison",),
        released_by="exact_perturbed_mle",
        note="privacy/calibration.py",
        **_SCORES,
    ),
    Audited(
        name="perturbed-mle-users",
        title="perturbed MLE, a user's L = 2 comparisons are replaced, Laplace(4L/ε), γ ≥ λ",
        calibration="tight",
        release=on_wins(pairwise.perturbed_mle),
        instances=all_comparisons(_TWO_EACH, _CHAIN, _TRIPLE),
        promise=_TWO_EACH,
        commands=(
            "rank --max-per-user 2",
            "rank --max-per-user 2 --top-k 2",
            "rank --max-per-user 2 --noise gaussian --delta 1e-6",
        ),
        released_by="exact_perturbed_mle",
        note="privacy/calibration.py",
        **_SCORES,
    ),
    Audited(
        name="perturbed-mle-laplace-link",
        title="perturbed MLE, Laplace link, a comparison is added or removed",
        calibration="tight",
        release=on_wins(pairwise.perturbed_mle, link="laplace"),
        instances=all_comparisons(ADDED, _CHAIN, _TRIPLE),
        promise=ADDED,
        commands=(
            "rank --max-per-user 2 --adjacency add-remove --link laplace",
            "rank --max-per-user 2 --adjacency add-remove",
        ),
        released_by="exact_perturbed_mle",
        note="privacy/calibration.py",
        **_SCORES | _ADDED,
    ),
    Audited(
        name="perturbed-mle-published",
        title="perturbed MLE, Laplace(8/ε) as published",
        release=on_wins(pairwise.perturbed_mle, calibration="published"),
        promise=COMPARISON,
        instances=all_comparisons(COMPARISON, _CHAIN, _TRIPLE),
        calibration="published",
        note="Cai, Proposition 2.1: sound, with twice the noise that replacement needs, four times that of flips",
        **_SCORES,
    ),
)

# --- designs ---------------------------------------------------------------------------------------

_QUADRUPLE = np.zeros((4, 4))
_WIDER = (
    2 * 0.7 / 0.3
)  # noise on appearances, which have 0.3 of ε and move by twice as much, to that on pairs


def _counted(data: Array | np.ndarray) -> tuple[Any, Any]:
    """Appearances of items, and comparisons of pairs i < j, side by side."""
    met = data + data.swapaxes(-1, -2)
    first, second = np.triu_indices(data.shape[-1], 1)
    return met.sum(-1), met[..., first, second]


def _design_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    appearances, pairs = _counted(data)
    scaled = [appearances / (_WIDER * facts["noise_scale"]), pairs / facts["noise_scale"]]
    return laws.additive_laplace(np.concatenate(scaled, axis=-1), 1.0)


def _counted_noisily(key: Array, matrix: Array, privacy: Privacy) -> Estimate:
    """The noisy numbers side by side."""
    found = noisy_design(key, WinCounts(matrix), privacy)
    first, second = np.triu_indices(matrix.shape[-1], 1)
    value = jnp.concatenate([found.value.appearances, found.value.pairs[first, second]])
    return Estimate(value, found.guarantee, found.diagnostics)


def _least_shift(numbers: Array) -> Array:
    """Of the six that a comparison of 0 and 1 in place of one of 2 and 3 moves, in the direction in which it does."""
    items = (numbers[:4] - np.array([1, 1, 0, 0])) * np.array([1, 1, -1, -1]) / _WIDER
    pairs = jnp.stack([numbers[4] - 1, -numbers[9]])
    return jnp.minimum(jnp.min(items), jnp.min(pairs))


_DESIGNS = (
    Audited(
        name="noisy-design",
        title="comparisons of items and pairs + Laplace(4/(0.3ε)), Laplace(2/(0.7ε)), one comparison",
        calibration="tight",
        function="noisy_design",
        neighbors=(win_matrix(4, (0, 1, 1)), win_matrix(4, (2, 3, 1))),
        release=_counted_noisily,
        promise=COMPARISON,
        reduce=_least_shift,
        sees="the least shift of the six numbers that move, in the direction in which they move",
        law=_design_law,
        instances=all_comparisons(COMPARISON, _QUADRUPLE),
        released_by="exact_noisy_design",
        commands=("rank --unit comparison --method scores",),
        note="pairwise/private_design.py",
    ),
)

AUDITED = _TOTALS + _FITS + _DESIGNS
