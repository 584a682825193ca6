"""Audited reports of single users, one answer or one vector of numbers, and training on labels of users."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from privrank_jax import preferences, privacy
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.vectors import privunit_cap
from privrank_jax.privacy_audit import laws, neighbors
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, gaussian, named, on, reported

Array = jax.Array

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


def _two_labels_law(labels: np.ndarray, claim: Privacy, _: Facts) -> np.ndarray:
    each = [laws.flipped_bits(bits, flip_share(claim.epsilon / 2)) for bits in labels.T]
    return np.reshape(each[0][:, :, None] + each[1][:, None, :], (len(labels), 4))


_WHOLE_STEP = optax.sgd(3.0)  # of a mean over three labels
_PAIRS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])  # two of one user, and one of another


def _label_sums(labels: np.ndarray) -> np.ndarray:
    """Sums over both users of what their labels say, ``(D, 2)``, each of at most the length that training clips to."""
    each = (labels[:, :, None] - 0.5) * _PAIRS
    users = np.stack([each[:, :2].sum(1), each[:, 2]], axis=1)
    bound = np.sqrt(len(_PAIRS) / 8)  # of the mean of 2/4 and 1/4
    lengths = np.linalg.norm(users, axis=2, keepdims=True)
    return np.sum(users * np.minimum(1, bound / lengths), axis=1)


def _score(weights: Array, pair: Array) -> Array:
    return jnp.sum(weights * pair)


def _trained(key: Array, data: Array, privacy: Privacy) -> Estimate:
    """One step of training, which ends at the noisy sum."""
    found = preferences.train_on_labels(
        key,
        data,
        privacy,
        _score,
        jnp.zeros(2),
        jnp.asarray(_PAIRS),
        users=np.array([0, 0, 1]),
        steps=1,
        clip=1.0,
        optimizer=_WHOLE_STEP,
    )
    (scale,) = found.diagnostics.noise_scale
    return dataclasses.replace(found, diagnostics=NoiseDiagnostics(scale))


def _labels_of_users() -> neighbors.Instances:
    """All labels of both users; neighbors are those of which one user's differ."""
    labels = np.array(list(itertools.product((0, 1), repeat=3)))
    return neighbors.those_near(
        labels, lambda one, other: (one[:2] == other[:2]).all() or one[2] == other[2]
    )


def _vectors() -> neighbors.Instances:
    """Axes, their opposites, shorter vectors, the zero vector, and some oblique ones."""
    across = np.array([[0.5, 0.5, 0.5, 0.5], [0.6, -0.8, 0, 0], [0.1, 0.2, 0.3, -0.1]])
    axes = np.eye(_DIMENSIONS)
    return neighbors.of_values(*axes, *-axes, *0.3 * axes, np.zeros(_DIMENSIONS), *across)


_ANSWER: dict[str, Any] = {
    "promise": Privacy(1.0, unit="comparison", adjacency="flip"),
    "trust": "local",
    "neighbors": (np.array(1), np.array(0)),
    "instances": _bits,
    "sees": "the report",
}
_VECTOR: dict[str, Any] = {
    "promise": Privacy(1.0, unit="user", adjacency="replace"),
    "trust": "local",
    "neighbors": (_AXIS, -_AXIS),
    "instances": _vectors,
    "reduce": lambda report: report[0],
    "sees": "the first coordinate of the report",
}

AUDITED = (
    audited(
        "randomized-response",
        "randomized response, one answer",
        reported(privacy.randomized_response),
        outcomes=("0", "1"),
        finite=True,
        law=lambda bits, claim, _: laws.flipped_bits(bits, flip_share(claim.epsilon)),
        commands=(
            "privatize",
            "privatize --ties coin",
            "privatize --drop-user --epsilon-column budget",
        ),
        remark="Warner (1965)",
        **_ANSWER,
    ),
    audited(
        "preference-labels",
        "randomized response, two labels of one user who share ε",
        on(preferences.randomized_labels, jnp.asarray, users=np.zeros(2, int)),
        neighbors=(np.array([1, 1]), np.array([0, 0])),
        reduce=lambda reports: 2 * reports[0] + reports[1],
        sees="both reports",
        outcomes=("00", "01", "10", "11"),
        finite=True,
        instances=lambda: neighbors.of_values([0, 0], [0, 1], [1, 0], [1, 1]),
        law=_two_labels_law,
        promise=Privacy(1.0, unit="user", adjacency="flip"),
        trust="local",
        commands=(
            "privatize --unit user",
            "privatize --unit user --max-per-user 2 --keep topic",
            "privatize --ties coin --drop-user",
            "privatize --epsilon-column budget",
        ),
    ),
    audited(
        "train-on-labels",
        "training on labels of users, Gaussian noise on their clipped sum at δ = 0.01",
        named(preferences.train_on_labels, _trained),
        neighbors=(np.array([1, 1, 0]), np.array([0, 0, 0])),
        reduce=lambda weights: _score(weights, jnp.asarray(_PAIRS[0] + _PAIRS[1])),
        sees="the noisy sum, along what both labels of a user say",
        instances=_labels_of_users,
        loss=gaussian(lambda labels, facts: _label_sums(labels) / facts["noise_scale"]),
        promise=Privacy(1.0, unit="user", adjacency="flip", delta=0.01),
    ),
    audited(
        "laplace-reports",
        "an answer plus Laplace(1/ε)",
        reported(privacy.laplace_reports),
        law=lambda bits, claim, _: laws.additive_laplace(
            bits[:, None], float(privacy.laplace_scale(1.0, claim.epsilon))
        ),
        **_ANSWER,
    ),
    audited(
        "duchi-vectors",
        "Duchi's ℓ₂ mechanism, 4 dimensions",
        reported(privacy.duchi_vectors),
        law=lambda vectors, claim, _: vector_law(vectors, claim.epsilon, "duchi"),
        **_VECTOR,
    ),
    audited(
        "privunit-vectors",
        "PrivUnit with its best cap, 4 dimensions",
        reported(privacy.privunit_vectors),
        law=lambda vectors, claim, _: vector_law(vectors, claim.epsilon, "privunit"),
        **_VECTOR,
    ),
)
