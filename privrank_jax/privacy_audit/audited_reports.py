"""Audited reports of single users: one answer or one vector of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import preferences, privacy
from privrank_jax._types import Key
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.caps import privunit_cap
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy_audit import laws, neighbors
from privrank_jax.privacy_audit.registry import Audited, Facts, Release

Array = jax.Array

_BITS = (np.array(1), np.array(0))
_DIMENSIONS = 4
_AXIS = np.eye(_DIMENSIONS)[0]


def flip_share(epsilon: float) -> float:
    """The exact flip probability of randomized response, given the 32-bit words with which it is drawn."""
    return float(flip_threshold(jnp.asarray(epsilon, jnp.float64))) / 2.0**32


def vector_law(
    vectors: np.ndarray, epsilon: float, mechanism: str, radius: float = 1.0, zero_sum: bool = False
) -> np.ndarray:
    """Log densities of ``"duchi"`` or ``"privunit"`` reports on ``vectors (D, d)``, which may sum to 0 publicly.

    See :func:`~privrank_jax.privacy_audit.laws.two_density_vectors`; the odds of PrivUnit's two densities follow from
    the probability of leaving its cap, as it is drawn, and from the cap's share.
    """
    if mechanism == "duchi":
        return laws.two_density_vectors(vectors, radius, 0.0, epsilon)
    cap = privunit_cap(vectors.shape[1] - zero_sum, epsilon)
    high, low = (int(word) for word in cap.off)
    off, share = (high * 2**32 + low) / 2**64, float(cap.share)
    odds = np.log((1 - off) / off) - np.log(share / (1 - share))
    return laws.two_density_vectors(vectors, radius, float(cap.height), odds)


def _bits() -> neighbors.Instances:
    return neighbors.of_values(0, 1)


def _two_labels(key: Key, labels: Array, privacy: Privacy) -> Estimate:
    return preferences.randomized_labels(key, labels, privacy, users=np.zeros(2, int))


def _two_labels_law(labels: np.ndarray, claim: Privacy, _: Facts) -> np.ndarray:
    each = [laws.flipped_bits(bits, flip_share(claim.epsilon / 2)) for bits in labels.T]
    return np.reshape(each[0][:, :, None] + each[1][:, None, :], (len(labels), 4))


def _vectors() -> neighbors.Instances:
    """Axes, their opposites, shorter vectors, the zero vector, and some oblique ones."""
    across = np.array([[0.5, 0.5, 0.5, 0.5], [0.6, -0.8, 0, 0], [0.1, 0.2, 0.3, -0.1]])
    axes = np.eye(_DIMENSIONS)
    return neighbors.of_values(*axes, *-axes, *0.3 * axes, np.zeros(_DIMENSIONS), *across)


def _first(report: Array) -> Array:
    return report[0]


def reported(function: Callable[..., Array]) -> Release:
    """Turn a randomizer ``(key, data, epsilon)``, which each user runs alone, into a release."""
    return lambda key, data, privacy: function(key, data, privacy.epsilon)


_ANSWER: dict[str, Any] = {
    "promise": Privacy(1.0, unit="comparison", adjacency="flip"),
    "trust": "local",
}
_VECTOR: dict[str, Any] = {
    "promise": Privacy(1.0, unit="user", adjacency="replace"),
    "trust": "local",
}

AUDITED = (
    Audited(
        name="randomized-response",
        title="randomized response, one answer",
        calibration="tight",
        function="randomized_response",
        neighbors=_BITS,
        release=reported(privacy.randomized_response),
        sees="the report",
        outcomes=("0", "1"),
        finite=True,
        instances=_bits,
        law=lambda bits, claim, _: laws.flipped_bits(bits, flip_share(claim.epsilon)),
        released_by="exact_randomized_response",
        commands=(
            "privatize",
            "privatize --ties coin",
            "privatize --drop-user --epsilon-column budget",
        ),
        note="Warner (1965); privacy/local.py",
        **_ANSWER,
    ),
    Audited(
        name="preference-labels",
        title="randomized response, two labels of one user who share ε",
        calibration="tight",
        function="randomized_labels",
        neighbors=(np.array([1, 1]), np.array([0, 0])),
        release=_two_labels,
        reduce=lambda reports: 2 * reports[0] + reports[1],
        sees="both reports",
        outcomes=("00", "01", "10", "11"),
        finite=True,
        instances=lambda: neighbors.of_values([0, 0], [0, 1], [1, 0], [1, 1]),
        law=_two_labels_law,
        promise=Privacy(1.0, unit="user", adjacency="flip"),
        trust="local",
        released_by="exact_labels",
        commands=(
            "privatize --unit user",
            "privatize --unit user --max-per-user 2 --keep topic",
            "privatize --ties coin --drop-user",
            "privatize --epsilon-column budget",
        ),
        note="preferences/randomized_labels.py",
    ),
    Audited(
        name="laplace-reports",
        title="an answer plus Laplace(1/ε)",
        calibration="tight",
        function="laplace_reports",
        neighbors=_BITS,
        release=reported(privacy.laplace_reports),
        sees="the report",
        instances=_bits,
        law=lambda bits, claim, _: laws.additive_laplace(
            bits[:, None], float(privacy.laplace_scale(1.0, claim.epsilon))
        ),
        note="privacy/local.py",
        **_ANSWER,
    ),
    Audited(
        name="duchi-vectors",
        title="Duchi's ℓ₂ mechanism, 4 dimensions",
        calibration="tight",
        function="duchi_vectors",
        neighbors=(_AXIS, -_AXIS),
        release=reported(privacy.duchi_vectors),
        reduce=_first,
        sees="the first coordinate of the report",
        instances=_vectors,
        law=lambda vectors, claim, _: vector_law(vectors, claim.epsilon, "duchi"),
        note="privacy/vectors.py",
        **_VECTOR,
    ),
    Audited(
        name="privunit-vectors",
        title="PrivUnit with its best cap, 4 dimensions",
        calibration="tight",
        function="privunit_vectors",
        neighbors=(_AXIS, -_AXIS),
        release=reported(privacy.privunit_vectors),
        reduce=_first,
        sees="the first coordinate of the report",
        instances=_vectors,
        law=lambda vectors, claim, _: vector_law(vectors, claim.epsilon, "privunit"),
        note="privacy/vectors.py",
        **_VECTOR,
    ),
)
