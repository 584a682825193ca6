"""Exactly randomized preference labels, of arrays and of whole files: the twin of :mod:`privrank_jax.preferences`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Integer

from privrank_jax._types import ReportsLike, RowsLike
from privrank_jax.data.preferences import (
    PreferenceFields,
    labels_guarantee,
    scan_preferences,
    write_preferences,
)
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import random_words
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.preferences.label_reports import LabelDiagnostics, check_labels, promised
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.contributions import exact_bound
from privrank_jax.release.randomized_response import exact_randomized_response


def exact_labels(
    labels: ReportsLike | Float[np.ndarray, "labels"],
    privacy: Privacy,
    *,
    users: RowsLike | None = None,
) -> Estimate:
    """Randomize preference labels for a release: each for itself, or all labels of a user together.

    **Guarantee.** Exactly ε-DP in the local model for one comparison, or for all comparisons of a user, adjacency flip:
    a user with k labels gets ε/k for each, rounded down so that k of them add up to at most ε. Soft labels are rounded
    at random with 53 bits, which moves their mean by at most 2^-53.

    Arguments, results and errors: as for :func:`privrank_jax.preferences.randomized_labels` and all exact releases
    (:mod:`privrank_jax.release`); ``value`` is a bool NumPy array.

    >>> privacy = Privacy(80.0, unit="user", adjacency="flip")
    >>> found = exact_labels([1, 0, 1], privacy, users=[7, 9, 7])
    >>> found.value.tolist(), found.diagnostics.epsilon.tolist()
    ([True, False, True], [40.0, 80.0, 40.0])
    """
    attained = exact_promise(promised(privacy, "exact_labels"))
    check_labels(labels, privacy, users)
    given = np.asarray(labels)
    if privacy.unit == "user":
        epsilon = split_epsilon(attained.epsilon, np.asarray(users))
    else:
        epsilon = np.full(given.shape, attained.epsilon)
    if jnp.issubdtype(given.dtype, jnp.floating):
        given = (random_words(given.size) >> np.uint64(11)) * 2.0**-53 < given
    value = exact_randomized_response(given, epsilon)
    return exact_estimate(value, privacy, attained, LabelDiagnostics(epsilon), trust="local")


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


def privatize_preferences(
    source: str | Path,
    privacy: Privacy,
    out: str | Path,
    *,
    fields: PreferenceFields | None = None,
    keep: str | Sequence[str] = (),
    max_per_user: int | None = None,
) -> Guarantee:
    """Randomize which answer was chosen in a file of preferences, and write the file that may be shared.

    As ``privrank privatize FILE.jsonl``; :mod:`privrank_jax.data.preferences` describes both files.

    Args:
        source: a .jsonl or .jsonl.gz file of prompts, chosen and rejected answers.
        privacy: unit comparison (one label) or user, adjacency ``flip``; ε finite.
        out: the file to write, .jsonl or .jsonl.gz; an existing one is replaced.
        fields: names of the fields of ``source``; by default those that TRL's data sets have.
        keep: further fields to carry over, or one name; they must not tell which answer was chosen.
        max_per_user: for unit user, the most labels of one user; users with more keep a random choice.

    Returns:
        The guarantee of the file.

    Raises:
        DataError: what is wrong with the file, and where; no prompt, no id and no field kept where there are others.
        ValueError: as :func:`exact_labels`.
    """
    scan = scan_preferences(source, fields or PreferenceFields(), keep=keep)
    scan.check_no_ties()
    promised(privacy, "privatize_preferences")
    kept = np.ones(len(scan), bool)
    if privacy.unit == "user":
        scan.check_users()
        if max_per_user is not None:
            kept = exact_bound(scan.users, max_per_user)
    elif max_per_user is not None:
        raise ValueError("max_per_user bounds what one user gives: it needs unit='user'.")
    found = exact_labels(scan.bits[kept], privacy, users=scan.users[kept])
    epsilon = found.diagnostics.epsilon
    guarantee = labels_guarantee(scan, kept, epsilon, asked=privacy, numerics="exact")
    write_preferences(out, scan, kept, found.value, epsilon)
    return guarantee
