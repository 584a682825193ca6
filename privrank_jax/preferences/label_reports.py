r"""Randomized response of preference labels: one label protected, or all labels of a user together.

Notation: y in {0, 1} the label (1 if A is preferred), q = 1/(1 + e^ε) the flip probability.

**Unit one comparison.** Each label is flipped with probability q at the promised ε: ε-local DP for the label, by the
theorem of :mod:`privrank_jax.privacy.local`.

**Unit one user.** A user with k labels gets ε/k for each. Reports are drawn independently, so the loss of a user, all
of whose labels may change, is at most k · ε/k = ε. Adjacency ``flip``: who labeled which pairs is public, so k is too.
A user of k labels sends about k tanh²(ε/2k) ≈ ε²/4k units of information, less the more labels there are: one label at
the full ε says more than ten at ε/10. :func:`privrank_jax.comparisons.bound_contributions` keeps L labels of each user.
Where a curator may hold the labels, :func:`~privrank_jax.preferences.train_on_labels` learns far more from all of them.

**Soft labels.** A judge may state a probability p in [0, 1] that A is better. It is first rounded at random to a bit, 1
with probability p, and the bit is randomized. The report is 1 with probability q + (1 - 2q)p, which is linear in p: so
all that is unbiased for a label is unbiased for p, such as :func:`~privrank_jax.preferences.debiased_loss` for
:func:`~privrank_jax.preferences.soft_label_loss` of p; and any two p give probabilities of a report that differ by a
factor of at most e^ε, as they lie between those of 0 and 1.

Noise added to p itself would need the same sensitivity 1, and :func:`~privrank_jax.privacy.local.laplace_reports`
varies more at every ε.

**Exactly.** ``randomized_labels.release`` flips bits by :mod:`privrank_jax.exact.randomized_response`, with ε/k rounded
down so that k of them add up to at most ε. Soft labels are rounded at random with 53 bits, which moves their mean by at
most 2^-53. The reports themselves are what is published, so the mechanism is a pair of functions.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from privrank_jax._pytrees import pytree
from privrank_jax._types import Key, NumbersLike, ReportsLike, RowsLike
from privrank_jax._validate import check_shape, is_real, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import flip_probability, randomized_response
from privrank_jax.privacy.privacy import Privacy, kept

KINDS = (("comparison", "flip"), ("user", "flip"))


@pytree
class LabelDiagnostics:
    """Diagnostics of randomized labels.

    Attributes:
        epsilon: ε of each label, for the losses; public.
    """

    epsilon: Float[Array, "labels"] | Float[np.ndarray, "labels"]


def _release(
    labels: ReportsLike | Float[np.ndarray, "labels"],
    privacy: Privacy,
    *,
    users: RowsLike | None = None,
) -> Estimate:
    from privrank_jax.exact.entropy import random_words
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
    from privrank_jax.exact.randomized_response import flipped_bits

    attained = exact_promise(promised(privacy, "randomized_labels"))
    users = user_numbers(users)
    check_labels(labels, privacy, users)
    given = np.asarray(labels)
    if privacy.unit == "user":
        epsilon = split_epsilon(attained.epsilon, np.asarray(users))
    else:
        epsilon = np.full(given.shape, attained.epsilon)
    if jnp.issubdtype(given.dtype, jnp.floating):
        given = (random_words(given.size) >> np.uint64(11)) * 2.0**-53 < given
    value = flipped_bits(given, epsilon)
    return exact_estimate(value, privacy, attained, LabelDiagnostics(epsilon), trust="local")


def _scale(privacy: Privacy, labels_per_user: NumbersLike = 1) -> Float[Array, "..."]:
    """Probability with which a label is flipped, of a user with so many."""
    attained = promised(privacy, "randomized_labels")
    shared = labels_per_user if attained.unit == "user" else 1
    return flip_probability(jnp.asarray(attained.epsilon) / jnp.asarray(shared))


@mechanism(release=_release, scale=_scale)
def randomized_labels(
    key: Key,
    labels: ReportsLike | Float[Array, "labels"] | Float[np.ndarray, "labels"],
    privacy: Privacy,
    *,
    users: RowsLike | None = None,
) -> Estimate:
    """Randomize preference labels, each for itself or all labels of a user together.

    Theorems at the head of this module, ``help(sys.modules[randomized_labels.__module__])``. For real labels:
    ``randomized_labels.release(labels, privacy, users=...)``, whose ``value`` is a bool NumPy array.
    ``scale(privacy, labels_per_user)`` is the probability of a flip.

    Args:
        key: PRNG key.
        labels: ``(N,)`` labels, bool or 0/1; or floats, the probabilities in [0, 1] of soft labels. Traced integers
            other than 1 count as 0, traced probabilities beyond [0, 1] as its ends, NaN as 0: every input is protected.
        privacy: unit comparison or user, adjacency ``flip``; ε may be traced, ∞ flips nothing.
        users: ``(N,)`` the user of each label, public: integers, or names on the host. Needed for unit user.

    Returns:
        ``value``: reports, ``(N,)``, dtype of labels that are bool or integers, else bool. ``guarantee``: for users
        with any number of labels. ``diagnostics``: :class:`LabelDiagnostics` with the ε of each label.

    Raises:
        ValueError: a promise that this can't keep, labels beyond [0, 1], shapes that don't fit, no users for unit user.

    >>> privacy = Privacy(1.0, unit="user", adjacency="flip")
    >>> found = randomized_labels(jax.random.key(0), [1, 0, 1], privacy, users=[7, 9, 7])
    >>> found.diagnostics.epsilon.tolist()
    [0.5, 1.0, 0.5]
    """
    attained = promised(privacy, "randomized_labels")
    users = user_numbers(users)
    check_labels(labels, privacy, users)
    given = jnp.asarray(labels)
    epsilon = jnp.asarray(attained.epsilon, jnp.result_type(float))
    if epsilon.ndim:
        raise ValueError("epsilon must be one number: vmap over a sweep.")
    epsilon = jnp.broadcast_to(epsilon, given.shape)
    if privacy.unit == "user":
        epsilon = epsilon / _counts(jnp.asarray(users))
    coin_key, report_key = jax.random.split(fused(key))
    if jnp.issubdtype(given.dtype, jnp.floating):
        given = jax.random.uniform(coin_key, given.shape, given.dtype) < given
    value = randomized_response(report_key, given, epsilon)
    return Estimate(value, Guarantee(privacy, attained, trust="local"), LabelDiagnostics(epsilon))


def promised(privacy: Privacy, by: str) -> Privacy:
    """What randomized labels attain, for users with any number of labels."""
    return kept(privacy, by, *KINDS).for_any_user()


def user_numbers(users: Any) -> Any:
    """Users as integers: names are numbered, integers and traced arrays stay; raises ``ValueError`` on anything else.

    >>> user_numbers(["ada", "ben", "ada"]).tolist()
    [0, 1, 0]
    """
    given = users if is_traced(users) else np.asarray(users)
    if users is None or np.issubdtype(given.dtype, np.integer):
        return users
    # Before NumPy makes text of what it finds beside text: nan would be a user of that name, and 1 the user "1".
    names = () if is_traced(users) else np.asarray(users, object).ravel()
    if is_traced(users) or not all(isinstance(user, str) and user for user in names):
        raise ValueError(
            "users must be integers or names, one for each label, and none may be missing."
        )
    return np.unique(given.astype(str), return_inverse=True)[1].reshape(given.shape)


def check_labels(labels: Any, privacy: Privacy, users: Any) -> None:
    """Raise ``ValueError`` unless labels are ``(N,)`` numbers from 0 to 1, and users fit them where they are needed."""
    check_shape("labels", labels, ("N",))
    if privacy.unit == "user":
        if users is None:
            raise ValueError("unit='user' needs users, the user of each label.")
        check_shape("users", users, np.shape(labels))
    if is_traced(labels):
        return
    given = np.asarray(labels)
    if not is_real(given) or not np.all((given >= 0) & (given <= 1)):  # NaN too
        raise ValueError("labels must be 0 or 1 (or bool), or probabilities in [0, 1].")


def split_epsilon(
    epsilon: float, users: Integer[np.ndarray, "labels"]
) -> Float[np.ndarray, "labels"]:
    """ε of each label of users who share ``epsilon`` among theirs: the largest double of which k add up to at most it.

    They do so as doubles and as the shortest decimals that denote them, as a ledger adds them.

    >>> split_epsilon(1.0, np.array([5, 6, 5])).tolist()
    [0.5, 1.0, 0.5]
    """
    _, place, counts = np.unique(users, return_inverse=True, return_counts=True)
    numbers, of_user = np.unique(counts, return_inverse=True)
    shares = np.array([_share(epsilon, int(number)) for number in numbers])
    return shares[of_user[place]]


def _share(epsilon: float, number: int) -> float:
    share = epsilon / number
    while Fraction(share) * number > Fraction(epsilon) or Fraction(
        Decimal(repr(share))
    ) * number > Fraction(Decimal(repr(epsilon))):
        share = math.nextafter(share, 0.0)
    if share <= 0:
        raise ValueError(f"epsilon = {epsilon!r} is too small for {number} labels of one user.")
    return share


def _counts(users: Array) -> Array:
    """Number of labels of the user of each label."""
    ordered = jnp.sort(users)
    return jnp.searchsorted(ordered, users, side="right") - jnp.searchsorted(ordered, users)
