"""Exactly randomized preference labels of whole files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from privrank_jax.data.preferences import (
    labels_guarantee,
    scan_preferences,
    write_preferences,
)
from privrank_jax.preferences.label_reports import promised, randomized_labels
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.contributions import exact_bound


def privatize_preferences(
    source: Any,
    privacy: Privacy,
    out: str | Path,
    *,
    max_per_user: int | None = None,
    **told: Any,
) -> Guarantee:
    """Randomize which answer was chosen in a table of preferences, and write the file that may be shared.

    As ``privrank privatize FILE.jsonl``; :mod:`privrank_jax.data.preferences` describes both.

    Args:
        source: prompts, chosen and rejected answers, in a file or in any table that
            :class:`~privrank_jax.data.Preferences` reads.
        privacy: unit comparison (one label) or user, adjacency ``flip``; ε finite.
        out: the file to write, .jsonl or .jsonl.gz; an existing one is replaced.
        max_per_user: for unit user, the most labels of one user; users with more keep a random choice.
        told: names of fields, and those to ``keep``, as of :meth:`~privrank_jax.data.Preferences.read`.

    Returns:
        The guarantee of the file.

    Raises:
        DataError: what is wrong with the file, and where; no prompt, no id and no field kept where there are others.
        ValueError: as :func:`~privrank_jax.preferences.randomized_labels`.
    """
    scan = scan_preferences(source, **told)
    if scan.epsilon is not None:
        raise ValueError("`privacy` has the epsilon of all labels: leave out `epsilon`.")
    promised(privacy, "privatize_preferences")
    scan.check(users=privacy.unit == "user")
    kept = np.ones(len(scan), bool)
    if privacy.unit == "user":
        if max_per_user is not None:
            kept = exact_bound(scan.users, max_per_user)
    elif max_per_user is not None:
        raise ValueError("max_per_user bounds what one user gives: it needs unit='user'.")
    found = randomized_labels.release(scan.bits[kept], privacy, users=scan.users[kept])
    epsilon = found.diagnostics.epsilon
    guarantee = labels_guarantee(scan, kept, epsilon, asked=privacy, numerics="exact")
    write_preferences(out, scan, kept, found.value, epsilon)
    return guarantee
