r"""Audited mechanisms with Gaussian noise: the exact smallest ε at their δ.

**Noise on several numbers** is equivalent to noise between two points, so the closed form of
:func:`laws.gaussian_epsilon` holds.

**Scores of two items from a perturbed likelihood.** With W_ij wins, s = F'/F and w the noise, the gradient of the
objective at its minimizer θ vanishes, so the gap u = θ_0 - θ_1 solves

    w_0 - w_1 = d(u) = 2(W_01 s(u) - W_10 s(-u)) - γu,

where d falls strictly and w_0 - w_1 ~ N(0, 2σ²). Hence P(gap <= u) = 1 - Φ(d(u)/(√2 σ)), without a density or a
determinant, and independently of the proof at the head of :mod:`privrank_jax.mechanism.objective`. The sum of the
scores, -(w_0 + w_1)/γ, is independent of the gap and of the data, so the gap carries the whole loss. The real line is
cut into cells at quantiles under either data set, 0.05 standard deviations apart; the cell is a post-processing of the
gap, so no loss is overstated.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from scipy import special

from privrank_jax import aggregation, pairwise
from privrank_jax.links import get_link
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents, laws
from privrank_jax.privacy_audit.audited_comparisons import FEW_WINS, gap, on_wins
from privrank_jax.privacy_audit.contents import comparisons, protecting, win_matrix
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import additive, audited

_DELTA = 0.01
_L = 3
_QUANTILES = np.linspace(-6.0, 6.0, 241)

# --- noise on every number -------------------------------------------------------------------------


_COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace", delta=_DELTA)
_FLIPPED = dataclasses.replace(_COMPARISON, adjacency="flip")
_ADDED = dataclasses.replace(_COMPARISON, adjacency="add-remove")
_USER = Privacy(1.0, unit="user", adjacency="replace", delta=_DELTA, contributions=_L)
_USER_ADDED = dataclasses.replace(_USER, adjacency="add-remove")
_RANKING = Privacy(1.0, unit="user", adjacency="replace", delta=_DELTA)
_counts = functools.partial(
    additive,
    function=pairwise.noisy_counts,
    noise="gaussian",
    note="Balle and Wang (2018); privacy/calibration.py",
)

_NUMBERS = (
    _counts(
        "noisy-counts-gaussian",
        "win totals + Gaussian noise at δ = 0.01, one comparison",
        units=comparisons(3),
        promise=_COMPARISON,
        commands=("rank --method counts --unit comparison --noise gaussian --delta 1e-6",),
    ),
    _counts(
        "noisy-counts-gaussian-users",
        "win totals + Gaussian noise at δ = 0.01, one user of L = 3 comparisons",
        units=comparisons(2, _L),
        promise=_USER,
        commands=(
            "rank --method counts --max-per-user 2 --noise gaussian --delta 1e-6",
            "rank --max-per-user 2 --adjacency flip --noise gaussian --delta 1e-6",
        ),
    ),
    _counts(
        "noisy-counts-gaussian-add-remove",
        "win totals + Gaussian noise at δ = 0.01, one user of L = 3 comparisons added or removed",
        units=comparisons(2, _L),
        promise=_USER_ADDED,
        commands=(
            "rank --method counts --max-per-user 2 --adjacency add-remove --noise gaussian --delta 1e-6",
        ),
    ),
    additive(
        "dp-borda-gaussian",
        "Borda scores + Gaussian noise at δ = 0.01",
        *(aggregation.dp_borda, contents.scores_of_rankings(), _RANKING, "gaussian"),
    ),
    additive(
        "noise-all-gaussian",
        "all pairwise weights + Gaussian noise at δ = 0.01",
        *(aggregation.noise_all, contents.weights_of_rankings(), _RANKING, "gaussian"),
    ),
)

# --- scores of two items ---------------------------------------------------------------------------


def gap_distribution(
    first: np.ndarray, second: np.ndarray, *, scale: float, gamma: float, link: str
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the cells of the gap of two scores under two ``(..., 2, 2)`` win counts each (module head)."""
    score = get_link(link).score

    def noise_at(wins: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        ahead, behind = np.asarray(score(np.stack([gaps, -gaps])))
        return 2 * (wins[..., 0, 1, None] * ahead - wins[..., 1, 0, None] * behind) - gamma * gaps

    both, spread = np.stack([first, second]), np.sqrt(2.0) * scale
    steepest = 2 * both.sum(axis=(0, -2, -1)) * get_link(link).sup_score
    reach = (spread * _QUANTILES[-1] + steepest) / gamma
    high = np.broadcast_to(reach[..., None], (2, *reach.shape, len(_QUANTILES)))
    found = laws.least_passing(
        lambda gaps: noise_at(both, gaps) <= spread * _QUANTILES, -high, high
    )
    ends = np.sort(np.concatenate([*found], axis=-1))
    first_law, second_law = (_cells(noise_at(wins, ends) / spread) for wins in both)
    return first_law, second_law


def _cells(falling: np.ndarray) -> np.ndarray:
    """Normal probabilities between adjacent entries of decreasing rows of numbers, and beyond their ends."""
    end = np.full_like(falling[..., :1], np.inf)
    high = np.concatenate([end, falling], axis=-1)
    low = np.concatenate([falling, -end], axis=-1)
    right = low > 0  # the upper tail is the accurate one there
    return np.where(
        right,
        special.ndtr(-low) - special.ndtr(-high),
        special.ndtr(high) - special.ndtr(low),
    )


def _scores_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts, *, link: str
) -> np.ndarray:
    scale, gamma = facts["noise_scale"], facts["gamma"]
    one, other = gap_distribution(first, second, scale=scale, gamma=gamma, link=link)
    return laws.least_epsilon(one, other, privacy.delta)


def _scores(link: str, promise: Privacy, *bases: np.ndarray, **options: Any) -> dict[str, Any]:
    return {
        **protecting(promise, np.zeros((2, 2)), *bases),
        "release": on_wins(pairwise.perturbed_mle, link=link, noise="gaussian", **options),
        "reduce": gap,
        "sees": "the gap between the scores",
        "loss": functools.partial(_scores_loss, link=link),
    }


_FEW, _FAR = win_matrix(2, (0, 1, 1), (1, 0, 3)), win_matrix(2, (1, 0, 2000))
_CLAIM = "pairwise/perturbed_fit.py"

_FITS = (
    audited(
        "perturbed-mle-gaussian",
        "perturbed MLE, outcomes flip, Gaussian noise at δ = 0.01",
        neighbors=FEW_WINS,
        note=f"{_CLAIM}; the Gaussian mechanism on the totals",
        **_scores("logistic", _FLIPPED, _FEW),
    ),
    audited(
        "perturbed-mle-gaussian-add-remove",
        "perturbed MLE, a comparison is added or removed, Gaussian noise at δ = 0.01",
        neighbors=(_FAR + win_matrix(2, (0, 1, 1)), _FAR),
        calibration="sound",
        note=f"{_CLAIM}; at least 0.94 of the claim is lost, 5 % less noise breaks it",
        **_scores("logistic", _ADDED, _FAR),
    ),
    audited(
        "perturbed-mle-gaussian-laplace-link",
        "perturbed MLE, Laplace link, outcomes flip, Gaussian noise at δ = 0.01, γ = 300",
        neighbors=(win_matrix(2, (0, 1, 2)), win_matrix(2, (0, 1, 1), (1, 0, 1))),
        calibration="sound",
        note=f"{_CLAIM}; the shift is the largest there is, the bound on its tail is not",
        **_scores("laplace", _FLIPPED, _FEW, gamma=300.0),
    ),
)

AUDITED = _NUMBERS + _FITS
