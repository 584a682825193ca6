r"""Training on labels of users with exact noise: the twin of :mod:`privrank_jax.preferences.label_training`.

**Mechanism.** Slopes g_j and the bound C of a user's sum are public. User u's sum z_u = Σ_j (y_j - ½) g_j, scaled down
to norm C where it is longer, is rounded to whole multiples t_u of C/B, B = 2^24, and all entries of t_u move by 1
toward 0 until ‖t_u‖ ≤ B in integer arithmetic. Release r publishes C/B times Σ_u t_u + ⌊N(0, σ² I)⌉, with rounded
Gaussian noise (:mod:`privrank_jax.exact.rounded_gaussian`). Everything else is post-processing, as there.

**Theorem** (unit user, adjacency flip). t_u is a function of user u's labels and of what is public, however floating
point rounded on the way to it, and all ‖t_u‖ ≤ B. So Σ_u t_u moves by at most 2B if all labels of one user change,
whatever was released before. R releases, each chosen by those before, lose at most what one Gaussian mechanism of
sensitivity 2B√R does, and σ is at least 2B√R/μ, rounded up to a rational; μ is the largest sensitivity that is proven
(ε, δ)-DP at σ = 1 (:mod:`privrank_jax.privacy.gaussian`).

**What rounding costs.** An entry of Σ_u t_u is off by at most half a unit for each user, σ is at least B/ε units or so:
a million users at ε = 1 add at most 3 % of the noise, and a thousandth of that where their roundings are independent.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

from privrank_jax._types import ReportsLike, RowsLike
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.exact.rounded_gaussian import gaussian_mechanism, root_above
from privrank_jax.preferences.label_training import (
    ADAM,
    ScoreDifference,
    check_training,
    descended,
    flat,
    slopes_and_bound,
)
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy

BOUND = 1 << 24
"""B, the largest norm of a user's whole numbers."""


def exact_train_on_labels(
    labels: ReportsLike | Float[np.ndarray, "labels"],
    privacy: Privacy,
    score_difference: ScoreDifference,
    start: PyTree,
    candidates: PyTree,
    *,
    users: RowsLike,
    releases: int = 1,
    steps: int = 300,
    clip: float = 2.0,
    optimizer: optax.GradientTransformation = ADAM,
) -> Estimate:
    """Train a reward model, or a policy by DPO, whose parameters may be published: (ε, δ) for all labels of a user.

    **Guarantee.** (ε, δ)-DP exactly, for all labels of a user together, adjacency flip; the theorem is at the head of
    this module. Candidates, users and which pairs they labeled are public, and so are all arguments but ``labels``.

    Arguments, results and errors: as for :func:`privrank_jax.preferences.train_on_labels` and all exact releases
    (:mod:`privrank_jax.release`). ``value`` has the form of ``start``.

    Raises:
        ValueError: slopes of scores are not finite, which depends on public numbers alone.

    >>> privacy = Privacy(1.0, unit="user", adjacency="flip", delta=1e-5)
    >>> users, pairs = np.repeat(np.arange(100), 10), np.tile([1.0, -2.0], 500)
    >>> linear = lambda weight, pair: weight * pair
    >>> found = exact_train_on_labels(pairs > 0, privacy, linear, np.zeros(()), pairs, users=users)
    >>> bool(found.value > 0.2), found.guarantee.numerics
    (True, 'exact')
    """
    attained = exact_promise(
        check_training(
            labels,
            privacy,
            score_difference,
            start,
            candidates,
            users,
            releases,
            steps,
            clip,
            "exact_train_on_labels",
        )
    )
    halves = np.asarray(labels, np.float64) - 0.5
    place = np.unique(np.asarray(users), return_inverse=True)[1]
    budget = gaussian_budget(attained.epsilon, attained.delta)
    deviation = root_above(Fraction(4 * int(releases) * BOUND**2) / budget**2)
    params, shaped = ravel_pytree(start)
    memory, scales = optimizer.init(params), []
    for _ in range(releases):
        slopes, bound = _look(
            start, params, candidates, place, jnp.asarray(clip), score_difference=score_difference
        )
        if not np.isfinite(bound):
            raise ValueError(
                "slopes of scores are not finite: score_difference must be smooth at start and on the way."
            )
        whole = whole_sums(np.asarray(slopes, np.float64), halves, place, float(bound))
        parts = ((len(params), deviation),)
        noisy = gaussian_mechanism(whole.sum(0), parts, attained.epsilon, budget)
        unit = float(bound) / BOUND
        params, memory = _move(
            start,
            jnp.asarray(noisy * unit, params.dtype),
            (params, memory),
            candidates,
            score_difference=score_difference,
            optimizer=optimizer,
            steps=steps,
        )
        scales.append(float(deviation) * unit)
    return exact_estimate(shaped(params), privacy, attained, NoiseDiagnostics(np.array(scales)))


@functools.partial(jax.jit, static_argnames="score_difference")
def _look(
    start: PyTree,
    params: Array,
    candidates: PyTree,
    place: Array,
    clip: Array,
    *,
    score_difference: ScoreDifference,
) -> tuple[Array, Array]:
    return slopes_and_bound(flat(score_difference, start), params, candidates, place, clip)


@functools.partial(jax.jit, static_argnames=("score_difference", "optimizer", "steps"))
def _move(
    start: PyTree,
    told: Array,
    carry: tuple[Array, Any],
    candidates: PyTree,
    *,
    score_difference: ScoreDifference,
    optimizer: optax.GradientTransformation,
    steps: int,
) -> tuple[Array, Any]:
    score = flat(score_difference, start)
    return descended(score, optimizer, steps, told, carry, candidates)


def whole_sums(
    slopes: Float[np.ndarray, "labels parameters"],
    halves: Float[np.ndarray, "labels"],
    place: Int[np.ndarray, "labels"],
    bound: float,
) -> Int[np.ndarray, "users parameters"]:
    """t_u of all users, int64, of norm at most :data:`BOUND`.

    Args:
        slopes: g_j.
        halves: y_j - ½.
        place: the user of each label, from 0.
        bound: C >= 0.

    >>> whole_sums(np.eye(2), np.array([0.5, -0.5]), np.array([0, 0]), 0.5).tolist()
    [[11863283, -11863283]]
    """
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    sums = np.add.reduceat((halves[:, None] * slopes)[order], starts)
    longest = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), bound)
    units = np.divide(BOUND, longest, out=np.zeros_like(longest), where=longest > 0)
    whole = np.rint(sums * units).astype(np.int64)
    while np.any(beyond := np.square(whole).sum(1) > BOUND**2):
        whole[beyond] -= np.sign(whole[beyond])
    return whole
